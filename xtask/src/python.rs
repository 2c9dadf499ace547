//! The Python package: its tests, and the wheel.

use crate::failure::Failure;
use crate::process::{cargo, root, run, target};
use crate::suites::{COMMAND, PROFILE, command};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The package's name, and its directory's.
const PACKAGE: &str = "pagewalk";

/// What cargo names the compiled module, and what Python does.
const LIBRARY: &str = "lib_native.so";
const MODULE: &str = "_native.abi3.so";

/// Where the packages are pinned that tests need.
const PINNED: &str = ".ci/python.txt";

/// Runs the package's tests, with the command and the module as the other steps build them. A wheel would build both again.
pub(crate) fn test() -> Result<(), Failure> {
    let python = environment()?;
    let command = command()?;
    let package = assemble()?;
    let tests = root().join("python/tests");
    let mut pytest = Command::new(python);
    pytest.args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "--durations=5"]).arg(&tests);
    pytest.env("PYTHONPATH", package).env("PAGEWALK_COMMAND", command).env("PYTHONDONTWRITEBYTECODE", "1");
    run(&mut pytest)
}

/// Builds the wheel, which carries the command, into target/wheels. Installed into an environment of its own, it runs a comparison and a guest.
pub(crate) fn wheel() -> Result<(), Failure> {
    let python = environment()?;
    cargo(&["build", "--release", "--package", COMMAND])?;
    let scripts = root().join("python/data/scripts");
    let _placed = Placed::copy(&target().join("release").join(COMMAND), &scripts)?;
    let wheels = target().join("wheels");
    remove(&wheels)?;
    let mut maturin = Command::new(&python);
    maturin.args(["-m", "maturin", "build", "--release", "--locked", "--manifest-path", "python/Cargo.toml", "--out"]);
    run(maturin.arg(&wheels).current_dir(root()))?;
    let wheel = only_file(&wheels)?;
    check(&wheel)?;
    println!("{}", wheel.display());
    Ok(())
}

/// The interpreter of an environment that has the pinned packages.
fn environment() -> Result<PathBuf, Failure> {
    let directory = target().join("python/environment");
    let python = directory.join("bin/python");
    let pinned = root().join(PINNED);
    let wanted = fs::read(&pinned).map_err(|error| format!("{PINNED}: {error}"))?;
    let installed = directory.join("installed.txt");
    if python.is_file() && fs::read(&installed).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&directory))?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]);
    run(pip.args(["--only-binary=:all:", "--no-deps", "--require-hashes", "--requirement"]).arg(&pinned))?;
    fs::write(&installed, wanted).map_err(|error| format!("{}: {error}", installed.display()))?;
    Ok(python)
}

/// A directory with the package as Python imports it; returns it.
fn assemble() -> Result<PathBuf, Failure> {
    // With the tests of the other crates, so that dependencies have the features that they have in the other steps, and are there already.
    cargo(&["build", "--workspace", "--profile", PROFILE, "--tests", "--lib"])?;
    let directory = target().join("python/package");
    let package = directory.join(PACKAGE);
    remove(&package)?;
    copy_files(&root().join("python").join(PACKAGE), &package)?;
    copy(&target().join(PROFILE).join(LIBRARY), &package.join(MODULE))?;
    Ok(directory)
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

/// Copies the files of a directory, without its directories, which are Python's caches.
fn copy_files(from: &Path, to: &Path) -> Result<(), Failure> {
    let failed = |error: std::io::Error| format!("{}: {error}", from.display());
    fs::create_dir_all(to).map_err(|error| format!("{}: {error}", to.display()))?;
    for entry in fs::read_dir(from).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if let Some(name) = path.file_name().filter(|_| path.is_file()) {
            copy(&path, &to.join(name))?;
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::copy(from, to).map(drop).map_err(|error| format!("{}: {error}", from.display()))
}

fn remove(directory: &Path) -> Result<(), Failure> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(format!("{}: {error}", directory.display())),
        Ok(()) | Err(_) => Ok(()),
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
