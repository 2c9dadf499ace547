//! What is wrong with a command line, in one line.
//!
//! clap's own text spreads over several lines and repeats the value that it complains of, so the line is put together from
//! what the error carries.

use clap::Command;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use keys::suggestion::{distance, unknown};
use std::error::Error as _;

/// The error as one line. `cli` is the whole command line; `command` the subcommand that was named, if there is such a one.
pub(super) fn line(error: &Error, cli: &Command, command: Option<&str>) -> String {
    let help = format!("`pagewalk {}--help`", command.map_or(String::new(), |name| format!("{name} ")));
    match error.kind() {
        ErrorKind::InvalidSubcommand => text(error, ContextKind::InvalidSubcommand)
            .map(|word| unknown("command", word, commands(cli, command).iter().map(String::as_str))),
        ErrorKind::UnknownArgument => text(error, ContextKind::InvalidArg).map(|word| {
            let what = if word.starts_with('-') { "unknown option" } else { "unexpected argument" };
            // clap suggests what merely begins alike, too.
            let near = text(error, ContextKind::SuggestedArg).map(name);
            match near.filter(|near| distance(word.trim_start_matches('-'), near.trim_start_matches('-')).is_some()) {
                Some(near) => format!("{what} `{word}`; did you mean `{near}`?"),
                None => format!("{what} `{word}`; {help} lists what there is"),
            }
        }),
        ErrorKind::ValueValidation => {
            text(error, ContextKind::InvalidArg).zip(error.source()).map(|(argument, why)| {
                let argument = name(argument);
                format!("{argument}: {why}")
            })
        }
        ErrorKind::InvalidValue if text(error, ContextKind::InvalidValue) == Some("") => {
            text(error, ContextKind::InvalidArg)
                .map(|argument| format!("{}: the value is missing: {argument}", name(argument)))
        }
        ErrorKind::MissingRequiredArgument => match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::Strings(missing)) => Some(format!("{} is missing; see {help}", missing.join(" "))),
            _ => None,
        },
        ErrorKind::ArgumentConflict => conflict(error),
        _ => None,
    }
    .unwrap_or_else(|| first_paragraph(&error.to_string()))
}

/// Two options that exclude each other, or one that is there twice.
fn conflict(error: &Error) -> Option<String> {
    let argument = name(text(error, ContextKind::InvalidArg)?);
    let others: Vec<&str> = match error.get(ContextKind::PriorArg)? {
        ContextValue::String(other) => vec![name(other)],
        ContextValue::Strings(others) => others.iter().map(|other| name(other)).collect(),
        _ => return None,
    };
    match others[..] {
        [] => None,
        [other] if other == argument => Some(format!("{argument} is there twice")),
        _ => Some(format!("{argument} cannot be used with {}", others.join(", "))),
    }
}

/// A text that the error carries.
fn text(error: &Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text),
        ContextValue::Strings(texts) => texts.first().map(String::as_str),
        _ => None,
    }
}

/// The name of an argument, without the value that follows it: `--harts` of `--harts <N>`. An argument by position, such as `[SET]...`, has no other
/// name.
fn name(argument: &str) -> &str {
    if !argument.starts_with('-') {
        return argument;
    }
    argument.split_once([' ', '[']).map_or(argument, |(name, _)| name)
}

/// The names of the commands, or of those of one command.
fn commands(cli: &Command, of: Option<&str>) -> Vec<String> {
    let within = of.and_then(|name| cli.find_subcommand(name)).unwrap_or(cli);
    within.get_subcommands().map(|command| command.get_name().to_owned()).collect()
}

/// What clap says before it explains the usage.
fn first_paragraph(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    lines.join(" ").trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::{CommandFactory, Parser};

    fn refused(words: &str) -> String {
        let words: Vec<&str> = words.split(' ').collect();
        let error = Cli::try_parse_from(std::iter::once("pagewalk").chain(words.iter().copied())).unwrap_err();
        let cli = Cli::command();
        line(&error, &cli, cli.find_subcommand(words[0]).map(Command::get_name))
    }

    #[test]
    fn a_slip_in_a_command_or_an_option_finds_what_was_meant() {
        for (words, said) in [
            ("comapre", "unknown command `comapre`; did you mean `compare`?"),
            ("guest fetsh", "unknown command `fetsh`; did you mean `fetch`?"),
            ("compare --schem native", "unknown option `--schem`; did you mean `--scheme`?"),
            ("guest fly", "unknown command `fly` (fetch, image, list, header)"),
            ("boot --colour", "unknown option `--colour`; `pagewalk boot --help` lists what there is"),
            ("compare gups", "unexpected argument `gups`; `pagewalk compare --help` lists what there is"),
        ] {
            assert_eq!(refused(words), said);
        }
    }

    #[test]
    fn a_value_is_named_once_and_with_the_range_that_holds() {
        for (words, said) in [
            ("boot --harts 65", "--harts: `65` is not a number from 1 to 64"),
            ("boot --harts many", "--harts: `many` is not a number from 1 to 64"),
            ("boot --timeout 0", "--timeout: `0` is not a number of at least 1"),
            ("boot --memory lots", "--memory: `lots` is not a size such as 4096, 64K, 256M or 2G"),
            ("compare --scheme nestde", "--scheme: unknown scheme `nestde`; did you mean `nested`?"),
            ("boot --json", "--json: the value is missing: --json <FILE>"),
            ("boot --run true --run false", "--run is there twice"),
            ("boot --restore a --guest linux", "--restore cannot be used with --guest"),
            ("guest fetch --only base redis", "--only cannot be used with [SET]..."),
            ("report a.json", "<FILE.html> is missing; see `pagewalk report --help`"),
        ] {
            assert_eq!(refused(words), said);
        }
    }
}
