//! What is wrong with a TOML text, in words for its author. serde speaks of types of Rust (`expected u32`), and `toml` draws
//! the place over several lines; a message of ours is one line that names line and key.

use keys::suggestion::unknown;
use toml::de::{DeTable, Error};

/// The problem with `text`, with the line and the key where it is.
#[must_use]
pub fn of_text(text: &str, error: &Error) -> String {
    let problem = plain(error.message());
    match line(text, error) {
        Some(line) => match key(text.lines().nth(line - 1).unwrap_or_default()) {
            // A message that names keys of its own needs no other.
            Some(key) if !problem.contains("key `") => format!("line {line}: {key}: {problem}"),
            _ => format!("line {line}: {problem}"),
        },
        None => problem,
    }
}

/// The line that an error is on, from 1 on; `None` if it is on none in particular.
pub(crate) fn line(text: &str, error: &Error) -> Option<usize> {
    let before = text.get(..error.span()?.start)?;
    Some(before.matches('\n').count() + 1)
}

/// The line that sets the dotted `key`, or the innermost table of it that there is.
#[must_use]
pub fn line_of_key(text: &str, key: &str) -> Option<usize> {
    Some(text.get(..place_of_key(text, key)?)?.matches('\n').count() + 1)
}

/// Bytes before the dotted `key`, or before the innermost table of it that there is. A name of the text may have several parts of the key, in quotes.
#[must_use]
pub fn place_of_key(text: &str, key: &str) -> Option<usize> {
    let root = DeTable::parse(text).ok()?;
    let (mut table, mut start, mut rest) = (root.get_ref(), None, Some(key));
    while let Some(part) = rest {
        let behind = |name: &str| part.strip_prefix(name).filter(|behind| behind.is_empty() || behind.starts_with('.'));
        let longest = table.iter().filter_map(|(name, value)| Some((name, value, behind(name.get_ref())?)));
        let Some((name, value, behind)) = longest.min_by_key(|(_, _, behind)| behind.len()) else { break };
        start = Some(name.span().start);
        match value.get_ref().as_table() {
            Some(inner) => table = inner,
            None => break,
        }
        rest = behind.strip_prefix('.');
    }
    start
}

/// The key that a line sets.
fn key(line: &str) -> Option<&str> {
    let key = line.split_once('=')?.0.trim();
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    is_key.then_some(key)
}

/// serde's message without its vocabulary.
#[must_use]
pub fn plain(message: &str) -> String {
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    of_type(&message)
        .or_else(|| of_name(&message))
        .or_else(|| of_length(&message))
        .or_else(|| {
            let key = message.strip_prefix("missing field ")?;
            Some(format!("key {key} is missing"))
        })
        .or_else(|| message.ends_with("value was too large").then(|| format!("the number is larger than {}", i64::MAX)))
        .unwrap_or(message)
}

/// `invalid type: string "two", expected u32`, and the same of a value.
fn of_type(message: &str) -> Option<String> {
    let rest = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "))?;
    let (found, expected) = rest.rsplit_once(", expected ")?;
    // A number or a truth value where one of several names belongs. serde does not say which.
    if found == "unit variant" {
        return Some("the value is not one of the known names".to_owned());
    }
    Some(format!("{} is not {}", found_value(found), wanted(expected)))
}

fn found_value(found: &str) -> String {
    let quoted = |text: &str| format!("`{text}`");
    match found {
        "sequence" => "a list".to_owned(),
        "map" => "a table".to_owned(),
        _ => match found.split_once(['"', '`']) {
            Some((_, value)) => quoted(value.trim_end_matches(['"', '`'])),
            None => found.to_owned(),
        },
    }
}

fn wanted(expected: &str) -> String {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" | "i64" => "a whole number",
        "a boolean" => "true or false",
        "a string" | "path string" | "a borrowed string" => "a text",
        "a sequence" => "a list",
        "a map" => "a table",
        other if other.starts_with("struct ") => "a table",
        other if other.starts_with("internally tagged enum") || other.starts_with("enum ") => "one of the known values",
        other => other,
    }
    .to_owned()
}

/// ``unknown variant `x`, expected one of `a`, `b` ``, and the same of a field.
fn of_name(message: &str) -> Option<String> {
    let (what, rest) = match message.strip_prefix("unknown variant `") {
        Some(rest) => ("value", rest),
        None => ("key", message.strip_prefix("unknown field `")?),
    };
    let (word, known) = rest.split_once('`')?;
    let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
    Some(if known.is_empty() { format!("unknown {what} `{word}`") } else { unknown(what, word, known) })
}

/// `invalid length 2, expected an array of length 4`.
fn of_length(message: &str) -> Option<String> {
    let (found, expected) = message.strip_prefix("invalid length ")?.split_once(", expected ")?;
    let expected = expected.rsplit(' ').next().filter(|word| word.parse::<u64>().is_ok())?;
    Some(format!("a list of {expected} values is wanted, not of {found}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Deserialize, Debug)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "what is read does not matter, only what is refused")]
    struct Keys {
        harts: u32,
        #[serde(default)]
        on: bool,
        #[serde(default)]
        name: String,
        #[serde(default)]
        sizes: [u32; 4],
    }

    #[test]
    fn keys_are_found_with_quotes_and_without() {
        let text = "a = 1\n[set]\nmmu.l2 = 1\n\"mmu.l1d\" = 2\n[set.mmu.tables]\nsize = 3\n\"mmu.l1d.sets\" = 4";
        for (key, line) in [
            ("a", Some(1)),
            ("set", Some(2)),
            ("set.mmu.l2", Some(3)),
            ("set.mmu.l1d", Some(4)),
            ("set.mmu.tables.size", Some(6)),
            ("set.mmu.tables.mmu.l1d.sets", Some(7)),
            ("set.mmu.tables.other", Some(5)),
            ("b", None),
        ] {
            assert_eq!(line_of_key(text, key), line, "{key}");
        }
    }

    /// `--set shadow.assist=5` printed `unit variant is not string only`.
    #[test]
    fn a_number_in_place_of_a_name_is_no_known_name() {
        #[derive(Deserialize, Debug)]
        enum Name {
            #[serde(rename = "none")]
            None,
        }
        let error = toml::Value::Integer(5).try_into::<Name>().unwrap_err();
        assert_eq!(plain(error.message()), "the value is not one of the known names");
        let read = toml::Value::String("none".to_owned()).try_into::<Name>();
        assert!(matches!(read, Ok(Name::None)));
    }

    #[test]
    fn no_message_speaks_of_types_of_the_program() {
        for (text, said) in [
            ("harts = 'two'", "line 1: harts: `two` is not a whole number"),
            ("\nharts = -1", "line 2: harts: `-1` is not a whole number"),
            ("harts = 1.5", "line 1: harts: `1.5` is not a whole number"),
            ("harts = 1\non = 'yes'", "line 2: on: `yes` is not true or false"),
            ("harts = 1\nname = 3", "line 2: name: `3` is not a text"),
            ("harts = 1\nname = [3]", "line 2: name: a list is not a text"),
            ("harts = 1\nsizes = [3]", "line 2: sizes: a list of 4 values is wanted, not of 1"),
            ("hart = 1", "line 1: unknown key `hart`; did you mean `harts`?"),
            ("name = 'a'", "line 1: key `harts` is missing"),
            ("harts = = 2", "line 1: harts: "),
        ] {
            let error = toml::from_str::<Keys>(text).unwrap_err();
            let line = of_text(text, &error);
            assert!(line.starts_with(said) && !line.contains('\n'), "{text:?}: {line}");
        }
    }
}
