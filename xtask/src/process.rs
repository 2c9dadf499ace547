//! Programs that chores run.

use crate::failure::Failure;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The workspace's directory.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_owned()
}

/// The directory that cargo builds into.
pub(crate) fn target() -> PathBuf {
    root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// Runs cargo at the top of the workspace.
pub(crate) fn cargo(arguments: &[&str]) -> Result<(), Failure> {
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
    output_of(Command::new("sh").args(["-c", command]), command)
}

/// What `command`, which messages call `name`, prints at the top of the repository.
pub(crate) fn output_of(command: &mut Command, name: &str) -> Result<String, Failure> {
    let output = command
        .current_dir(root())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("`{name}`: {error}"))?;
    if !output.status.success() {
        // What it printed says why it failed.
        print!("{}", String::from_utf8_lossy(&output.stdout));
        return Err(format!("`{name}`: {}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("`{name}` prints what is no text"))
}

/// The path of a program of the search path.
pub(crate) fn in_search_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|directory| directory.join(program)).find(|file| file.is_file())
}
