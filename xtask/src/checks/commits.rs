//! What the history must look like.

use crate::failure::Failure;
use crate::process::{output_of, root};
use std::process::Command;

/// A subject has fewer characters, so that `git log --oneline` and mail show it whole.
const LIMIT: usize = 72;

/// The commit that added this file, where it was then, made the rule: older ones need not keep it.
const RULE: &str = "xtask/src/commits.rs";

/// The subject of every commit since the rule was made is short enough.
pub(crate) fn check() -> Result<(), Failure> {
    if !root().join(".git").exists() {
        println!("no history: these sources were not cloned");
        return Ok(());
    }
    let added = git(&["log", "--diff-filter=A", "--format=%H", "--", RULE])?;
    // The oldest, should the file have been removed and added again. Without one the rule is not committed yet.
    let Some(rule) = added.lines().last() else { return Ok(()) };
    let log = git(&["log", "--no-merges", "--format=%h %s", &format!("{rule}..HEAD")])?;
    match too_long(&log).first() {
        Some(commit) => Err(format!("a subject has {LIMIT} characters or more: {commit}")),
        None => {
            println!("{} commits", log.lines().count());
            Ok(())
        }
    }
}

fn git(arguments: &[&str]) -> Result<String, Failure> {
    output_of(Command::new("git").args(arguments), &format!("git {}", arguments[0]))
}

/// Those of `log`, a line of hash and subject for each commit, whose subject is too long.
fn too_long(log: &str) -> Vec<&str> {
    let subject = |line: &str| line.split_once(' ').map_or(0, |(_, subject)| subject.chars().count());
    log.lines().filter(|line| subject(line) >= LIMIT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_of_72_characters_is_too_long() {
        let commit = |length: usize| format!("0123abc {}", "ä".repeat(length));
        let log = [commit(71), commit(72), commit(20), commit(100)].join("\n");
        assert_eq!(too_long(&log), [commit(72), commit(100)]);
        assert!(too_long("").is_empty());
    }
}
