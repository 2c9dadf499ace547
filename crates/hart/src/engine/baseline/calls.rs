//! What the code of blocks calls.

use super::host::Jump;
use crate::ops::Opcode;

/// What a routine does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Routine {
    /// Goes on at the usual handler of an operation.
    Handler(Opcode),
    /// Finds where an access hits.
    Hit(Hit),
    /// Finds whether a store hits that is not plain, or a group with one.
    Watched(Hit),
    /// What an access does whose page is not where it was found last.
    Look(Opcode),
    /// Searches for the target of a jump.
    Search,
}

/// An access that code finds, or a group of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hit {
    /// Whether it stores, or a group does.
    pub(super) stores: bool,
    /// Bytes, or those of the widest access.
    pub(super) width: i8,
    /// Whether it is a group.
    pub(super) is_group: bool,
}

impl Hit {
    /// Whether the last access is, or may be, another than the first.
    pub(super) fn has_last(self, form: Form) -> bool {
        self.is_group && form != Form::Inline { to_last: 0 }
    }
}

/// Jumps where something does not hit, or is a store to translated code.
pub(super) type Misses = Vec<Jump>;

/// Where a hit path is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// In a routine, which sets the host's carry flag where all hit. The distance to a group's last access is in [`B`](super::host::B).
    Called,
    /// In the code of a block, which knows the distance.
    Inline { to_last: i32 },
}

/// Calls of routines, or jumps to them.
pub(super) type Calls = Vec<(Routine, Jump)>;
