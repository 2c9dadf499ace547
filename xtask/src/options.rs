//! The command line of `cargo xtask`.

use crate::step::{Step, Tier};
use crate::steps::{CHORES, STEPS};

/// A parsed command line.
#[derive(Debug)]
pub(crate) enum Request {
    /// A list of the chores.
    Help,
    /// All steps of a tier.
    Test(Tier),
    /// One step or chore.
    One(&'static Step),
}

/// Reads the arguments behind `cargo xtask`; an error says in one line what is wrong with them.
pub(crate) fn parse(arguments: &[&str]) -> Result<Request, String> {
    match arguments {
        ["--help" | "-h" | "help"] => Ok(Request::Help),
        [] => Err("which chore?".to_owned()),
        ["test", options @ ..] => tier(options).map(Request::Test),
        [name] => match STEPS.iter().chain(CHORES).find(|step| step.name == *name) {
            Some(step) => Ok(Request::One(step)),
            None => Err(format!("no chore is called `{name}`")),
        },
        [name, option, ..] if option.starts_with('-') => Err(format!("`{name}` has no option `{option}`")),
        [_, ..] => Err("one chore at a time".to_owned()),
    }
}

fn tier(options: &[&str]) -> Result<Tier, String> {
    options.iter().try_fold(Tier::Full, |_, option| match *option {
        "--quick" => Ok(Tier::Quick),
        other => Err(format!("`test` has no option `{other}`")),
    })
}

/// The text of `--help`.
pub(crate) fn help() -> String {
    let line = |name: &str, summary: &str| format!("  {name:14} {summary}\n");
    let lines = |steps: &mut dyn Iterator<Item = &Step>| -> String {
        steps.map(|step| line(step.name, step.summary)).collect()
    };
    let of = |tier: Tier| lines(&mut STEPS.iter().filter(|step| step.tiers.contains(&tier)));
    [
        "Usage: cargo xtask CHORE\n\n",
        &line("test --quick", "what needs only Rust, no network and no root:"),
        &of(Tier::Quick),
        "\n",
        &line("test", "everything, as CI runs it:"),
        &of(Tier::Full),
        "\nOther chores:\n",
        &lines(&mut CHORES.iter()),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_runs_everything_unless_it_is_to_be_quick() {
        assert!(matches!(parse(&["test"]), Ok(Request::Test(Tier::Full))));
        assert!(matches!(parse(&["test", "--quick"]), Ok(Request::Test(Tier::Quick))));
    }

    #[test]
    fn every_step_and_chore_runs_by_its_name() {
        for step in STEPS.iter().chain(CHORES) {
            assert!(matches!(parse(&[step.name]), Ok(Request::One(found)) if found.name == step.name));
            assert_eq!(STEPS.iter().chain(CHORES).filter(|other| other.name == step.name).count(), 1, "{}", step.name);
            assert!(help().contains(&format!("\n  {} ", step.name)), "{}", step.name);
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (arguments, named) in [
            (&[][..], "which chore"),
            (&["tests"], "`tests`"),
            (&["test", "--fast"], "`--fast`"),
            (&["test", "--quick", "now"], "`now`"),
            (&["readme", "--quick"], "`readme` has no option `--quick`"),
            (&["readme", "examples"], "one chore"),
        ] {
            let problem = parse(arguments).unwrap_err();
            assert!(problem.contains(named), "{problem}");
        }
    }
}
