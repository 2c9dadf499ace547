//! Arguments of `record`, `import` and `sweep`.

use super::run::{LinuxArgs, MachineArgs};
use super::sandbox::SandboxArgs;
use super::values::{CommandSpec, Setting, WorkloadSpec, number};
use clap::Args;
use config::system::{Sweep, SystemList};
use config::warmup::Warmup;
use std::fs::File;
use std::path::PathBuf;
use std::str::FromStr;
use traces::{Format, Frames, Policy, Sink};
use types::PageSize;

/// `pagewalk record`.
#[derive(Args, Clone, Debug)]
pub struct RecordArgs {
    /// Guest: `vos` (our own small kernel, built in), `linux` (see `guest fetch`), or the file of a kernel of yours
    #[arg(long, value_name = "GUEST", default_value = "vos")]
    pub guest: String,
    /// Record this workload, with its size if you want: gups:256M (docs/workloads.md)
    #[arg(long, value_name = "NAME[:SIZE]")]
    pub workload: Option<WorkloadSpec>,
    /// Record this command, run in the Linux guest's shell
    #[arg(long = "run", value_name = "[NAME: ]COMMAND", conflicts_with = "workload")]
    pub command: Option<CommandSpec>,
    /// Size of the guest's pages: 4K, 2M or 1G
    #[arg(long, value_name = "SIZE", default_value = "4K")]
    pub page: PageSize,
    /// Write the recording to this file
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Also write a trace of the region of interest, for another tool. It is compressed if the name ends with .xz. One of drmemtrace is an archive, whose
    /// name ends with .zip, or goes into a directory; a map of its pages is beside it (docs/traces.md)
    #[arg(long, value_name = "champsim|lackey|drmemtrace:FILE")]
    pub trace: Option<TraceSpec>,
    /// What comes before measurement: `touch`, or this many instructions of the region of interest [default: none]
    #[arg(long, value_name = "none|touch|INSTRUCTIONS")]
    pub warmup: Option<Warmup>,
    /// The machine.
    #[command(flatten)]
    pub machine: MachineArgs,
    /// Sandbox.
    #[command(flatten)]
    pub sandbox: SandboxArgs,
    /// The guest.
    #[command(flatten)]
    pub linux: LinuxArgs,
}

/// A trace to write: `FORMAT:FILE`.
#[derive(Clone, Debug)]
pub struct TraceSpec {
    /// Its format.
    pub format: Format,
    /// The file, or the directory.
    file: PathBuf,
}

/// The files of a trace.
#[derive(Clone, Debug)]
pub struct TraceFiles {
    /// The trace.
    pub trace: PathBuf,
    /// The map from virtual to physical pages, where the format has one.
    pub map: Option<PathBuf>,
}

impl FromStr for TraceSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some((format, file)) if !file.is_empty() => Ok(Self { format: format.parse()?, file: PathBuf::from(file) }),
            _ => Err("it is FORMAT:FILE".to_owned()),
        }
    }
}

impl TraceSpec {
    /// The names of its files. In a directory, they have the names that DynamoRIO's tools look for.
    ///
    /// # Errors
    /// What is wrong with the name.
    pub fn files(&self) -> Result<TraceFiles, String> {
        let file = self.file.clone();
        match self.format {
            Format::ChampSim | Format::Lackey => Ok(TraceFiles { trace: file, map: None }),
            Format::Drmemtrace if file.is_dir() => {
                Ok(TraceFiles { trace: file.join("pagewalk.trace.zip"), map: Some(file.join("v2p.textproto")) })
            }
            Format::Drmemtrace if file.extension().is_some_and(|extension| extension == "zip") => {
                Ok(TraceFiles { map: Some(file.with_extension("v2p.textproto")), trace: file })
            }
            Format::Drmemtrace => Err(format!(
                "--trace drmemtrace: {} is no directory, and its name does not end with .zip",
                file.display()
            )),
        }
    }

    /// Begins to write the trace to the file, which is open.
    pub fn sink(&self, file: File) -> Sink<'static> {
        traces::create(file, self.format, self.file.extension().is_some_and(|extension| extension == "xz"))
    }
}

/// `pagewalk import`.
#[derive(Args, Clone, Debug)]
pub struct ImportArgs {
    /// The trace. It may be compressed by xz; one of drmemtrace may be an archive (zip), or compressed by gzip
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// Its format: champsim, lackey or drmemtrace, which Google's workload traces have
    #[arg(long, value_name = "FORMAT")]
    pub format: Format,
    /// Sizes of the pages that it gets: 4K, 2M, or thp (2M where half or more of a region is touched)
    #[arg(long, value_name = "4K|2M|thp", default_value = "4K")]
    pub pages: Policy,
    /// Frames that its pages get, in the order of first touch or at random
    #[arg(long, value_name = "first-touch|random:SEED", default_value = "first-touch")]
    pub frames: Frames,
    /// Sizes of pages and physical pages, of this map from virtual to physical pages (v2p.textproto), in place of the two policies
    #[arg(long, value_name = "FILE", conflicts_with_all = ["pages", "frames"])]
    pub v2p: Option<PathBuf>,
    /// Instructions at the beginning that are not measured
    #[arg(long, value_name = "INSTRUCTIONS", default_value_t = 0)]
    pub warmup: u64,
    /// Write the recording to this file
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Sandbox.
    #[command(flatten)]
    pub sandbox: SandboxArgs,
}

/// `pagewalk sweep`.
#[derive(Args, Clone, Debug)]
pub struct SweepArgs {
    /// The recording
    #[arg(value_name = "RECORDING", required_unless_present = "study")]
    pub recording: Option<PathBuf>,
    /// Read the options that are not given here from this file of TOML (docs/record.md)
    #[arg(long, value_name = "FILE.toml")]
    pub study: Option<PathBuf>,
    /// Systems to replay it on, as `compare` takes them [default: native,nested,shadow,flat, with the recorded guest's pages]
    #[arg(long = "scheme", value_name = "SCHEME[/KEY=VALUE]...,..")]
    pub schemes: Vec<SystemList>,
    /// Replay on each system with each of these values of a key: mmu.nested_tlb=off,16,32
    #[arg(long = "sweep", value_name = "KEY=VALUE,..|KEY=FROM..TO")]
    pub sweeps: Vec<Sweep>,
    /// Set one key of the configuration in all systems; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<Setting>,
    /// Write one line of JSON for each system to this file. Lines that it has already are kept, and not made again
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write a page with the Pareto fronts of all lines to this file: bits of storage against cycles of translation (docs/record.md)
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write all lines as a table for data frames to this file: CSV with a row for each system and a column for each number
    #[arg(long, value_name = "FILE")]
    pub columns: Option<PathBuf>,
    /// Write a line also where counts may differ from those of a run by a little; such a line has "exact": false (docs/record.md)
    #[arg(long)]
    pub inexact: bool,
    /// Replay each system by itself, also where one pass over the recording counts for many. The lines are the same
    #[arg(long)]
    pub one_by_one: bool,
    /// Host threads that replay side by side [default: the host's processors]
    #[arg(long, value_name = "N", value_parser = number::<u32, 1, { u32::MAX as u64 }>)]
    pub threads: Option<u32>,
    /// Sandbox.
    #[command(flatten)]
    pub sandbox: SandboxArgs,
}
