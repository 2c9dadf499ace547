//! Arguments of `report`.

use clap::Args;
use std::path::PathBuf;

/// `pagewalk report`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "docs/reports.md says what is in it.")]
pub struct ReportArgs {
    /// What `--json` of `compare`, `run`, `vlm`, `reproduce`, `calibrate` or `validate` wrote
    #[arg(value_name = "FILE.json")]
    pub json: PathBuf,
    /// The page: one file that needs no network
    #[arg(value_name = "FILE.html")]
    pub html: PathBuf,
}
