//! Putting a machine together: a configuration and an image in, a machine ready to run out.

pub(crate) mod build_error;
mod footprint;
mod harts;
pub(crate) mod host_change;
pub(crate) mod host_plan;
pub(crate) mod image;
pub(crate) mod independence;
pub(crate) mod memory_needs;

use crate::sections::start;
use crate::{
    assembly::build_error::BuildError,
    assembly::host_change::HostChange,
    assembly::host_plan::{GuestPlan, HostPlan},
    assembly::image::{Image, VirtioKind},
    caches::Caches,
    cores::Cores,
    loader::{BootFiles, Plan},
    machine::Machine,
    pace::{Pace, Together},
    parts::balloon::Balloon,
    parts::disk::Disks,
    parts::dispatch::Dispatch,
    parts::faulty::Faults,
    parts::primary_region::{GuestRegion, SegmentHardware},
    parts::shadow_intervals::ShadowIntervals,
    parts::switch::Switch,
    sections::GuestSections,
    set_aside::FastForward,
    state::{Guest, MachineState, Processor, fast_forward},
};
use config::host_model::HostModel;
use config::warmup::Warmup;
use config::{Config, ConfigError, FastForwardName, FidelityName, SwapKeys};
use devices::{
    Block, ConsoleInput, DiscardFrames, DiskError, FileServer, FileSystem, Net, Platform, PlatformConfig, Rng,
    TreeDescription, VirtioDevice, device_tree, leave_room,
};
use files::Server;
use hypervisor::pmu::Pmu;
use hypervisor::sched::{Allocation, Parameters, VmParameters};
use hypervisor::shadow::ShadowConfig;
use hypervisor::{CostTable, Dma, Pager, Swap, Vm, VmError};
use memory::{Host, HostPages, Placement};
use mmu::Mmu;
use schemes::ShadowTables;
use types::{Cycles, Gpa, Vmid};

impl Machine {
    /// A machine with one guest, ready to run.
    ///
    /// # Errors
    /// [`BuildError`], naming the file, key or number at fault.
    pub fn assemble(config: &Config, image: &Image) -> Result<Self, BuildError> {
        Self::assemble_all(config, std::slice::from_ref(image))
    }

    /// A machine with a guest for each image, each with its own memory and processors as `config` says, ready to run. Only one guest at most has
    /// the host to itself (scheme `native`).
    ///
    /// # Errors
    /// [`BuildError`], naming the file, key or number at fault.
    pub fn assemble_all(config: &Config, images: &[Image]) -> Result<Self, BuildError> {
        Self::assemble_host(config, &HostPlan::dedicated(config, images))
    }

    /// A machine with the pCPUs and guests of `plan`, and all else as `config` says, ready to run.
    ///
    /// # Errors
    /// [`BuildError`], naming the file, key or number at fault.
    pub fn assemble_host(config: &Config, plan: &HostPlan) -> Result<Self, BuildError> {
        let mut machine = Self::assemble_without_guests(config, plan)?;
        for guest in &plan.guests {
            machine.add_image(&guest.config(config), guest)?;
        }
        Ok(machine)
    }

    /// The same before any guest is in it.
    pub(crate) fn assemble_without_guests(config: &Config, plan: &HostPlan) -> Result<Self, BuildError> {
        let model = config.host_model()?;
        let prices = model.prices;
        let native = config.scheme.facts().is_native;
        let costs = if native { CostTable::native(&prices) } else { CostTable::virtualized(&prices) };
        let configs: Vec<Config> = plan.guests.iter().map(|guest| guest.config(config)).collect();
        let sizes = model.tlb.groups.granularities();
        let enough = || start::host_bytes(plan, &configs, sizes);
        let host_bytes = config.host_memory.map_or_else(enough, |bytes| bytes.0);
        // Huge pages are faster. Where frames are scattered, each would take a huge page of its own.
        let pages = match config.frame_placement.0 {
            Placement::Lowest => HostPages::Huge,
            Placement::Random(_) => HostPages::Base,
        };
        let mut host = Host::new(host_bytes, pages)?;
        host.frames.place(config.frame_placement.0);
        let mut faults = Faults::new(config, host_bytes, &model.clock());
        for hpa in faults.take_first() {
            // No guest has memory yet; one outside of memory is of no consequence.
            let _ = host.frames.mark_faulty(hpa);
        }
        let sections = start::start(config, plan, &configs, sizes, &mut host)?;
        let pager = pager(config, &host)?;
        let mut state = MachineState::new(host, pager, costs, model.clock());
        state.time_source = config.guest_time;
        state.caches = caches(config, &model, plan.pcpus, &state.host)?;
        state.cores = cores(config, &model, plan.pcpus, state.caches.as_ref())?;
        state.footprint = footprint::footprint(config, &model, plan, &state.host)?;
        state.misses_do_more = state.caches.is_some() || state.footprint.is_some();
        state.sections = sections;
        start::create(&mut state, &plan.sections)?;
        state.segments = SegmentHardware::of(config.scheme.facts().segments, config.segment.classify);
        let pace = Pace {
            engine: harts::engine(config.engine),
            quantum: Cycles(config.quantum),
            together: plan.dependence(config).map_or(Together::Guest, |_| Together::Host),
            timeout_seconds: (config.timeout > 0).then_some(config.timeout),
            warmup: config.warmup.instructions(),
            fast_forward: match config.fast_forward {
                FastForwardName::Off => None,
                FastForwardName::Warm => state.cores.as_ref().map(|_| FastForward::Cores),
                FastForwardName::On => state.caches.as_ref().map(|_| FastForward::Caches),
            },
            background: plan.guests.iter().map(|guest| guest.background).collect(),
        };
        let dispatch = Dispatch::new(Parameters { slice: plan.slice }, model.scheduling, plan.pause_limits);
        // Who has processors of its own throughout is not looked at: its `pause` costs it nothing.
        let looks = plan.guests.iter().any(|guest| guest.allocation == Allocation::Shared && guest.spin.acts());
        let looks = looks
            || plan
                .changes
                .iter()
                .any(|planned| matches!(planned.change, HostChange::Allocation { allocation: Allocation::Shared, .. }));
        let isa = hart::Isa { spins_exit: looks, ..harts::isa(config) };
        if let Some(models) = pace.fast_forward {
            fast_forward::set_aside(&mut state, models);
        }
        let mut machine = Self::new(state, isa, config.paging.guest.mode(), pace, dispatch);
        machine.extensions = config.sbi.extensions();
        machine.faults = faults;
        machine.disks = Disks::new(config, &model.clock());
        machine.switch = plan.switch.map(Switch::new);
        machine.balloon = Balloon::new(&config.balloon, &model.clock());
        machine.shadow_intervals = ShadowIntervals::new(config, &model.clock());
        let mmu = config.mmu(&model)?;
        for _ in 0..plan.pcpus {
            let mut mmu = Mmu::new(&mmu)?;
            config.scheme.scheme().equip(&mut mmu, &config.scheme_keys());
            machine.add_processor(Processor::new(mmu));
        }
        machine.changes = plan.changes.clone();
        machine.changes.sort_by_key(|change| change.at);
        Ok(machine)
    }

    /// Adds the memory of a guest, with all that translates it; its number.
    pub(crate) fn add_vm(&mut self, config: &Config, sections: &GuestSections) -> Result<usize, BuildError> {
        // VMID 0 is left to the host's own use.
        let vmid = Vmid(self.state.guests.len() as u16 + 1);
        let attribute = config.memory_attribute.attribute();
        let mut vm = Vm::with_attribute(&mut self.state.host, vmid, config.memory.0, config.backing(), attribute)?;
        if let Some(ShadowTables { config: shadow, format }) = config.shadow() {
            let shadow = ShadowConfig { sections_end: sections.end(), section_bytes: sections.bytes(), ..shadow };
            vm.shadow_as(&mut self.state.host, shadow, format).map_err(VmError::from)?;
        }
        if self.state.pager.is_some() {
            vm.page_by_supply();
        }
        self.state.vms.push(vm);
        Ok(self.state.vms.len() - 1)
    }

    /// Makes a guest of an image and adds it.
    fn add_image(&mut self, config: &Config, guest: &GuestPlan) -> Result<(), BuildError> {
        let image = &guest.image;
        let region_bytes = config.segment.region_bytes(config.scheme.facts().segments, config.memory);
        let ram_bytes = config.memory.0 - region_bytes;
        let ram = devices::map::RAM_BASE..Gpa(devices::map::RAM_BASE.0 + ram_bytes);
        let region = (region_bytes > 0 || config.segment.hot_add).then(|| ram.end..ram.end.wrapping_add(region_bytes));
        let files = BootFiles {
            kernel_name: &image.kernel_name,
            kernel: &image.kernel,
            load_address: image.load_address,
            initrd: image.initrd.as_deref(),
            least_memory: image.least_memory,
        };
        if config.balloon.target.is_some() && !image.devices.contains(&VirtioKind::Balloon) {
            let problem = "the guest has no balloon; --balloon attaches one".to_owned();
            return Err(ConfigError::Range { key: "balloon.target".into(), problem }.into());
        }
        let plan = Plan::new(files, ram)?;
        let mut tree = device_tree(&TreeDescription {
            harts: config.harts,
            plic: config.plic.contexts.contexts(),
            isa: &harts::isa(config).string(),
            paging: config.paging.guest.mode(),
            ram_bytes,
            bootargs: &image.command_line,
            initrd: plan.initrd(),
            seed: config.seed,
            virtio_slots: image.devices.len(),
            sections: &guest.sections.tree(),
            primary_region: region.clone(),
        })?;
        let room = plan.tree_room(tree.len() as u64);
        leave_room(&mut tree, room as usize);
        let tree_at = plan.tree(tree.len() as u64)?;

        let index = self.add_vm(config, &guest.sections)?;
        start::map(&mut self.state, config, index, &guest.sections)?;
        let mut dma = Dma::new(self.state.apart().1, index);
        let written = plan.write(&mut dma, tree_at, &tree);
        if let Some(unavailable) = dma.finish().unavailable {
            return Err(unavailable.into());
        }
        written?;
        match config.warmup {
            Warmup::None | Warmup::Instructions(_) => {}
            Warmup::Touch => self.state.apart().1.populate(index)?,
            Warmup::Snapshot => {
                let problem = "`snapshot` is for a guest that goes on with a snapshot".to_owned();
                return Err(ConfigError::Range { key: "warmup".into(), problem }.into());
            }
        }
        // What that took is in no guest's time.
        self.state.pager.as_mut().map(Pager::take_counts);

        let harts = config.harts as usize;
        let mut platform = Platform::new(PlatformConfig {
            harts,
            plic: config.plic.contexts.contexts(),
            input: ConsoleInput::Uart,
            virtio: virtio(&image.devices, config.seed, index)?,
            primary_region: region.clone(),
        })?;
        if self.disks.take_time() {
            platform.postpone_disks();
        }
        let region = region.map(|memory| GuestRegion::new(memory, harts, config.segment.hot_add));
        let scheduled =
            VmParameters { vcpus: harts, weight: guest.weight, allocation: guest.allocation.clone(), spin: guest.spin };
        let pmus = if config.sbi.pmu { vec![Pmu::default(); harts] } else { Vec::new() };
        self.add_guest(Guest { platform, region, pmus }, &scheduled, plan.entry(), tree_at.0)?;
        self.connect_to_switch(index);
        Ok(())
    }
}

/// The caches of `pcpus` processors, if the configuration asks for them.
fn caches(config: &Config, model: &HostModel, pcpus: usize, host: &Host) -> Result<Option<Caches>, ConfigError> {
    if config.fidelity == FidelityName::Counts {
        return Ok(None);
    }
    let refused = |problem| ConfigError::Range { key: "fidelity".into(), problem };
    let caches = model.caches.as_ref().ok_or_else(|| refused(format!("host model {} has no [caches]", model.name)))?;
    let (base, bytes) = host.memory.host_range();
    if bytes as u64 > caches.most_memory() {
        return Err(refused(format!("the caches of {} reach {} bytes of memory", model.name, caches.most_memory())));
    }
    Ok(Some(Caches::new(caches, pcpus, base)))
}

/// The cores of `pcpus` processors, if the configuration asks for them.
fn cores(
    config: &Config,
    model: &HostModel,
    pcpus: usize,
    caches: Option<&Caches>,
) -> Result<Option<Cores>, ConfigError> {
    match (config.fidelity, caches) {
        (FidelityName::Counts | FidelityName::Cycles, _) | (FidelityName::Core, None) => Ok(None),
        (FidelityName::Core, Some(caches)) => {
            let core = model.core.as_ref().ok_or_else(|| ConfigError::Range {
                key: "fidelity".into(),
                problem: format!("host model {} has no [core]", model.name),
            })?;
            Ok(Some(Cores::new(core, caches, model.prices.l2_tlb_hit.0, pcpus)))
        }
    }
}

/// Where the host's memory is given, it may be less than the guests can need.
fn pager(config: &Config, host: &Host) -> Result<Option<Pager>, BuildError> {
    if config.host_memory.is_none() {
        return Ok(None);
    }
    let SwapKeys { directory, size } = &config.swap;
    let swap = Swap::create(directory.as_deref(), size.map(|size| size.0))
        .map_err(|error| BuildError::Swap { directory: directory.clone().unwrap_or_else(std::env::temp_dir), error })?;
    Ok(Some(Pager::new(&host.memory, swap)))
}

/// The devices of a guest, after reset.
pub(crate) fn virtio(kinds: &[VirtioKind], seed: u64, guest: usize) -> Result<Vec<VirtioDevice>, DiskError> {
    kinds.iter().map(|kind| device(kind, seed, guest)).collect()
}

/// The hardware address of the network card of guest number `guest`: locally administered, and the same in every run.
#[must_use]
pub fn card_address(guest: usize) -> [u8; 6] {
    // There are fewer guests than numbers: each has a VMID.
    let [high, low] = (guest as u16 + 1).to_be_bytes();
    [0x02, 0, 0, 0, high, low]
}

fn device(kind: &VirtioKind, seed: u64, guest: usize) -> Result<VirtioDevice, DiskError> {
    Ok(match kind {
        VirtioKind::Console => VirtioDevice::Console(devices::Console::new()),
        VirtioKind::Block(config) => VirtioDevice::Block(Block::open(config)?),
        VirtioKind::Net => VirtioDevice::Net(Net::new(card_address(guest), Box::new(DiscardFrames))),
        VirtioKind::Rng => VirtioDevice::Rng(Rng::new(seed)),
        VirtioKind::Balloon => VirtioDevice::Balloon(devices::Balloon::new()),
        VirtioKind::Share(share) => {
            VirtioDevice::FileSystem(FileSystem::new(&share.tag, Box::new(Files(Server::new(share.root.clone())))))
        }
    })
}

/// The server of a shared directory, as its device calls it.
struct Files(Server);

impl FileServer for Files {
    fn answer(&mut self, message: &[u8], room: usize) -> Option<Vec<u8>> {
        self.0.answer(message, room).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::units::ByteSize;
    use std::fs;

    /// What proc_pid_smaps(5) says of the pages of a host's memory: `hg` where huge ones are advised, `nh` where base ones are, and `None` where the
    /// kernel has no huge pages.
    fn advice(placement: Placement) -> Option<String> {
        let mut config = Config::default();
        (config.host_memory, config.frame_placement.0) = (Some(ByteSize(16 << 20)), placement);
        let plan = HostPlan { pcpus: 1, ..HostPlan::default() };
        let machine = Machine::assemble_without_guests(&config, &plan).unwrap();
        let start = machine.state.host.memory.host_range().0 as usize;
        let smaps = fs::read_to_string("/proc/self/smaps").unwrap();
        let area = smaps.find(&format!("{start:x}-")).unwrap_or_else(|| panic!("no area begins at {start:x}"));
        let flags = smaps[area..].lines().find_map(|line| line.strip_prefix("VmFlags:")).unwrap();
        flags.split_whitespace().find(|flag| ["hg", "nh"].contains(flag)).map(str::to_owned)
    }

    /// A huge page of the host for each scattered frame is 512 times the memory.
    #[test]
    fn scattered_frames_take_base_pages_of_the_host() {
        let Some(huge) = advice(Placement::Lowest) else { return };
        assert_eq!((huge.as_str(), advice(Placement::Random(1)).as_deref()), ("hg", Some("nh")));
    }
}
