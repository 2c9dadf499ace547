//! Arguments of `reserve`.

use super::format::FormatArgs;
use super::run::ConfigArgs;
use super::values::{NameArgs, number};
use clap::{ArgGroup, Args, Subcommand};
use config::units::ByteSize;
use std::path::PathBuf;

/// Which registry is meant.
#[derive(Args, Clone, Debug, Default)]
pub struct RegistryArgs {
    /// The registry's file [default: ~/.config/pagewalk/reserved-memory.toml]
    #[arg(long, value_name = "FILE", env = "PAGEWALK_RESERVED_MEMORY")]
    pub file: Option<PathBuf>,
}

/// Which reservation is meant.
#[derive(Args, Clone, Debug)]
pub struct ReservationArgs {
    /// Its name.
    #[command(flatten)]
    pub name: NameArgs,
    /// Which registry.
    #[command(flatten)]
    pub registry: RegistryArgs,
}

/// `pagewalk reserve`.
#[derive(Debug, Subcommand)]
pub enum ReserveCommand {
    /// Add a reservation; machines that start from then on honour it
    Add(AddArgs),
    /// Change a reservation
    Modify(ModifyArgs),
    /// Remove a reservation
    Remove(ReservationArgs),
    /// Give a reservation's memory back: in the registry's file, for hosts that start from then on, or with --control on a running host alone
    ///
    /// The entry stays in the file with its options, and its section takes fluid memory from then on.
    Free(FreeArgs),
    /// List reservations, what a host does for them, and what it should be tuned to
    Show(ShowArgs),
}

/// `pagewalk reserve add`.
#[derive(Args, Clone, Debug)]
pub struct AddArgs {
    /// The reservation.
    #[command(flatten)]
    pub reservation: ReservationArgs,
    /// Size, such as 256M or 7680M, page tables not included
    #[arg(long, value_name = "SIZE")]
    pub size: ByteSize,
    /// Set contiguous pages aside, aligned for the largest page size that fits, instead of promising fluid ones
    #[arg(long)]
    pub alloc: bool,
    /// Clear these pages when the machine starts, instead of when the section is made
    #[arg(long, requires = "alloc")]
    pub zeroed: bool,
    /// The section's page tables are not shared, and need no memory here
    #[arg(long)]
    pub no_page_tables: bool,
}

/// `pagewalk reserve modify`.
#[derive(Args, Clone, Debug)]
#[command(group = ArgGroup::new("change").required(true).multiple(true))]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct ModifyArgs {
    /// The reservation.
    #[command(flatten)]
    pub reservation: ReservationArgs,
    /// Size, page tables not included
    #[arg(long, value_name = "SIZE", group = "change")]
    pub size: Option<ByteSize>,
    /// Set contiguous pages aside
    #[arg(long, group = "change")]
    pub alloc: bool,
    /// Promise fluid pages
    #[arg(long, group = "change", conflicts_with = "alloc")]
    pub fluid: bool,
    /// Clear the pages when the machine starts
    #[arg(long, group = "change", conflicts_with = "fluid")]
    pub zeroed: bool,
    /// Clear the pages when the section is made
    #[arg(long, group = "change", conflicts_with = "zeroed")]
    pub not_zeroed: bool,
    /// Share the section's page tables, and reserve memory for them
    #[arg(long, group = "change")]
    pub page_tables: bool,
    /// Do neither
    #[arg(long, group = "change", conflicts_with = "page_tables")]
    pub no_page_tables: bool,
    /// Reserve again what was freed
    #[arg(long, group = "change")]
    pub again: bool,
}

/// `pagewalk reserve free`.
#[derive(Args, Clone, Debug)]
pub struct FreeArgs {
    /// The reservation.
    #[command(flatten)]
    pub name: NameArgs,
    // Without `env`: a variable that names the file is no conflict with --control.
    /// The registry's file [env: PAGEWALK_RESERVED_MEMORY] [default: ~/.config/pagewalk/reserved-memory.toml]
    #[arg(long, value_name = "FILE", conflicts_with = "control")]
    pub file: Option<PathBuf>,
    /// Free the reservation on the host that runs with --control unix:PATH (`boot`, `run`), and leave the registry's file as it is
    #[arg(long, value_name = "PATH")]
    pub control: Option<PathBuf>,
}

/// `pagewalk reserve show`.
#[derive(Args, Clone, Debug)]
pub struct ShowArgs {
    /// Format of tables.
    #[command(flatten)]
    pub format: FormatArgs,
    /// Which registry.
    #[command(flatten)]
    pub registry: RegistryArgs,
    /// Memory of the host [default: the least that honours every reservation]
    #[arg(long, value_name = "SIZE")]
    pub host_memory: Option<ByteSize>,
    /// Guests, as --config and --set have them, whose memory must stay
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::<u32, 0, { u32::MAX as u64 }>)]
    pub guests: u32,
    /// Write the same as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// The guests' configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
}
