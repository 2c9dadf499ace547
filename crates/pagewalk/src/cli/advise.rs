//! Arguments of `advise`.

use super::format::FormatArgs;
use clap::Args;
use std::path::PathBuf;

/// `pagewalk advise`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "A first use: pagewalk compare --workload kv --scheme native,nested,nested:4K+2M,nested:2M+2M,shadow,flat-hw,vmm-direct,dual-direct --json kv.json, \
                  and then: pagewalk advise kv.json"
)]
pub struct AdviseArgs {
    /// Reports that `compare --json` wrote, or `run --json` with several methods after --spin
    #[arg(value_name = "REPORT", required = true)]
    pub reports: Vec<PathBuf>,
    /// Write the advice as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Format of tables.
    #[command(flatten)]
    pub format: FormatArgs,
}
