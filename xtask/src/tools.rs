//! What CI needs beside the toolchain and Debian's packages: programs and Perfetto's definitions, by pip, and by npm the script that checks pages for
//! accessibility, and the Firefox Profiler.

use crate::failure::Failure;
use crate::process::{in_search_path, root, run, target};
use std::path::PathBuf;
use std::process::Command;

/// A program.
#[derive(Clone, Copy)]
pub(crate) enum Tool {
    /// Runs tests of all crates in one pool, each in a separate process.
    Nextest,
    /// Checks licences, advisories, duplicates and sources of dependencies.
    Deny,
    /// Checks spelling.
    Typos,
}

impl Tool {
    const ALL: [Self; 3] = [Self::Nextest, Self::Deny, Self::Typos];

    fn program(self) -> &'static str {
        match self {
            Self::Nextest => "cargo-nextest",
            Self::Deny => "cargo-deny",
            Self::Typos => "typos",
        }
    }

    /// Where it is: what [`install`] installed, or else one of the user's.
    pub(crate) fn path(self) -> Option<PathBuf> {
        let ours = directory().join("bin").join(self.program());
        if ours.is_file() { Some(ours) } else { in_search_path(self.program()) }
    }
}

/// Where tools are, and the Python packages that tests import.
pub(crate) fn directory() -> PathBuf {
    target().join("tools")
}

/// Installs what is missing.
pub(crate) fn install() -> Result<(), Failure> {
    install_programs()?;
    install_scripts()
}

/// Installs the programs and Python packages that `.ci/tools.txt` pins, unless each is there. Programs come as binaries: compiling them takes longer than all else that
/// CI does.
fn install_programs() -> Result<(), Failure> {
    let has_packages = directory().join("perfetto").is_dir();
    if has_packages && Tool::ALL.iter().all(|tool| tool.path().is_some()) {
        println!("no program is missing");
        return Ok(());
    }
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--root-user-action=ignore", "--upgrade", "--no-compile"]);
    pip.args(["--no-deps", "--only-binary=:all:", "--require-hashes"]);
    pip.arg("--target").arg(directory()).arg("--requirement").arg(root().join(".ci/tools.txt"));
    run(&mut pip)?;
    match Tool::ALL.iter().find(|tool| tool.path().is_none()) {
        Some(tool) => Err(format!("{} is still missing", tool.program())),
        None => Ok(()),
    }
}

/// What is installed by npm: axe-core, which tests of reports load into their browser, and the Firefox Profiler's command, which tests of profiles load
/// them with.
const SCRIPTS: [&str; 2] = ["axe-core/axe.min.js", "@firefox-devtools/profiler-cli/dist/profiler-cli.js"];

/// Installs the scripts as `.ci/npm` pins them, unless they are there.
fn install_scripts() -> Result<(), Failure> {
    let npm = directory().join("npm");
    let pinned = |name: &str| root().join(".ci/npm").join(name);
    let lock = std::fs::read(pinned("package-lock.json")).map_err(|error| format!(".ci/npm: {error}"))?;
    let are_there = SCRIPTS.iter().all(|script| npm.join("node_modules").join(script).is_file());
    if are_there && std::fs::read(npm.join("package-lock.json")).is_ok_and(|installed| installed == lock) {
        println!("no script is missing");
        return Ok(());
    }
    let failed = |error: std::io::Error| format!("{}: {error}", npm.display());
    std::fs::create_dir_all(&npm).map_err(failed)?;
    for name in ["package.json", "package-lock.json"] {
        std::fs::copy(pinned(name), npm.join(name)).map_err(failed)?;
    }
    run(Command::new("npm").args(["ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(&npm))
}
