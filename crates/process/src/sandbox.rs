//! What the process may ask of the kernel once it runs a guest.
//!
//! A guest is hostile. Should it ever find a way to write outside its memory, it still cannot open a file that the run does not need, make a socket or
//! start a program: the kernel refuses.
//!
//! * System calls (seccomp): a list of [`calls`](calls::CALLS), some with conditions on their arguments. Any other ends the process with SIGSYS, which
//!   [`fatal`](crate::fatal) turns into one line. The filter holds for every thread, and for those that are started later.
//! * Code: no memory becomes executable but the reserved range that compiled code lies in, and no memory is writable and executable at once.
//! * Files (Landlock): the run opens, makes and renames files beneath the stated paths only. Where it needs none, opening is refused altogether.
//!
//! Neither can be taken back. `docs/sandbox.md` has the list with the reasons.

pub mod calls;
mod filter;
mod paths;

use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{fs, thread};

/// What a run needs beside memory, threads and the files that it has open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sandbox {
    /// Addresses that code is compiled to: the only ones that may become executable. `None`: nothing is compiled.
    pub code: Option<CodeRange>,
    /// Files and directories that are opened or changed while the guest runs.
    pub paths: Vec<(PathBuf, Access)>,
}

/// Where compiled code lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeRange {
    /// Addresses at which a change of rights may begin.
    pub addresses: Range<usize>,
    /// The most bytes of one change of rights. As many behind `addresses` belong to the same reservation.
    pub longest: usize,
}

/// What a run does with a file, or with the files in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Opens them for reading.
    Read,
    /// Opens them for reading and writing.
    ReadWrite,
    /// Opens, makes, renames and removes files in the directory.
    Directory,
    /// Gives a file that is open already its name in the directory, in the place of what has it.
    Rename,
    /// Removes empty directories in the directory.
    RemoveDirectory,
}

impl Access {
    /// Whether a file is opened.
    const fn opens(self) -> bool {
        match self {
            Self::Read | Self::ReadWrite | Self::Directory => true,
            Self::Rename | Self::RemoveDirectory => false,
        }
    }
}

/// Why there is no sandbox.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// A path that the run needs cannot be allowed.
    #[error("{path}: {cause}")]
    Path {
        /// The path.
        path: PathBuf,
        /// The cause.
        cause: String,
    },
    /// Landlock.
    #[error("Landlock: {0}")]
    Landlock(String),
    /// Seccomp.
    #[error("seccomp: {0}")]
    Seccomp(String),
    /// Threads run that Landlock would not hold for.
    #[error("{0} threads run already")]
    Threads(usize),
}

/// What the kernel could not do; the run goes on without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Landlock is not in the kernel, or not turned on.
    Landlock,
    /// Seccomp filters are not in the kernel, or not for this processor.
    Seccomp,
}

/// How long threads that end have time to.
const PATIENCE: Duration = Duration::from_secs(2);

impl Sandbox {
    /// Enters the sandbox, for good. Called by the only thread of the process: before Linux 7.0, Landlock holds for the calling thread and those that
    /// it starts.
    ///
    /// Returns what the kernel lacks.
    ///
    /// # Errors
    /// [`SandboxError`]; the process may be in a part of the sandbox then.
    pub fn enter(&self) -> Result<Vec<Missing>, SandboxError> {
        await_single_thread()?;
        let filters = filter::Filters::new(self)?;
        let mut missing = Vec::new();
        if !paths::restrict(&self.paths)? {
            missing.push(Missing::Landlock);
        }
        if !filters.install()? {
            missing.push(Missing::Seccomp);
        }
        Ok(missing)
    }

    /// Whether any file is opened.
    fn opens(&self) -> bool {
        self.paths.iter().any(|(_, access)| access.opens())
    }
}

/// Waits until threads that have been told to end have ended.
fn await_single_thread() -> Result<(), SandboxError> {
    let since = Instant::now();
    loop {
        let threads = fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
        if threads <= 1 {
            return Ok(());
        }
        if since.elapsed() > PATIENCE {
            return Err(SandboxError::Threads(threads));
        }
        thread::sleep(Duration::from_millis(1));
    }
}
