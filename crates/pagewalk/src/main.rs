//! The `pagewalk` command.
#![forbid(unsafe_code)]

use pagewalk::error::Failure;
use pagewalk::interrupt;
use pagewalk::output::warn;
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
    if let Err(error) = process::fatal::install().and_then(|()| interrupt::watch()) {
        warn(&format!("signals are not handled: {error}"));
    }
    let outcome = pagewalk::cli::parse().and_then(|cli| pagewalk::commands::run(&cli));
    outcome.unwrap_or_else(|failure| {
        warn(&failure.line());
        if let Failure::Interrupted(signal) = failure {
            signal.end_process();
        }
        failure.exit_code()
    })
}

#[cold]
#[inline(never)]
fn refuse(feature: &'static str) -> ExitCode {
    use std::io::Write;
    // That nobody can read it changes nothing.
    let _ = writeln!(
        std::io::stderr(),
        "pagewalk: this processor lacks {feature}; the build is for x86-64 of 2013 or later (.cargo/config.toml)"
    );
    ExitCode::FAILURE
}
