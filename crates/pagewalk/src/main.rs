//! The `pagewalk` command.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    pagewalk::main(&[])
}
