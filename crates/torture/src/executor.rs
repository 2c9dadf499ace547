//! What runs an image.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{ExitStatus, Stdio};

use crate::image::Image;
use crate::program::{Program, State};

/// Why an executor did not return the records.
#[derive(Debug, thiserror::Error)]
pub enum ExecutorError {
    /// The executor could not be started, or its files not be written.
    #[error("cannot run {executor}: {source}")]
    Start {
        /// Its name.
        executor: String,
        /// The operating system's reason.
        source: io::Error,
    },
    /// The executor ended early.
    #[error("{executor} ended with {status}: {message}")]
    Status {
        /// Its name.
        executor: String,
        /// How it ended.
        status: ExitStatus,
        /// What it wrote to standard error.
        message: String,
    },
    /// The image ended otherwise than by its own exit.
    #[error("{executor}: {message}")]
    Guest {
        /// The executor's name.
        executor: String,
        /// What happened instead.
        message: String,
    },
}

/// Something that executes user-level RISC-V code.
pub trait Executor: Sync {
    /// What to call it in reports.
    fn name(&self) -> &str;

    /// Runs `image` to its end and returns what it wrote: its records.
    ///
    /// # Errors
    /// If it can not be run, or does not reach its end.
    fn run(&self, image: &Image) -> Result<Vec<u8>, ExecutorError>;
}

/// Runs one program alone on every executor.
pub(crate) fn run_alone(program: &Program, executors: &[&dyn Executor]) -> Vec<Result<State, ExecutorError>> {
    let image = Image::new(std::slice::from_ref(program));
    executors.iter().map(|executor| executor.run(&image).map(|records| Image::states(&records).remove(0))).collect()
}

/// QEMU's user-mode emulator, from Debian's package `qemu-user`.
#[derive(Debug)]
pub struct Qemu {
    command: String,
}

impl Default for Qemu {
    fn default() -> Self {
        Self { command: "qemu-riscv64".to_owned() }
    }
}

impl Executor for Qemu {
    fn name(&self) -> &str {
        &self.command
    }

    fn run(&self, image: &Image) -> Result<Vec<u8>, ExecutorError> {
        let start = |source| ExecutorError::Start { executor: self.command.clone(), source };
        // QEMU wants its program executable, as the kernel would.
        let permissions = std::fs::Permissions::from_mode(0o700);
        let file = tempfile::Builder::new().permissions(permissions).tempfile().map_err(start)?;
        std::fs::write(file.path(), image.elf()).map_err(start)?;
        let output =
            std::process::Command::new(&self.command).arg(file.path()).stdin(Stdio::null()).output().map_err(start)?;
        if output.status.success() && output.stdout.len() == image.data.len() {
            return Ok(output.stdout);
        }
        let message = format!("{} bytes of output. {}", output.stdout.len(), String::from_utf8_lossy(&output.stderr));
        Err(ExecutorError::Status { executor: self.command.clone(), status: output.status, message })
    }
}
