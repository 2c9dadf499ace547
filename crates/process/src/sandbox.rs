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
mod error;
mod filter;
mod needs;
mod paths;

pub use error::{Missing, SandboxError};
pub use needs::{Access, CodeRange, Datagrams, Sandbox};

use std::time::{Duration, Instant};
use std::{fs, thread};

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
        if !paths::restrict(&self.paths, self.network.as_ref())? {
            missing.push(Missing::Landlock);
        }
        if !filters.install()? {
            missing.push(Missing::Seccomp);
        }
        Ok(missing)
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
