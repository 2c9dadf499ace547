//! The directory that is shared, and paths beneath it.

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the guest may do with the directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Read it.
    Read,
    /// Read and change it.
    Write,
}

/// Why a directory cannot be shared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RootError {
    /// The host's system refuses.
    #[error("{path}: {error}")]
    Host {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        error: Errno,
    },
    /// The kernel of the host is older than Linux 5.6.
    #[error("this kernel has no openat2, which keeps a guest in the directory that it is given; Linux 5.6 has it")]
    Kernel,
}

/// A directory of the host that is open. Clones are the same directory.
#[derive(Clone, Debug)]
pub struct Root(Arc<Opened>);

#[derive(Debug)]
struct Opened {
    directory: OwnedFd,
    path: PathBuf,
    access: Access,
}

impl PartialEq for Root {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Root {}

/// How a path is resolved: beneath the directory, and through no link at all.
const CONFINED: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);

/// How often a path is resolved again that was renamed meanwhile (`EAGAIN` of openat2(2)).
const ATTEMPTS: usize = 16;

impl Root {
    /// Opens the directory at `path`, which may itself be a link to one.
    ///
    /// # Errors
    /// [`RootError`], naming the path.
    pub fn open(path: &Path, access: Access) -> Result<Self, RootError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let failed = |error| RootError::Host { path: path.to_owned(), error };
        let directory = rustix::fs::openat(CWD, path, flags, Mode::empty()).map_err(failed)?;
        let root = Self(Arc::new(Opened { directory, path: path.to_owned(), access }));
        match root.resolve(b".", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()) {
            Ok(_) => Ok(root),
            Err(Errno::NOSYS) => Err(RootError::Kernel),
            Err(error) => Err(failed(error)),
        }
    }

    /// Its path on the host, as it was given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// What the guest may do.
    #[must_use]
    pub fn access(&self) -> Access {
        self.0.access
    }

    /// The directory itself.
    pub(crate) fn directory(&self) -> BorrowedFd<'_> {
        self.0.directory.as_fd()
    }

    /// Opens what is at `path` beneath the directory, relative and without a link anywhere on it.
    ///
    /// # Errors
    /// As the host's system says: `ELOOP` for a link, `EXDEV` for a path that leads out.
    pub(crate) fn resolve(&self, path: &[u8], flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
        resolve(self.directory(), path, flags, mode)
    }
}

/// As [`Root::resolve`], beneath another directory.
///
/// # Errors
/// As [`Root::resolve`].
pub(crate) fn resolve(from: BorrowedFd<'_>, path: &[u8], flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    // A pipe that another process puts there must not block the machine, and a terminal must not become the process's own.
    let flags = if flags.contains(OFlags::PATH) { flags } else { flags | OFlags::NONBLOCK | OFlags::NOCTTY };
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let attempt = || openat2(from, path, flags, mode, CONFINED);
    for _ in 1..ATTEMPTS {
        match attempt() {
            Err(Errno::AGAIN | Errno::INTR) => {}
            other => return other,
        }
    }
    attempt()
}
