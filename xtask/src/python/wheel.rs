//! The wheel, which carries the command.

use super::environment;
use super::files::{copy, remove};
use crate::failure::Failure;
use crate::process::{cargo, root, run, target};
use crate::suites::{COMMAND, DIST_PROFILE, WITHOUT_SYMBOLS};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the wheel, which carries the command, into target/wheels. Installed into an environment of its own, it runs a comparison and a guest.
pub(crate) fn make() -> Result<(), Failure> {
    let python = environment::python()?;
    cargo(&[&["build", "--profile", DIST_PROFILE, "--package", COMMAND], &WITHOUT_SYMBOLS[..]].concat())?;
    let scripts = root().join("python/data/scripts");
    let _placed = Placed::copy(&target().join(DIST_PROFILE).join(COMMAND), &scripts)?;
    let wheels = target().join("wheels");
    remove(&wheels)?;
    let mut maturin = Command::new(&python);
    maturin.args([
        "-m",
        "maturin",
        "build",
        "--profile",
        DIST_PROFILE,
        "--strip",
        "--locked",
        "--manifest-path",
        "python/Cargo.toml",
        "--out",
    ]);
    run(maturin.arg(&wheels).current_dir(root()))?;
    let wheel = only_file(&wheels)?;
    check(&wheel)?;
    println!("{}", wheel.display());
    Ok(())
}

/// Installs a wheel alone, as a user does, and uses it.
fn check(wheel: &Path) -> Result<(), Failure> {
    let directory = tempfile::tempdir().map_err(|error| format!("a temporary directory: {error}"))?;
    run(Command::new("python3").args(["-m", "venv"]).arg(directory.path()))?;
    let bin = directory.path().join("bin");
    let python = bin.join("python");
    let mut pip = Command::new(&python);
    run(pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]).arg(wheel))?;
    run(Command::new(bin.join(COMMAND)).arg("--version"))?;
    const USE: &str = "import pagewalk as pw
comparison = pw.compare(workload='hello', scheme=['native', 'nested'])
machine = pw.Machine(workload='hello')
assert machine.run().reason == 'ended' and machine.status == 0
print(comparison)";
    // Outside the repository, whose directory python/ Python would else import.
    let mut used = Command::new(python);
    run(used.args(["-c", USE]).current_dir(directory.path()).env_remove("PAGEWALK_COMMAND").env_remove("PYTHONPATH"))
}

/// The command where maturin takes it from, until this is dropped.
struct Placed(PathBuf);

impl Placed {
    fn copy(command: &Path, scripts: &Path) -> Result<Self, Failure> {
        fs::create_dir_all(scripts).map_err(|error| format!("{}: {error}", scripts.display()))?;
        let placed = Self(scripts.parent().expect("it is a directory of data").to_owned());
        copy(command, &scripts.join(COMMAND))?;
        run(Command::new("strip").arg(scripts.join(COMMAND)))?;
        Ok(placed)
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        // It is ignored by git, and the next wheel replaces it.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The one file that a directory holds.
fn only_file(directory: &Path) -> Result<PathBuf, Failure> {
    let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
    let files = fs::read_dir(directory).map_err(failed)?.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    match &files[..] {
        [file] => Ok(file.path()),
        others => Err(format!("{}: {} files, where one wheel should be", directory.display(), others.len())),
    }
}
