//! `pagewalk config`: the keys of the configuration.

use crate::cli::ConfigReferenceArgs;
use crate::error::Failure;
use crate::output::print;
use crate::paragraph::paragraph;
use machine::config::{REFERENCE, Reference};
use machine::suggestion::unknown;
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
/// [`Failure::Usage`]: no key begins with what was asked for.
pub(super) fn run(arguments: &ConfigReferenceArgs) -> Result<ExitCode, Failure> {
    let text: Vec<String> = if arguments.markdown {
        let heading = "| key | default | values |\n|---|---|---|".to_owned();
        [heading].into_iter().chain(REFERENCE.iter().map(Reference::row)).collect()
    } else {
        chosen(&arguments.keys)?.into_iter().map(entry).collect()
    };
    print(&format!("{}\n", text.join("\n")))?;
    Ok(ExitCode::SUCCESS)
}

/// The references whose keys begin with one of those asked for; all if none is.
fn chosen(asked: &[String]) -> Result<Vec<&'static Reference>, Failure> {
    let begins =
        |key: &str, asked: &str| key == asked || key.strip_prefix(asked).is_some_and(|rest| rest.starts_with('.'));
    let has = |reference: &Reference, asked: &str| reference.keys.iter().any(|key| begins(key, asked));
    for name in asked {
        if !REFERENCE.iter().any(|reference| has(reference, name)) {
            let keys = REFERENCE.iter().flat_map(|reference| reference.keys).copied();
            return Err(Failure::Usage(unknown("key", name, keys)));
        }
    }
    let wanted = |reference: &&Reference| asked.is_empty() || asked.iter().any(|name| has(reference, name));
    Ok(REFERENCE.iter().filter(wanted).collect())
}

fn entry(reference: &Reference) -> String {
    let heading = format!("{} = {}", reference.keys.join(", "), plain(&reference.default()));
    format!("{heading}\n{}", paragraph("    ", "    ", &plain(reference.about)))
}

/// The text without Markdown: a link is the file that it leads to.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once("](") {
        let (before, _) = before.rsplit_once('[').unwrap_or((before, ""));
        let (target, after) = link.split_once(')').unwrap_or((link, ""));
        plain += &format!("{before}docs/{target}");
        rest = after;
    }
    (plain + rest).replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_becomes_text() {
        assert_eq!(plain("`[{ a = 1 }]` ([flat.md](flat.md#x)), and `b`"), "[{ a = 1 }] (docs/flat.md#x), and b");
    }

    #[test]
    fn a_table_of_keys_is_chosen_as_a_whole_and_an_unknown_one_named() {
        let keys =
            |asked: &str| chosen(&[asked.to_owned()]).map(|all| all.iter().map(|one| one.keys.len()).sum::<usize>());
        assert_eq!(keys("paging").unwrap(), 2);
        assert_eq!(keys("paging.guest").unwrap(), 1);
        assert!(keys("pagin.guest").unwrap_err().to_string().contains("paging.guest"));
    }
}
