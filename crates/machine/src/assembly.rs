//! Putting a machine together: a configuration and an image in, a machine ready to run out.

use crate::{
    config::Config,
    host_model::{HostModel, HostModelError},
    loader::{self, LoadError},
    machine::{Machine, Pace},
    scheme::Scheme,
    world::{Guest, Processor, World},
};
use devices::{
    Block, BlockConfig, ConsoleInput, DiscardFrames, DiskError, Net, Platform, PlatformConfig, Rng, TreeDescription,
    VirtioDevice, device_tree,
};
use memory::{Host, HostPages};
use mmu::Mmu;
use monitor::{Backing, CostTable, Dma, GuestMemoryError, LeafStatus, Vm, VmError};
use std::sync::Arc;
use types::{Cycles, Gpa, Vmid};

/// The least memory of a guest that boots Linux.
pub const LEAST_LINUX_MEMORY: u64 = 96 << 20;

/// The least memory of any guest.
pub const LEAST_MEMORY: u64 = 8 << 20;

/// What boots.
#[derive(Clone, Debug)]
pub struct Image {
    /// The content of the kernel's file: ELF, or a flat Image.
    pub kernel: Arc<[u8]>,
    /// The name of that file, for errors.
    pub kernel_name: String,
    /// The root file system.
    pub initrd: Option<Arc<[u8]>>,
    /// The kernel's command line.
    pub command_line: String,
    /// Bytes of memory without which it does not boot.
    pub least_memory: u64,
    /// Virtio devices, at most eight, in the order of their slots.
    pub devices: Vec<VirtioKind>,
}

/// A virtio device to attach.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum VirtioKind {
    /// A console beside the UART.
    Console,
    /// A disk.
    Block(BlockConfig),
    /// A network card whose frames go nowhere.
    Net,
    /// A source of (repeatable) randomness.
    Rng,
}

/// Why a machine cannot be put together.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The host model.
    #[error(transparent)]
    Host(#[from] HostModelError),
    /// The kernel, or too little memory for it.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A disk.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The TLBs.
    #[error("mmu.{0}")]
    Mmu(#[from] mmu::ConfigError),
    /// The devices.
    #[error(transparent)]
    Platform(#[from] devices::ConfigError),
    /// The device tree.
    #[error(transparent)]
    Tree(#[from] devices::TreeError),
    /// The device tree is larger than the room kept for it.
    #[error("the device tree does not fit: the kernel's command line is too long")]
    LargeTree,
    /// Host memory.
    #[error("host memory: {0}")]
    Memory(#[from] memory::MapError),
    /// The virtual machine.
    #[error(transparent)]
    Vm(#[from] VmError),
    /// The guest's memory.
    #[error(transparent)]
    GuestMemory(#[from] GuestMemoryError),
}

impl BuildError {
    /// Whether the user asked for something that cannot be, rather than the host being out of something.
    #[must_use]
    pub const fn is_usage(&self) -> bool {
        !matches!(self, Self::Memory(_))
    }
}

impl Machine {
    /// A machine with one guest, ready to run.
    ///
    /// # Errors
    /// [`BuildError`], naming the file, key or number at fault.
    pub fn assemble(config: &Config, image: Image) -> Result<Self, BuildError> {
        let model = HostModel::load(&config.host)?;
        let ram_bytes = config.memory.0;
        if ram_bytes < image.least_memory {
            let (needed, has) = (image.least_memory >> 20, ram_bytes >> 20);
            return Err(LoadError::Memory { what: image.kernel_name, needed, has }.into());
        }
        let ram_end = Gpa(devices::map::RAM_BASE.0 + ram_bytes);
        let kernel = loader::read(&image.kernel_name, &image.kernel, ram_end)?;
        let initrd_bytes = image.initrd.as_ref().map_or(0, |initrd| initrd.len() as u64);
        let placement = loader::place(&kernel, initrd_bytes, ram_end)?;
        let slots = image.devices.len();
        let isa = config.isa();
        let tree = device_tree(&TreeDescription {
            harts: config.harts,
            isa: &isa.string(),
            paging: config.paging.guest.mode(),
            ram_bytes,
            bootargs: &image.command_line,
            initrd: image.initrd.is_some().then(|| placement.initrd..Gpa(placement.initrd.0 + initrd_bytes)),
            seed: config.seed,
            virtio_slots: slots,
        })?;
        if tree.len() as u64 > ram_end.0 - placement.tree.0 {
            return Err(BuildError::LargeTree);
        }

        let backing = backing(config);
        let mut host = Host::new(Vm::host_bytes(ram_bytes, backing), HostPages::Huge)?;
        let mut vm = Vm::new(&mut host, Vmid(1), ram_bytes, backing)?;
        let initrd = image.initrd.as_deref().map(|initrd| (placement.initrd, initrd));
        let tree_part = (placement.tree, tree.as_slice());
        for (at, bytes) in kernel.parts.iter().copied().chain(initrd).chain([tree_part]) {
            Dma::new(&mut vm, &mut host).write(at, bytes)?;
        }

        let prices = model.prices.prices();
        let costs = if vm.is_native() { CostTable::native(&prices) } else { CostTable::virtualized(&prices) };
        let mmu = config.mmu(&model);
        let harts = config.harts as usize;
        let processors =
            (0..harts).map(|_| Mmu::new(&mmu).map(Processor::new)).collect::<Result<Vec<_>, mmu::ConfigError>>()?;
        let platform = Platform::new(PlatformConfig {
            harts,
            input: ConsoleInput::Uart,
            virtio: image.devices.iter().map(|kind| device(kind, config.seed)).collect::<Result<_, DiskError>>()?,
        })?;
        let pace = Pace {
            engine: config.engine(),
            quantum: Cycles(config.quantum),
            timeout_seconds: (config.timeout > 0).then_some(config.timeout),
        };
        let world = World::new(host, costs, model.clock());
        let mut machine = Self::new(world, isa, config.paging.guest.mode(), pace);
        machine.add_guest(Guest { vm, platform }, processors, kernel.entry, placement.tree.0);
        Ok(machine)
    }
}

/// How the guest's memory is backed under a scheme.
fn backing(config: &Config) -> Backing {
    match config.scheme {
        Scheme::Native { .. } => Backing::Native,
        Scheme::Nested { host, .. } => {
            Backing::Nested { mode: config.paging.host.mode(), page: host, status: LeafStatus::Preset }
        }
    }
}

fn device(kind: &VirtioKind, seed: u64) -> Result<VirtioDevice, DiskError> {
    Ok(match kind {
        VirtioKind::Console => VirtioDevice::Console(devices::Console::new()),
        VirtioKind::Block(config) => VirtioDevice::Block(Block::open(config)?),
        // Locally administered, and the same in every run.
        VirtioKind::Net => VirtioDevice::Net(Net::new([0x02, 0, 0, 0, 0, 1], Box::new(DiscardFrames))),
        VirtioKind::Rng => VirtioDevice::Rng(Rng::new(seed)),
    })
}
