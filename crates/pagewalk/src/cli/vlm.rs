//! Arguments of `vlm`.

use super::format::FormatArgs;
use super::sandbox::SandboxArgs;
use clap::Args;
use std::path::PathBuf;

/// `pagewalk vlm`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Figures 4, 8 and 9 of Noel and Karkhanis, \"OpenVMS Alpha 64-bit Very Large Memory Design\" (1998); docs/sections-results.md."
)]
pub struct VlmArgs {
    /// The paper's sections and numbers of processes, as far as this machine's memory goes, instead of a tenth of both
    #[arg(long)]
    pub full: bool,
    /// Write the same as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the same as a page for a browser: one file that needs no network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Format of tables.
    #[command(flatten)]
    pub format: FormatArgs,
    /// Sandbox.
    #[command(flatten)]
    pub sandbox: SandboxArgs,
}
