//! How a command fails.

use crate::guest::GuestError;
use crate::interrupt::Signal;
use crate::text::quoted::without_controls_in_line;
use machine::registry::RegistryError;
use std::io;
use std::process::ExitCode;

/// Why a command failed; its exit code follows from it.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The command line or a configuration file asks for something that cannot be. Exit code 2.
    #[error("{0}")]
    Usage(String),
    /// The run failed. Exit code 1.
    #[error("{0}")]
    Run(String),
    /// A signal asked the process to end. `main` ends it by that signal; exit code 128 + its number.
    #[error("ended by {0}")]
    Interrupted(Signal),
    /// Standard output took no more. Exit code 1.
    #[error("standard output: {0}")]
    Output(#[from] io::Error),
    /// The requested machine cannot be made. Exit code 2.
    #[error(transparent)]
    Build(#[from] machine::BuildError),
    /// There is no such host model. Exit code 2.
    #[error(transparent)]
    Host(#[from] config::host_model::HostModelError),
    /// The reserved memory registry could not be read or changed. Exit code 1 if the system refused, and else 2.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// A guest could not be fetched or built. Exit code 1, or 2 where the user's own words are at fault.
    #[error(transparent)]
    Guest(#[from] GuestError),
}

impl Failure {
    /// The process's exit code: 1 if the run failed, 2 if the usage or configuration is wrong.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Interrupted(signal) => ExitCode::from(128 + signal.number() as u8),
            _ if self.is_usage() => ExitCode::from(2),
            _ => ExitCode::from(1),
        }
    }

    /// Whether the usage or the configuration is wrong.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Usage(_) | Self::Host(_) => true,
            Self::Build(error) => error.is_usage(),
            Self::Registry(error) => !matches!(error, RegistryError::Io { .. }),
            Self::Run(_) | Self::Output(_) | Self::Interrupted(_) => false,
            Self::Guest(error) => {
                matches!(
                    error,
                    GuestError::UnknownSet(_)
                        | GuestError::UnknownKernel { .. }
                        | GuestError::Module { .. }
                        | GuestError::GuestPath { .. }
                        | GuestError::NoCache
                )
            }
        }
    }

    /// The failure as one line, whatever the texts in it hold. The numbers of the system's errors stay out of it: their words say as much.
    #[must_use]
    pub fn line(&self) -> String {
        let line = without_controls_in_line(&self.to_string());
        match line.split_once(" (os error ") {
            Some((before, after)) => format!("{before}{}", after.split_once(')').map_or("", |(_, rest)| rest)),
            None => line,
        }
    }
}
