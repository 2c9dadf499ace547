//! The `pagewalk` command.
#![forbid(unsafe_code)]

use std::process::ExitCode;

/// Nothing but the check comes before the check, so that the compiler has no cause to use what may be missing.
fn main() -> ExitCode {
    match pagewalk::processor::missing() {
        None => run(),
        Some(feature) => refuse(feature),
    }
}

#[inline(never)]
fn run() -> ExitCode {
    pagewalk::end_with_parent();
    let outcome = pagewalk::cli::parse().and_then(|cli| pagewalk::commands::run(&cli));
    outcome.unwrap_or_else(|failure| {
        eprintln!("pagewalk: {}", failure.line());
        failure.exit_code()
    })
}

#[cold]
#[inline(never)]
fn refuse(feature: &'static str) -> ExitCode {
    eprintln!(
        "pagewalk: this processor lacks {feature}; the build is for x86-64 of 2013 or later (.cargo/config.toml)"
    );
    ExitCode::FAILURE
}
