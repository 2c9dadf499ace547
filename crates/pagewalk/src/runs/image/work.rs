//! Which guest a command boots, and what it is to do.

use std::io::{self, IsTerminal};
use std::path::PathBuf;

/// Which guest a command boots.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum GuestKind {
    /// Our own small kernel.
    Vos,
    /// Debian's Linux, with a root file system made for the run.
    Linux,
    /// Debian, from its image.
    Debian,
    /// A kernel's file.
    File(PathBuf),
}

impl GuestKind {
    /// Reads `--guest`.
    pub(crate) fn parse(text: &str) -> Self {
        match text {
            "vos" => Self::Vos,
            "linux" => Self::Linux,
            "debian" => Self::Debian,
            path => Self::File(path.into()),
        }
    }

    /// Whether such a guest says how the work that it was given ended. Where one shuts down without a word, the work has not been done.
    pub(crate) fn reports_status(&self) -> bool {
        match self {
            Self::Vos | Self::Linux | Self::Debian => true,
            Self::File(_) => false,
        }
    }

    /// Whether it is a Linux whose root file system Pagewalk makes, so that it has files and runs commands.
    pub(crate) fn runs_commands(&self) -> bool {
        match self {
            Self::Linux | Self::Debian => true,
            Self::Vos | Self::File(_) => false,
        }
    }

    /// How the user has it boot, where it would go on from a state.
    pub(crate) fn how_to_boot(&self) -> &'static str {
        match self {
            Self::Debian => "--cold boots it",
            Self::Vos | Self::Linux | Self::File(_) => "without --warm it boots",
        }
    }

    /// The name in reports.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Vos => "vos".to_owned(),
            Self::Linux => "linux".to_owned(),
            Self::Debian => "debian".to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }
}

/// What a shell is typed at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ShellConsole {
    /// A terminal: the guest echoes what is typed, and sends CR LF at the end of a line.
    Terminal,
    /// A file or a pipe.
    Stream,
}

impl ShellConsole {
    /// What standard input is.
    pub(crate) fn of_input() -> Self {
        if io::stdin().is_terminal() { Self::Terminal } else { Self::Stream }
    }
}

/// What the guest is to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Work {
    /// A console for the user.
    Console,
    /// The shell of `vos`.
    Shell(ShellConsole),
    /// One of our workloads.
    Workload {
        /// Its name.
        name: String,
        /// Its options, such as `size=64M`, separated by spaces; see docs/workloads.md.
        options: String,
    },
    /// A command for the guest's shell.
    Command(String),
}
