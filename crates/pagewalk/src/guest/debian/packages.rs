//! The packages of a Debian root file system: resolved and downloaded by apt, and opened, so that a guest need not decompress them.

use crate::guest::GuestError;
use crate::guest::apt::{Apt, SUITE, Source, system_mirror};
use crate::guest::cache::{make_directory, remove_tree};
use crate::guest::manifest::{PackageId, hash_file};
use crate::guest::tool::DPKG_DEB;
use crate::progress::Progress;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// What a system has that boots with systemd to a shell and installs packages, beside what these depend on: Debian's essential packages, and a few that
/// anyone would miss. It is short, because a simulated processor configures each.
pub(super) const PACKAGES: &[&str] = &[
    "apt",
    "base-files",
    "base-passwd",
    "bash",
    "bsdutils",
    "coreutils",
    "dash",
    "dbus",
    "debian-archive-keyring",
    "debianutils",
    "diffutils",
    "dpkg",
    "e2fsprogs",
    "findutils",
    "grep",
    "gzip",
    "hostname",
    "init-system-helpers",
    "iproute2",
    "libc-bin",
    "libpam-runtime",
    "login",
    "mawk",
    "mount",
    "ncurses-base",
    "ncurses-bin",
    "passwd",
    "perl-base",
    "sed",
    "sqv",
    "systemd-sysv",
    "sysvinit-utils",
    "tar",
    "util-linux",
];

/// A package of the image, and the hash of its archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImagePackage {
    /// Which package.
    #[serde(flatten)]
    pub package: PackageId,
    /// The SHA-256 of its archive, in hexadecimal.
    pub sha256: String,
}

/// Packages that lie opened in a directory: `NAME.control` and `NAME.data`, both archives of tar.
#[derive(Clone, Debug)]
pub struct Opened {
    /// Every package, by name.
    pub packages: Vec<ImagePackage>,
    /// The directory.
    pub directory: PathBuf,
    /// The mirror that they come from.
    pub mirror: String,
    /// The suite that they are of.
    pub suite: &'static str,
}

/// Brings the packages of a system with `further` ones, and opens them below `work`.
///
/// # Errors
/// Any [`GuestError`].
pub fn open_packages(
    work: &Path,
    source: &Source,
    further: &[String],
    progress: &mut Progress,
) -> Result<Opened, GuestError> {
    let mirror = match &source.mirror {
        Some(mirror) => mirror.clone(),
        None => system_mirror()?,
    };
    progress.say(&format!("updating the package index of {SUITE}"));
    let apt = Apt::prepare(&work.join("apt"), source, SUITE)?.whole();
    apt.update()?;
    progress.say("resolving the packages");
    let wanted: Vec<&str> = PACKAGES.iter().copied().chain(further.iter().map(String::as_str)).collect();
    // A package that apt does not know is one of the user's.
    let archives = apt.resolve(&further.join(", "), &wanted)?;
    progress.bytes("downloading the packages", archives.iter().map(|archive| archive.size).sum());
    apt.download(&wanted, &archives, |bytes| progress.at(bytes))?;
    let directory = work.join("packages");
    remove_tree(&directory)?;
    make_directory(&directory)?;
    progress.count("opening the packages", archives.len() as u64);
    let mut packages = Vec::new();
    for (done, archive) in archives.into_iter().enumerate() {
        let path = apt.path(&archive);
        for (what, option) in [("control", "--ctrl-tarfile"), ("data", "--fsys-tarfile")] {
            let opened = directory.join(format!("{}.{what}", archive.package.name));
            let file = File::create(&opened).map_err(GuestError::at(&opened))?;
            let mut command = DPKG_DEB.command();
            let child = command.arg(option).arg(&path).stdout(file).stderr(Stdio::piped());
            DPKG_DEB.run(child)?;
        }
        packages.push(ImagePackage { package: archive.package, sha256: hash_file(&path)? });
        progress.at(done as u64 + 1);
    }
    packages.sort_by(|a, b| a.package.cmp(&b.package));
    Ok(Opened { packages, directory, mirror, suite: SUITE })
}
