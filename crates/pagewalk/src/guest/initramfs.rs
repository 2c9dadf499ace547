//! The Linux guest's root file system: busybox, the modules of its devices, our workloads, and what the user asked for.

use super::GuestError;
use super::cpio::{Archive, MERGED, Node};
use super::images::{REGION_LIBRARY, STATIC_LOADER};
use super::kept::ready;
use super::modules::GuestDevice;
use super::sets::PackageSet;
use super::shares::GuestShares;
use super::static_program::{LOADER, with_loader};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What the guest does once it is up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// A shell on the console; the machine goes off when it ends.
    Shell,
    /// A command for `sh`; the run ends with its status.
    Command {
        /// The command's text.
        text: String,
        /// What is measured of it.
        region: Region,
    },
}

/// Who marks the region of interest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Region {
    /// The program itself, as our workloads do.
    OfProgram,
    /// The guest's first program, around the whole command.
    WholeCommand,
}

/// Where the guest finds its task and the user's files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TaskPlace {
    /// In its root file system.
    Root,
    /// On its first disk, which it reads once it is ready.
    Disk,
}

/// Where programs get their large memory from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// From the kernel.
    OfKernel,
    /// From the machine's primary region, as far as it has one.
    OfRegion,
}

/// How a guest's network card gets its address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GuestNetwork {
    /// It gets none, or there is no card.
    None,
    /// By DHCP, before the task begins.
    Dhcp,
    /// From the card's own: the last byte of one is that of the other.
    Switch {
        /// The guests, as lines of hosts(5).
        hosts: String,
    },
}

/// A file or directory of the user's, for the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestFile {
    /// Where it is on the host.
    pub host: PathBuf,
    /// Where the guest finds it.
    pub guest: String,
}

/// What a root file system is built for.
#[derive(Clone, Debug)]
pub struct Initramfs<'a> {
    /// The static multi-call program of the workloads, which also gives the markers.
    pub workloads: &'a [u8],
    /// What the guest does.
    pub task: Task,
    /// Where it finds that, and the user's files.
    pub place: TaskPlace,
    /// The user's files; a later one replaces an earlier one of the same path.
    pub files: Vec<GuestFile>,
    /// Names of package sets to put in, beside the base.
    pub sets: Vec<String>,
    /// Devices whose modules are loaded.
    pub devices: BTreeSet<GuestDevice>,
    /// How the network card gets its address.
    pub network: GuestNetwork,
    /// Directories of the host.
    pub shares: GuestShares,
    /// Where programs get their large memory from.
    pub memory: Memory,
}

/// The guest's first program.
const INIT: &str = include_str!("init.sh");

/// Where its end begins, and the same with copies to the host. Guests without any have not an instruction more for them.
const FINISH: &str = "finish() {\n";
const FINISH_WITH_COPIES: &str = "finish() {\n\t. /pagewalk/copy-out\n";

/// The line at which the guest is up. [`LATER`] goes before it if the task is on a disk.
const UP: &str = "if [ ! -e /pagewalk/command ]; then\n";
const LATER: &str = include_str!("kept/later.sh");

const BUSYBOX: &str = "usr/bin/busybox";
const WORKLOADS: &str = "usr/bin/pagewalk-workloads";
const REGION: &str = "usr/lib/libpagewalk-region.so";

/// Directories that are empty until something is mounted on or written to them, with their modes.
pub(in crate::guest) const DIRECTORIES: &[(&str, u32)] = &[
    ("dev", 0o755),
    ("proc", 0o555),
    ("root", 0o700),
    ("run", 0o755),
    ("sys", 0o555),
    ("tmp", 0o1777),
    ("usr/bin", 0o755),
    ("usr/lib", 0o755),
    ("usr/sbin", 0o755),
    ("var/lib", 0o755),
    ("var/log", 0o755),
];

/// Names of hosts.
const HOSTS: &str = "etc/hosts";

/// What programs look up about users and hosts.
const ETC: &[(&str, &str)] = &[
    ("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"),
    ("etc/group", "root:x:0:\nnogroup:x:65534:\n"),
    (HOSTS, "127.0.0.1 localhost pagewalk\n::1 localhost\n"),
    ("etc/hostname", "pagewalk\n"),
    ("etc/fstab", "proc /proc proc\nsys /sys sysfs\ndevpts /dev/pts devpts\ntmpfs /dev/shm tmpfs\ntmpfs /tmp tmpfs\n"),
    ("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
];

/// What programs look up where there is a network.
const NAMES_OF_NETWORK: &[(&str, &str)] =
    &[("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"), ("etc/resolv.conf", "")];

/// What busybox's DHCP client calls with what it has got.
const LEASE: &str = "etc/udhcpc/default.script";

/// Puts the parts together. Packages come first, so that what follows may replace their files, and the user's files last.
pub(crate) struct Builder<'a> {
    archive: Archive<'a>,
    environment: String,
}

impl<'a> Builder<'a> {
    /// The directories, links and files that every guest has.
    pub(crate) fn new() -> Result<Self, GuestError> {
        let mut archive = Archive::default();
        for &(path, mode) in DIRECTORIES {
            archive.insert(path, Node::Directory { mode })?;
        }
        for merged in MERGED {
            archive.insert(merged, Node::Link { target: format!("usr/{merged}").into() })?;
        }
        for &(path, text) in ETC {
            archive.insert(path, plain(text))?;
        }
        // The kernel opens it for the first program, before anything is mounted.
        archive.insert("dev/console", Node::CharacterDevice { mode: 0o600, major: 5, minor: 1 })?;
        Ok(Self { archive, environment: String::new() })
    }

    /// Adds a path of a package.
    pub(crate) fn package_path(&mut self, path: &str, node: Node<'a>) -> Result<(), GuestError> {
        self.archive.insert(path, node)
    }

    /// Adds what a set needs beside its packages.
    pub(crate) fn set(&mut self, set: &PackageSet) -> Result<(), GuestError> {
        for (name, value) in set.environment {
            self.environment += &format!("export {name}={value}\n");
        }
        set.files.iter().try_for_each(|&(path, text)| self.archive.insert(path, plain(text)))
    }

    /// Adds busybox and its applets' names, but for those that a package provides.
    pub(crate) fn busybox(&mut self, content: Vec<u8>) -> Result<(), GuestError> {
        let names = applets(&content).ok_or_else(|| GuestError::Package {
            package: "busybox-static".to_owned(),
            problem: "no list of applets in its program".to_owned(),
        })?;
        for name in names.iter().filter(|name| **name != "busybox") {
            let provided =
                ["usr/bin", "usr/sbin"].iter().any(|place| self.archive.contains(&format!("{place}/{name}")));
            if !provided {
                self.archive.insert(&format!("usr/bin/{name}"), Node::Link { target: "busybox".into() })?;
            }
        }
        self.archive.insert(BUSYBOX, program(content))
    }

    /// Adds modules, each with its name, in the order in which they load.
    pub(crate) fn modules(&mut self, modules: Vec<(String, Vec<u8>)>) -> Result<(), GuestError> {
        let mut list = String::new();
        for (name, content) in modules {
            let path = format!("usr/lib/modules/{name}.ko");
            list += &format!("/{path}\n");
            self.archive.insert(&path, Node::File { mode: 0o644, content: content.into() })?;
        }
        self.archive.insert("pagewalk/modules", plain(list))
    }

    /// Adds the workloads, the task and the user's files or what reads them later, and encodes the whole.
    pub(crate) fn finish(mut self, spec: &Initramfs<'a>) -> Result<Vec<u8>, GuestError> {
        self.archive.insert(WORKLOADS, program(spec.workloads))?;
        self.archive.insert(REGION, program(REGION_LIBRARY))?;
        if spec.memory == Memory::OfRegion {
            self.archive.insert(LOADER, program(STATIC_LOADER))?;
            self.archive.insert("pagewalk/primary-region", plain(""))?;
        }
        match &spec.network {
            GuestNetwork::None => {}
            GuestNetwork::Switch { hosts } => {
                let local = ETC.iter().find_map(|&(path, text)| (path == HOSTS).then_some(text));
                self.archive.insert(HOSTS, plain(format!("{}{hosts}", local.unwrap_or_default())))?;
                self.environment += include_str!("switch.sh");
            }
            GuestNetwork::Dhcp => {
                for &(path, text) in NAMES_OF_NETWORK {
                    self.archive.insert(path, plain(text))?;
                }
                self.archive.insert(LEASE, program(include_bytes!("lease.sh").as_slice()))?;
                // Sourced by the first program, before the task.
                self.environment += include_str!("dhcp.sh");
            }
        }
        self.environment += &spec.shares.mount_script();
        self.archive.insert("pagewalk/environment", plain(self.environment))?;
        let mut init = INIT.to_owned();
        if let Some(script) = spec.shares.copy_script()? {
            self.archive.insert("pagewalk/copy-out", plain(script))?;
            init = init.replacen(FINISH, FINISH_WITH_COPIES, 1);
        }
        match spec.place {
            TaskPlace::Root => insert_task(&mut self.archive, spec)?,
            TaskPlace::Disk => {
                self.archive.insert("usr/bin/pagewalk-ready", program(ready::program()))?;
                init = init.replacen(UP, &[LATER, UP].concat(), 1);
            }
        }
        self.archive.insert("init", program(init.into_bytes()))?;
        Ok(self.archive.encode())
    }
}

/// Adds the task and the user's files.
fn insert_task<'a>(archive: &mut Archive<'a>, spec: &Initramfs<'a>) -> Result<(), GuestError> {
    if let Task::Command { text, region } = &spec.task {
        archive.insert("pagewalk/command", plain(format!("{text}\n")))?;
        if *region == Region::WholeCommand {
            archive.insert("pagewalk/region", plain(""))?;
        }
    }
    spec.files.iter().try_for_each(|file| add_user_file(archive, &file.host, &file.guest, spec.memory))
}

/// Adds the file or directory at `host`, following it if it is a link; links inside a directory stay links.
pub(crate) fn add_user_file(
    archive: &mut Archive<'_>,
    host: &Path,
    guest: &str,
    memory: Memory,
) -> Result<(), GuestError> {
    let metadata = fs::metadata(host).map_err(GuestError::at(host))?;
    let mode = metadata.permissions().mode() & 0o7777;
    if metadata.is_file() {
        let mut content = fs::read(host).map_err(GuestError::at(host))?;
        if memory == Memory::OfRegion
            && mode & 0o111 != 0
            && let Some(loaded) = with_loader(&content)
        {
            content = loaded;
        }
        return archive.insert(guest, Node::File { mode, content: content.into() });
    }
    if !metadata.is_dir() {
        return Err(GuestError::GuestPath {
            path: guest.to_owned(),
            problem: "neither a file nor a directory on the host",
        });
    }
    archive.insert(guest, Node::Directory { mode })?;
    for entry in fs::read_dir(host).map_err(GuestError::at(host))? {
        let path = entry.map_err(GuestError::at(host))?.path();
        let unnamed = || GuestError::GuestPath { path: path.display().to_string(), problem: "not named in UTF-8" };
        let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(unnamed)?;
        let child = format!("{guest}/{name}");
        if path.is_symlink() {
            let target = fs::read_link(&path).map_err(GuestError::at(&path))?;
            let target = target.to_str().ok_or_else(unnamed)?.to_owned();
            archive.insert(&child, Node::Link { target: target.into() })?;
        } else {
            add_user_file(archive, &path, &child, memory)?;
        }
    }
    Ok(())
}

/// The names under which busybox answers: its program holds them in order, each ended by a zero byte, from `[` on.
fn applets(busybox: &[u8]) -> Option<Vec<&str>> {
    const FIRST: &[u8] = b"[\0[[\0";
    let start = memchr::memmem::find(busybox, FIRST)?;
    let names: Option<Vec<&str>> = busybox[start..]
        .split(|&byte| byte == 0)
        .take_while(|name| !name.is_empty())
        .map(|name| str::from_utf8(name).ok().filter(|name| !name.contains('/')))
        .collect();
    names.filter(|names| ["sh", "mount", "insmod", "setsid", "poweroff"].iter().all(|needed| names.contains(needed)))
}

fn plain<'a>(text: impl Into<Cow<'a, str>>) -> Node<'a> {
    let content = match text.into() {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    };
    Node::File { mode: 0o644, content }
}

fn program<'a>(content: impl Into<Cow<'a, [u8]>>) -> Node<'a> {
    Node::File { mode: 0o755, content: content.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn applets_are_read_from_the_program() {
        let program = b"code\x01[\0[[\0ash\0insmod\0mount\0poweroff\0setsid\0sh\0\0data";
        assert_eq!(applets(program).unwrap(), ["[", "[[", "ash", "insmod", "mount", "poweroff", "setsid", "sh"]);
        assert_eq!(applets(b"[\0[[\0ash\0\0"), None, "a list without a shell is none");
        assert_eq!(applets(b"no list"), None);
    }

    #[test]
    fn a_directory_of_the_users_keeps_its_modes_and_links() {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("run");
        fs::write(&script, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink("run", directory.path().join("again")).unwrap();
        let mut archive = Archive::default();
        add_user_file(&mut archive, directory.path(), "/data", Memory::OfRegion).unwrap();
        let bytes = String::from_utf8_lossy(&archive.encode()).into_owned();
        assert!(bytes.contains("000081ed") && bytes.contains("data/run\0"), "a regular file of mode 755");
        assert!(bytes.contains("0000a1ff") && bytes.contains("data/again\0"), "a link");
    }

    #[test]
    fn scripts_are_put_in_at_one_place_each() {
        assert_eq!((INIT.matches(FINISH).count(), INIT.matches(UP).count()), (1, 1));
    }

    #[test]
    fn a_users_file_that_is_not_there_is_named() {
        let error =
            add_user_file(&mut Archive::default(), Path::new("/no/such/file"), "f", Memory::OfKernel).unwrap_err();
        assert!(error.to_string().contains("/no/such/file"), "{error}");
    }
}
