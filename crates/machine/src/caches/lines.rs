//! What the hit path sees of a processor's L1 caches: whether a line is the one of its set that was used last.
//!
//! JUSTIFICATION for unsafe: every load, store and change of line asks, and goes on to the next instruction if so. A pointer to the rows in
//! the engine's environment costs a few instructions; the way through world, processors and caches several times as many.

use super::{Caches, level::Level};
use hart::CacheLines;

/// The L1 caches of the processor that a hart runs on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MachineLines {
    data: Rows,
    code: Rows,
    /// The process's address of the first byte of memory.
    base: usize,
}

/// The rows of one cache.
#[derive(Clone, Copy, Debug)]
struct Rows {
    first: *const u32,
    mask: u32,
    ways: usize,
    line_shift: u32,
}

impl Rows {
    fn of(level: &mut Level) -> Self {
        let (first, mask, ways, line_shift) = level.rows();
        Self { first, mask, ways, line_shift }
    }

    /// Whether the line at an offset comes first in its row.
    ///
    /// # Safety
    /// The cache is alive.
    #[inline(always)]
    unsafe fn begin_with(self, offset: usize) -> bool {
        let line = (offset >> self.line_shift) as u32;
        // SAFETY: the mask leaves the number of a set, each of which has a row. No reference exists to the rows while harts run.
        unsafe { *self.first.add((line & self.mask) as usize * self.ways) == line }
    }
}

impl CacheLines for MachineLines {
    #[inline(always)]
    unsafe fn data_is_latest(self, at: *const u8) -> bool {
        // SAFETY: the bus that handed this out is alive, and with it the caches.
        unsafe { self.data.begin_with(at.addr().wrapping_sub(self.base)) }
    }

    #[inline(always)]
    unsafe fn code_is_latest(self, at: *const u8) -> bool {
        // SAFETY: as above.
        unsafe { self.code.begin_with(at.addr().wrapping_sub(self.base)) }
    }
}

impl Caches {
    /// The L1 caches of a processor, for the hit path. Their rows do not move while the caches live.
    pub(crate) fn lines(&mut self, processor: usize) -> MachineLines {
        let base = self.base;
        let own = &mut self.own[processor];
        MachineLines { data: Rows::of(&mut own.l1d), code: Rows::of(&mut own.l1i), base }
    }
}
