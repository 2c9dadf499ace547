//! Which run a recording is of.

use serde_json::Value;

/// Which run a recording is of.
#[derive(Clone, Debug)]
pub(crate) struct RunIdentity {
    /// The number of the run in the report of the command, from 0 on.
    pub(crate) run: usize,
    /// The guest.
    pub(crate) guest: String,
    /// The workload, or the command.
    pub(crate) work: String,
    /// What it ran on.
    pub(crate) system: String,
    /// The settings of the system.
    pub(crate) settings: Value,
    /// The frequency of its clock.
    pub(crate) clock_hz: u64,
}
