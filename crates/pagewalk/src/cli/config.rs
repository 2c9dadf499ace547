//! Arguments of `config`.

use super::format::FormatArgs;
use clap::Args;

/// `pagewalk config`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Keys are set by --set KEY=VALUE, or in a file that --config names; docs/configuration.md.")]
pub struct ConfigReferenceArgs {
    /// Keys, or what they begin with, such as mmu [default: all]
    #[arg(value_name = "KEY")]
    pub keys: Vec<String>,
    /// Print the table of docs/configuration.md
    #[arg(long, conflicts_with = "keys")]
    pub markdown: bool,
    /// Format of tables.
    #[command(flatten)]
    pub format: FormatArgs,
}
