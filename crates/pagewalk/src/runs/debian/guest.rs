//! What a run of a Debian guest boots: the kernel and modules of the Linux guest, the image as a disk whose changes end with the run, and the task.

use crate::cli::{LinuxArgs, NetKind};
use crate::error::Failure;
use crate::guest::{
    Cache, DebianImage, DebianTask, GuestDevice, GuestFile, GuestShares, LinuxGuest, Region, Task, debian_initramfs,
};
use crate::runs::image::Work;
use crate::runs::share;
use crate::runs::states::{KeptGuest, task_disk};
use machine::{BlockConfig, ImageMode};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// Parameters of the kernel beside those of every Linux guest: systemd resets no terminal and tells of no unit, so that the console has the command's bytes
/// alone, and the kernel's errors, which systemd writes before its journal runs, stay in its log.
pub(crate) const PARAMETERS: &str = "TERM=dumb systemd.show_status=false loglevel=3";

/// What boots.
pub(crate) struct Parts {
    pub(crate) kernel: Vec<u8>,
    pub(crate) kernel_name: String,
    pub(crate) initrd: Vec<u8>,
    /// Its first disks: the root file system, and the task.
    pub(crate) disks: [BlockConfig; 2],
    /// The guest whose states it goes on from instead.
    pub(crate) guest: KeptGuest,
    /// Where those are.
    pub(crate) directory: PathBuf,
}

/// Reads and builds what a guest boots that does `work`.
///
/// # Errors
/// [`Failure`], naming what is not there, or an option that such a guest does not take.
pub(crate) fn parts(work: &Work, arguments: &LinuxArgs) -> Result<Parts, Failure> {
    refuse(arguments)?;
    let cache = Cache::locate(arguments.cache.directory.as_deref())?;
    let image = DebianImage::open(&cache)?;
    let linux = LinuxGuest::open(cache.clone())?;
    let mut devices = BTreeSet::from([GuestDevice::Disk]);
    let present = [
        (arguments.net.is_some(), GuestDevice::Net),
        (arguments.rng, GuestDevice::Rng),
        (arguments.balloon, GuestDevice::Balloon),
        (share::in_guest(arguments)? != GuestShares::default(), GuestDevice::Share),
    ];
    devices.extend(present.into_iter().filter_map(|(there, device)| there.then_some(device)));
    let root = image.path(&cache);
    let task = task(work, arguments)?.archive()?;
    let root_disk = BlockConfig { path: root.clone(), mode: ImageMode::Overlay, id: "debian".to_owned() };
    let guest = KeptGuest { name: "debian", title: "Debian", key: image.key, root: Some(root) };
    Ok(Parts {
        kernel: linux.kernel()?,
        kernel_name: format!("Linux {}", linux.release()?),
        initrd: debian_initramfs(&linux, &devices)?,
        disks: [root_disk, task_disk(task)],
        guest,
        directory: cache.debian().join("booted"),
    })
}

fn refuse(arguments: &LinuxArgs) -> Result<(), Failure> {
    let refused = [
        (arguments.kernel.is_some(), "--kernel", "its kernel is that of --guest linux"),
        (arguments.initrd.is_some(), "--initrd", "its root file system is the image"),
        (
            !arguments.programs.is_empty(),
            "--programs",
            "`guest image debian --packages NAME` puts packages into its image",
        ),
    ];
    match refused.into_iter().find(|(given, ..)| *given) {
        Some((_, option, why)) => Err(Failure::Usage(format!("{option} is not for --guest debian: {why}"))),
        None => Ok(()),
    }
}

fn task(work: &Work, arguments: &LinuxArgs) -> Result<DebianTask, Failure> {
    let task = match work {
        Work::Console | Work::Shell(_) => Task::Shell,
        Work::Workload { name, options } => {
            Task::Command { text: format!("pagewalk-workloads {name} {options}"), region: Region::OfProgram }
        }
        Work::Command(text) => Task::Command { text: text.clone(), region: Region::WholeCommand },
    };
    let files = arguments.files.iter().map(|file| GuestFile { host: file.host.clone(), guest: file.guest.clone() });
    let network = match arguments.net {
        Some(NetKind::User) => Some(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())),
        Some(NetKind::Switch) => {
            return Err(Failure::Usage("net = \"switch\" is for --guest linux".to_owned()));
        }
        Some(NetKind::None) | None => None,
    };
    Ok(DebianTask { task, files: files.collect(), network, shares: share::in_guest(arguments)? })
}
