//! The `pagewalk` command.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    let outcome = pagewalk::cli::parse().and_then(|cli| pagewalk::commands::run(&cli));
    outcome.unwrap_or_else(|failure| {
        eprintln!("pagewalk: {}", failure.line());
        failure.exit_code()
    })
}
