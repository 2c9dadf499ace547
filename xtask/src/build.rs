//! How what is tested is built.

use crate::process::target;
use std::process::Command;

/// Cargo's profile of all that is tested: that of users. Another profile would have libraries of its own, which take minutes to build.
pub(crate) const PROFILE: &str = "release";

/// What takes the place of settings of [`PROFILE`] in a checked build. Those of libraries are settled in `Cargo.toml`, and so are those of packages
/// that have a setting there.
const CHECKED: [(&str, &str); 3] = [
    ("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true"),
    ("CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS", "true"),
    // Enough to boot a kernel in a second. More takes longer to build than it saves.
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1"),
];

/// A build of the workspace.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Build {
    /// The one that users have.
    Users,
    /// One with debug assertions, which takes less time to build. It shares the libraries of the other, but leaves the programs of users in their
    /// place.
    Checked,
}

impl Build {
    /// Lets `command`, which is Cargo or calls it, make this build.
    pub(crate) fn settings(self, command: &mut Command) -> &mut Command {
        match self {
            Self::Users => command,
            Self::Checked => command
                .envs(CHECKED)
                .env("CARGO_BUILD_BUILD_DIR", target())
                .env("CARGO_TARGET_DIR", target().join("checked")),
        }
    }
}
