//! What the documentation shows commands to print, they print.
//!
//! A block of `docs/*.md` that is fenced as `console` holds commands behind `$ `, each followed by all that it prints to the standard output. Its
//! numbers are simulated, so they are the same everywhere. What depends on the host or on a guest that was fetched, or changes anything of the
//! user's, is in other blocks. Those that are fenced as `sh run` are [scripts].

mod scripts;

use crate::failure::Failure;
use crate::process::{on_all, printed_by, root};
use crate::suites::command;
use std::fs;
use std::path::{Path, PathBuf};

/// What opens a block, and what closes it.
const OPENING: &str = "```console\n";
const CLOSING: &str = "```";
/// What precedes a command.
const PROMPT: &str = "$ ";

/// Runs every command, and compares what it prints with what is shown; runs every script. Documents with scripts take longest, and are first.
pub(crate) fn check() -> Result<(), Failure> {
    let pagewalk = command()?;
    let mut documents = documents()?;
    documents.sort_by_key(|document| !scripts::has_any(&document.text));
    let (_, failures) = on_all(&documents, |document| check_one(document, &pagewalk));
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// Compares what the commands of a document print with what it shows, and runs its scripts.
fn check_one(Document { path, text }: &Document, pagewalk: &Path) -> Result<(), Failure> {
    let printed = rewritten(text, &|shown| run(pagewalk, shown))?;
    let differing = printed.lines().zip(text.lines()).find(|(printed, shown)| printed != shown);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if let Some((printed, shown)) = differing {
        return Err(format!(
            "docs/{name} shows `{shown}` where the command prints `{printed}`; if that is meant, `cargo xtask update-docs` writes it, and the \
             text around it is to be read again"
        ));
    }
    scripts::run(&name, text, pagewalk)
}

/// Writes what the commands print into the documents.
pub(crate) fn update() -> Result<(), Failure> {
    let pagewalk = command()?;
    let (_, failures) = on_all(&documents()?, |Document { path, text }| {
        let printed = rewritten(text, &|shown| run(&pagewalk, shown))?;
        if printed != *text {
            println!("{} is another", path.display());
            fs::write(path, printed).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(())
    });
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// A page of the documentation.
struct Document {
    path: PathBuf,
    text: String,
}

fn documents() -> Result<Vec<Document>, Failure> {
    let directory = root().join("docs");
    let entries = fs::read_dir(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.sort();
    paths.into_iter().map(|path| Ok(Document { text: read(&path)?, path })).collect()
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

/// How documents run the command of a crate in `examples`, before and behind the crate's name. This command takes the one that was built with
/// `pagewalk`.
const CRATE_OF_EXAMPLES: (&str, &str) = ("cargo run --release --manifest-path examples/", "/Cargo.toml --");

/// What `shown` prints, where `pagewalk` is the one that is tested.
fn run(pagewalk: &Path, shown: &str) -> Result<String, Failure> {
    println!("{shown}");
    let (command, arguments) = match crate_of_examples(shown) {
        Some((name, arguments)) => (pagewalk.with_file_name(name), arguments),
        None => {
            let arguments =
                shown.strip_prefix("pagewalk ").ok_or_else(|| format!("`{shown}` does not run pagewalk"))?;
            (pagewalk.to_owned(), arguments)
        }
    };
    printed_by(&format!("'{}' {arguments}", command.display()))
}

/// The crate in `examples` whose command `shown` runs, and the arguments.
fn crate_of_examples(shown: &str) -> Option<(&str, &str)> {
    let (before, behind) = CRATE_OF_EXAMPLES;
    shown.strip_prefix(before)?.split_once(behind)
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
    fn commands_of_crates_in_examples_are_found_by_the_name_of_the_crate() {
        let shown = "cargo run --release --manifest-path examples/mine/Cargo.toml -- compare --scheme mine";
        assert_eq!(crate_of_examples(shown), Some(("mine", " compare --scheme mine")));
        assert_eq!(crate_of_examples("pagewalk compare"), None);
    }

    #[test]
    fn a_command_that_fails_is_said() {
        let failing = |_: &str| Err("no".to_owned());
        assert_eq!(rewritten("```console\n$ pagewalk x\n```\n", &failing), Err("no".to_owned()));
        assert!(run(Path::new("pagewalk"), "ls").unwrap_err().contains("does not run pagewalk"));
    }
}
