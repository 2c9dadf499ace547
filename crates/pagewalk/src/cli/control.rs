//! Control of a run: the socket of `boot` and `run`, and `ctl`.

use super::values::NameArgs;
use crate::control::SocketAddress;
use clap::{Args, Subcommand};
use config::units::ByteSize;
use std::path::PathBuf;

/// The socket of a run.
#[derive(Args, Clone, Debug, Default)]
pub struct ControlArgs {
    /// Listen at this socket for requests of `ctl`: pause, statistics, quit and others (docs/control.md)
    #[arg(long, value_name = "unix:PATH")]
    pub control: Option<SocketAddress>,
}

/// `pagewalk ctl`.
#[derive(Args, Clone, Debug)]
pub struct CtlArgs {
    /// The socket of a run that has --control unix:PATH
    #[arg(value_name = "PATH")]
    pub socket: PathBuf,
    /// What is asked.
    #[command(subcommand)]
    pub request: CtlRequest,
}

/// `pagewalk top`.
#[derive(Args, Clone, Debug)]
pub struct TopArgs {
    /// The socket of a run that has --control unix:PATH
    #[arg(value_name = "PATH")]
    pub socket: PathBuf,
    /// The length of an interval in seconds of the host, from 0.1 to 3600
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = interval)]
    pub interval: f64,
    /// Print so many intervals as lines, and end; without it a terminal shows a view, and anything else gets lines until the run ends
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Print an object of JSON for each interval, in a line of its own
    #[arg(long)]
    pub json: bool,
}

/// Seconds from 0.1 to 3600.
fn interval(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.1..=3600.0).contains(&seconds) { Ok(seconds) } else { Err("from 0.1 to 3600".to_owned()) }
}

/// What `pagewalk ctl` asks of a run.
#[derive(Subcommand, Clone, Debug)]
pub enum CtlRequest {
    /// Print how far the run is
    Status,
    /// Stop the machine between two turns; no simulated time passes
    Pause,
    /// Let a machine that is paused go on
    Resume,
    /// Print what was counted up to now
    Statistics,
    /// Write the guest's state to the file of `boot --snapshot FILE`, and end the run
    Snapshot,
    /// Ask guests with a balloon to give up this much memory in all
    Balloon {
        /// A multiple of 4K, such as 64M; 0 gives all of it back
        #[arg(value_name = "SIZE", value_parser = balloon_size)]
        size: u64,
    },
    /// Free a reservation of reserved memory on this host: its memory goes to the free list and to the fluid page count
    Free(NameArgs),
    /// End the run
    Quit {
        /// The exit code of the run
        #[arg(value_name = "STATUS", default_value_t = 0)]
        status: u8,
    },
}

/// A size, or 0.
fn balloon_size(text: &str) -> Result<u64, String> {
    if text == "0" { Ok(0) } else { text.parse::<ByteSize>().map(|size| size.0).map_err(|error| error.to_string()) }
}
