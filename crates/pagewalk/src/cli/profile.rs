//! The arguments of a profile.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// The format of a profile's file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ProfileFormat {
    /// Pagewalk's own, with every counter (docs/json-keys.md).
    Json,
    /// One line for each stack with its weight, for programs that draw flame graphs.
    Folded,
    /// For the Firefox Profiler, profiler.firefox.com.
    Firefox,
}

/// A profile of the command's runs.
#[derive(Args, Clone, Debug, Default)]
pub struct ProfileArgs {
    /// Write which processes, functions, instructions and data the events of translation are charged to, and print the costliest (docs/profile.md).
    /// The name says the format: .json, .folded for flame graphs, .fxprof.json or .json.gz for the Firefox Profiler
    #[arg(long, value_name = "FILE")]
    pub profile: Option<PathBuf>,
    /// The format of the profile, where the name of its file does not say it
    #[arg(long, value_name = "FORMAT", requires = "profile")]
    pub profile_format: Option<ProfileFormat>,
}
