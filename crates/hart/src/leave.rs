//! Why an engine stops.

use crate::{Stop, Trap, watch::StopCause};

/// Why the engine was left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Leave {
    /// With `pc`: the budget is used up.
    Budget,
    /// With `pc`: the next block is not known, or not known to be still there.
    Lookup,
    /// With `pc`: the instruction cannot be fetched.
    Fetch(Stop),
    /// With `at`: the instruction trapped.
    Trap(Trap),
    /// With `at`: the run loop executes the instruction, and nothing of it has happened yet.
    Step,
    /// With `at`: the hart leaves [`Hart::run`](crate::Hart::run), and goes on with the instruction when it runs again.
    Again,
    /// With `at`: a debugger stops the hart before the instruction.
    Stopped(StopCause),
}
