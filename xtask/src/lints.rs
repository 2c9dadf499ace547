//! What the source and its comments must be like.

use crate::build::{Build, PROFILE};
use crate::failure::Failure;
use crate::process::{cargo, root, run};
use crate::tools::Tool;
use std::process::Command;

/// Every file is as `cargo fmt` leaves it.
pub(crate) fn format() -> Result<(), Failure> {
    cargo(&["fmt", "--all", "--check"])
}

/// Code and documentation are spelt right; `typos.toml` has the names that are no mistakes.
pub(crate) fn spelling() -> Result<(), Failure> {
    let typos = Tool::Typos.path().ok_or("typos is missing: `cargo xtask tools` installs it")?;
    run(Command::new(typos).arg("--format=brief").current_dir(root()))
}

/// Clippy has nothing to say.
pub(crate) fn clippy() -> Result<(), Failure> {
    let mut command = Command::new(env!("CARGO"));
    Build::Checked.settings(command.args(["clippy", "--workspace", "--profile", PROFILE, "--all-targets"]));
    run(command.args(["--", "-D", "warnings"]).current_dir(root()))
}

/// The reference that rustdoc makes of comments has no dead link. It is the contributors' reference, with private items: module comments
/// link to the modules inside.
pub(crate) fn rustdoc() -> Result<(), Failure> {
    let mut rustdoc = Command::new(env!("CARGO"));
    rustdoc
        .args(["doc", "--workspace", "--profile", PROFILE, "--no-deps", "--document-private-items"])
        .env("RUSTDOCFLAGS", "-Dwarnings -Arustdoc::private-intra-doc-links")
        .current_dir(root());
    run(&mut rustdoc)
}
