//! What a run of Linux boots: a kernel, and a root file system in memory that is made for the run.

use super::boot_files::BootFiles;
use super::foreign;
use super::work::Work;
use crate::cli::{LinuxArgs, NetKind};
use crate::error::Failure;
use crate::guest::{
    Cache, GuestDevice, GuestError, GuestFile, GuestNetwork, GuestShares, Initramfs, LinuxGuest, Memory, ModuleSource,
    Region, Task, TaskPlace, WORKLOADS, drivers_outside, release_of, task_archive,
};
use crate::input::read;
use crate::progress::note;
use crate::runs::share;
use crate::runs::states::{KeptGuest, task_disk};
use machine::BlockConfig;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What boots.
pub(super) struct LinuxParts {
    pub(super) files: Arc<BootFiles>,
    /// With `--warm`: what it goes on from instead.
    pub(super) warm: Option<Warm>,
}

/// The disk of a guest's task, and where the states of the guest are kept.
pub(super) struct Warm {
    pub(super) disk: BlockConfig,
    pub(super) guest: KeptGuest,
    pub(super) directory: PathBuf,
}

/// What several guests take from the cache, with the same options: each is read or built once. A comparison has guests of a dozen works, and of most the
/// same files.
#[derive(Default)]
pub(super) struct Sources {
    guest: Option<LinuxGuest>,
    kernel: Option<Kernel>,
    /// Those whose task is on a disk: of the work they depend on nothing but the package sets that it needs.
    roots: BTreeMap<BTreeSet<String>, Arc<BootFiles>>,
}

#[derive(Clone)]
struct Kernel {
    content: Arc<[u8]>,
    name: String,
}

impl Sources {
    /// What a guest boots that does `work`. Whatever the user does not give comes from the cache.
    ///
    /// # Errors
    /// [`Failure`], naming what is not there, or an option that does not go with another.
    pub(super) fn parts(&mut self, work: &Work, arguments: &LinuxArgs, memory: Memory) -> Result<LinuxParts, Failure> {
        let Self { guest, kernel, roots } = self;
        let Kernel { content, name } = match kernel {
            Some(kernel) => kernel.clone(),
            None => kernel.insert(Kernel::read(guest, arguments)?).clone(),
        };
        if let Some(path) = &arguments.initrd {
            let files = Arc::new(BootFiles::new(content, name, Some(read(path)?.into())));
            return Ok(LinuxParts { files, warm: None });
        }
        foreign::check(&arguments.files, work)?;
        let linux = opened(guest, arguments)?;
        let root = root(work, arguments, linux, memory)?;
        if !arguments.warm {
            let initrd = build(&root, arguments, &content, linux)?;
            return Ok(LinuxParts { files: Arc::new(BootFiles::new(content, name, Some(initrd.into()))), warm: None });
        }
        let kept = KeptGuest { name: "linux", title: "Linux", key: String::new(), root: None };
        let disk = task_disk(task_archive(&root.task, &root.files)?);
        let warm = Some(Warm { disk, guest: kept, directory: located(arguments)?.booted() });
        let sets: BTreeSet<String> = root.sets.iter().cloned().collect();
        if let Some(files) = roots.get(&sets) {
            return Ok(LinuxParts { files: files.clone(), warm });
        }
        let initrd = build(&root, arguments, &content, linux)?;
        let files = Arc::new(BootFiles::new(content, name, Some(initrd.into())));
        roots.insert(sets, files.clone());
        Ok(LinuxParts { files, warm })
    }
}

impl Kernel {
    fn read(guest: &mut Option<LinuxGuest>, arguments: &LinuxArgs) -> Result<Self, Failure> {
        let (content, name) = match &arguments.kernel {
            Some(path) => (own_kernel(path, guest, arguments)?, path.display().to_string()),
            None => {
                let linux = opened(guest, arguments)?;
                (linux.kernel()?, format!("Linux {}", linux.release()?))
            }
        };
        Ok(Self { content: content.into(), name })
    }
}

fn located(arguments: &LinuxArgs) -> Result<Cache, GuestError> {
    Cache::locate(arguments.cache.directory.as_deref())
}

/// The guest in the cache, which is opened when it is wanted first.
fn opened<'g>(guest: &'g mut Option<LinuxGuest>, arguments: &LinuxArgs) -> Result<&'g LinuxGuest, GuestError> {
    match guest {
        Some(linux) => Ok(linux),
        None => Ok(guest.insert(located(arguments).and_then(LinuxGuest::open)?)),
    }
}

/// The root file system that is described, with the modules of this kernel.
fn build(root: &Initramfs<'_>, arguments: &LinuxArgs, kernel: &[u8], linux: &LinuxGuest) -> Result<Vec<u8>, Failure> {
    let modules = match &arguments.kernel {
        Some(path) => own_modules(path, kernel, arguments.modules.as_deref(), linux)?,
        None => ModuleSource::Base,
    };
    if modules == ModuleSource::Nowhere {
        warn_of_modules(kernel, &root.devices);
    }
    Ok(linux.initramfs_with(root, &modules)?)
}

/// The kernel that the user names: a file, or else the release of a fetched one.
fn own_kernel(path: &Path, guest: &mut Option<LinuxGuest>, arguments: &LinuxArgs) -> Result<Vec<u8>, Failure> {
    let release = path.to_str().filter(|name| !path.exists() && !name.contains('/'));
    let fetched = match release {
        // Without a cache there is none; what is said then is that there is no such file.
        Some(release) => opened(guest, arguments).ok().map(|linux| linux.kernel_of(release)).transpose()?.flatten(),
        None => None,
    };
    fetched.map_or_else(|| read(path), Ok)
}

/// Where the modules of a kernel of the user's are. One that does not say which version it is gets none.
fn own_modules(
    path: &Path,
    kernel: &[u8],
    directory: Option<&Path>,
    linux: &LinuxGuest,
) -> Result<ModuleSource, Failure> {
    let release = release_of(kernel);
    match (release, directory) {
        (Some(release), Some(directory)) => {
            Ok(ModuleSource::Directory { path: directory.to_owned(), release: release.to_owned() })
        }
        (Some(release), None) => Ok(linux.modules_of(path, release)?),
        (None, Some(_)) => Err(Failure::Usage(format!("--modules: {} does not say which Linux it is", path.display()))),
        (None, None) => Ok(ModuleSource::Nowhere),
    }
}

/// Says which drivers a kernel without modules lacks, and what follows.
fn warn_of_modules(kernel: &[u8], devices: &BTreeSet<GuestDevice>) {
    let lacking = drivers_outside(kernel, devices);
    if lacking.is_empty() {
        return;
    }
    let (which, remedy) = match release_of(kernel) {
        Some(release) => (
            format!("Linux {release}"),
            format!(
                "`pagewalk guest fetch --kernel {release}` brings those of Debian's kernels, --modules DIR names others"
            ),
        ),
        None => ("this kernel".to_owned(), "it does not say which Linux it is".to_owned()),
    };
    note(&format!("no modules of {which} ({}): disks and network cards will not appear; {remedy}", lacking.join(", ")));
}

/// The root file system for `work`.
fn root<'a>(work: &Work, arguments: &LinuxArgs, linux: &LinuxGuest, memory: Memory) -> Result<Initramfs<'a>, Failure> {
    let task = match work {
        Work::Console | Work::Shell(_) => Task::Shell,
        Work::Workload { name, options } => {
            Task::Command { text: joined(["pagewalk-workloads", name, options]), region: Region::OfProgram }
        }
        Work::Command(text) => Task::Command { text: text.clone(), region: Region::WholeCommand },
    };
    let mut sets = arguments.programs.clone();
    if let Work::Command(text) = work {
        sets.extend(linux.sets_for_command(text)?);
    }
    let files =
        arguments.files.iter().map(|file| GuestFile { host: file.host.clone(), guest: file.guest.clone() }).collect();
    let mut devices = BTreeSet::new();
    if arguments.warm || !arguments.disks.is_empty() {
        devices.insert(GuestDevice::Disk);
    }
    if arguments.net.is_some() {
        devices.insert(GuestDevice::Net);
    }
    if arguments.rng {
        devices.insert(GuestDevice::Rng);
    }
    if arguments.balloon {
        devices.insert(GuestDevice::Balloon);
    }
    let shares = share::in_guest(arguments)?;
    if shares != GuestShares::default() {
        devices.insert(GuestDevice::Share);
    }
    let network = match arguments.net {
        Some(NetKind::User) => GuestNetwork::Dhcp,
        Some(NetKind::Switch) => GuestNetwork::Switch { hosts: arguments.hosts.clone() },
        Some(NetKind::None) | None => GuestNetwork::None,
    };
    let place = if arguments.warm { TaskPlace::Disk } else { TaskPlace::Root };
    Ok(Initramfs { workloads: WORKLOADS, task, place, files, sets, devices, network, shares, memory })
}

/// The parts that are not empty, with spaces between.
pub(super) fn joined<'p>(parts: impl IntoIterator<Item = &'p str>) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}
