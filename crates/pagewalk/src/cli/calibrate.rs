//! Arguments of `calibrate`.

use super::format::FormatArgs;
use clap::Args;
use std::path::PathBuf;

/// `pagewalk calibrate`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "It takes less than two minutes of a machine that does nothing else; docs/calibrate.md.")]
pub struct CalibrateArgs {
    /// Write the host model, for --set host=FILE [default: print the numbers only]
    #[arg(short, long, value_name = "FILE.toml")]
    pub output: Option<PathBuf>,
    /// The host model from which numbers come that cannot be measured
    #[arg(long, value_name = "NAME|FILE", default_value = "xeon-2017")]
    pub base: String,
    /// Measure for seconds: fewer repeats, and less memory than large caches and huge pages need
    #[arg(long)]
    pub quick: bool,
    /// Write the numbers and the staircases as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the same as a page for a browser: one file that needs no network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Format of tables.
    #[command(flatten)]
    pub format: FormatArgs,
}
