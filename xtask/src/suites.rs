//! The tests of the workspace's crates, and what they need of the network.

use crate::build::{Build, PROFILE};
use crate::failure::Failure;
use crate::process::{cargo, root, run, target};
use crate::tools::{self, Tool};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Sets that tests use beside the default ones.
const FURTHER_SETS: [&str; 12] = [
    "gcc",
    "stress-ng",
    "rt-tests",
    "sysbench",
    "perf",
    "perl",
    "python",
    "lua",
    "compressors",
    "ssh",
    "sqlite3",
    "u-boot-qemu",
];

/// The profile of what is built once for many users.
pub(crate) const DIST_PROFILE: &str = "dist";

/// Cargo's arguments that leave symbols out of it. Cargo forgets the `strip` of a profile for a package that has settings of its own there.
pub(crate) const WITHOUT_SYMBOLS: [&str; 2] = ["--config", r#"target.'cfg(all())'.rustflags=["-C", "strip=symbols"]"#];

/// The crate whose tests run the command from end to end.
pub(crate) const COMMAND: &str = "pagewalk";

/// Those of its tests that take seconds: what a user may get wrong, and the documentation.
const QUICK_TESTS_OF_COMMAND: [&str; 4] = ["bad_input", "config", "docs", "hosts"];

/// The test that needs a build with a hole in the engine.
const PLANTED_TEST: &str = "sandbox_planted";

/// Cargo's arguments that plant the hole. Checked builds of tests have it, so that the engine is not built again for one test; no build for users has it.
const PLANTED: [&str; 2] = ["--features", "pagewalk/planted"];

/// Which of the tests of the targets run.
#[derive(Clone, Copy)]
enum Tests {
    /// All of them, with those that need more than Rust.
    All,
    /// Those that need nothing but Rust, and of the command's integration tests the quick ones. cargo-nextest alone leaves out the others: tests
    /// of another crate may have the same name, and Cargo chooses by that.
    Quick,
}

/// Fetches the Linux guest with what tests use of it, and makes the Debian image.
pub(crate) fn fetch() -> Result<(), Failure> {
    let command = command()?;
    run(Command::new(&command).args(["guest", "fetch"]).args(FURTHER_SETS))?;
    run(Command::new(&command).args(["guest", "image", "debian"]))
}

/// The command, as the step `release` builds it, so that nothing is built twice: `cargo run` would choose other features for some crates.
pub(crate) fn command() -> Result<PathBuf, Failure> {
    cargo(&concat(&["test", "--workspace", "--profile", PROFILE, "--no-run"], &integration_tests()?))?;
    Ok(target().join(PROFILE).join(COMMAND))
}

/// Runs the tests that take seconds, with debug assertions.
pub(crate) fn quick() -> Result<(), Failure> {
    let names = names_of_tests(&root().join("crates"), is_quick)?;
    let targets = [&["--lib", "--bins"][..], &PLANTED].concat();
    test(Build::Checked, &concat(&targets, &chosen(&names)), Tests::Quick)
}

/// Runs every integration test at full speed.
pub(crate) fn release() -> Result<(), Failure> {
    test(Build::Users, &concat(&[], &integration_tests()?), Tests::All)?;
    // cargo-nextest runs no examples in comments.
    cargo(&["test", "--workspace", "--profile", PROFILE, "--doc"])
}

/// Runs the tests of a build with a hole in the engine, which no other build has.
pub(crate) fn planted() -> Result<(), Failure> {
    // Of the whole workspace, so that dependencies have the features that they have in the other steps, and are there already.
    let mut command = Command::new(env!("CARGO"));
    Build::Checked.settings(command.args(["test", "--workspace", "--profile", PROFILE]));
    run(command.args(PLANTED).args(["--test", PLANTED_TEST]).current_dir(root()))
}

/// Runs the tests of `targets`: by cargo-nextest where it is installed, which keeps all processors busy to the end, or
/// else by `cargo test`, one executable after the other.
fn test(build: Build, targets: &[&str], tests: Tests) -> Result<(), Failure> {
    let Some(nextest) = Tool::Nextest.path() else {
        println!("cargo-nextest is not installed: `cargo test` runs the tests");
        let mut command = Command::new(env!("CARGO"));
        build.settings(command.args(["test", "--workspace", "--no-fail-fast", "--profile", PROFILE])).args(targets);
        if let Tests::All = tests {
            command.args(["--", "--include-ignored"]);
        }
        return run(command.current_dir(root()));
    };
    let which: &[&str] = match tests {
        Tests::All => &["--run-ignored", "all"],
        Tests::Quick => &["--run-ignored", "default", "--filterset", &quick_filter()],
    };
    let mut command = Command::new(nextest);
    command.args(["nextest", "run", "--workspace", "--no-fail-fast", "--cargo-profile", PROFILE]);
    // Where Python packages are that tests import.
    command.env("PYTHONPATH", tools::directory());
    run(build.settings(command.args(which).args(targets)).current_dir(root()))
}

/// Whether an integration test of the crate in a directory is one of a quick run.
fn is_quick(directory: &str, name: &str) -> bool {
    directory != COMMAND || QUICK_TESTS_OF_COMMAND.contains(&name)
}

/// What cargo-nextest runs in a quick run, in its language of filters.
fn quick_filter() -> String {
    let quick = QUICK_TESTS_OF_COMMAND.map(|name| format!("binary(={name})")).join(" | ");
    format!("not (package(={COMMAND}) & kind(=test)) | (package(={COMMAND}) & ({quick}))")
}

/// Cargo's arguments that choose the targets of the step `release`: integration tests. Unit tests run in the step `quick`, with debug assertions,
/// and are not built twice.
pub(crate) fn integration_tests() -> Result<Vec<String>, Failure> {
    let mut names = names_of_tests(&root().join("crates"), |_, name| name != PLANTED_TEST)?;
    names.extend(tests_in(&root().join("fuzz"))?);
    names.extend(names_of_tests(&root().join("examples"), |_, _| true)?);
    Ok(chosen(&names))
}

/// Cargo's arguments that choose tests by their names.
fn chosen(names: &[String]) -> Vec<String> {
    names.iter().flat_map(|name| ["--test".to_owned(), name.clone()]).collect()
}

/// Arguments, and more of them.
pub(crate) fn concat<'a>(first: &[&'a str], more: &'a [String]) -> Vec<&'a str> {
    first.iter().copied().chain(more.iter().map(String::as_str)).collect()
}

/// The integration tests of every crate in the directory `crates`, or another such one, of which `holds` is true, by directory and name.
fn names_of_tests(crates: &Path, holds: impl Fn(&str, &str) -> bool) -> Result<Vec<String>, Failure> {
    let mut names = Vec::new();
    for directory in names_in(crates)? {
        let found = tests_in(&crates.join(&directory))?;
        names.extend(found.into_iter().filter(|name| holds(&directory, name)));
    }
    names.sort();
    names.dedup();
    Ok(names)
}

/// The integration tests of a crate.
fn tests_in(package: &Path) -> Result<Vec<String>, Failure> {
    let tests = package.join("tests");
    if !tests.is_dir() {
        return Ok(Vec::new());
    }
    let found = names_in(&tests)?;
    let of_one_file = found.iter().filter_map(|file| file.strip_suffix(".rs"));
    let of_a_directory = found.iter().filter(|name| tests.join(name).join("main.rs").is_file()).map(String::as_str);
    Ok(of_one_file.chain(of_a_directory).map(str::to_owned).collect())
}

/// What a directory holds.
fn names_in(directory: &Path) -> Result<Vec<String>, Failure> {
    let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
    let entries = fs::read_dir(directory).map_err(failed)?;
    entries.map(|entry| Ok(entry.map_err(failed)?.file_name().to_string_lossy().into_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_run_has_the_tests_below_the_command_and_its_quick_ones() {
        let names = names_of_tests(&root().join("crates"), is_quick).unwrap();
        for name in ["suite", "closed_forms", "agreement"].iter().chain(&QUICK_TESTS_OF_COMMAND) {
            assert!(names.iter().any(|found| found == name), "no {name} in {names:?}");
        }
        for slow in ["linux", "reproduce", "shadow"] {
            assert!(names.iter().all(|found| found != slow), "{slow} in {names:?}");
        }
    }

    #[test]
    fn the_step_release_has_every_integration_test_that_the_usual_build_has() {
        let arguments = integration_tests().unwrap();
        for name in ["suite", "linux", "reproduce", "bad_input", "corpus", "command"] {
            assert!(arguments.windows(2).any(|pair| pair == ["--test", name]), "no {name} in {arguments:?}");
        }
        assert!(!arguments.iter().any(|name| name == PLANTED_TEST));
        for other in ["python", "xtask"] {
            assert_eq!(tests_in(&root().join(other)), Ok(Vec::new()), "tests of {other} are chosen by no step");
        }
    }
}
