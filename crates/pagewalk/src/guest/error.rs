//! What can go wrong between the Debian archive and a guest that boots, one cause each.

use std::io;
use std::path::{Path, PathBuf};

/// Why a guest could not be fetched, read or built.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// A file or directory could not be read, written, renamed or removed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file at fault.
        path: PathBuf,
        /// What the host's system said.
        source: io::Error,
    },
    /// A program of the host that fetching needs is not installed.
    #[error("`{program}` is not installed ({purpose})")]
    MissingTool {
        /// The program's name.
        program: &'static str,
        /// What it is needed for.
        purpose: &'static str,
    },
    /// A program of the host failed.
    #[error("`{program}` failed: {reason}")]
    Tool {
        /// The program's name.
        program: &'static str,
        /// The most telling line that it wrote.
        reason: String,
    },
    /// The system's apt configuration names no Debian archive.
    #[error("the system's apt configuration names no Debian archive; give one with --mirror URL")]
    NoMirror,
    /// The archive's signature could not be checked.
    #[error(
        "the signature of Debian {suite} cannot be checked: {reason}; install a newer `debian-archive-keyring`, \
         or name the keyring with --keyring FILE"
    )]
    Signature {
        /// The requested suite.
        suite: String,
        /// What apt said.
        reason: String,
    },
    /// apt knows no such package.
    #[error("no package set or Debian package is called `{0}`")]
    UnknownSet(String),
    /// No suite has a kernel of that release.
    #[error("no kernel {release} in Debian {}", .suites.join(", "))]
    UnknownKernel {
        /// The requested release.
        release: String,
        /// Where it was looked for.
        suites: Vec<String>,
    },
    /// A package holds something other than what Pagewalk expects of it.
    #[error("package {package}: {problem}")]
    Package {
        /// The package's name.
        package: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A file that is no kernel module, or one of another kernel.
    #[error("{}: {problem}", path.display())]
    Module {
        /// The file at fault.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The cache holds no Linux guest, or not that set.
    #[error("{what} is not in the cache {}: run `pagewalk guest fetch{argument}`", cache.display())]
    NotFetched {
        /// What is missing.
        what: String,
        /// The cache's directory.
        cache: PathBuf,
        /// What to add to the command that brings it.
        argument: String,
    },
    /// The cache holds no Debian image.
    #[error("no Debian image in the cache {}: run `pagewalk guest image debian`", cache.display())]
    NoImage {
        /// The cache's directory.
        cache: PathBuf,
    },
    /// An image could not be made.
    #[error("the image was not made: {0}")]
    Image(String),
    /// A file of the cache is not what was fetched.
    #[error("{}: damaged ({problem}): run `pagewalk guest fetch`", path.display())]
    Damaged {
        /// The file at fault.
        path: PathBuf,
        /// How it differs.
        problem: String,
    },
    /// No directory for the cache can be worked out.
    #[error("no directory for the cache: set HOME, XDG_CACHE_HOME or PAGEWALK_CACHE, or give --cache DIR")]
    NoCache,
    /// A path in the guest that cannot be made.
    #[error("guest path `{path}`: {problem}")]
    GuestPath {
        /// The path as given.
        path: String,
        /// Why not.
        problem: &'static str,
    },
}

impl GuestError {
    /// An I/O error at `path`, as a closure for `map_err`.
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}
