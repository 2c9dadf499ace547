//! Models that are not in use: see `state/fast_forward.rs`.

use crate::caches::Caches;
use crate::cores::Cores;

/// What is modelled in regions of interest only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FastForward {
    /// Cores. Caches are used all the time, so that they are warm when a region begins.
    Cores,
    /// Caches, and cores if there are any.
    Caches,
}

/// Caches and cores of all pCPUs, with what is in them.
pub(crate) struct SetAside {
    /// `None` if they are in use.
    pub(crate) caches: Option<Caches>,
    pub(crate) cores: Option<Cores>,
}
