//! What a level of cache holds beside the levels above it.

use serde::{Deserialize, Serialize};

/// What a level holds beside the levels above it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Contents {
    /// Whatever was missed in it: what it gives up may stay above (neither inclusive nor exclusive).
    #[default]
    Any,
    /// All that is above: what it gives up is given up there as well.
    Inclusive,
    /// What the level above gives up; what comes from memory passes it by. What is found stays.
    Victims,
}
