//! The arguments of profiles, and of what is recorded of a run over time.

use clap::{Args, ValueEnum};
use machine::IntervalLength;
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
    /// Keep the call stacks of what is charged, so that flame graphs show who calls a function. The run is slower with it
    #[arg(long, requires = "profile")]
    pub profile_stacks: bool,
}

/// What is recorded of a command's runs over time.
#[derive(Args, Clone, Debug, Default)]
pub struct ObserveArgs {
    /// Write all counters for each interval of this length to --interval-file: a simulated time (1ms, 250us, 2s) or a number of instructions
    /// (docs/over-time.md)
    #[arg(long, value_name = "TIME|INSTRUCTIONS", requires = "interval_file")]
    pub interval: Option<IntervalLength>,
    /// The file of --interval: JSON Lines, an object for each interval and hart
    #[arg(long, value_name = "FILE", requires = "interval")]
    pub interval_file: Option<PathBuf>,
    /// Write the reuse distances of pages as JSON: how many other pages are used between two uses of one, which says how many entries a TLB needs.
    /// The run is slower with it
    #[arg(long, value_name = "FILE")]
    pub reuse: Option<PathBuf>,
    /// Write a map of addresses over time as JSON
    #[arg(long, value_name = "FILE")]
    pub heatmap: Option<PathBuf>,
    /// What the map counts: misses of the L1 TLBs, or all loads and stores, with which the run is slower
    #[arg(long, value_name = "WHAT", requires = "heatmap", default_value = "misses")]
    pub heatmap_of: HeatmapCounts,
}

/// What a heatmap counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum HeatmapCounts {
    /// Loads, stores and fetches that miss the L1 TLBs.
    #[default]
    Misses,
    /// Loads and stores.
    References,
}
