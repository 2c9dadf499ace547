//! Files that a guest hands over at its end. The guest copies them into a directory that is made for it beside each target; what is complete there
//! then gets its name by a rename. So nothing that is half-written has the name, however the run ends.

use crate::cleanup::TemporaryPath;
use crate::cli::{COPY_TAG, CopySpec, Copying, LinuxArgs};
use crate::error::Failure;
use crate::runs::image::GuestKind;
use machine::{Share, ShareAccess, ShareRoot};
use process::Access;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Copies that are to be made.
#[derive(Debug, Default)]
pub(crate) struct CopyOuts {
    directories: Vec<Directory>,
    copies: Vec<Copy>,
}

/// A directory that a guest copies into.
#[derive(Debug)]
struct Directory {
    /// Where its files go in the end.
    parent: PathBuf,
    staging: TemporaryPath,
    share: Share,
}

#[derive(Debug)]
struct Copy {
    /// Its path in the guest.
    path: String,
    /// Its path on the host in the end.
    target: PathBuf,
    /// Which directory it is copied into first, and under which number.
    directory: usize,
    number: usize,
}

/// The longest message of a guest that is passed on, in bytes.
const LONGEST_MESSAGE: u64 = 200;

impl CopyOuts {
    /// Makes the directories for `specs`.
    ///
    /// # Errors
    /// [`Failure::Usage`], naming what cannot be written, or why the guest copies nothing.
    pub(crate) fn prepare(specs: &[CopySpec], kind: &GuestKind, arguments: &LinuxArgs) -> Result<Self, Failure> {
        let mut made = Self::default();
        if !specs.is_empty() && (!kind.runs_commands() || arguments.initrd.is_some()) {
            let problem =
                "--copy-out is for --guest linux or debian with a root file system of Pagewalk's, whose /init copies";
            return Err(Failure::Usage(problem.to_owned()));
        }
        for (number, spec) in specs.iter().enumerate() {
            let failed = |error: io::Error| Failure::Usage(format!("--copy-out: {}: {error}", spec.host.display()));
            let target = target(spec).map_err(failed)?;
            let parent = directory_of(&target).canonicalize().map_err(failed)?;
            let known = made.directories.iter().position(|directory| directory.parent == parent);
            let directory = match known {
                Some(directory) => directory,
                None => {
                    let tag = format!("{COPY_TAG}{}", made.directories.len());
                    made.directories.push(Directory::make(parent, tag).map_err(failed)?);
                    made.directories.len() - 1
                }
            };
            if made.copies.iter().any(|copy| copy.target == target) {
                let problem = format!("--copy-out: two files would be called {}", target.display());
                return Err(Failure::Usage(problem));
            }
            made.copies.push(Copy { path: spec.guest.clone(), target, directory, number });
        }
        Ok(made)
    }

    /// What the guest is to do.
    pub(crate) fn copying(&self) -> Vec<Copying> {
        let of = |copy: &Copy| {
            let to = self.directories[copy.directory].share.clone();
            Copying { path: copy.path.clone(), to, number: copy.number }
        };
        self.copies.iter().map(of).collect()
    }

    /// What the sandbox must leave, beside the shares themselves.
    pub(crate) fn paths(&self) -> Vec<(PathBuf, Access)> {
        let of = |directory: &Directory| {
            let staging = directory.staging.path().to_owned();
            [(staging, Access::Directory), (directory.parent.clone(), Access::MoveUp)]
        };
        self.directories.iter().flat_map(of).collect()
    }

    /// The machine has stopped: what is complete gets its name.
    ///
    /// # Errors
    /// [`Failure::Run`], naming the first file that could not be copied. The others are.
    pub(crate) fn finish(&self) -> Result<(), Failure> {
        let mut problems = self.copies.iter().filter_map(|copy| {
            let staging = self.directories[copy.directory].staging.path();
            copy.finish(staging).err()
        });
        let Some(first) = problems.next() else { return Ok(()) };
        let others = match problems.count() {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        Err(Failure::Run(format!("--copy-out: {first}{others}")))
    }
}

impl Directory {
    fn make(parent: PathBuf, tag: String) -> io::Result<Self> {
        let staging = tempfile::Builder::new().prefix(".pagewalk-").tempdir_in(&parent)?.keep();
        let staging = TemporaryPath::remove_later(staging);
        let root = ShareRoot::open(staging.path(), ShareAccess::Write).map_err(io::Error::other)?;
        Ok(Self { parent, staging, share: Share { tag, root } })
    }
}

impl Copy {
    /// Moves the copy from `staging` to its target; otherwise says why not.
    fn finish(&self, staging: &Path) -> Result<(), String> {
        let staged = staging.join(self.number.to_string());
        let path = &self.path;
        let Ok(about) = staged.symlink_metadata() else {
            let said = message(&staging.join(format!("{}.error", self.number)));
            return Err(said.map_or_else(
                || format!("{path}: the machine stopped before the guest had copied it"),
                |said| format!("{path}: the guest could not copy it: {said}"),
            ));
        };
        let durable = if about.is_file() { File::open(&staged).and_then(|file| file.sync_all()) } else { Ok(()) };
        let moved = durable.and_then(|()| fs::rename(&staged, &self.target));
        moved.map_err(|error| format!("{path}: {}: {error}", self.target.display()))
    }
}

/// The first line of what the guest's program said, without control characters; `None` if it said nothing.
fn message(file: &Path) -> Option<String> {
    let about = file.symlink_metadata().ok().filter(fs::Metadata::is_file)?;
    let mut bytes = Vec::new();
    File::open(file).ok()?.take(LONGEST_MESSAGE.min(about.len())).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let line: String = text.lines().next()?.chars().filter(|character| !character.is_control()).collect();
    (!line.is_empty()).then_some(line)
}

/// Where the copy goes: into a directory that is there, or else to the path itself.
fn target(spec: &CopySpec) -> io::Result<PathBuf> {
    if !spec.host.is_dir() {
        return Ok(spec.host.clone());
    }
    let name = Path::new(&spec.guest).file_name();
    let unnamed = || io::Error::new(io::ErrorKind::IsADirectory, "a directory, and the file in the guest has no name");
    name.map(|name| spec.host.join(name)).ok_or_else(unnamed)
}

/// The directory that `path` is in.
fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(texts: &[String]) -> Result<CopyOuts, Failure> {
        let specs: Vec<CopySpec> = texts.iter().map(|text| text.parse().unwrap()).collect();
        CopyOuts::prepare(&specs, &GuestKind::Linux, &LinuxArgs::default())
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_complete_gets_its_name_and_the_rest_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("into")).unwrap();
        fs::write(at("old"), "old").unwrap();
        let specs = [("/a", "old"), ("/b/c", "into"), ("/tree", "new"), ("/gone", "gone")];
        let specs = specs.map(|(guest, host)| format!("{guest}:{}", at(host).display()));
        let copies = prepared(&specs).unwrap();
        let copying = copies.copying();
        assert_eq!(copying.len(), 4);
        assert_eq!(copying[0].to, copying[3].to, "one directory for all that go to the same");
        let staged = |index: usize, name: &str| copying[index].to.root.path().join(name);
        fs::write(staged(0, "0"), "new").unwrap();
        fs::write(staged(1, "1"), "c").unwrap();
        fs::create_dir(staged(2, "2")).unwrap();
        fs::write(staged(3, "3.part"), "half").unwrap();
        fs::write(staged(3, "3.error"), "cp: no \u{1b}[31mspace\nmore").unwrap();
        let problem = copies.finish().unwrap_err().to_string();
        assert_eq!(problem, "--copy-out: /gone: the guest could not copy it: cp: no [31mspace");
        assert_eq!(fs::read(at("old")).unwrap(), b"new");
        assert_eq!(fs::read(at("into/c")).unwrap(), b"c");
        drop(copies);
        assert_eq!(names(directory.path()), ["into", "new", "old"]);
        assert_eq!(names(&at("into")), ["c"]);
    }

    #[test]
    fn what_cannot_be_written_is_said_before_the_run() {
        let directory = tempfile::tempdir().unwrap();
        let missing = format!("/a:{}", directory.path().join("no/such").display());
        assert!(prepared(&[missing]).unwrap_err().to_string().contains("no/such"));
        let same = format!("/a:{}", directory.path().join("x").display());
        assert!(prepared(&[same.clone(), same.clone()]).unwrap_err().to_string().contains("two files"));
        assert!(names(directory.path()).is_empty());
        let spec = [same.parse().unwrap()];
        assert!(CopyOuts::prepare(&spec, &GuestKind::Vos, &LinuxArgs::default()).is_err());
    }
}
