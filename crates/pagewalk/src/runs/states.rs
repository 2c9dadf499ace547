//! States of Linux guests that have booted: each a snapshot and, where the root file system is on a disk, that disk with what it held then. A run goes on
//! from one instead of booting.
//!
//! A state is named by a hash of all that it depends on: this program, the image, the kernel, the command line, the devices, and what the guest sees of its
//! machine. It is always taken on the same kind of host: natively, and by the default model. So it does not matter which run made it.

use crate::cleanup::TemporaryPath;
use crate::error::Failure;
use crate::guest::TASK_BYTES;
use crate::interrupt::{self, Orderly};
use crate::progress::note;
use crate::runs::quiet::QuietConsole;
use crate::shared_memory::SharedMemory;
use crate::store::Store;
use config::Config;
use config::units::ByteSize;
use machine::snapshot::{About, DiskContents, Snapshot, SnapshotAt};
use machine::{BlockConfig, Image, ImageMode, Machine, Outcome, VirtioKind};
use rustix::fs::{SeekFrom, seek};
use schemes::PagedScheme;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Seconds of the guest's time after which a boot has failed.
const LONGEST_BOOT: u64 = 600;

/// States that are kept in any case: a command may go on from several.
const LEAST: usize = 8;

/// States beyond those are removed, the oldest first, until all take at most this many bytes of disk.
const MOST_BYTES: u64 = 4 << 30;

/// A state.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// The guest.
    pub(crate) snapshot: Arc<Snapshot>,
    /// What its root file system was, if that is on a disk.
    pub(crate) disk: Option<PathBuf>,
}

/// A guest whose states are kept.
#[derive(Clone, Debug)]
pub(crate) struct KeptGuest {
    /// Its name in options.
    pub(crate) name: &'static str,
    /// Its name in messages.
    pub(crate) title: &'static str,
    /// What its boots depend on beside the image and the configuration.
    pub(crate) key: String,
    /// Its root file system, where that is on its first disk. The task is on the disk behind it.
    pub(crate) root: Option<PathBuf>,
}

/// Snapshots that are open, by their files. All of one is read when it is opened, so the guests of a command that go on from the same one share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenSnapshots(Arc<Mutex<BTreeMap<PathBuf, Arc<Snapshot>>>>);

impl OpenSnapshots {
    /// The snapshot in the file at `path`; `None` if there is none that is whole.
    fn open(&self, path: &Path) -> Option<Arc<Snapshot>> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(snapshot) = open.get(path) {
            return Some(snapshot.clone());
        }
        let snapshot = Arc::new(Snapshot::open(path).ok()?);
        open.insert(path.to_owned(), snapshot.clone());
        Some(snapshot)
    }
}

/// The states of one guest's runs.
#[derive(Debug)]
pub(crate) struct States {
    guest: KeptGuest,
    directory: PathBuf,
    open: OpenSnapshots,
    /// By what they depend on, as far as it differs among the runs of a command.
    found: BTreeMap<Vec<u8>, State>,
}

impl States {
    /// Those of `guest` in `directory`. What is `open` need not be read again.
    pub(crate) const fn new(guest: KeptGuest, directory: PathBuf, open: OpenSnapshots) -> Self {
        Self { guest, directory, open, found: BTreeMap::new() }
    }

    /// Finds or makes the state that a guest goes on from that would boot `image`, whose files have the hash `files`, under `config`.
    ///
    /// # Errors
    /// [`Failure`]: the guest does not come up, or the host's system refuses.
    pub(crate) fn provide(&mut self, image: &Image, files: &[u8], config: &Config) -> Result<(), Failure> {
        let differing = differing(&self.guest.key, image, config);
        if self.found.contains_key(&differing) || !self.guest.has_state(&image.devices) {
            return Ok(());
        }
        // A task may need more memory than the boot did from whose state it goes on.
        if config.memory.0 < image.least_memory {
            let (title, least) = (self.guest.title, ByteSize(image.least_memory.next_multiple_of(1 << 20)));
            return Err(Failure::Usage(format!(
                "memory: {title} needs {least} with this task, and the guest has {}",
                config.memory
            )));
        }
        let failed = |error: io::Error| Failure::Run(format!("{}: {error}", self.directory.display()));
        let store = Store::open_in_cache(self.directory.clone()).map_err(failed)?;
        let name = store.key([self.guest.name.as_bytes(), &*differing, files]).name().to_owned();
        let snapshot = self.directory.join(format!("{name}.snapshot"));
        let disk = self.guest.root.as_ref().map(|_| self.directory.join(format!("{name}.ext4")));
        let there = || self.open.open(&snapshot).filter(|_| disk.as_ref().is_none_or(|disk| disk.is_file()));
        let snapshot = match there() {
            Some(snapshot) => snapshot,
            None => {
                // One process boots at a time. Another that waited for it finds the state, and does not replace a disk that is in use.
                let lock = File::create(self.directory.join("lock")).map_err(failed)?;
                lock.lock().map_err(failed)?;
                match there() {
                    Some(snapshot) => snapshot,
                    None => {
                        note(&format!(
                            "booting {} once for such a machine; later runs go on from there",
                            self.guest.title
                        ));
                        self.guest.boot(image, config, &snapshot, disk.as_deref())?;
                        remove_oldest(&self.directory, LEAST, MOST_BYTES).map_err(failed)?;
                        Arc::new(Snapshot::open(&snapshot).map_err(|error| Failure::Run(error.to_string()))?)
                    }
                }
            }
        };
        let state = State { snapshot, disk };
        self.found.insert(differing, state);
        Ok(())
    }

    /// A state that was provided.
    pub(crate) fn find(&self, image: &Image, config: &Config) -> Option<&State> {
        if self.found.is_empty() { None } else { self.found.get(&differing(&self.guest.key, image, config)) }
    }

    /// The disks.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.found.values().filter_map(|state| state.disk.as_deref())
    }
}

/// What the guest sees of its machine, and nothing else.
fn seen(config: &Config) -> Config {
    let mut seen = Config {
        harts: config.harts,
        memory: config.memory,
        seed: config.seed,
        timeout: LONGEST_BOOT,
        scheme: PagedScheme::native(config.scheme.guest_page()),
        isa: config.isa,
        sbi: config.sbi,
        plic: config.plic,
        ..Config::default()
    };
    seen.paging.guest = config.paging.guest;
    seen.mmu.ad = config.mmu.ad;
    seen
}

fn differing(key: &str, image: &Image, config: &Config) -> Vec<u8> {
    let kinds: Vec<&str> = image
        .devices
        .iter()
        .map(|device| match device {
            VirtioKind::Console => "console",
            VirtioKind::Block(_) => "disk",
            VirtioKind::Net => "net",
            VirtioKind::Rng => "rng",
            VirtioKind::Balloon => "balloon",
            VirtioKind::Share(_) => "share",
        })
        .collect();
    serde_json::to_vec(&(key, &image.command_line, kinds, seen(config))).expect("a configuration is plain data")
}

/// The disk that the guest reads its task from once it is ready. A guest that boots has the same.
pub(crate) fn task_disk(task: Vec<u8>) -> BlockConfig {
    let mode = ImageMode::Filled { bytes: TASK_BYTES, content: task.into() };
    BlockConfig { path: "task".into(), mode, id: "task".to_owned() }
}

impl KeptGuest {
    /// Whether a state can be kept of this guest with these devices: what is in other disks, in directories and in a balloon is not part of it.
    fn has_state(&self, devices: &[VirtioKind]) -> bool {
        let kept = |device: &VirtioKind| match device {
            VirtioKind::Block(_) | VirtioKind::Net | VirtioKind::Rng | VirtioKind::Console => true,
            VirtioKind::Balloon | VirtioKind::Share(_) => false,
        };
        let disks = devices.iter().filter(|device| matches!(device, VirtioKind::Block(_))).count();
        disks == 1 + usize::from(self.root.is_some()) && devices.iter().all(kept)
    }

    /// Boots, and keeps the state at which the guest is ready. The disk has its name before the snapshot, which is what is looked for.
    fn boot(&self, image: &Image, config: &Config, snapshot: &Path, disk: Option<&Path>) -> Result<(), Failure> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |error: io::Error| Failure::Run(format!("{}: {error}", path.display()))
        };
        let config = seen(config);
        let unfinished = |path: &Path| {
            let mut name = path.as_os_str().to_owned();
            name.push(format!(".{}", std::process::id()));
            TemporaryPath::remove_later(name.into())
        };
        let (new_snapshot, new_disk) = (unfinished(snapshot), disk.map(unfinished));
        let mut modes = Vec::new();
        if let (Some(root), Some(new)) = (&self.root, &new_disk) {
            copy(root, new.path()).map_err(failed(new.path()))?;
            modes.push((new.path(), ImageMode::WriteThrough));
        }
        modes.push((Path::new("task"), ImageMode::Blank(TASK_BYTES)));
        let mut image = image.clone();
        for (device, (path, mode)) in image.devices.iter_mut().zip(modes) {
            if let VirtioKind::Block(block) = device {
                *block = BlockConfig { path: path.to_owned(), mode, id: block.id.clone() };
            }
        }
        let about = About {
            guest: self.name.to_owned(),
            work: "console".to_owned(),
            command: false,
            command_line: image.command_line.clone(),
            page: Some(config::units::PageSizeName(config.scheme.guest_page())),
            scheme: config.scheme.to_string(),
        };
        let devices = image.devices.clone();
        let plan = SharedMemory::default().plan(&config, image)?;
        let mut machine = Machine::assemble_host(&config, &plan)?;
        let refused = |error: machine::snapshot::CaptureError| Failure::Run(error.to_string());
        machine.snapshot_at(SnapshotAt::Ready, DiskContents::KeptByCaller).map_err(refused)?;
        let orderly = Orderly::begin();
        let mut console = QuietConsole::default();
        let outcome = machine.run(&mut console);
        if let Some(signal) = interrupt::requested() {
            return Err(Failure::Interrupted(signal));
        }
        drop(orderly);
        let outcome = console.panic.judge(outcome);
        if outcome != Outcome::SnapshotTaken {
            let said = String::from_utf8_lossy(&console.output);
            let said = said.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default().to_owned();
            return Err(Failure::Run(format!("{} has not come up: {outcome}: {said}", self.title)));
        }
        let file = File::options().read(true).write(true).create(true).truncate(true).open(new_snapshot.path());
        let file = file.map_err(failed(new_snapshot.path()))?;
        machine.write_snapshot(&file, &config, &devices, &about).map_err(refused)?;
        let disk = new_disk.as_ref().zip(disk);
        for (new, name) in disk.into_iter().chain([(&new_snapshot, snapshot)]) {
            File::open(new.path()).and_then(|file| file.sync_all()).map_err(failed(name))?;
            fs::rename(new.path(), name).map_err(failed(name))?;
        }
        Ok(())
    }
}

/// Copies a file, but not its holes.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let (source, target) = (File::open(from)?, File::create(to)?);
    let end = source.metadata()?.len();
    target.set_len(end)?;
    let mut buffer = vec![0; 1 << 20];
    let mut at = 0;
    while at < end {
        at = match seek(&source, SeekFrom::Data(at)) {
            Ok(data) => data,
            // Nothing but a hole is left.
            Err(rustix::io::Errno::NXIO) => break,
            Err(error) => return Err(error.into()),
        };
        let hole = seek(&source, SeekFrom::Hole(at))?;
        while at < hole {
            let part = &mut buffer[..(hole - at).min(1 << 20) as usize];
            source.read_exact_at(part, at)?;
            target.write_all_at(part, at)?;
            at += part.len() as u64;
        }
    }
    Ok(())
}

/// Removes the states that were made first, until those that stay are `least` or take at most this many bytes; and what processes that were killed have left.
/// No other process makes a state meanwhile.
fn remove_oldest(directory: &Path, least: usize, most_bytes: u64) -> io::Result<()> {
    let mut states = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let kind = path.extension().and_then(|kind| kind.to_str()).unwrap_or_default();
        let unfinished = !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_digit());
        if unfinished || (kind == "ext4" && !path.with_extension("snapshot").exists()) {
            let _ = fs::remove_file(&path);
        } else if kind == "snapshot"
            && let Ok(snapshot) = fs::metadata(&path)
        {
            let disk = path.with_extension("ext4");
            let blocks = snapshot.blocks() + fs::metadata(&disk).map_or(0, |disk| disk.blocks());
            states.push((snapshot.modified()?, blocks * 512, path, disk));
        }
    }
    states.sort();
    let mut total = 0;
    for (newer, (_, bytes, snapshot, disk)) in states.iter().rev().enumerate() {
        total += bytes;
        if newer >= least && total > most_bytes {
            // Another process may have removed it, and not each guest has a disk.
            let _ = fs::remove_file(snapshot);
            let _ = fs::remove_file(disk);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_guest_does_not_see_makes_no_other_state() {
        let one = Config::default();
        let mut other = Config { warmup: config::warmup::Warmup::Touch, timeout: 5, ..Config::default() };
        other.scheme = "nested:4K+2M".parse().unwrap();
        assert_eq!(seen(&one), seen(&other));
        for other in [
            Config { memory: ByteSize(2 << 30), ..Config::default() },
            Config { harts: 2, ..Config::default() },
            Config { scheme: PagedScheme::native(types::PageSize::Size2M), ..Config::default() },
            Config { seed: 7, ..Config::default() },
        ] {
            assert_ne!(seen(&one), seen(&other));
        }
        let changes: [fn(&mut Config); 4] = [
            |config| config.paging.guest = config::GuestPaging::Sv48,
            |config| config.mmu.ad = config::AdName::Hardware,
            |config| config.isa.sstc = !config.isa.sstc,
            |config| config.sbi.sta = !config.sbi.sta,
        ];
        for change in changes {
            let mut other = Config::default();
            change(&mut other);
            assert_ne!(seen(&one), seen(&other));
        }
    }

    #[test]
    fn a_copy_has_the_same_bytes_and_holes() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let file = File::create(at("a")).unwrap();
        file.set_len(64 << 20).unwrap();
        file.write_all_at(&[7; 5000], 20 << 20).unwrap();
        copy(&at("a"), &at("b")).unwrap();
        let [a, b] = ["a", "b"].map(|name| fs::read(at(name)).unwrap());
        assert!(a == b);
        let blocks = fs::metadata(at("b")).unwrap().blocks();
        assert!(blocks * 512 < 1 << 20, "{blocks}");
    }

    #[test]
    fn the_newest_states_stay() {
        let directory = tempfile::tempdir().unwrap();
        let at = |number: u64, kind: &str| directory.path().join(format!("{number}.{kind}"));
        for number in 0..6 {
            for kind in ["snapshot", "ext4"] {
                let file = File::create(at(number, kind)).unwrap();
                file.write_all_at(&[1; 64 << 10], 0).unwrap();
                file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(number)).unwrap();
            }
        }
        let there = || {
            (0..6).filter(|&number| at(number, "snapshot").exists() && at(number, "ext4").exists()).collect::<Vec<_>>()
        };
        for left in ["7.snapshot.123", "7.ext4.123", "8.ext4", "lock", "program"] {
            File::create(directory.path().join(left)).unwrap();
        }
        // Each takes 128 KiB, and a little more where the host's file system rounds up.
        remove_oldest(directory.path(), 2, 450 << 10).unwrap();
        assert_eq!(there(), [3, 4, 5]);
        assert!(!at(2, "ext4").exists());
        remove_oldest(directory.path(), 2, 1).unwrap();
        assert_eq!(there(), [4, 5], "so many stay in any case");
        let names =
            fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        assert_eq!(names, ["4.ext4", "4.snapshot", "5.ext4", "5.snapshot", "lock", "program"]);
    }
}
