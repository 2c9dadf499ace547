//! An environment with the Python packages that tests need.

use crate::failure::Failure;
use crate::process::{root, run, target};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Where the packages are pinned.
const PINNED: &str = ".ci/python.txt";

/// The interpreter of an environment that has the pinned packages.
pub(super) fn python() -> Result<PathBuf, Failure> {
    let directory = target().join("python/environment");
    let python = directory.join("bin/python");
    let pinned = root().join(PINNED);
    let wanted = fs::read(&pinned).map_err(|error| format!("{PINNED}: {error}"))?;
    let installed = directory.join("installed.txt");
    if python.is_file() && fs::read(&installed).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    let venv = run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&directory));
    venv.map_err(|error| {
        format!("{error}; where Python comes from Debian, the package python3-venv brings its module venv")
    })?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]);
    run(pip.args(["--only-binary=:all:", "--no-deps", "--require-hashes", "--requirement"]).arg(&pinned))?;
    fs::write(&installed, wanted).map_err(|error| format!("{}: {error}", installed.display()))?;
    Ok(python)
}
