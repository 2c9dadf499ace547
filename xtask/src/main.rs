//! Project chores: everything CI and a contributor run. `cargo xtask --help` lists them.
#![forbid(unsafe_code)]

mod examples;
mod packages;
mod readme;
mod steps;

use std::process::ExitCode;
use steps::{CHORES, STEPS};

/// Why a chore failed, in one line.
type Failure = String;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--help" | "-h" | "help"] => {
            print!("{}", help());
            Ok(())
        }
        ["test"] => STEPS.iter().try_for_each(steps::Step::perform),
        [name] => match STEPS.iter().chain(CHORES).find(|step| step.name == name) {
            Some(step) => step.perform(),
            None => return usage(&format!("no chore is called `{name}`")),
        },
        _ => return usage("one chore at a time"),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn usage(problem: &str) -> ExitCode {
    eprintln!("xtask: {problem}\n\n{}", help());
    ExitCode::from(2)
}

fn help() -> String {
    let lines = |steps: &[steps::Step]| -> String {
        steps.iter().map(|step| format!("  {:13} {}\n", step.name, step.summary)).collect()
    };
    let (steps, chores) = (lines(STEPS), lines(CHORES));
    format!("Usage: cargo xtask CHORE\n\n  {:13} all of the following, in order\n{steps}\n{chores}", "test")
}
