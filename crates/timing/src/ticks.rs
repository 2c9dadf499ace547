//! The clock of a core, and the position of an instruction in its stream.

use core::ops;

/// A time, or a span of time, on the clock of a core. A tick is the time that the dispatch of one instruction takes: a cycle has as many ticks
/// as the core dispatches instructions in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
#[repr(transparent)]
pub struct Ticks(pub u64);

/// How many instructions of the stream come before one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
#[repr(transparent)]
pub struct Index(pub u64);

impl Index {
    /// When the instruction is dispatched if nothing delays any: one instruction takes one tick.
    #[inline]
    pub(crate) const fn ticks(self) -> Ticks {
        Ticks(self.0)
    }

    /// The instruction this many behind this one.
    #[inline]
    pub(crate) const fn plus(self, instructions: u64) -> Self {
        Self(self.0 + instructions)
    }
}

impl Ticks {
    /// The span from `earlier` on; zero where `earlier` is later.
    #[inline]
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl ops::Add for Ticks {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl ops::AddAssign for Ticks {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}
