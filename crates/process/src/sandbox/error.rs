//! Why there is no sandbox, or a part of it only.

use std::path::PathBuf;

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
    #[error("{0} threads are running already; the sandbox needs a process with one thread")]
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
