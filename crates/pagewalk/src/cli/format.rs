//! The format of tables.

use crate::output::Format;
use clap::Args;

/// How a command prints its tables.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct FormatArgs {
    /// Print tables in this format: table, csv, markdown or json (docs/output.md)
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        default_value_t,
        hide_possible_values = true,
        hide_default_value = true
    )]
    pub format: Format,
}
