//! A host and its guests: how many pCPUs, and who gets them.

use crate::{
    assembly::host_change::PlannedChange,
    assembly::image::Image,
    sections::{GuestSections, SectionPlan},
};
use config::units::ByteSize;
use config::{AttributeName, Config};
use hypervisor::sched::{Allocation, PauseLoopLimits, PcpuId, spin::SpinMethod};
use memory::registry::Registry;
use types::{Cycles, PageSize};

/// A host.
#[derive(Clone, Debug, Default)]
pub struct HostPlan {
    /// pCPUs.
    pub pcpus: usize,
    /// The time slice of vCPUs on shared pCPUs.
    pub slice: Cycles,
    /// What makes a row of `pause` a spin.
    pub pause_limits: PauseLoopLimits,
    /// In their order.
    pub guests: Vec<GuestPlan>,
    /// What changes during the run.
    pub changes: Vec<PlannedChange>,
    /// The reserved memory registry.
    pub registry: Registry,
    /// Memory that guests share.
    pub sections: Vec<SectionPlan>,
    /// The latency of frames between the guests; `None`: their network cards are not connected with each other.
    pub switch: Option<Cycles>,
    /// The largest page that preallocated sections are mapped by; `None` for that of the scheme.
    pub granularity: Option<PageSize>,
}

impl HostPlan {
    /// A guest for each image, each with its own memory and processors as `config` says.
    #[must_use]
    pub fn dedicated(config: &Config, images: &[Image]) -> Self {
        let harts = config.harts as usize;
        let own = |index: usize| Allocation::Dedicated((index * harts..(index + 1) * harts).map(PcpuId).collect());
        let guests = images.iter().enumerate().map(|(index, image)| GuestPlan {
            image: image.clone(),
            harts: config.harts,
            memory: config.memory,
            memory_attribute: config.memory_attribute,
            weight: 1,
            allocation: own(index),
            spin: SpinMethod::None,
            background: false,
            sections: GuestSections::default(),
        });
        // No VM shares: the slice is of no importance.
        Self { pcpus: harts * images.len(), slice: Cycles(1), guests: guests.collect(), ..Self::default() }
    }
}

/// One guest.
#[derive(Clone, Debug)]
pub struct GuestPlan {
    /// What boots.
    pub image: Image,
    /// vCPUs.
    pub harts: u32,
    /// Memory.
    pub memory: ByteSize,
    /// How that lies in the host's.
    pub memory_attribute: AttributeName,
    /// Its part in the service ratio of those that share.
    pub weight: u32,
    /// Whose its pCPUs are.
    pub allocation: Allocation,
    /// What happens when one of its vCPUs spins.
    pub spin: SpinMethod,
    /// Whether the run does not wait for its end.
    pub background: bool,
    /// What it shares with others.
    pub sections: GuestSections,
}

impl GuestPlan {
    /// The host's configuration, with what the guest has for itself.
    pub(crate) fn config(&self, host: &Config) -> Config {
        let Self { harts, memory, memory_attribute, .. } = *self;
        Config { harts, memory, memory_attribute, ..host.clone() }
    }
}
