//! How what is tested is built.

use crate::process::target;
use std::process::Command;

/// Cargo's profile of all that is tested: that of users. Another profile would have libraries of its own, which take minutes to build.
pub(crate) const PROFILE: &str = "release";

/// A build of the workspace.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Build {
    /// The one that users have.
    Users,
    /// One with debug assertions (`checked.toml`). It shares the libraries of the other, but leaves the programs of users in their place.
    Checked,
}

impl Build {
    /// Lets `command`, which calls a subcommand of Cargo, make this build.
    pub(crate) fn settings(self, command: &mut Command) -> &mut Command {
        match self {
            Self::Users => command,
            Self::Checked => command
                .args(["--config", "checked.toml"])
                .env("CARGO_BUILD_BUILD_DIR", target())
                .env("CARGO_TARGET_DIR", target().join("checked")),
        }
    }
}
