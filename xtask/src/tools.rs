//! Programs of cargo that CI runs beside those of the toolchain: cargo-nextest and cargo-deny.

use crate::failure::Failure;
use crate::process::{in_search_path, root, run, target};
use std::path::PathBuf;
use std::process::Command;

/// A program that `cargo NAME` would run.
#[derive(Clone, Copy)]
pub(crate) enum Tool {
    /// Runs tests of all crates in one pool, each in a process of its own.
    Nextest,
    /// Checks licences, advisories, duplicates and sources of dependencies.
    Deny,
}

impl Tool {
    const ALL: [Self; 2] = [Self::Nextest, Self::Deny];

    fn program(self) -> &'static str {
        match self {
            Self::Nextest => "cargo-nextest",
            Self::Deny => "cargo-deny",
        }
    }

    /// Where it is: what [`install`] installed, or else one of the user's.
    pub(crate) fn path(self) -> Option<PathBuf> {
        let ours = directory().join("bin").join(self.program());
        if ours.is_file() { Some(ours) } else { in_search_path(self.program()) }
    }
}

fn directory() -> PathBuf {
    target().join("tools")
}

/// Installs the versions that `.ci/tools.txt` pins, unless every tool is there. They come as binaries: compiling them takes
/// longer than all else that CI does.
pub(crate) fn install() -> Result<(), Failure> {
    if Tool::ALL.iter().all(|tool| tool.path().is_some()) {
        println!("nothing is missing");
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
