//! The steps of `cargo xtask test`, each also a chore of its own.

use crate::{Failure, examples, packages, readme};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// One step.
pub(crate) struct Step {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// What it does.
    pub(crate) summary: &'static str,
    run: fn() -> Result<(), Failure>,
}

/// All steps, in the order in which they build on each other.
pub(crate) const STEPS: &[Step] = &[
    Step {
        name: "packages",
        summary: "install the Debian packages that tests need, if any is missing (root or sudo)",
        run: packages::install,
    },
    Step { name: "fetch", summary: "fetch the Linux guest, with all package sets that tests use", run: fetch },
    Step { name: "guests", summary: "rebuild vos and the workloads, compare the bytes, run them on QEMU", run: guests },
    Step { name: "debug", summary: "tests that need only Rust, with debug assertions", run: debug },
    Step { name: "release", summary: "all tests at full speed, those with the Linux guest and QEMU too", run: release },
    Step {
        name: "readme",
        summary: "run the README's first command as it stands, and compare what it prints with the README",
        run: readme::check,
    },
    Step {
        name: "examples",
        summary: "run the commands that docs/ shows with what they print, and compare",
        run: examples::check,
    },
];

/// Chores that no test does.
pub(crate) const CHORES: &[Step] = &[
    Step {
        name: "update-readme",
        summary: "write what the README's first command prints into the README",
        run: readme::update,
    },
    Step { name: "update-docs", summary: "write what the commands in docs/ print into docs/", run: examples::update },
];

impl Step {
    /// Performs the step, saying how long it took.
    pub(crate) fn perform(&self) -> Result<(), Failure> {
        println!("== {}: {}", self.name, self.summary);
        let start = Instant::now();
        (self.run)().map_err(|failure| format!("{}: {failure}", self.name))?;
        println!("== {}: done in {} s\n", self.name, start.elapsed().as_secs());
        Ok(())
    }
}

/// Sets that tests use beside the default ones.
const FURTHER_SETS: [&str; 8] = ["gcc", "stress-ng", "rt-tests", "sysbench", "perl", "python", "lua", "compressors"];

fn fetch() -> Result<(), Failure> {
    // What the step `release` builds, so that nothing is built twice: `cargo run` would choose other features for some crates.
    cargo(&["test", "--workspace", "--profile", "optimized", "--tests", "--no-run"])?;
    let built = root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()));
    run(Command::new(built.join("optimized/pagewalk")).args(["guest", "fetch"]).args(FURTHER_SETS))
}

fn guests() -> Result<(), Failure> {
    let guests = root().join("guests");
    run(Command::new("sh").arg(guests.join("check-reproducible.sh")))?;
    run(Command::new("sh").arg(guests.join("test-on-qemu.sh")).arg("quick"))
}

fn debug() -> Result<(), Failure> {
    cargo(&["test", "--workspace"])
}

fn release() -> Result<(), Failure> {
    cargo(&["test", "--workspace", "--profile", "optimized", "--tests", "--", "--include-ignored"])
}

fn cargo(arguments: &[&str]) -> Result<(), Failure> {
    run(Command::new(env!("CARGO")).args(arguments).current_dir(root()))
}

/// Runs `command` with our output; an error if it does not succeed.
pub(crate) fn run(command: &mut Command) -> Result<(), Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{name}`: {status}")),
        Err(error) => Err(format!("`{name}`: {error}")),
    }
}

/// What `command` prints, run by a shell at the top of the repository, as a newcomer runs it.
pub(crate) fn printed_by(command: &str) -> Result<String, Failure> {
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(root())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("`{command}`: {error}"))?;
    if !output.status.success() {
        return Err(format!("`{command}`: {}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("`{command}` prints what is no text"))
}

/// The workspace's directory.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_owned()
}
