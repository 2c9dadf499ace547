//! Who gets the instructions that harts retire.

use crate::results::gauge::Phase;
use hart::Retired;

/// Who gets the instructions of a guest, turn by turn.
pub trait InstructionSink: Send {
    /// The hart has retired these in a turn, all in one phase of the run.
    fn retired(&mut self, retired: &[Retired], phase: Phase);
}
