//! Which line of a full set makes room.

use serde::{Deserialize, Serialize};

/// Which line of a full set of a cache makes room.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheReplacement {
    /// The line that was used least recently, exactly.
    #[default]
    Lru,
    /// A line whose next use is predicted to be distant: static re-reference interval prediction (SRRIP-HP, 2 bits).
    Srrip,
    /// The same, or one that inserts most lines as distant, by which of the two misses less: dynamic re-reference interval prediction.
    Drrip,
}
