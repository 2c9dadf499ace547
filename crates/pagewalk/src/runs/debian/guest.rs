//! What a run of a Debian guest boots: the kernel and modules of the Linux guest, the image as a disk whose changes end with the run, and the task.

use super::states::{State, States};
use crate::cli::{LinuxArgs, NetKind};
use crate::error::Failure;
use crate::guest::{
    Cache, DebianImage, DebianTask, GuestDevice, GuestFile, GuestShares, LinuxGuest, Region, TASK_BYTES, Task,
    debian_initramfs,
};
use crate::runs::image::Work;
use crate::runs::share;
use config::Config;
use machine::{BlockConfig, Image, ImageMode};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// Parameters of the kernel beside those of every Linux guest: systemd resets no terminal and tells of no unit, so that the console has the command's bytes
/// alone, and the kernel's errors, which systemd writes before its journal runs, stay in its log.
const PARAMETERS: &str = "TERM=dumb systemd.show_status=false loglevel=3";

/// What a Debian guest adds to what is made ready.
#[derive(Debug)]
pub(crate) struct Debian {
    image: DebianImage,
    root: PathBuf,
    states: States,
}

/// What boots.
pub(crate) struct Parts {
    pub(crate) kernel: Vec<u8>,
    pub(crate) kernel_name: String,
    pub(crate) initrd: Vec<u8>,
    /// Its first disks: the root file system, and the task.
    pub(crate) disks: [BlockConfig; 2],
    pub(crate) debian: Debian,
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
    let disk = |path: PathBuf, mode, id: &str| BlockConfig { path, mode, id: id.to_owned() };
    let disks = [
        disk(root.clone(), ImageMode::Overlay, "debian"),
        disk("task".into(), ImageMode::Filled { bytes: TASK_BYTES, content: task.into() }, "task"),
    ];
    Ok(Parts {
        kernel: linux.kernel()?,
        kernel_name: format!("Linux {}", linux.release()?),
        initrd: debian_initramfs(&linux, &devices)?,
        disks,
        debian: Debian { image, root, states: States::new(cache.debian().join("booted")) },
    })
}

impl Debian {
    /// The kernel's parameters, before the user's own.
    pub(crate) const fn parameters() -> &'static str {
        PARAMETERS
    }

    /// Sees to it that a guest that would boot `image` under `config` can go on from a state: one that is kept, or that of a boot now.
    ///
    /// # Errors
    /// [`Failure`]: the guest does not come up.
    pub(crate) fn boot_once(&mut self, image: &Image, config: &Config) -> Result<(), Failure> {
        self.states.provide(&self.image.key, &self.root, image, config)
    }

    /// The state that a guest which would boot `image` under `config` goes on from, if it does not boot.
    pub(crate) fn state(&self, image: &Image, config: &Config) -> Option<&State> {
        self.states.find(&self.image.key, image, config)
    }

    /// The disks of the states, which are opened for each machine.
    pub(crate) fn files(&self) -> impl Iterator<Item = &std::path::Path> {
        self.states.files()
    }
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
