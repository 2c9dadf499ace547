//! What the hit path sees of a processor's L1 caches: whether a line is the one of its set that was used last. Compiled code sees that, and what it needs of
//! a modelled core, by itself.
//!
//! JUSTIFICATION for unsafe: every load, store and change of line asks, and goes on to the next instruction if so. A pointer to the rows in
//! the engine's environment costs a few instructions; the way through world, processors and caches several times as many.

use super::{Caches, level::Level};
use hart::{
    CacheLines,
    models::{BranchLayout, CoreLayout, ModelLayout, RowLayout, StateOffsets, UnderWayLayout},
};
use std::mem::offset_of;
use std::ptr;
use timing::{CoreState, PredictorState};

/// The L1 caches of the processor that a hart runs on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MachineLines {
    data: Rows,
    code: Rows,
    /// The process's address of the first byte of memory.
    base: usize,
    core: CoreParts,
}

/// The state of the processor's core; null where no core is modelled.
#[derive(Clone, Copy, Debug)]
struct CoreParts {
    by_address: *mut u8,
    by_history: *mut u8,
    choosers: *mut u8,
    history: *mut u64,
    under_way: [*const u16; 2],
}

impl CoreParts {
    const NONE: Self = Self {
        by_address: ptr::null_mut(),
        by_history: ptr::null_mut(),
        choosers: ptr::null_mut(),
        history: ptr::null_mut(),
        under_way: [ptr::null(); 2],
    };

    fn of(core: &CoreState) -> Self {
        let PredictorState { by_address, by_history, choosers, history, .. } = core.predictor;
        Self { by_address, by_history, choosers, history, under_way: core.under_way }
    }
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

    fn layout(self) -> RowLayout {
        RowLayout { line_shift: self.line_shift, set_mask: self.mask, ways: self.ways as u32 }
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
    const STATE: Option<StateOffsets> = Some(StateOffsets {
        data_rows: offset_of!(MachineLines, data.first),
        code_rows: offset_of!(MachineLines, code.first),
        by_address: offset_of!(MachineLines, core.by_address),
        by_history: offset_of!(MachineLines, core.by_history),
        choosers: offset_of!(MachineLines, core.choosers),
        history: offset_of!(MachineLines, core.history),
        under_way: {
            let tables = offset_of!(MachineLines, core.under_way);
            [tables, tables + size_of::<*const u16>()]
        },
    });

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
    /// What the hit path keeps of the L1 caches of a processor, and of its core. Their rows do not move while the caches live.
    pub(crate) fn lines(&mut self, processor: usize, core: Option<&CoreState>) -> MachineLines {
        let base = self.base;
        let own = &mut self.own[processor];
        let (data, code) = (Rows::of(&mut own.l1d), Rows::of(&mut own.l1i));
        MachineLines { data, code, base, core: core.map_or(CoreParts::NONE, CoreParts::of) }
    }

    /// The layout of what [`Self::lines`] leads to. It is the same for all processors.
    pub(crate) fn layout(&mut self, core: Option<&CoreState>) -> ModelLayout {
        let MachineLines { data, code, base, .. } = self.lines(0, core);
        let line_shift = data.line_shift;
        let core = core.map(|&CoreState { predictor, under_way_mask, .. }| CoreLayout {
            branches: BranchLayout {
                address_mask: predictor.address_mask,
                history_mask: predictor.history_mask,
                steps: predictor.steps,
            },
            under_way: UnderWayLayout { line_shift, mask: under_way_mask },
        });
        ModelLayout { base, data: data.layout(), code: code.layout(), core }
    }
}
