//! What the documentation shows commands to print, they print.
//!
//! A block of `docs/*.md` that is fenced as `console` holds commands behind `$ `, each followed by all that it prints to the standard output. Each
//! runs once, in no particular order, so none needs what another leaves. Their numbers are simulated, so they are the same everywhere. What depends on
//! the host or on a guest that was fetched, or changes anything of the user's, is in other blocks. Those that are fenced as `sh run` are [scripts].

mod scripts;

use crate::failure::Failure;
use crate::parallel::on_all;
use crate::process::{printed_by, root};
use crate::suites::command;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What opens a block, and what closes it.
const OPENING: &str = "```console\n";
const CLOSING: &str = "```";
/// What precedes a command.
const PROMPT: &str = "$ ";

/// Runs every command, and compares what it prints with what is shown; runs every script.
pub(crate) fn check() -> Result<(), Failure> {
    let pagewalk = command()?;
    let documents = documents()?;
    // The scripts of a document run one after the other and take longest, so they are first.
    let with_scripts = documents.iter().filter(|document| scripts::has_any(&document.text)).map(Work::Scripts);
    let work: Vec<Work<'_>> = with_scripts.chain(commands(&documents).into_iter().map(Work::Command)).collect();
    let (done, mut failures) = on_all(&work, |work| match work {
        Work::Scripts(document) => scripts::run(&document.name(), &document.text, &pagewalk).map(|()| String::new()),
        Work::Command(shown) => run(&pagewalk, shown),
    });
    let printed = by_command(done);
    failures.extend(documents.iter().filter_map(|document| compare(document, &printed).err()));
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// What is run at a time.
enum Work<'a> {
    /// The scripts of a document.
    Scripts(&'a Document),
    /// A command, however many documents show it.
    Command(&'a str),
}

/// What commands print.
type Printed<'a> = HashMap<&'a str, String>;

fn by_command<'a>(done: Vec<(&Work<'a>, String)>) -> Printed<'a> {
    let of_command = |(work, printed): (&Work<'a>, String)| match work {
        Work::Scripts(_) => None,
        Work::Command(shown) => Some((*shown, printed)),
    };
    done.into_iter().filter_map(of_command).collect()
}

/// Compares what a document shows with what its commands print.
fn compare(document: &Document, printed: &Printed<'_>) -> Result<(), Failure> {
    let new = rewritten(&document.text, printed)?;
    let differing = new.lines().zip(document.text.lines()).find(|(printed, shown)| printed != shown);
    differing.map_or(Ok(()), |(printed, shown)| {
        Err(format!(
            "docs/{} shows `{shown}` where the command prints `{printed}`; if that is meant, `cargo xtask update-docs` writes it, and the text \
             around it is to be read again",
            document.name()
        ))
    })
}

/// Writes what the commands print into the documents.
pub(crate) fn update() -> Result<(), Failure> {
    let pagewalk = command()?;
    let documents = documents()?;
    let commands = commands(&documents);
    let (done, mut failures) = on_all(&commands, |shown| run(&pagewalk, shown));
    let printed: Printed<'_> = done.into_iter().map(|(shown, printed)| (*shown, printed)).collect();
    for Document { path, text } in &documents {
        let new = rewritten(text, &printed)?;
        if new != *text {
            println!("{} is another", path.display());
            if let Err(error) = fs::write(path, new) {
                failures.push(format!("{}: {error}", path.display()));
            }
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// A page of the documentation.
struct Document {
    path: PathBuf,
    text: String,
}

impl Document {
    fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
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

/// The commands of all documents, each once.
fn commands(documents: &[Document]) -> Vec<&str> {
    let mut commands = Vec::new();
    for block in documents.iter().flat_map(|document| document.text.split(OPENING).skip(1)) {
        let block = block.split(CLOSING).next().unwrap_or_default();
        for command in block.lines().filter_map(|line| line.strip_prefix(PROMPT)) {
            if !commands.contains(&command) {
                commands.push(command);
            }
        }
    }
    commands
}

/// `text`, where each command is followed by what it prints. A command that failed, so that it is not in `printed`, keeps what is shown of its block.
fn rewritten(text: &str, printed: &Printed<'_>) -> Result<String, Failure> {
    let mut parts = text.split(OPENING);
    let mut new = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(CLOSING).ok_or("a block is not closed")?;
        let commands = part[..end].lines().filter_map(|line| line.strip_prefix(PROMPT));
        let run: Option<String> =
            commands.map(|command| Some(format!("{PROMPT}{command}\n{}", printed.get(command)?))).collect();
        new += OPENING;
        new += run.as_deref().unwrap_or(&part[..end]);
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
        let expected = "a\n```console\n$ pagewalk x\n<x>\n$ pagewalk y\n<y>\n```\nb\n```\n$ pagewalk z\nstays\n```\n";
        let printed = Printed::from([("pagewalk x", "<x>\n".to_owned()), ("pagewalk y", "<y>\n".to_owned())]);
        assert_eq!(rewritten(text, &printed).unwrap(), expected);
        assert_eq!(rewritten(expected, &printed).unwrap(), expected);
    }

    #[test]
    fn a_block_stays_whose_command_failed() {
        let text = "```console\n$ pagewalk x\nold\n$ pagewalk y\nold\n```\n";
        let printed = Printed::from([("pagewalk x", "new\n".to_owned())]);
        assert_eq!(rewritten(text, &printed).unwrap(), text);
    }

    #[test]
    fn a_document_that_shows_anything_else_is_named() {
        let text = "```console\n$ pagewalk x\nold\n```\n".to_owned();
        let document = Document { path: PathBuf::from("docs/x.md"), text };
        let printed = |what: &str| Printed::from([("pagewalk x", format!("{what}\n"))]);
        assert_eq!(compare(&document, &printed("old")), Ok(()));
        assert!(compare(&document, &printed("new")).unwrap_err().starts_with("docs/x.md shows `old` where"));
    }

    #[test]
    fn a_command_that_two_documents_show_is_run_once() {
        let document = |text: &str| Document { path: PathBuf::new(), text: text.to_owned() };
        let documents = [
            document("```console\n$ pagewalk x\na\n$ pagewalk y\n```\n$ pagewalk z\n"),
            document("```console\n$ pagewalk x\na\n```\n```console\n$ pagewalk v\n```\n"),
        ];
        assert_eq!(commands(&documents), ["pagewalk x", "pagewalk y", "pagewalk v"]);
    }

    #[test]
    fn commands_of_crates_in_examples_are_found_by_the_name_of_the_crate() {
        let shown = "cargo run --release --manifest-path examples/mine/Cargo.toml -- compare --scheme mine";
        assert_eq!(crate_of_examples(shown), Some(("mine", " compare --scheme mine")));
        assert_eq!(crate_of_examples("pagewalk compare"), None);
    }

    #[test]
    fn a_command_of_another_program_is_refused() {
        assert!(run(Path::new("pagewalk"), "ls").unwrap_err().contains("does not run pagewalk"));
    }
}
