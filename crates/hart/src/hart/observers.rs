//! What looks at each micro-op of a hart before it is executed. A hart without any of it has no code for it in its engines.

use super::{accesses::AccessLog, instructions::InstructionLog};
use crate::watch::Watch;

/// What looks at a hart.
#[derive(Debug, Default)]
pub(crate) struct Observers {
    /// Where a debugger wants it to stop.
    pub(crate) watch: Option<Watch>,
    /// The pages that it accesses.
    pub(crate) accesses: Option<AccessLog>,
    /// The instructions that it retires.
    pub(crate) instructions: Option<InstructionLog>,
    /// Whether calls, returns and traps are reported to the bus.
    pub(crate) transfers: bool,
}

impl Observers {
    /// Whether nothing looks.
    pub(crate) const fn is_empty(&self) -> bool {
        self.watch.is_none() && self.accesses.is_none() && self.instructions.is_none() && !self.transfers
    }
}
