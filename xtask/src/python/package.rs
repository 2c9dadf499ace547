//! The package as the other steps build its parts, and its tests.

use super::environment;
use super::files::{copy, copy_files, remove};
use crate::build::PROFILE;
use crate::failure::Failure;
use crate::process::{cargo, root, run, target};
use crate::suites::{command, concat, integration_tests};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The package's name, and its directory's.
const PACKAGE: &str = "pagewalk";

/// What cargo names the compiled module, and what Python does.
const LIBRARY: &str = "lib_native.so";
const MODULE: &str = "_native.abi3.so";

/// The tests that take half of the time.
const NOTEBOOKS: &str = "test_notebooks.py";

/// Runs the package's tests, with the command and the module as the other steps build them. A wheel would build both again.
pub(crate) fn test() -> Result<(), Failure> {
    let python = environment::python()?;
    let command = command()?;
    let package = assemble()?;
    let tests = root().join("python/tests");
    let notebooks = tests.join(NOTEBOOKS);
    let pytest = |which: &[&Path]| {
        let mut pytest = Command::new(&python);
        pytest.args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "--durations=5"]).args(which);
        pytest.env("PYTHONPATH", &package).env("PAGEWALK_COMMAND", &command).env("PYTHONDONTWRITEBYTECODE", "1");
        run(&mut pytest)
    };
    // Most tests, and notebooks above all, keep one processor busy.
    std::thread::scope(|scope| {
        let others = scope.spawn(|| pytest(&[&tests, Path::new("--ignore"), &notebooks]));
        let of_notebooks = pytest(&[&notebooks]);
        others.join().expect("the thread does not panic").and(of_notebooks)
    })
}

/// A directory with the package as Python imports it; returns it.
fn assemble() -> Result<PathBuf, Failure> {
    // With the tests of the other crates, so that dependencies have the features that they have in the other steps, and are there already.
    cargo(&concat(&["build", "--workspace", "--profile", PROFILE, "--lib"], &integration_tests()?))?;
    let directory = target().join("python/package");
    let package = directory.join(PACKAGE);
    remove(&package)?;
    copy_files(&root().join("python").join(PACKAGE), &package)?;
    copy(&target().join(PROFILE).join(LIBRARY), &package.join(MODULE))?;
    Ok(directory)
}
