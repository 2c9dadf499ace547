//! Arguments of `validate`.

use super::format::FormatArgs;
use super::run::ConfigArgs;
use super::sandbox::SandboxArgs;
use super::values::number;
use clap::{Args, ValueEnum};
use config::system::System;
use std::path::PathBuf;

/// Where the size of the last level of caches comes from.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum LastLevelSize {
    /// The host model.
    Model,
    /// What many misses at a time keep of it on this machine, measured between runs of the programs.
    Measured,
}

/// `pagewalk validate`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "A model of this machine: pagewalk calibrate -o mine.toml; pagewalk validate --set host=mine.toml. It needs a C compiler; docs/validation.md."
)]
pub struct ValidateArgs {
    /// Programs: gups, chase, stream, triad, bfs, kv, sieve, qsort, hashjoin, btree, spmv [default: all]
    #[arg(long = "program", value_name = "NAME,..", value_delimiter = ',')]
    pub programs: Vec<String>,
    /// Number of sizes of each program, 1 to 3, from the smallest
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = number::<u32, 1, 3>)]
    pub sizes: u32,
    /// Runs on this machine with each page size; the result is their median
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = number::<u32, 1, 1000>)]
    pub repeat: u32,
    /// How often a point is measured again, behind all others, whose times have quartiles more than 15 % of the median apart; the measurement with the smallest spread counts
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = number::<u32, 0, 100>)]
    pub again: u32,
    /// The systems that predict times with 4K pages and with 2M pages
    #[arg(long, value_name = "SYSTEM", num_args = 2, default_values = ["native:4K", "native:2M"])]
    pub systems: Vec<System>,
    /// Placements of a virtual machine's pages in host memory, each with runs of its own; the result is their median
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = number::<u32, 1, 100>)]
    pub layouts: u32,
    /// The size of the last-level cache of predictions: `model`, or `measured` beside the programs, as others that use it leave it to them
    #[arg(long = "last-level", value_name = "SIZE", default_value = "model")]
    pub last_level: LastLevelSize,
    /// Machines of Pagewalk at the same time [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = number::<u32, 1, 1024>)]
    pub threads: Option<u32>,
    /// Write the same as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the same as a page for a browser: one file that needs no network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Format of tables.
    #[command(flatten)]
    pub format: FormatArgs,
    /// Configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Sandbox.
    #[command(flatten)]
    pub sandbox: SandboxArgs,
}
