//! The guest programs that the repository carries as images.

use crate::failure::Failure;
use crate::process::{root, run};
use std::process::Command;

/// Builds the images again and compares the bytes, and runs those that are committed on QEMU.
pub(crate) fn check() -> Result<(), Failure> {
    let guests = root().join("guests");
    run(Command::new("sh").arg(guests.join("check-reproducible.sh")))?;
    run(Command::new("sh").arg(guests.join("test-on-qemu.sh")).arg("quick"))
}
