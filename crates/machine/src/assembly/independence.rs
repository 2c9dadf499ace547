//! Whether the guests of a host can affect each other.
//!
//! Guests that cannot are *independent*: what one of them does, and when, is the same whether the others run or not. The quantum then keeps the
//! clocks of each guest's own pCPUs together, and no others. So each guest can run in a machine of its own, on a thread of the host of its own,
//! with the same results to the byte.

use super::host_plan::HostPlan;
use super::image::VirtioKind;
use config::{AttributeName, Config, FidelityName};
use devices::ImageMode;
use files::Access;
use hypervisor::sched::{Allocation, PcpuId};
use memory::Placement;
use std::ops::Range;

/// Why guests of one host can affect each other: the first reason that was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Dependence {
    /// There are no others.
    #[error("there is one guest")]
    OneGuest,
    /// A guest waits for a pCPU that another has.
    #[error("guests share pCPUs")]
    Pcpus,
    /// The allocation of pCPUs changes, or reserved memory is freed.
    #[error("the host changes during the run")]
    Changes,
    /// The run ends when others have ended.
    #[error("a guest runs in the background, until the others have ended")]
    Background,
    /// The processors share a cache, or memory decides which sets of a cache guests use.
    #[error("caches are modelled, which guests share")]
    Caches,
    /// Sections, or memory that is reserved for them.
    #[error("there are sections, or memory is reserved for them")]
    Sections,
    /// A network between them.
    #[error("guests have network cards")]
    Network,
    /// Less memory than all of them need, certain frames of it, or frames that are drawn.
    #[error("guests compete for frames of the host")]
    Frames,
    /// Something happens to all of them at some time of the host.
    #[error("the host's time decides about faulty frames, balloons or intervals of shadow tables")]
    HostTime,
    /// A disk or a directory of the host that a guest writes.
    #[error("a guest writes a disk or a directory of the host")]
    Files,
}

impl HostPlan {
    /// Why the guests can affect each other; `None` if they cannot.
    #[must_use]
    pub fn dependence(&self, config: &Config) -> Option<Dependence> {
        let any_device =
            |wanted: fn(&VirtioKind) -> bool| self.guests.iter().any(|guest| guest.image.devices.iter().any(wanted));
        let reasons = [
            (Dependence::OneGuest, self.guests.len() <= 1),
            (Dependence::Pcpus, self.guests.iter().any(|guest| guest.allocation == Allocation::Shared)),
            (Dependence::Changes, !self.changes.is_empty()),
            (Dependence::Background, self.guests.iter().any(|guest| guest.background)),
            (Dependence::Caches, config.fidelity != FidelityName::Counts),
            (Dependence::Sections, !(self.sections.is_empty() && self.registry.is_empty())),
            (Dependence::Network, self.switch.is_some() || any_device(|device| *device == VirtioKind::Net)),
            (Dependence::Frames, self.competes_for_frames(config)),
            (Dependence::HostTime, acts_by_host_time(config)),
            (Dependence::Files, any_device(is_written)),
        ];
        reasons.into_iter().find_map(|(reason, applies)| applies.then_some(reason))
    }

    /// Whether a guest gets frames, or not, or other ones, because another guest has some.
    fn competes_for_frames(&self, config: &Config) -> bool {
        config.host_memory.is_some()
            || config.frame_placement.0 != Placement::Lowest
            || config.scheme.facts().is_native
            || self.guests.iter().any(|guest| guest.memory_attribute != AttributeName::Virtual)
    }

    /// The host of some of the guests, which are independent of the others: with their pCPUs and nothing else.
    #[must_use]
    pub fn part(&self, guests: Range<usize>) -> Self {
        let mut guests = self.guests[guests].to_vec();
        let mut pcpus = 0;
        for guest in &mut guests {
            let harts = guest.harts as usize;
            guest.allocation = Allocation::Dedicated((pcpus..pcpus + harts).map(PcpuId).collect());
            pcpus += harts;
        }
        Self { pcpus, guests, ..self.clone() }
    }
}

fn acts_by_host_time(config: &Config) -> bool {
    let shadow_intervals = config.shadow().is_some_and(|tables| tables.config.interval_us().is_some());
    config.faulty.any() || config.balloon.target.is_some() || shadow_intervals
}

fn is_written(device: &VirtioKind) -> bool {
    match device {
        VirtioKind::Block(disk) => disk.mode == ImageMode::WriteThrough,
        VirtioKind::Share(share) => share.root.access() == Access::Write,
        VirtioKind::Console | VirtioKind::Net | VirtioKind::Rng | VirtioKind::Balloon => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assembly::host_change::{HostChange, PlannedChange};
    use crate::assembly::host_plan::GuestPlan;
    use crate::assembly::image::Image;
    use config::ConfigBuilder;
    use devices::BlockConfig;
    use schemes::PagedScheme;
    use types::Cycles;

    /// Two guests with two pCPUs each.
    fn plan() -> HostPlan {
        let image = Image {
            kernel: [].into(),
            kernel_name: String::new(),
            load_address: None,
            initrd: None,
            command_line: String::new(),
            least_memory: 0,
            devices: vec![VirtioKind::Console],
        };
        HostPlan::dedicated(&Config { harts: 2, ..Config::default() }, &[image.clone(), image])
    }

    fn dependence(change: impl FnOnce(&mut HostPlan, &mut Config)) -> Option<Dependence> {
        let nested = ConfigBuilder::default().set("scheme", "nested").unwrap().build().unwrap();
        let (mut plan, mut config) = (plan(), nested);
        change(&mut plan, &mut config);
        plan.dependence(&config)
    }

    #[test]
    fn each_way_in_which_guests_affect_each_other_is_found() {
        let device = |plan: &mut HostPlan, device| plan.guests[1].image.devices.push(device);
        let disk = |mode| VirtioKind::Block(BlockConfig { path: "d".into(), mode, id: String::new() });
        assert_eq!(dependence(|_, _| ()), None);
        assert_eq!(dependence(|plan, _| device(plan, disk(ImageMode::Overlay))), None);
        let change = HostChange::Allocation { guest: 0, allocation: Allocation::Shared };
        let change = PlannedChange { at: Cycles(9), change };
        for (expected, found) in [
            (Dependence::OneGuest, dependence(|plan, _| plan.guests.truncate(1))),
            (Dependence::Pcpus, dependence(|plan, _| plan.guests[1].allocation = Allocation::Shared)),
            (Dependence::Changes, dependence(|plan, _| plan.changes.push(change))),
            (Dependence::Background, dependence(|plan, _| plan.guests[0].background = true)),
            (Dependence::Caches, dependence(|_, config| config.fidelity = FidelityName::Cycles)),
            (Dependence::Network, dependence(|plan, _| plan.switch = Some(Cycles(1)))),
            (Dependence::Network, dependence(|plan, _| device(plan, VirtioKind::Net))),
            (Dependence::Frames, dependence(|_, config| config.scheme = PagedScheme::default())),
            (Dependence::Frames, dependence(|plan, _| plan.guests[0].memory_attribute = AttributeName::Real)),
            (Dependence::Frames, dependence(|_, config| config.host_memory = Some(config.memory))),
            (Dependence::Frames, dependence(|_, config| config.frame_placement.0 = Placement::Random(1))),
            (Dependence::HostTime, dependence(|_, config| config.balloon.target = Some(config.memory))),
            (Dependence::Files, dependence(|plan, _| device(plan, disk(ImageMode::WriteThrough)))),
        ] {
            assert_eq!(found, Some(expected));
        }
    }

    #[test]
    fn a_part_has_its_guests_with_as_many_pcpus() {
        let part = plan().part(1..2);
        assert_eq!((part.pcpus, part.guests.len()), (2, 1));
        let GuestPlan { allocation, .. } = &part.guests[0];
        assert_eq!(*allocation, Allocation::Dedicated(vec![PcpuId(0), PcpuId(1)]));
    }
}
