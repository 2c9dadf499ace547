//! Words that readers would have to guess: the field has others for the same things, and docs/glossary.md explains those.

use crate::failure::Failure;
use crate::process::{output_of, root};
use std::path::Path;
use std::process::Command;

/// A word, or the beginning of words, that is not used.
struct Banned {
    /// In lower case. It is found in either case, where a word begins.
    word: &'static str,
    /// What to write instead.
    instead: &'static str,
    /// Where it is right: keys of JSON and of configurations are contracts, and so are options of other programs.
    allowed: &'static [&'static str],
}

const fn banned(word: &'static str, instead: &'static str) -> Banned {
    Banned { word, instead, allowed: &[] }
}

const BANNED: &[Banned] = &[
    Banned { word: "despatch", instead: "dispatch", allowed: &["\"despatches\"", "`despatches`"] },
    Banned {
        word: "monitor",
        instead: "hypervisor",
        allowed: &[
            "\"monitor\"",
            "`monitor`",
            "\"monitor_",
            "time/monitor",
            "time.monitor",
            "monitor_step",
            "monitor_segment",
            "\"-monitor\"",
            "monitoring",
            // A command of GDB, with its own commands, and as a crate names it.
            "`monitor ",
            "monitor walk",
            "monitor tlb",
            "monitor stats",
            "monitor phys",
            "monitor host",
            "monitor help",
            "monitor_cmd",
            "monitorcmd",
            // A counter of events in hardware, in a paper.
            "hardware monitor",
            // A text of vos, whose bytes are in the repository.
            "the monitor refuses pptlb",
        ],
    },
    banned("glance", "probe"),
    banned("rouse", "wake"),
    banned("upkeep", "maintenance"),
    banned("logical processor", "vCPU"),
    banned("real processor", "pCPU"),
    banned("tell nothing of progress", "print no progress"),
    banned("what becomes of its claims", "a verdict for each claim"),
    banned("give and take", "what it provides and requires"),
    banned("is none: ", "is not valid: "),
    banned("accounts are wrong", "records are inconsistent"),
    Banned {
        word: "nobody",
        instead: "the component that does not act, or a passive sentence",
        // A user's name, and a text of a guest, whose bytes are in the repository. An initramfs has `init.sh`.
        allowed: &["nobody:x:65534:65534:nobody", "delete what nobody maps", "where nobody reads it"],
    },
    banned("somebody", "the component that acts"),
    banned("whoever", "the component that acts"),
    Banned { word: "anew", instead: "again", allowed: &["maps it anew", "sleep_anew"] },
];

/// Kinds of files that people read.
const KINDS: [&str; 7] = ["rs", "md", "c", "h", "S", "toml", "js"];

/// Where words may be old: what is past, this list, and what others wrote.
const EXEMPT: [&str; 3] = ["CHANGELOG.md", "xtask/src/checks/words.rs", "docs/glossary.md"];

/// No file has a banned word.
pub(crate) fn check() -> Result<(), Failure> {
    let listed = output_of(Command::new("git").args(["ls-files"]).current_dir(root()), "git ls-files")?;
    let mut found = 0;
    for name in listed.lines().filter(|name| is_read(name)) {
        // A file may be gone that the index still has.
        let Ok(text) = std::fs::read_to_string(root().join(name)) else { continue };
        for (number, line) in (1..).zip(text.lines()) {
            for Banned { word, instead, .. } in banned_in(line) {
                println!("{name}:{number}: `{word}`: write {instead}");
                found += 1;
            }
        }
    }
    if found == 0 { Ok(()) } else { Err(format!("{found} words that readers would have to guess")) }
}

fn is_read(name: &str) -> bool {
    let kind = Path::new(name).extension().is_some_and(|kind| KINDS.iter().any(|known| kind == *known));
    kind && !EXEMPT.contains(&name)
}

/// The banned words of a line.
fn banned_in(line: &str) -> impl Iterator<Item = &'static Banned> {
    let line = line.to_lowercase();
    BANNED.iter().filter(move |Banned { word, allowed, .. }| {
        let line = allowed.iter().fold(line.clone(), |line, allowed| line.replace(allowed, ""));
        let begins = |at: usize| !line[..at].ends_with(|before: char| before.is_alphanumeric());
        line.match_indices(word).any(|(at, _)| begins(at))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<&'static str> {
        banned_in(line).map(|banned| banned.word).collect()
    }

    #[test]
    fn a_banned_word_is_found_where_a_word_begins() {
        assert_eq!(words("// The Monitor despatches it."), ["despatch", "monitor"]);
        assert_eq!(words("fn rouse_if_due() {}"), ["rouse"]);
        assert!(words("the carousel of hypervisors arouses no guest").is_empty());
    }

    #[test]
    fn contracts_are_allowed_and_what_is_beside_them_is_not() {
        assert!(words(r#""monitor": time.hypervisor.0,"#).is_empty());
        assert_eq!(words(r#""monitor": machine.monitor.0,"#), ["monitor"]);
        assert!(words("| `host.prices.monitor_step` | a step |").is_empty());
    }

    #[test]
    fn binaries_and_the_past_are_not_read() {
        assert!(is_read("crates/mmu/src/lib.rs") && is_read("README.md"));
        assert!(!is_read("CHANGELOG.md") && !is_read("guests/vos/vos.elf"));
    }
}
