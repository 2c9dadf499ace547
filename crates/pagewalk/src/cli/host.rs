//! Arguments of `run`.

use super::control::ControlArgs;
use super::format::FormatArgs;
use super::gdb::GdbAddress;
use super::profile::{ObserveArgs, ProfileArgs};
use super::sandbox::SandboxArgs;
use super::values::{Setting, number};
use clap::Args;
use keys::suggestion::unknown;
use machine::sched::spin::SpinMethod;
use std::path::PathBuf;

/// `pagewalk run`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "The file's keys are in docs/hosting-howto.md.")]
pub struct RunArgs {
    /// The host and its guests
    #[arg(value_name = "CONFIG.toml")]
    pub file: PathBuf,
    /// Set one key of the configuration, such as host=xeon-2017
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<Setting>,
    /// Run once with each of these spin methods for all guests, and print the runs side by side: none, yield, rslp, wopd, wopd-ready, wapd, directed-yield, gang
    #[arg(long = "spin", value_name = "METHOD,..", value_delimiter = ',', value_parser = spin_method)]
    pub methods: Vec<SpinMethod>,
    /// The registry of reserved memory that the host honours [default: ~/.config/pagewalk/reserved-memory.toml]
    #[arg(long, value_name = "FILE", env = "PAGEWALK_RESERVED_MEMORY")]
    pub reserved_memory: Option<PathBuf>,
    /// Write the measurements as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the same as a page for a browser: one file that needs no network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write which vCPU ran where, for Perfetto or Chrome's about:tracing; of one run. If the name ends in .pftrace, all that happens, for
    /// Perfetto (docs/over-time.md)
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Profile.
    #[command(flatten)]
    pub profile: ProfileArgs,
    /// Recordings over time.
    #[command(flatten)]
    pub observe: ObserveArgs,
    /// Wait for GDB at this port of this host (0: any that is free), or at this socket, before the first instruction; results stay the same. All vCPUs
    /// of all guests are its threads (docs/debugging.md)
    #[arg(long, value_name = "PORT|unix:PATH", conflicts_with = "control")]
    pub gdb: Option<GdbAddress>,
    /// Control.
    #[command(flatten)]
    pub control: ControlArgs,
    /// Print what each guest printed
    #[arg(long)]
    pub output: bool,
    /// Host threads that run machines: spin methods side by side, and guests that cannot affect each other (docs/hosting-howto.md); results stay
    /// the same [default: the host's processors]
    #[arg(long, value_name = "N", value_parser = number::<u32, 1, { u32::MAX as u64 }>)]
    pub threads: Option<u32>,
    /// Format of tables.
    #[command(flatten)]
    pub format: FormatArgs,
    /// Sandbox.
    #[command(flatten)]
    pub sandbox: SandboxArgs,
}

/// `pagewalk hosts`.
#[derive(Args, Clone, Debug)]
pub struct HostsArgs {
    /// Print the file of this host model, with the source of each number [default: list all]
    #[arg(value_name = "NAME|FILE")]
    pub name: Option<String>,
    /// Format of tables.
    #[command(flatten)]
    pub format: FormatArgs,
}

fn spin_method(name: &str) -> Result<SpinMethod, String> {
    SpinMethod::of(name).ok_or_else(|| unknown("spin method", name, SpinMethod::ALL.map(SpinMethod::name)))
}
