//! A run that a debugger has stopped, and how it goes on.

/// A run that a debugger has stopped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Suspended {
    pub(crate) at: SuspendedAt,
    /// What is left of the run's budget.
    pub(crate) left: i64,
}

/// Where a run goes on that a debugger has stopped.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SuspendedAt {
    /// Within a block. The arena of blocks is not cleared meanwhile: no other code runs.
    Block(Entry),
    /// With the instruction of these bits, which the run loop executes: it is fetched already.
    Instruction(u32),
    /// Wherever `pc` is.
    Pc,
}

impl Suspended {
    pub(crate) fn forget_place(&mut self) {
        self.at = SuspendedAt::Pc;
    }
}

/// How an engine is entered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Address of the micro-op.
    pub(crate) op: usize,
    /// As at the beginning of the block of the micro-op.
    pub(crate) budget: i32,
    /// Instructions and stores of the block that are accounted for: those before the micro-op.
    pub(crate) instructions: u8,
    pub(crate) stores: u8,
}
