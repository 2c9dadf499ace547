//! Scripts of the documentation, which succeed.
//!
//! A block of `docs/*.md` that is fenced as `sh run` is a script. Those of one document run one after the other in one new directory, so that a script uses
//! what another has written. What they print is not compared: they use guests that were fetched, whose numbers change with Debian's.

use crate::failure::Failure;
use crate::process::target;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// What opens a script, and what closes it.
const OPENING: &str = "```sh run\n";
const CLOSING: &str = "\n```";

/// Whether a document has scripts.
pub(super) fn has_any(text: &str) -> bool {
    text.contains(OPENING)
}

/// Runs the scripts of the document `name`. In them, `pagewalk` is the program at `command`.
pub(super) fn run(name: &str, text: &str, command: &Path) -> Result<(), Failure> {
    let scripts = scripts(text)?;
    if scripts.is_empty() {
        return Ok(());
    }
    let directory = target().join("scripts").join(name);
    if directory.exists() {
        fs::remove_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    }
    fs::create_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let begin = Instant::now();
    for script in &scripts {
        println!("{name}: {}", script.lines().next().unwrap_or_default());
        run_in(&directory, script, command).map_err(|error| format!("docs/{name}: {error}, in\n{script}"))?;
    }
    println!("{name}: {} scripts took {} s", scripts.len(), begin.elapsed().as_secs());
    Ok(())
}

/// The scripts of a document.
fn scripts(text: &str) -> Result<Vec<&str>, Failure> {
    text.split(OPENING).skip(1).map(|part| Ok(&part[..part.find(CLOSING).ok_or("a script is not closed")?])).collect()
}

/// Runs `script` in `directory`, up to its first command that fails.
fn run_in(directory: &Path, script: &str, command: &Path) -> Result<(), Failure> {
    let own = command.parent().map(Path::to_owned);
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(own.into_iter().chain(std::env::split_paths(&others)))
        .map_err(|error| format!("PATH: {error}"))?;
    let status = Command::new("sh")
        .args(["-euc", script])
        .current_dir(directory)
        .env("PATH", path)
        .stdin(Stdio::null())
        .status()
        .map_err(|error| format!("sh: {error}"))?;
    if status.success() { Ok(()) } else { Err(status.to_string()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_what_is_fenced_so() {
        let text = "a\n```sh run\nx\ny\n```\n```sh\nno\n```\n```\nneither\n```\n```sh run\ncat <<E\n``\nE\n```\n";
        assert_eq!(scripts(text).unwrap(), ["x\ny", "cat <<E\n``\nE"]);
        assert_eq!(scripts("```sh run\nx\n").unwrap_err(), "a script is not closed");
    }

    #[test]
    fn a_script_ends_at_its_first_failure() {
        let directory = tempfile::tempdir().unwrap();
        let run = |script: &str| run_in(directory.path(), script, Path::new("/nowhere/pagewalk"));
        run("echo 1 > first").unwrap();
        run("test -f first; echo \"$PATH\" | grep -q '^/nowhere:'").unwrap();
        assert!(run("false\ntouch second").unwrap_err().contains("exit status: 1"));
        assert!(!directory.path().join("second").exists());
        assert!(run("echo $UNSET").is_err(), "a name that is not set");
    }
}
