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
    /// The same, but what is found leaves: the level above has it now.
    Exclusive,
}

impl Contents {
    /// Whether it takes in what the level above gives up, and nothing else.
    #[must_use]
    pub const fn are_given_up_above(self) -> bool {
        match self {
            Self::Any | Self::Inclusive => false,
            Self::Victims | Self::Exclusive => true,
        }
    }
}
