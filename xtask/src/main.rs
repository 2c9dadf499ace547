//! Project chores: everything CI and a contributor run. `cargo xtask --help` lists them.
#![forbid(unsafe_code)]

mod build;
mod checks;
mod dependencies;
mod dist;
mod examples;
mod failure;
mod fuzz;
mod guests;
mod lints;
mod options;
mod packages;
mod parallel;
mod process;
mod python;
mod readme;
mod step;
mod steps;
mod suites;
mod tools;

use options::Request;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let request = match options::parse(&arguments.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(request) => request,
        Err(problem) => {
            eprintln!("xtask: {problem}\n\n{}", options::help());
            return ExitCode::from(2);
        }
    };
    let outcome = match request {
        Request::Help => {
            print!("{}", options::help());
            Ok(())
        }
        Request::Test(tier) => step::perform_all(steps::STEPS, tier, step::in_a_process),
        Request::One(step) => step.perform().map(|_| ()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::FAILURE
        }
    }
}
