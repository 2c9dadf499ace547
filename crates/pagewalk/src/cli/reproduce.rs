//! Arguments of `reproduce`.

use super::format::FormatArgs;
use super::guest::CacheArgs;
use super::sandbox::SandboxArgs;
use clap::Args;
use std::path::PathBuf;

/// `pagewalk reproduce`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "What is measured is kept, in the cache beside the guests: a run that was interrupted goes on where it was. docs/reproduce.md."
)]
pub struct ReproduceArgs {
    /// Paper: umeno1985, umeno1995, gandhi2014, noel1998 or sha2022; `all` for these five; or a file *.toml with your own experiment
    #[arg(value_name = "PAPER")]
    pub paper: String,
    /// Use sizes as near to the paper's as this machine allows; the default takes a few minutes
    #[arg(long)]
    pub full: bool,
    /// Run only the first N repeats of each measurement, 2 or more: a quick look, with wide intervals
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..), conflicts_with = "verdicts")]
    pub repeats: Option<u32>,
    /// Write the figures, the verdicts and all that was measured as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the same as a page for a browser: one file that needs no network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write the verdicts of one paper alone, with our numbers and the hashes of the rules, as JSON to keep
    #[arg(long, value_name = "FILE")]
    pub verdicts: Option<PathBuf>,
    /// Format of tables.
    #[command(flatten)]
    pub format: FormatArgs,
    /// Sandbox.
    #[command(flatten)]
    pub sandbox: SandboxArgs,
    /// Which cache.
    #[command(flatten)]
    pub cache: CacheArgs,
}
