//! The key `allocation`: whose pCPUs a guest has.

use machine::sched::{Allocation, PcpuId};
use serde::Deserialize;

/// `"shared"`, or the numbers of dedicated pCPUs.
#[derive(Deserialize, Clone)]
#[serde(untagged)]
pub(super) enum AllocationKey {
    Word(Shared),
    Pcpus(Vec<usize>),
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
pub(super) enum Shared {
    Shared,
}

impl Default for AllocationKey {
    fn default() -> Self {
        Self::Word(Shared::Shared)
    }
}

impl AllocationKey {
    pub(super) fn allocation(&self) -> Allocation {
        match self {
            Self::Word(Shared::Shared) => Allocation::Shared,
            Self::Pcpus(pcpus) => Allocation::Dedicated(pcpus.iter().copied().map(PcpuId).collect()),
        }
    }
}
