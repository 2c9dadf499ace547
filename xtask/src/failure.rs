//! Failures of chores.

/// Why a chore failed, in one line.
pub(crate) type Failure = String;
