//! Arguments of the commands that run guests: `boot`, `compare`, `bench`.

use super::guest::CacheArgs;
use super::values::{DiskSpec, FileSpec, Setting, WorkloadSpec};
use clap::Args;
use machine::system::{Sweep, System, SystemList};
use machine::units::ByteSize;
use std::path::PathBuf;

/// Configuration of the machine, common to all commands. A later source wins: file, then `--set`, then a flag of its own.
#[derive(Args, Clone, Debug, Default)]
pub struct ConfigArgs {
    /// Read the configuration from a TOML file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Set one key of the configuration, such as mmu.walk_caches=off
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<Setting>,
}

/// Size of the machine and limits of its run.
#[derive(Args, Clone, Debug, Default)]
pub struct MachineArgs {
    /// Configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Harts of the guest
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub harts: Option<u32>,
    /// Memory of the guest, such as 256M or 2G
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<ByteSize>,
    /// End the run, as a failure, after this many seconds of guest time
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: Option<u64>,
}

/// What goes into a Linux guest, and its devices.
#[derive(Args, Clone, Debug, Default)]
pub struct LinuxArgs {
    /// Kernel: a flat RISC-V Image or an ELF file [default: the fetched one]
    #[arg(long, value_name = "FILE")]
    pub kernel: Option<PathBuf>,
    /// Root file system, as the kernel unpacks it [default: busybox, the workloads and what --file and --programs add]
    #[arg(long, value_name = "FILE")]
    pub initrd: Option<PathBuf>,
    /// Add parameters to the kernel's command line
    #[arg(long, value_name = "PARAMETERS")]
    pub append: Option<String>,
    /// Put a file or directory of yours into the guest, by default at its root
    #[arg(long = "file", value_name = "HOST[:GUEST]")]
    pub files: Vec<FileSpec>,
    /// Put fetched package sets into the guest, beside those whose programs --run names
    #[arg(long, value_name = "SET", value_delimiter = ',')]
    pub programs: Vec<String>,
    /// Attach a disk; the file stays as it is unless `,write` is added
    #[arg(long = "disk", value_name = "FILE[,write]")]
    pub disks: Vec<DiskSpec>,
    /// Attach a network card
    #[arg(long)]
    pub net: bool,
    /// Attach a source of randomness
    #[arg(long)]
    pub rng: bool,
    /// Which cache.
    #[command(flatten)]
    pub cache: CacheArgs,
}

/// `pagewalk boot`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "On the console, Ctrl-A x ends the machine; Ctrl-A Ctrl-A sends one Ctrl-A to the guest.")]
pub struct BootArgs {
    /// Guest: `vos`, `linux`, or a kernel's file
    #[arg(long, value_name = "GUEST", default_value = "vos")]
    pub guest: String,
    /// Translation scheme, with its page sizes if you want: nested, nested:4K+2M, native:2M, flat, flat-hw, reserved
    #[arg(long, value_name = "SCHEME")]
    pub scheme: Option<System>,
    /// Run this command in the guest and end with its status, instead of an interactive console
    #[arg(long, value_name = "COMMAND")]
    pub run: Option<String>,
    /// Write the run's statistics as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// The machine.
    #[command(flatten)]
    pub machine: MachineArgs,
    /// The guest.
    #[command(flatten)]
    pub linux: LinuxArgs,
}

/// `pagewalk compare`.
#[derive(Args, Clone, Debug)]
pub struct CompareArgs {
    /// Guest: `vos`, `linux`, or a kernel's file
    #[arg(long, value_name = "GUEST", default_value = "vos")]
    pub guest: String,
    /// Workloads, each with its size if you want: gups,bfs,kv [default: all]
    #[arg(long = "workload", value_name = "NAME[:SIZE]", value_delimiter = ',', conflicts_with = "run")]
    pub workloads: Vec<WorkloadSpec>,
    /// Systems: translation schemes, each with its page sizes and settings of its own if you want:
    /// native,nested:4K+2M,nested/host=xeon-2017/mmu.nested_tlb=off
    #[arg(long = "scheme", value_name = "SCHEME[/KEY=VALUE]...,..")]
    pub schemes: Vec<SystemList>,
    /// Run each virtualized system with each of these values of a key: mmu.nested_tlb=off,16,32 or harts=1..4
    #[arg(long = "sweep", value_name = "KEY=VALUE,..|KEY=FROM..TO")]
    pub sweeps: Vec<Sweep>,
    /// Also run the native machines that the overheads are over, where --scheme does not have them
    #[arg(long)]
    pub native: bool,
    /// Compare this command, run in the guest, instead of workloads
    #[arg(long, value_name = "COMMAND")]
    pub run: Option<String>,
    /// Write the comparison as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Print a line for each run: misses, references per walk, exits
    #[arg(long)]
    pub details: bool,
    /// Host threads that run machines side by side [default: the host's processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub threads: Option<u32>,
    /// The machine.
    #[command(flatten)]
    pub machine: MachineArgs,
    /// The guest.
    #[command(flatten)]
    pub linux: LinuxArgs,
}

/// `pagewalk bench`.
#[derive(Args, Clone, Debug)]
pub struct BenchArgs {
    /// Benchmarks: gups, sieve, triad, triadp, qsort, linux-boot [default: all]
    #[arg(long = "workload", value_name = "NAME", value_delimiter = ',')]
    pub workloads: Vec<WorkloadSpec>,
    /// Translation schemes, as for `compare` [default: native:4K,nested:4K+4K]
    #[arg(long = "scheme", value_name = "SCHEME[/KEY=VALUE]...,..")]
    pub schemes: Vec<SystemList>,
    /// Runs of each, of which the median counts
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: u32,
    /// Write the measurements as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Which cache.
    #[command(flatten)]
    pub cache: CacheArgs,
}
