//! What the code of blocks calls.

use super::host::Jump;
use crate::ops::Opcode;

/// What a routine does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Routine {
    /// Goes on at the usual handler of an operation.
    Handler(Opcode),
    /// Finds where an access hits.
    Hit { stores: bool, width: i8 },
    /// Finds where a group of accesses hits.
    Group { stores: bool, width: i8 },
    /// What an access does whose page is not where it was found last.
    Look(Opcode),
    /// Searches for the target of a jump.
    Search,
}

/// Calls of routines, or jumps to them.
pub(super) type Calls = Vec<(Routine, Jump)>;
