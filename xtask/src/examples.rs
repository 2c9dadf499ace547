//! What the documentation shows commands to print, they print.
//!
//! A block of `docs/*.md` that is fenced as `console` holds commands behind `$ `, each followed by all that it prints to the standard output. Its
//! numbers are simulated, so they are the same everywhere. What depends on the host or on a guest that was fetched, or changes anything of the
//! user's, is in other blocks. Those that are fenced as `sh run` are [scripts].

mod scripts;

use crate::failure::Failure;
use crate::process::{printed_by, root, run as run_command, target};
use crate::suites::{PROFILE, command};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What opens a block, and what closes it.
const OPENING: &str = "```console\n";
const CLOSING: &str = "```";
/// What precedes a command.
const PROMPT: &str = "$ ";

/// Runs every command, and compares what it prints with what is shown; runs every script. Out-of-tree crates with schemes are tested first.
pub(crate) fn check() -> Result<(), Failure> {
    test_out_of_tree()?;
    let pagewalk = command()?;
    for path in documents()? {
        let text = read(&path)?;
        let printed = rewritten(&text, &|shown| run(&pagewalk, shown))?;
        let differing = printed.lines().zip(text.lines()).find(|(printed, shown)| printed != shown);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if let Some((printed, shown)) = differing {
            return Err(format!(
                "docs/{name} shows `{shown}` where the command prints `{printed}`; if that is meant, `cargo xtask update-docs` writes it, and \
                 the text around it is to be read again"
            ));
        }
        scripts::run(&name, &text, &pagewalk)?;
    }
    Ok(())
}

/// Writes what the commands print into the documents.
pub(crate) fn update() -> Result<(), Failure> {
    let pagewalk = command()?;
    for path in documents()? {
        let text = read(&path)?;
        let printed = rewritten(&text, &|shown| run(&pagewalk, shown))?;
        if printed != text {
            println!("{} is another", path.display());
            fs::write(&path, printed).map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    Ok(())
}

fn documents() -> Result<Vec<PathBuf>, Failure> {
    let directory = root().join("docs");
    let entries = fs::read_dir(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.sort();
    Ok(paths)
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// `text`, where each command is followed by what `run` says that it prints.
fn rewritten(text: &str, run: &dyn Fn(&str) -> Result<String, Failure>) -> Result<String, Failure> {
    let mut parts = text.split(OPENING);
    let mut new = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(CLOSING).ok_or("a block is not closed")?;
        new += OPENING;
        for command in part[..end].lines().filter(|line| line.starts_with(PROMPT)) {
            new += &format!("{command}\n");
            new += &run(&command[PROMPT.len()..])?;
        }
        new += &part[end..];
    }
    Ok(new)
}

/// How an out-of-tree crate with a scheme is run (docs/adding-a-scheme.md). This command does so in the tests' build directory, where its
/// dependencies are built already.
const OUT_OF_TREE: &str = "cargo run --release --manifest-path examples/";

/// What `shown` prints, where `pagewalk` is the one that is tested.
fn run(pagewalk: &Path, shown: &str) -> Result<String, Failure> {
    println!("{shown}");
    if shown.starts_with(OUT_OF_TREE) {
        return printed_by(&format!("CARGO_TARGET_DIR='{}' {shown}", target().display()));
    }
    let arguments = shown.strip_prefix("pagewalk ").ok_or_else(|| format!("`{shown}` does not run pagewalk"))?;
    printed_by(&format!("'{}' {arguments}", pagewalk.display()))
}

/// The tests of the out-of-tree crates with schemes.
fn test_out_of_tree() -> Result<(), Failure> {
    let directory = root().join("examples");
    let entries = fs::read_dir(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut manifests: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path().join("Cargo.toml"))).collect();
    manifests.sort();
    let target = target();
    manifests.iter().try_for_each(|manifest| {
        let mut cargo = Command::new(env!("CARGO"));
        run_command(
            cargo
                .args(["test", "--profile", PROFILE, "--manifest-path"])
                .arg(manifest)
                .env("CARGO_TARGET_DIR", &target),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_behind_each_command_is_replaced_and_nothing_else() {
        let text = "a\n```console\n$ pagewalk x\nold\n$ pagewalk y\n```\nb\n```\n$ pagewalk z\nstays\n```\n";
        let run = |command: &str| Ok(format!("<{command}>\n"));
        let expected = "a\n```console\n$ pagewalk x\n<pagewalk x>\n$ pagewalk y\n<pagewalk y>\n```\nb\n```\n$ pagewalk z\nstays\n```\n";
        assert_eq!(rewritten(text, &run).unwrap(), expected);
        assert_eq!(rewritten(expected, &run).unwrap(), expected);
    }

    #[test]
    fn a_command_that_fails_is_said() {
        let failing = |_: &str| Err("no".to_owned());
        assert_eq!(rewritten("```console\n$ pagewalk x\n```\n", &failing), Err("no".to_owned()));
        assert!(run(Path::new("pagewalk"), "ls").unwrap_err().contains("does not run pagewalk"));
    }
}
