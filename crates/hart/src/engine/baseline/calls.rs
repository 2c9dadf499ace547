//! What the code of blocks calls.

use super::accesses::Form;
use super::host::Jump;
use crate::ops::Opcode;

/// What a routine does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Routine {
    /// Goes on at the usual handler of an operation.
    Handler(Opcode),
    /// Finds where an access hits.
    Hit(Hit),
    /// Looks whether a store hits that is not plain.
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

/// Calls of routines, or jumps to them.
pub(super) type Calls = Vec<(Routine, Jump)>;
