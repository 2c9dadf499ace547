//! What boots: `vos` with a workload, Linux with a command, or a kernel of the user's.

mod boot_files;
mod foreign;
mod linux;
mod work;

pub(crate) use work::{GuestKind, ShellConsole, Work};

use crate::cli::{DiskSpec, LinuxArgs};
use crate::error::Failure;
use crate::guest::{Memory, SERVERS_VOS, SHELL_VOS, TIMESHARING_VOS, VOS, VosKernel, kernel_command_line};
use crate::input::read;
use crate::runs::debian::guest as debian_guest;
use crate::runs::share;
use crate::runs::states::{OpenSnapshots, State, States};
use boot_files::BootFiles;
use config::Config;
use config::units::{ByteSize, PageSizeName};
use linux::{Sources, joined};
use machine::snapshot::About;
use machine::{BlockConfig, Image, ImageMode, LEAST_LINUX_MEMORY, LEAST_MEMORY, VirtioKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use types::{Gpa, PageSize};

/// The most memory that `vos` can use: its linear map, 255 GiB of the upper half of Sv39 (`LINEAR_BYTES` in guests/vos/layout.h), begins
/// with the 2 GiB below RAM.
const VOS_MOST_MEMORY: ByteSize = ByteSize(253 << 30);

/// What Linux takes for its image and its own tables, when memory is small.
const LINUX_ITSELF: u64 = 76 << 20;

/// What systemd and a shell take beside Linux.
const LEAST_DEBIAN_MEMORY: u64 = 192 << 20;

/// More than any device tree takes.
const DEVICE_TREE_ROOM: u64 = 1 << 20;

/// Workloads that allocate no heap, the only memory that `vos` maps in pages of 1G.
const WITHOUT_HEAP: [&str; 6] = ["hello", "spin", "crash", "jobs", "waiting-jobs", SHELL];

/// Workloads that run on a kernel of their own, and not on [`VOS`]: docs/vos.md.
const KERNELS: [(&str, VosKernel); 6] = [
    (SHELL, SHELL_VOS),
    ("terminals", TIMESHARING_VOS),
    ("batch", TIMESHARING_VOS),
    ("waiting-jobs", TIMESHARING_VOS),
    ("servers", SERVERS_VOS),
    ("references", SERVERS_VOS),
];

/// The name of the shell of `vos`, as a workload.
pub(crate) const SHELL: &str = "shell";

/// A guest made ready once, from which images for many runs are made.
pub(crate) struct Prepared {
    kind: GuestKind,
    work: Work,
    files: Arc<BootFiles>,
    load_address: Option<Gpa>,
    append: String,
    devices: Vec<VirtioKind>,
    /// What it goes on from instead of a boot.
    states: Option<States>,
}

/// Where programs get their large memory from on a machine with this configuration.
pub(crate) fn program_memory(config: &Config) -> Memory {
    match config.segment.region_bytes(config.scheme.facts().segments, config.memory) {
        0 => Memory::OfKernel,
        _ => Memory::OfRegion,
    }
}

/// Reads and builds whatever the images of one guest have in common.
///
/// # Errors
/// As of [`Preparations::prepare`].
pub(crate) fn prepare(kind: GuestKind, work: Work, arguments: &LinuxArgs, memory: Memory) -> Result<Prepared, Failure> {
    Preparations::new(kind, arguments, memory).prepare(work)
}

/// Guests of one kind and with the same options, which differ in what they do: what they have in common is made ready once.
pub(crate) struct Preparations<'a> {
    kind: GuestKind,
    arguments: &'a LinuxArgs,
    memory: Memory,
    linux: Sources,
    open: OpenSnapshots,
}

impl<'a> Preparations<'a> {
    /// None is ready yet.
    pub(crate) fn new(kind: GuestKind, arguments: &'a LinuxArgs, memory: Memory) -> Self {
        Self { kind, arguments, memory, linux: Sources::default(), open: OpenSnapshots::default() }
    }

    /// Reads and builds whatever the images of the guest that does `work` have in common.
    ///
    /// # Errors
    /// [`Failure`], naming the file, or what the guest cannot do.
    pub(crate) fn prepare(&mut self, work: Work) -> Result<Prepared, Failure> {
        let Self { kind, arguments, memory, linux, open } = self;
        let (kind, arguments) = (kind.clone(), *arguments);
        let load_address = load_address(&kind, arguments)?;
        if arguments.cold && kind != GuestKind::Debian {
            return Err(Failure::Usage("--cold is for --guest debian; another guest boots in any case".to_owned()));
        }
        if arguments.warm && kind != GuestKind::Linux {
            return Err(Failure::Usage(
                "--warm is for --guest linux; a Debian guest is warm unless --cold is given".to_owned(),
            ));
        }
        let mut devices = virtio(arguments)?;
        let mut states = None;
        let files = match &kind {
            GuestKind::Vos => vos(&work, arguments)?,
            GuestKind::Linux => {
                let parts = linux.parts(&work, arguments, *memory)?;
                if let Some(warm) = parts.warm {
                    devices.insert(0, VirtioKind::Block(warm.disk));
                    states = Some(States::new(warm.guest, warm.directory, open.clone()));
                }
                parts.files
            }
            GuestKind::Debian => {
                foreign::check(&arguments.files, &work)?;
                let parts = debian_guest::parts(&work, arguments)?;
                devices.splice(0..0, parts.disks.map(VirtioKind::Block));
                states = Some(States::new(parts.guest, parts.directory, open.clone()));
                Arc::new(BootFiles::new(parts.kernel.into(), parts.kernel_name, Some(parts.initrd.into())))
            }
            GuestKind::File(path) => {
                let initrd = arguments.initrd.as_deref().map(read).transpose()?;
                let (kernel, name) = (read(path)?, path.display().to_string());
                Arc::new(BootFiles::new(kernel.into(), name, initrd.map(Into::into)))
            }
        };
        let append = arguments.append.clone().unwrap_or_default();
        Ok(Prepared { kind, work, files, load_address, append, devices, states })
    }
}

/// Where a kernel of the user's is loaded, if its format does not say so.
fn load_address(kind: &GuestKind, arguments: &LinuxArgs) -> Result<Option<Gpa>, Failure> {
    match kind {
        GuestKind::Vos | GuestKind::Linux | GuestKind::Debian if arguments.load_address.is_some() => {
            Err(Failure::Usage(format!(
                "--load-address is for a flat binary of yours; {} says itself where it is loaded",
                kind.name()
            )))
        }
        GuestKind::Vos | GuestKind::Linux | GuestKind::Debian => Ok(None),
        GuestKind::File(_) => Ok(arguments.load_address),
    }
}

fn vos(work: &Work, arguments: &LinuxArgs) -> Result<Arc<BootFiles>, Failure> {
    for (given, flag) in [
        (arguments.kernel.is_some(), "--kernel"),
        (arguments.modules.is_some(), "--modules"),
        (arguments.initrd.is_some(), "--initrd"),
        (!arguments.files.is_empty(), "--file"),
        (!arguments.shares.is_empty(), "--share"),
        (!arguments.programs.is_empty(), "--programs"),
    ] {
        if given {
            return Err(Failure::Usage(format!("{flag} is for --guest linux; vos has no files")));
        }
    }
    let workload = vos_workload(work, arguments.append.as_deref().unwrap_or_default());
    let kernel = KERNELS.iter().find(|(name, _)| *name == workload).map_or(VOS, |(_, kernel)| *kernel);
    Ok(Arc::new(BootFiles::new(kernel.image.into(), "vos".to_owned(), None)))
}

/// The workload that `vos` runs. Of several that its command line names, the last one counts.
fn vos_workload<'w>(work: &'w Work, append: &'w str) -> &'w str {
    let appended = || append.split_whitespace().rev().find_map(|word| word.strip_prefix("workload="));
    match work {
        Work::Workload { name, .. } => appended().unwrap_or(name),
        Work::Console => appended().unwrap_or("hello"),
        Work::Shell(_) => SHELL,
        Work::Command(text) => text.split_whitespace().next().unwrap_or_default(),
    }
}

impl Prepared {
    /// The same with another `vos`, whose program has other workloads.
    pub(crate) fn with_vos(self, kernel: &[u8]) -> Self {
        let files = BootFiles::new(kernel.into(), self.files.kernel_name.clone(), self.files.initrd.clone());
        Self { files: Arc::new(files), ..self }
    }

    /// A guest that boots once for many runs goes on from a state from here on, under each of these configurations. Any other boots.
    ///
    /// # Errors
    /// [`Failure`], if it has to boot for that and does not come up.
    pub(crate) fn boot_once<'c>(&mut self, configs: impl IntoIterator<Item = &'c Config>) -> Result<(), Failure> {
        let Some(mut states) = self.states.take() else { return Ok(()) };
        let result = configs
            .into_iter()
            .try_for_each(|config| states.provide(&self.image(config)?, self.files.digest(), config));
        self.states = Some(states);
        result
    }

    /// The state that the guest goes on from under this configuration.
    ///
    /// # Errors
    /// As [`Self::image`].
    pub(crate) fn state(&self, config: &Config) -> Result<Option<State>, Failure> {
        let Some(states) = &self.states else { return Ok(None) };
        Ok(states.find(&self.image(config)?, config).cloned())
    }

    /// Files that are opened for each of its machines, beside those of its devices.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        self.states.iter().flat_map(States::files).map(Path::to_owned).collect()
    }

    /// Its devices.
    pub(crate) fn devices(&self) -> &[VirtioKind] {
        &self.devices
    }

    /// What it is to do.
    pub(crate) const fn work(&self) -> &Work {
        &self.work
    }

    /// Its kernel's file.
    pub(crate) fn kernel(&self) -> Arc<[u8]> {
        self.files.kernel.clone()
    }

    /// Its root file system in memory; empty if it has none.
    pub(crate) fn initrd(&self) -> Arc<[u8]> {
        self.files.initrd.clone().unwrap_or_default()
    }

    /// A hash of its kernel and its root file system.
    pub(crate) fn files_digest(&self) -> &[u8; 32] {
        self.files.digest()
    }

    /// Which guest it is.
    pub(crate) const fn kind(&self) -> &GuestKind {
        &self.kind
    }

    /// What a snapshot of the guest under this configuration is about.
    pub(crate) fn about(&self, config: &Config, image: &Image) -> About {
        let (work, command) = match &self.work {
            Work::Console => ("console".to_owned(), false),
            Work::Shell(_) => (SHELL.to_owned(), false),
            Work::Workload { name, .. } => (name.clone(), true),
            Work::Command(text) => (text.clone(), true),
        };
        let told = matches!(self.kind, GuestKind::Vos | GuestKind::Linux | GuestKind::Debian);
        About {
            guest: self.kind.name(),
            work,
            command,
            command_line: image.command_line.clone(),
            page: told.then(|| PageSizeName(config.scheme.guest_page())),
            scheme: config.scheme.to_string(),
        }
    }

    /// The image for a run with this configuration.
    ///
    /// # Errors
    /// [`Failure::Usage`]: more memory than the guest can use, or none for the pages that the scheme has.
    pub(crate) fn image(&self, config: &Config) -> Result<Image, Failure> {
        self.check_gigapages(config)?;
        let (command_line, least_memory) = match self.kind {
            GuestKind::Vos if config.memory > VOS_MOST_MEMORY => {
                let asked = config.memory;
                return Err(Failure::Usage(format!("memory: vos reaches at most {VOS_MOST_MEMORY}, not {asked}")));
            }
            GuestKind::Vos => (self.vos_command_line(config), LEAST_MEMORY),
            GuestKind::Linux => (kernel_command_line(&self.linux_parameters(config)), self.least_linux_memory()),
            GuestKind::Debian => {
                let parameters = joined([debian_guest::PARAMETERS, &self.linux_parameters(config)]);
                (kernel_command_line(&parameters), LEAST_DEBIAN_MEMORY)
            }
            GuestKind::File(_) => (self.append.clone(), LEAST_MEMORY),
        };
        Ok(Image {
            kernel: self.files.kernel.clone(),
            kernel_name: self.files.kernel_name.clone(),
            load_address: self.load_address,
            initrd: self.files.initrd.clone(),
            command_line,
            least_memory,
            devices: self.devices.clone(),
        })
    }

    /// Whether the guest, where it is to have pages of 1G, has memory for one. The first GiB of RAM holds the kernel, and the end of RAM the
    /// root file system and the device tree.
    fn check_gigapages(&self, config: &Config) -> Result<(), Failure> {
        let (scheme, memory) = (config.scheme, config.memory);
        if scheme.guest_page() != PageSize::Size1G || !self.wants_pages() {
            return Ok(());
        }
        let least = least_for_gigapages(self.files.initrd.as_ref().map_or(0, |initrd| initrd.len() as u64));
        if memory >= least {
            return Ok(());
        }
        let guest = self.kind.name();
        Err(Failure::Usage(format!(
            "memory: under {scheme} {guest} takes pages of 1G, and of {memory} none is left for it beside the kernel in the first GiB and the \
             device tree at the end; it needs {least}"
        )))
    }

    /// Whether what the guest does takes pages of the scheme's size.
    fn wants_pages(&self) -> bool {
        // A size that the user gives the guest by itself is the user's own concern.
        if self.append.split_whitespace().any(|word| word.starts_with("page=")) {
            return false;
        }
        match self.kind {
            GuestKind::Vos => !WITHOUT_HEAP.contains(&vos_workload(&self.work, &self.append)),
            // A boot parameter sets one aside.
            GuestKind::Linux | GuestKind::Debian => true,
            GuestKind::File(_) => false,
        }
    }

    fn vos_command_line(&self, config: &Config) -> String {
        let (name, options) = match &self.work {
            Work::Console => ("hello", ""),
            Work::Shell(ShellConsole::Terminal) => (SHELL, "terminal"),
            Work::Shell(ShellConsole::Stream) => (SHELL, ""),
            Work::Workload { name, options } => (name.as_str(), options.as_str()),
            Work::Command(text) => (text.as_str(), ""),
        };
        let page = config.scheme.guest_page();
        let line = format!("page={page} paging={} workload={name}", config.paging.guest.name());
        joined([&line, options, &self.append])
    }

    /// Linux unpacks its root file system into half of what memory is left beside the packed one, each file into whole pages. Where it
    /// does not fit, Linux goes on with a part of it. Files of a task on a disk are there twice until they are in their places.
    fn least_linux_memory(&self) -> u64 {
        let root = self.files.initrd.as_ref().map_or(0, |initrd| initrd.len() as u64);
        let task = self.devices.iter().map(|device| match device {
            VirtioKind::Block(BlockConfig { mode: ImageMode::Filled { content, .. }, .. }) => content.len() as u64,
            _ => 0,
        });
        LEAST_LINUX_MEMORY.max(LINUX_ITSELF + (root + 2 * task.sum::<u64>()) * 16 / 5)
    }

    /// Linux maps pages of 2M by itself as far as `guest.thp` lets it; those of 1G are reserved at boot.
    pub(crate) fn linux_parameters(&self, config: &Config) -> String {
        let page = config.scheme.guest_page();
        let transparent = format!("transparent_hugepage={}", config.guest.huge_pages(page).name());
        let reserved = if page == PageSize::Size1G { "hugepagesz=1G hugepages=1" } else { "" };
        joined([&transparent, reserved, &self.append])
    }
}

/// Directories come last: the others keep their slots.
fn virtio(arguments: &LinuxArgs) -> Result<Vec<VirtioKind>, Failure> {
    let disk = |(number, disk): (usize, &DiskSpec)| {
        VirtioKind::Block(BlockConfig {
            path: disk.path.clone(),
            mode: match (disk.blank, disk.write) {
                (Some(bytes), _) => ImageMode::Blank(bytes),
                (None, true) => ImageMode::WriteThrough,
                (None, false) => ImageMode::Overlay,
            },
            id: format!("pagewalk-{number}"),
        })
    };
    let mut devices: Vec<VirtioKind> = arguments.disks.iter().enumerate().map(disk).collect();
    if arguments.net.is_some() {
        devices.push(VirtioKind::Net);
    }
    if arguments.rng {
        devices.push(VirtioKind::Rng);
    }
    if arguments.balloon {
        devices.push(VirtioKind::Balloon);
    }
    devices.extend(share::devices(arguments)?);
    Ok(devices)
}

/// The least memory of a guest that is to have a page of 1G, with a root file system of this many bytes.
pub(crate) fn least_for_gigapages(initrd_bytes: u64) -> ByteSize {
    ByteSize((2 * PageSize::Size1G.bytes() + initrd_bytes + DEVICE_TREE_ROOM).next_multiple_of(1 << 20))
}
