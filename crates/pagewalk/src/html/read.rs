//! Reading what commands write.

use crate::error::Failure;
use crate::input::REPORT;
use config::toml_problem::plain;
use serde::Deserialize;
use serde_json::Value;

/// The JSON of a command, as what its report reads.
pub(super) fn read<'v, T: Deserialize<'v>>(report: &'v Value) -> Result<T, Failure> {
    T::deserialize(report).map_err(|error| {
        let problem = plain(&error.to_string());
        Failure::Usage(format!("JSON, but not {REPORT}, or of another version: {problem}"))
    })
}
