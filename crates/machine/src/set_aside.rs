//! Models that are not in use: see `state/fast_forward.rs`.

use crate::caches::Caches;
use crate::cores::Cores;

/// Caches and cores of all pCPUs, with what is in them.
pub(crate) struct SetAside {
    pub(crate) caches: Caches,
    pub(crate) cores: Option<Cores>,
}
