//! A temporary file that takes a regular file's place once it is written.
//!
//! Where the file system can (`O_TMPFILE`: ext4, xfs, btrfs, tmpfs), it has no name until then, so that nothing is left however the process
//! ends. Elsewhere it has a name, which the [`cleanup`](crate::cleanup) removes; what a process left that was killed, the next one
//! removes that writes to the same directory. A living process holds a lock on its own.

use crate::cleanup::TemporaryPath;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The beginning of every name.
const PREFIX: &str = ".pagewalk-";

/// The rights of an ordinary new file, of which the umask takes some.
const RIGHTS: u32 = 0o666;

/// A file younger than this may belong to a process that has not locked it yet.
const GRACE: Duration = Duration::from_secs(60);

/// A temporary file beside its target, which a crash never leaves half-written under the target's name.
#[derive(Debug)]
pub(super) struct Temporary {
    file: File,
    directory: PathBuf,
    /// Its name, if it has one.
    named: Option<TemporaryPath>,
}

impl Temporary {
    /// A new one in the directory that `target` is in.
    ///
    /// # Errors
    /// As the host's system says.
    pub(super) fn beside(target: &Path) -> io::Result<Self> {
        let directory = directory_of(target).to_owned();
        match unnamed(&directory) {
            Ok(file) => Ok(Self { file: file.into(), directory, named: None }),
            // The file system has none, or the kernel that the file system is exported by.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => Self::named(directory),
            Err(error) => Err(error.into()),
        }
    }

    fn named(directory: PathBuf) -> io::Result<Self> {
        remove_stale(&directory);
        let (path, file) = with_new_name(&directory, |path| {
            File::options().read(true).write(true).create_new(true).mode(RIGHTS).open(path)
        })?;
        let named = TemporaryPath::remove_later(path);
        // Where locks cannot be had, it is unknown whether a file is in use, and none is removed.
        let _ = file.try_lock();
        Ok(Self { file, directory, named: Some(named) })
    }

    /// The file, open for reading and writing.
    pub(super) const fn file(&self) -> &File {
        &self.file
    }

    /// The directory that it is in.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Makes its content durable and gives it the name `target`, in the same directory, whatever had that name before.
    ///
    /// # Errors
    /// As the host's system says; what was there is untouched.
    pub(super) fn replace(self, target: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        let named = match self.named {
            Some(named) => named,
            None => link(&self.file, &self.directory)?,
        };
        fs::rename(named.path(), target)?;
        named.forget();
        Ok(())
    }
}

/// A file without a name, which can be given one.
fn unnamed(directory: &Path) -> rustix::io::Result<OwnedFd> {
    // Without the process file system there is no way to name it later.
    if !Path::new("/proc/self/fd").exists() {
        return Err(Errno::OPNOTSUPP);
    }
    rustix::fs::open(directory, OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, Mode::from_raw_mode(RIGHTS))
}

/// Gives a file that has no name a temporary one: a link cannot take the place of a file, only a rename can.
fn link(file: &File, directory: &Path) -> io::Result<TemporaryPath> {
    let open = format!("/proc/self/fd/{}", file.as_raw_fd());
    let (path, ()) = with_new_name(directory, |path| {
        rustix::fs::linkat(CWD, open.as_str(), CWD, path, AtFlags::SYMLINK_FOLLOW).map_err(io::Error::from)
    })?;
    Ok(TemporaryPath::remove_later(path))
}

/// The first name in `directory` under which `make` does not find a file already.
fn with_new_name<T>(directory: &Path, mut make: impl FnMut(&Path) -> io::Result<T>) -> io::Result<(PathBuf, T)> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = directory.join(format!("{PREFIX}{}-{number}", std::process::id()));
        match make(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => return Ok((path, other?)),
        }
    }
}

/// Removes what processes left in `directory` that were killed. It is no failure if that fails.
fn remove_stale(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes())) {
        if is_stale(&entry.path()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn is_stale(path: &Path) -> bool {
    let old = |file: &File| {
        let modified = file.metadata().and_then(|about| about.modified());
        modified.is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age > GRACE))
    };
    let regular = fs::symlink_metadata(path).is_ok_and(|about| about.is_file());
    regular && File::open(path).is_ok_and(|file| old(&file) && file.try_lock().is_ok())
}

/// The directory that `path` is in.
pub(super) fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::time::SystemTime;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_with_a_name_is_removed_or_takes_its_place() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("out");
        drop(Temporary::named(directory.path().to_owned()).unwrap());
        assert!(names(directory.path()).is_empty());
        let temporary = Temporary::named(directory.path().to_owned()).unwrap();
        temporary.file().write_all(b"content").unwrap();
        temporary.replace(&target).unwrap();
        assert_eq!(names(directory.path()), ["out"]);
        assert_eq!(fs::read(target).unwrap(), b"content");
    }

    #[test]
    fn a_file_without_a_name_leaves_nothing_when_the_process_is_killed() {
        let directory = tempfile::tempdir().unwrap();
        let temporary = Temporary::beside(&directory.path().join("out")).unwrap();
        if temporary.named.is_none() {
            assert!(names(directory.path()).is_empty());
            temporary.replace(&directory.path().join("out")).unwrap();
            assert_eq!(names(directory.path()), ["out"]);
        }
    }

    #[test]
    fn files_of_dead_processes_are_removed_and_no_others() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let old = SystemTime::now() - 2 * GRACE;
        for name in [".pagewalk-7-0", ".pagewalk-7-1", "other"] {
            File::create(at(name)).unwrap().set_modified(old).unwrap();
        }
        File::create(at(".pagewalk-7-2")).unwrap();
        let living = File::open(at(".pagewalk-7-1")).unwrap();
        living.lock().unwrap();
        remove_stale(directory.path());
        assert_eq!(names(directory.path()), [".pagewalk-7-1", ".pagewalk-7-2", "other"]);
    }
}
