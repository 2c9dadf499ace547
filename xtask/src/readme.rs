//! The README's first command does what the README shows.

use crate::failure::Failure;
use crate::process::{printed_by, root};
use crate::suites;
use std::fs;

/// Workloads that the command compares, each a line of its table.
const WORKLOADS: [&str; 5] = ["gups", "bfs", "stream", "kv", "sieve:4M"];

/// How the command is run from the source.
const FROM_SOURCE: &str = "cargo run --release -- ";

/// Runs the command, and compares what it prints with the text below it, to the byte: its numbers are the same everywhere.
pub(crate) fn check() -> Result<(), Failure> {
    let text = read()?;
    let [command, shown] = blocks(&text)?;
    let printed = run(command)?;
    is_table(&printed)?;
    if printed == shown {
        return Ok(());
    }
    let differing = printed.lines().zip(shown.lines()).find(|(printed, shown)| printed != shown);
    let (printed, shown) = differing.unwrap_or(("another number of lines", "other lines"));
    Err(format!(
        "README.md shows `{shown}` where `{command}` prints `{printed}`; if that is meant, `cargo xtask update-readme` writes it"
    ))
}

/// Writes what the command prints into the README.
pub(crate) fn update() -> Result<(), Failure> {
    let text = read()?;
    let [command, shown] = blocks(&text)?;
    let printed = run(command)?;
    is_table(&printed)?;
    let at = shown.as_ptr() as usize - text.as_ptr() as usize;
    let updated = [&text[..at], &printed, &text[at + shown.len()..]].concat();
    fs::write(root().join("README.md"), updated).map_err(|error| format!("README.md: {error}"))
}

/// What the command prints, by the `pagewalk` that is tested: a build of the profile `release` would print the same, minutes later.
fn run(command: &str) -> Result<String, Failure> {
    let arguments = command.strip_prefix(FROM_SOURCE).ok_or_else(|| format!("`{command}` does not run pagewalk"))?;
    printed_by(&format!("'{}' {arguments}", suites::command()?.display()))
}

fn read() -> Result<String, Failure> {
    fs::read_to_string(root().join("README.md")).map_err(|error| format!("README.md: {error}"))
}

/// The first two blocks of code: the command and what it prints.
fn blocks(text: &str) -> Result<[&str; 2], Failure> {
    let mut blocks = text.split("```\n").skip(1).step_by(2);
    match (blocks.next(), blocks.next()) {
        (Some(command), Some(shown)) if command.lines().count() == 1 => Ok([command.trim_end(), shown]),
        _ => Err("README.md does not begin with a command and what it prints".to_owned()),
    }
}

/// A table with a line for each workload, which has a number for each scheme.
fn is_table(printed: &str) -> Result<(), Failure> {
    let mut lines = printed.lines().skip_while(|line| !line.starts_with("workload"));
    let schemes = lines.next().map_or(0, |line| line.split_whitespace().filter(|word| word.contains(':')).count());
    for workload in WORKLOADS {
        let numbers = lines.next().map_or(0, |line| {
            let mut words = line.split_whitespace();
            if words.next() == Some(workload) { words.filter(|&word| word == "%").count() } else { 0 }
        });
        if numbers == 0 || numbers != schemes {
            return Err(format!("the table has no line of {schemes} numbers for {workload}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_begins_with_a_command_and_its_table() {
        let text = read().unwrap();
        let [command, shown] = blocks(&text).unwrap();
        assert_eq!(command, "cargo run --release -- compare");
        assert_eq!(is_table(shown), Ok(()));
    }

    #[test]
    fn a_table_without_a_workload_or_a_number_is_none() {
        let text = read().unwrap();
        let [_, shown] = blocks(&text).unwrap();
        let without =
            |workload: &str| shown.lines().filter(|line| !line.starts_with(workload)).collect::<Vec<_>>().join("\n");
        assert!(is_table(&without("kv")).unwrap_err().contains("kv"));
        assert!(is_table(&without("workload")).unwrap_err().contains("gups"));
        assert!(is_table(&shown.replacen('%', "", 1)).unwrap_err().contains("gups"));
    }
}
