//! Into a machine: one that goes on where a snapshot's guest stood.

use super::file::Snapshot;
use super::state::VcpuState;
use crate::assembly::build_error::BuildError;
use crate::assembly::host_plan::{GuestPlan, HostPlan};
use crate::assembly::image::Image;
use crate::machine::Machine;
use crate::parts::primary_region::GuestRegion;
use crate::parts::steal::StealTime;
use crate::parts::vcpu::Standing;
use crate::sections::GuestSections;
use crate::state::Guest;
use config::Config;
use config::warmup::Warmup;
use devices::{BlockConfig, ConsoleInput, Platform, PlatformConfig};
use hart::Hart;
use hypervisor::sched::{Allocation, PcpuId, VmParameters, spin::SpinMethod};
use hypervisor::{Pager, PrimaryRegion};
use std::sync::Arc;
use types::{Cycles, Gpa};

impl Machine {
    /// A machine with the guest of `snapshot`, which goes on where it stood; all that the guest cannot tell is as `config` says. `disks` are the
    /// guest's, with what they held.
    ///
    /// # Errors
    /// [`BuildError`]: among others, the snapshot's guest is another machine's than `config` makes.
    pub fn restore(config: &Config, snapshot: &Snapshot, disks: &[BlockConfig]) -> Result<Self, BuildError> {
        snapshot.check(config)?;
        let harts = config.harts as usize;
        let image = Image {
            kernel: Arc::from([]),
            kernel_name: String::new(),
            load_address: None,
            initrd: None,
            command_line: snapshot.about().command_line.clone(),
            least_memory: 0,
            devices: snapshot.shape().devices(disks).ok_or(BuildError::SnapshotDisks)?,
        };
        let guest = GuestPlan {
            image,
            harts: config.harts,
            memory: config.memory,
            memory_attribute: config.memory_attribute,
            weight: 1,
            allocation: Allocation::Dedicated((0..harts).map(PcpuId).collect()),
            spin: SpinMethod::None,
            background: false,
            sections: GuestSections::default(),
        };
        let plan = HostPlan { pcpus: harts, slice: Cycles(1), guests: vec![guest], ..HostPlan::default() };
        let mut machine = Self::assemble_without_guests(config, &plan)?;
        machine.add_snapshot(config, &plan.guests[0], snapshot)?;
        Ok(machine)
    }

    fn add_snapshot(&mut self, config: &Config, guest: &GuestPlan, snapshot: &Snapshot) -> Result<(), BuildError> {
        let state = snapshot.state();
        let harts = config.harts as usize;
        let index = self.add_vm(config, &guest.sections)?;
        let vm = &mut self.state.vms[index];
        vm.begin_with(&self.state.host.memory, snapshot.image().clone()).map_err(BuildError::SnapshotMemory)?;
        let start = vm.ram().start;
        match config.warmup {
            Warmup::None => {}
            Warmup::Touch => self.state.apart().1.populate(index)?,
            Warmup::Snapshot | Warmup::Instructions(_) => {
                let used = snapshot.used_pages().map(|offset| start.wrapping_add(offset));
                self.state.apart().1.populate_pages(index, used)?;
            }
        }
        self.state.pager.as_mut().map(Pager::take_counts);

        let memory = state.region.as_ref().map(hypervisor::PrimaryRegionState::memory);
        let mut platform = Platform::new(PlatformConfig {
            harts,
            plic: config.plic.contexts.contexts(),
            input: ConsoleInput::Uart,
            virtio: crate::assembly::virtio(&guest.image.devices, config.seed, index)?,
            primary_region: memory.clone(),
        })?;
        platform.set_state(&state.platform)?;
        if self.disks.take_time() {
            platform.postpone_disks();
        }
        let standing: Vec<Standing> = state.harts.iter().map(|hart| self.standing(hart)).collect();
        let region = match &state.region {
            None => None,
            Some(region) => {
                let region = PrimaryRegion::of_state(region, harts).ok_or(BuildError::SnapshotRegion)?;
                let spaces = standing.iter().map(|standing| standing.hart.context()).map(|at| (at.mode, at.root));
                Some(GuestRegion::going_on(region, spaces.collect(), config.segment.hot_add))
            }
        };
        // Guest time goes on: the clocks of the processors are where it was. No guest is charged for that.
        let clock = *self.clock();
        for (processor, hart) in self.state.processors.iter_mut().zip(&state.harts) {
            processor.idle = clock.cycle_of(hart.time).unwrap_or_default();
        }
        let scheduled =
            VmParameters { vcpus: harts, weight: guest.weight, allocation: guest.allocation.clone(), spin: guest.spin };
        let pmus = state.harts.iter().filter_map(|hart| hart.pmu.clone()).collect();
        self.add_standing(Guest { platform, region, pmus }, &scheduled, standing)?;
        self.capture.spaces_before = state.translations.spaces();
        if config.warmup != Warmup::None {
            self.warm(index, &state.translations)?;
        }
        let (area, interrupt) = state.handshake;
        self.records[index].handshake.agree(area.map(Gpa), interrupt);
        if state.in_region {
            self.begin_or_warm(index);
        }
        Ok(())
    }

    /// A hart that stands where `state` says.
    fn standing(&self, state: &VcpuState) -> Standing {
        let mut hart = Hart::new(self.isa, self.paging);
        hart.set_registers(&state.registers);
        let event = self.clock().cycle_of(state.event).unwrap_or_default();
        let mut features = self.reset_features();
        features.restore(state.hardware_ad);
        let steal = StealTime::going_on(state.steal, self.clock());
        Standing { hart, state: state.life.into(), waits: state.waits, event, features, steal }
    }
}
