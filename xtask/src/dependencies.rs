//! Whether dependencies are what `deny.toml` allows.

use crate::failure::Failure;
use crate::process::{root, run};
use crate::tools::Tool;
use std::process::{Command, Stdio};

/// Checks licences, duplicates and sources, and advisories where their database can be reached.
pub(crate) fn check() -> Result<(), Failure> {
    let deny = Tool::Deny.path().ok_or("cargo-deny is missing: `cargo xtask tools` installs it")?;
    let command = |arguments: &[&str]| {
        let mut command = Command::new(&deny);
        command.args(arguments).current_dir(root()).stdin(Stdio::null());
        command
    };
    run(&mut command(&["check", "--hide-inclusion-graph", "licenses", "bans", "sources"]))?;
    let fetched = command(&["fetch", "db"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if fetched.is_ok_and(|status| status.success()) {
        return run(&mut command(&["check", "advisories"]));
    }
    println!("advisories are not checked: their database cannot be reached");
    Ok(())
}
