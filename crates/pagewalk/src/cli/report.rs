//! Arguments of `report`.

use clap::Args;
use std::path::PathBuf;

/// `pagewalk report`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "docs/reports.md says what is in it.")]
pub struct ReportArgs {
    /// What `--json` of `compare`, `run`, `vlm`, `reproduce`, `calibrate` or `validate` wrote, or the lines of `sweep`
    #[arg(value_name = "FILE.json")]
    pub json: PathBuf,
    /// What was recorded of the same runs, which the page then has too: the files of --profile (JSON), --interval-file, --heatmap
    /// and --reuse. May be repeated
    #[arg(long, value_name = "FILE")]
    pub with: Vec<PathBuf>,
    /// The page: one file that needs no network
    #[arg(value_name = "FILE.html")]
    pub html: PathBuf,
}
