//! The whole program: what `main` is here, and in a crate that adds schemes.

use crate::error::Failure;
use crate::{cli, commands, interrupt, output::warn, processor};
use schemes::{SchemeRef, registry};
use std::process::ExitCode;

/// The whole of `pagewalk`, with `schemes` beside its own: command line, commands, reports. A `main` has nothing else to do, and nothing before it.
///
/// A program whose schemes have names that there are already ends with a line that says so.
// Nothing comes before the check of the processor, so that the compiler has no cause to use what may be missing.
#[must_use]
pub fn main(schemes: &[SchemeRef]) -> ExitCode {
    match processor::missing() {
        None => run(schemes),
        Some(feature) => refuse(feature),
    }
}

#[inline(never)]
fn run(schemes: &[SchemeRef]) -> ExitCode {
    if let Err(error) = registry::add(schemes) {
        warn(&format!("schemes are not added: {error}"));
        return ExitCode::FAILURE;
    }
    crate::end_with_parent();
    if let Err(error) = process::fatal::install().and_then(|()| interrupt::watch()) {
        warn(&format!("signals are not handled: {error}"));
    }
    let outcome = cli::parse().and_then(|cli| commands::run(&cli));
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
    // A failure to write it is ignored.
    let _ = writeln!(
        std::io::stderr(),
        "pagewalk: this processor lacks {feature}; the build is for x86-64 of 2013 or later (.cargo/config.toml)"
    );
    ExitCode::FAILURE
}
