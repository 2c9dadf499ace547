//! QEMU, which runs the same guest: `qemu-system-riscv64` with its machine `virt`, whose memory map Pagewalk's machine has.

use super::stopwatch::Stopwatch;
use super::temporary::temporary;
use crate::error::Failure;
use crate::interrupt;
use machine::Image;
use std::ffi::OsString;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};
use tempfile::NamedTempFile;

/// The short name of Debian's emulator, and its program.
const USUAL: &str = "qemu";
const USUAL_PROGRAM: &str = "qemu-system-riscv64";

/// How long one command may take.
const LIMIT: Duration = Duration::from_secs(1800);

/// How often it looks whether the user interrupts it.
const PROBE: Duration = Duration::from_millis(100);

/// An emulator that is installed.
pub(super) struct Emulator {
    program: OsString,
    /// What it says of its version.
    pub(super) version: String,
}

/// A guest's files, as the emulator reads them.
pub(super) struct Files {
    kernel: NamedTempFile,
    initrd: Option<NamedTempFile>,
    command_line: String,
    bytes: u64,
}

/// Ends the emulator wherever its run ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Emulator {
    /// The emulator of that name.
    ///
    /// # Errors
    /// [`Failure::Usage`], if it cannot be run.
    pub(super) fn find(name: &str) -> Result<Self, Failure> {
        let program = OsString::from(if name == USUAL { USUAL_PROGRAM } else { name });
        let output = Command::new(&program).arg("--version").stdin(Stdio::null()).output();
        let said = |problem: String| Failure::Usage(format!("--against: {}: {problem}", program.display()));
        let output = output.map_err(|error| said(error.to_string()))?;
        let version = String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().trim().to_owned();
        if !output.status.success() || !version.contains("QEMU") {
            return Err(said("it does not say that it is QEMU".to_owned()));
        }
        Ok(Self { program, version: version.replace("emulator version ", "") })
    }

    /// Boots the guest, whose shell runs a timed script, and returns the time that it takes.
    ///
    /// # Errors
    /// [`Failure`], if the command does not come to a good end.
    pub(super) fn run(&self, files: &Files) -> Result<Duration, Failure> {
        let failed = |problem: String| Failure::Run(format!("{}: {problem}", self.version));
        let mut command = Command::new(&self.program);
        command.args(["-machine", "virt", "-display", "none", "-monitor", "none", "-serial", "stdio", "-no-reboot"]);
        command.arg("-m").arg(format!("{}M", files.bytes >> 20));
        command.arg("-kernel").arg(files.kernel.path()).arg("-append").arg(&files.command_line);
        if let Some(initrd) = &files.initrd {
            command.arg("-initrd").arg(initrd.path());
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut running = Running(child.map_err(|error| failed(error.to_string()))?);
        let mut console = running.0.stdout.take().expect("the output is a pipe");
        let (sender, output) = mpsc::channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = console.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        let (mut watch, start) = (Stopwatch::default(), Instant::now());
        while !watch.has_ended() {
            if let Some(signal) = interrupt::requested() {
                return Err(Failure::Interrupted(signal));
            }
            match output.recv_timeout(PROBE) {
                Ok(bytes) => watch.read(&bytes),
                Err(RecvTimeoutError::Timeout) if start.elapsed() < LIMIT => {}
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        watch.time().map_err(failed)
    }
}

impl Files {
    /// Those of an image, for a machine of so much memory.
    ///
    /// # Errors
    /// [`Failure::Run`], if they cannot be written.
    pub(super) fn of(image: &Image, bytes: u64) -> Result<Self, Failure> {
        Ok(Self {
            kernel: temporary(&image.kernel)?,
            initrd: image.initrd.as_deref().map(temporary).transpose()?,
            command_line: image.command_line.clone(),
            bytes,
        })
    }
}
