//! What the kernel of a Debian guest unpacks first: modules, and what Pagewalk puts beside the root file system, which stays Debian's own.

use crate::guest::GuestError;
use crate::guest::cpio::{Archive, Node};
use crate::guest::images::WORKLOADS;
use crate::guest::kept::ready;
use crate::guest::linux::{LinuxGuest, ModuleSource};
use crate::guest::modules::GuestDevice;
use std::collections::BTreeSet;

const INIT: &str = include_str!("init.sh");
const START: &str = include_str!("start.sh");
const UNIT: &str = include_str!("pagewalk.service");

/// Units that are masked: those that need what the machine has not (modules of other devices, a screen, a console that is the user's), and those that would
/// start by the clock, in the middle of what is measured.
const MASKED: &[&str] = &[
    "apt-daily-upgrade.timer",
    "apt-daily.timer",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "fstrim.timer",
    "getty@tty1.service",
    "modprobe@.service",
    "serial-getty@ttyS0.service",
    "systemd-modules-load.service",
    "systemd-tmpfiles-clean.timer",
];

/// The archive for a machine with `devices`.
///
/// # Errors
/// As [`LinuxGuest::initramfs`].
pub fn debian_initramfs(linux: &LinuxGuest, devices: &BTreeSet<GuestDevice>) -> Result<Vec<u8>, GuestError> {
    let mut archive = Archive::default();
    for (path, mode) in [("dev", 0o755), ("root", 0o700), ("usr/lib", 0o755), ("usr/sbin", 0o755)] {
        archive.insert(path, Node::Directory { mode })?;
    }
    // The kernel opens it for the first program, before anything is mounted.
    archive.insert("dev/console", Node::CharacterDevice { mode: 0o600, major: 5, minor: 1 })?;
    archive.insert("init", program(INIT.as_bytes().to_vec()))?;
    let busybox = linux.busybox()?;
    archive.insert("usr/bin/busybox", program(busybox.clone()))?;
    // The shell finds its applets by name only where /proc is mounted.
    for name in ["cp", "insmod", "mount", "switch_root"] {
        archive.insert(&format!("usr/bin/{name}"), Node::Link { target: "busybox".into() })?;
    }
    let mut list = String::new();
    for (name, content) in linux.modules(devices, &ModuleSource::Base)? {
        list += &format!("/modules/{name}.ko\n");
        archive.insert(&format!("modules/{name}.ko"), Node::File { mode: 0o644, content: content.into() })?;
    }
    archive.insert("pagewalk/modules", text(list))?;
    let programs: [(&str, Vec<u8>); 3] =
        [("busybox", busybox), ("pagewalk-ready", ready::program()), ("pagewalk-workloads", WORKLOADS.to_vec())];
    for (name, content) in programs {
        archive.insert(&format!("{OWN}/pagewalk/bin/{name}"), program(content))?;
    }
    archive.insert(&format!("{OWN}/pagewalk/start"), text(START.to_owned()))?;
    archive.insert(&format!("{UNITS}/pagewalk.service"), text(UNIT.to_owned()))?;
    link(&mut archive, "multi-user.target.wants/pagewalk.service", "../pagewalk.service")?;
    link(&mut archive, "default.target", "/usr/lib/systemd/system/multi-user.target")?;
    MASKED.iter().try_for_each(|unit| link(&mut archive, unit, "/dev/null"))?;
    Ok(archive.encode())
}

/// What becomes `/run`, and the directory of units in it.
const OWN: &str = "pagewalk/run";
const UNITS: &str = "pagewalk/run/systemd/system";

fn link(archive: &mut Archive<'_>, unit: &str, target: &str) -> Result<(), GuestError> {
    archive.insert(&format!("{UNITS}/{unit}"), Node::Link { target: target.to_owned().into() })
}

fn text<'a>(content: String) -> Node<'a> {
    Node::File { mode: 0o644, content: content.into_bytes().into() }
}

fn program<'a>(content: Vec<u8>) -> Node<'a> {
    Node::File { mode: 0o755, content: content.into() }
}
