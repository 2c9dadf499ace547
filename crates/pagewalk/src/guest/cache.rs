//! Where fetched guests live on the host, and who may write there.
//!
//! ```text
//! <cache>/linux/
//!   lock                     held while a fetch runs
//!   manifest.json            what is valid: written last, by rename
//!   packages/<name>_<version>/        one Debian package, pruned to what a guest uses
//!   packages/<name>_<version>.json    its listing: mode, size and SHA-256 of every file
//!   apt/                     a private apt state: index, keys' choice, downloads (resumed after an interruption)
//!   work/                    unpacking; removed when a fetch starts and ends
//! ```
//! A package's directory appears by rename once it is complete, its listing after it; a reader trusts only what
//! `manifest.json` names, and checks every file that it reads against the listing.

use super::GuestError;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

/// The directory of fetched guests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// The cache at `chosen`, or at the user's place for caches (`$XDG_CACHE_HOME/pagewalk`, `~/.cache/pagewalk`).
    ///
    /// # Errors
    /// [`GuestError::NoCache`] if nothing was chosen and the user has no home; [`GuestError::Io`] if `chosen` is empty.
    pub fn locate(chosen: Option<&Path>) -> Result<Self, GuestError> {
        if let Some(root) = chosen {
            // apt takes a relative path for one from its own root.
            return std::path::absolute(root).map(|root| Self { root }).map_err(GuestError::at(root));
        }
        let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
        base.map(|base| Self { root: base.join("pagewalk") }).ok_or(GuestError::NoCache)
    }

    /// The cache's directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The directory of the Linux guest.
    #[must_use]
    pub fn linux(&self) -> PathBuf {
        self.root.join("linux")
    }

    /// The directory of the Debian guest.
    #[must_use]
    pub fn debian(&self) -> PathBuf {
        self.root.join("debian")
    }

    pub(crate) fn manifest(&self) -> PathBuf {
        self.linux().join("manifest.json")
    }

    pub(crate) fn packages(&self) -> PathBuf {
        self.linux().join("packages")
    }

    pub(crate) fn apt(&self) -> PathBuf {
        self.linux().join("apt")
    }

    /// States of Linux guests that have booted.
    pub(crate) fn booted(&self) -> PathBuf {
        self.linux().join("booted")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.linux().join("work")
    }

    /// Takes the right to write; `waiting` is called once if another process holds it.
    ///
    /// # Errors
    /// [`GuestError::Io`] if the lock file cannot be made.
    pub(crate) fn lock(&self, waiting: impl FnOnce()) -> Result<CacheLock, GuestError> {
        make_directory(&self.linux())?;
        let path = self.linux().join("lock");
        let file = File::create(&path).map_err(GuestError::at(&path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                waiting();
                file.lock().map_err(GuestError::at(&path))?;
            }
            Err(TryLockError::Error(source)) => return Err(GuestError::Io { path, source }),
        }
        Ok(CacheLock { _file: file })
    }
}

/// The right to write into a cache; given back on drop, and by the system if the process dies.
#[derive(Debug)]
pub(crate) struct CacheLock {
    _file: File,
}

/// Makes `path` and its parents.
pub(crate) fn make_directory(path: &Path) -> Result<(), GuestError> {
    fs::create_dir_all(path).map_err(GuestError::at(path))
}

/// Removes `path` and all under it; that it is not there is fine.
pub(crate) fn remove_tree(path: &Path) -> Result<(), GuestError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(GuestError::at(path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chosen_directory_wins() {
        let cache = Cache::locate(Some(Path::new("/somewhere"))).unwrap();
        assert_eq!(cache.linux(), Path::new("/somewhere/linux"));
    }

    #[test]
    fn a_relative_directory_is_made_absolute() {
        assert!(Cache::locate(Some(Path::new("here"))).unwrap().root().is_absolute());
        assert!(Cache::locate(Some(Path::new(""))).is_err());
    }

    #[test]
    fn a_second_writer_waits_for_the_first() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::locate(Some(directory.path())).unwrap();
        let first = cache.lock(|| panic!("the lock is free")).unwrap();
        std::thread::scope(|scope| {
            let (told, waits) = std::sync::mpsc::channel();
            let second = scope.spawn(|| cache.lock(move || told.send(()).unwrap()).map(drop));
            waits.recv().unwrap();
            assert!(!second.is_finished());
            drop(first);
            second.join().unwrap().unwrap();
        });
    }

    #[test]
    fn removing_what_is_not_there_is_fine() {
        let directory = tempfile::tempdir().unwrap();
        remove_tree(&directory.path().join("nothing")).unwrap();
    }
}
