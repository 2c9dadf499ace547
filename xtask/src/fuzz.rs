//! Coverage-guided fuzzing: builds the targets of `fuzz/` with libFuzzer, and runs each for a while, two at a time.
//!
//! `PAGEWALK_FUZZ_SECONDS` is how long each runs: 30 by default. `PAGEWALK_FUZZ_TARGETS` names some of them, with
//! commas between. Inputs that reach something new are kept in `target/fuzz/NAME`, from where the next run goes on, and [`minimize`] moves to `fuzz/corpus/NAME`
//! what is worth keeping of them. An input that fails is in `target/fuzz` as well, and the step fails with its path: committed to
//! `fuzz/regressions/NAME`, it becomes a test.

mod corpus;
mod summary;
mod target;

use crate::build::PROFILE;
use crate::failure::Failure;
use crate::parallel::on_all;
use crate::process::{root, run};
use std::process::{Command, Stdio};
use target::Target;

/// Performs the step: fuzzes every target, and prints a table of what was executed and reached.
pub(crate) fn perform() -> Result<(), Failure> {
    let seconds = std::env::var("PAGEWALK_FUZZ_SECONDS").unwrap_or_else(|_| "30".to_owned());
    let seconds: u32 =
        seconds.parse().map_err(|_| format!("PAGEWALK_FUZZ_SECONDS={seconds}: not a number of seconds"))?;
    let targets = target::named()?;
    build(&targets)?;
    let (done, failures) = on_all(&targets, |target| {
        let summary = target.fuzz(seconds)?;
        println!("{}: done", target.name());
        Ok(summary)
    });
    let rows: Vec<_> = done.into_iter().map(|(target, summary)| (target.name(), summary)).collect();
    print!("{}", summary::table(&rows));
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// Performs the chore: the smallest inputs that together reach what the corpus and all that was found reach become the corpus.
pub(crate) fn minimize() -> Result<(), Failure> {
    let targets = target::named()?;
    build(&targets)?;
    let (_, failures) = on_all(&targets, |target| {
        let change = corpus::minimize(target)?;
        println!("{:13} {change}", target.name());
        Ok(())
    });
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// Builds `targets`, with coverage in the code of this workspace alone. libFuzzer is C++.
fn build(targets: &[Target]) -> Result<(), Failure> {
    let compiler = Command::new("c++").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !compiler.is_ok_and(|status| status.success()) {
        return Err("no C++ compiler, which libFuzzer is built with (Debian's package g++)".to_owned());
    }
    let bins = targets.iter().flat_map(|target| ["--bin", target.name()]);
    run(Command::new(env!("CARGO"))
        // Of the whole workspace, so that dependencies have the features that they have in the other steps, and are there already.
        .args(["build", "--workspace", "--profile", PROFILE, "--features", "pagewalk-fuzz/libfuzzer"])
        .args(bins)
        .env("RUSTC_WORKSPACE_WRAPPER", root().join("fuzz/instrument.sh"))
        .current_dir(root()))
}
