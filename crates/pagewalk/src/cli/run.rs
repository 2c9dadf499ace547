//! Arguments of the commands that run guests: `boot`, `compare`, `bench`.

use super::control::ControlArgs;
use super::format::FormatArgs;
use super::gdb::GdbAddress;
use super::guest::CacheArgs;
use super::profile::{ObserveArgs, ProfileArgs};
use super::sandbox::SandboxArgs;
use super::values::{
    CommandSpec, CopySpec, Copying, DiskSpec, FileSpec, NetKind, Setting, ShareSpec, WorkloadSpec, address, number,
};
use clap::Args;
use config::host_model::HostModel;
use config::system::{Sweep, System, SystemList};
use config::units::ByteSize;
use config::warmup::Warmup;
use machine::snapshot::SnapshotAt;
use network::Forward;
use schemes::registry;
use std::path::PathBuf;
use types::Gpa;

/// The names that schemes and hosts have.
fn schemes_help() -> String {
    let schemes = registry::names().collect::<Vec<_>>().join(", ");
    let hosts = HostModel::names().collect::<Vec<_>>().join(", ");
    format!(
        "Schemes: {schemes}; each with the size of the guest's pages and, where the hypervisor maps pages, of those: \
         native:2M, nested:4K+1G. Sizes: 4K (default), 2M, 1G.\n\
         Hosts, for --set host=: {hosts}, or a TOML file like those in hosts/."
    )
}

/// Configuration of the machine, common to all commands. A later source wins: file, then `--set`, then a flag of its own.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Machine")]
pub struct ConfigArgs {
    /// Read the configuration from a TOML file; its keys are in docs/configuration.md
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Set one key of the configuration, such as mmu.walk_caches=off; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<Setting>,
    /// Choose the time model: counts, cycles or core (docs/time.md); the same as --set fidelity=NAME
    #[arg(long, value_name = "NAME")]
    pub fidelity: Option<String>,
}

/// The registry of reserved memory.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Machine")]
pub struct ReservedMemoryArgs {
    /// The registry of reserved memory that the host honours [default: ~/.config/pagewalk/reserved-memory.toml]
    #[arg(long, value_name = "FILE", env = "PAGEWALK_RESERVED_MEMORY")]
    pub reserved_memory: Option<PathBuf>,
}

/// Size of the machine and limits of its run.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Machine")]
pub struct MachineArgs {
    /// Configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Harts of the guest, 1 to 64 [default: 1]
    #[arg(long, value_name = "N", value_parser = number::<u32, 1, 64>)]
    pub harts: Option<u32>,
    /// Memory of the guest, such as 256M or 2G [default: 1G; 4G where `compare` runs vos]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<ByteSize>,
    /// End the run, as a failure, after this many seconds of guest time [default: never]
    #[arg(long, value_name = "SECONDS", value_parser = number::<u64, 1, { u64::MAX }>)]
    pub timeout: Option<u64>,
    /// Check shadow entries: those of a fence after it, and all after the run. A wrong entry fails the run
    #[arg(long)]
    pub check: bool,
}

/// What goes into a Linux guest, and its devices.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Guest")]
pub struct LinuxArgs {
    /// Linux: its kernel, a flat RISC-V Image or an ELF file, or the release of one that `guest fetch --kernel` brought
    /// [default: the fetched one]
    #[arg(long, value_name = "FILE|RELEASE")]
    pub kernel: Option<PathBuf>,
    /// Linux: the modules of the kernel of --kernel, where they are neither beside it nor in the cache
    #[arg(long, value_name = "DIR", requires = "kernel", conflicts_with = "initrd")]
    pub modules: Option<PathBuf>,
    /// Linux, or a kernel of yours: root file system, as the kernel unpacks it
    /// [default for Linux: busybox, the workloads and what --file and --programs add]
    #[arg(long, value_name = "FILE")]
    pub initrd: Option<PathBuf>,
    /// A kernel of yours that is a flat binary without a header, such as U-Boot's u-boot.bin: load it at this address, and enter it there
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub load_address: Option<Gpa>,
    /// Add parameters to the guest's command line (those of vos: docs/vos.md)
    #[arg(long, value_name = "PARAMETERS")]
    pub append: Option<String>,
    /// Linux: put a file or directory of yours into the guest, by default at its root
    #[arg(long = "file", value_name = "HOST[:GUEST]")]
    pub files: Vec<FileSpec>,
    /// Linux: put fetched package sets (see `guest list`) into the guest, in addition to those whose programs --run names
    #[arg(long, value_name = "SET", value_delimiter = ',')]
    pub programs: Vec<String>,
    /// Attach a disk; the file stays as it is unless `,write` is added, and `blank:SIZE` is a disk of zeroes for this run
    #[arg(long = "disk", value_name = "FILE[,write]")]
    pub disks: Vec<DiskSpec>,
    /// Share a directory of this host, which the guest mounts at /mnt/TAG; TAG is the directory's name unless given. The guest reads it; `,write` lets
    /// it change it, too (docs/files.md). May be repeated
    #[arg(long = "share", value_name = "HOSTDIR[:TAG][,write]")]
    pub shares: Vec<ShareSpec>,
    /// Debian: boot, instead of going on from the state that such a machine was in when it had booted first (docs/debian.md)
    #[arg(long)]
    pub cold: bool,
    /// Linux: boot once for a kind of machine, and go on from there in this run and later ones (docs/linux-guest.md)
    #[arg(long, conflicts_with_all = ["cold", "kernel", "modules", "initrd", "disks", "shares", "net", "balloon"])]
    pub warm: bool,
    /// What the guest copies to the host at its end.
    #[arg(skip)]
    pub copying: Vec<Copying>,
    /// Attach a network card: to a network of its own, from which the host's sockets lead out (`user`, if nothing is said), or to nothing
    /// (`none`). With `user`, results depend on what comes from outside (docs/network.md)
    #[arg(long, value_name = "user|none", num_args = 0..=1, require_equals = true, default_missing_value = "user")]
    pub net: Option<NetKind>,
    /// Names of the guests on the switch, as lines of hosts(5).
    #[arg(skip)]
    pub hosts: String,
    /// Attach a source of randomness
    #[arg(long)]
    pub rng: bool,
    /// Attach a memory balloon; the keys balloon.* set its target and times
    #[arg(long)]
    pub balloon: bool,
    /// Which cache.
    #[command(flatten)]
    pub cache: CacheArgs,
}

impl LinuxArgs {
    /// Whether a Debian guest boots again, because it is to, or has what no state of a guest can hold.
    #[must_use]
    pub fn boots_again(&self) -> bool {
        self.cold || self.balloon || !self.disks.is_empty() || !self.shares.is_empty()
    }

    /// Whether `--warm` takes these options beside it.
    #[must_use]
    pub fn allows_warm(&self) -> bool {
        !self.boots_again() && self.kernel.is_none() && self.initrd.is_none() && self.net.is_none()
    }
}

/// `pagewalk boot`.
#[derive(Args, Clone, Debug)]
#[command(after_help = format!(
    "{}\n\nOn the console, Ctrl-A x ends the machine; Ctrl-A Ctrl-A sends one Ctrl-A to the guest.",
    schemes_help()
))]
pub struct BootArgs {
    /// Guest: `vos` (our own small kernel, built in), `linux` (see `guest fetch`), `debian` (see `guest image`), or the file of a kernel of yours
    #[arg(long, value_name = "GUEST", default_value = "vos")]
    pub guest: String,
    /// Translation scheme, with its page sizes and settings of its own if you want: nested, nested:4K+2M, native:2M
    /// [default: native:4K]
    #[arg(long, value_name = "SCHEME[/KEY=VALUE]...")]
    pub scheme: Option<System>,
    /// Run this command in the guest's shell (vos: this workload, or `shell`) and end with its status, instead of an interactive console
    #[arg(long, value_name = "COMMAND")]
    pub run: Option<String>,
    /// Write the run's statistics as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Profile.
    #[command(flatten)]
    pub profile: ProfileArgs,
    /// Lead a port of this host into the guest, at loopback unless an address says otherwise; `/udp` for datagrams. May be repeated
    #[arg(long = "forward", value_name = "[HOSTADDR:]HOSTPORT:GUESTPORT[/udp]", requires = "net")]
    pub forwards: Vec<Forward>,
    /// Linux: when the command has ended, copy a file or directory of the guest to this host, into HOST if that is a directory (docs/files.md). May be
    /// repeated
    #[arg(long = "copy-out", value_name = "GUEST:HOST", conflicts_with_all = ["snapshot", "warm"])]
    pub copy_outs: Vec<CopySpec>,
    /// Write what happens when, for Perfetto (ui.perfetto.dev): which vCPU has each processor, exits, interrupts, work of the hypervisor,
    /// and counters over time (docs/over-time.md)
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Recordings over time.
    #[command(flatten)]
    pub observe: ObserveArgs,
    /// Wait for GDB at this port of this host (0: any that is free), or at this socket, before the first instruction; results stay the same (docs/debugging.md)
    #[arg(long, value_name = "PORT|unix:PATH", conflicts_with = "control")]
    pub gdb: Option<GdbAddress>,
    /// Write the guest to this file when it begins its region of interest, and end there (docs/snapshots.md)
    #[arg(long, value_name = "FILE", conflicts_with = "warm")]
    pub snapshot: Option<PathBuf>,
    /// Write the snapshot at another time: after this much guest time (2s, 1500ms), after this number of instructions, when a region of interest begins for the Nth time, or when the guest marks that it is ready
    #[arg(long, value_name = "TIME|INSTRUCTIONS|region:N|ready", requires = "snapshot")]
    pub snapshot_at: Option<SnapshotAt>,
    /// Control.
    #[command(flatten)]
    pub control: ControlArgs,
    /// Continue the guest of this snapshot, instead of booting one
    #[arg(long, value_name = "FILE", conflicts_with_all = ["guest", "run", "kernel", "modules", "initrd", "load_address", "append", "cold", "warm", "files", "programs", "copy_outs", "disks", "shares", "net", "rng", "balloon"])]
    pub restore: Option<PathBuf>,
    /// The machine.
    #[command(flatten)]
    pub machine: MachineArgs,
    /// Sandbox.
    #[command(flatten)]
    pub sandbox: SandboxArgs,
    /// Reserved memory.
    #[command(flatten)]
    pub reserved: ReservedMemoryArgs,
    /// The guest.
    #[command(flatten)]
    pub linux: LinuxArgs,
}

/// `pagewalk compare`.
#[derive(Args, Clone, Debug)]
#[command(after_help = schemes_help())]
pub struct CompareArgs {
    /// Guest: `vos` (our own small kernel, built in), `linux` (see `guest fetch`), `debian` (see `guest image`), or the file of a kernel of yours
    #[arg(long, value_name = "GUEST", default_value = "vos")]
    pub guest: String,
    /// Workloads of gups, bfs, cg, stream, kv, sieve, triad, triadp, qsort, each with its size if you want: gups:256M,bfs,kv (docs/workloads.md)
    /// [default: gups,bfs,cg,stream,kv]
    #[arg(long = "workload", value_name = "NAME[:SIZE]", value_delimiter = ',')]
    pub workloads: Vec<WorkloadSpec>,
    /// Systems to compare: translation schemes, each with its page sizes and settings of its own if you want:
    /// native,nested:4K+2M,nested/host=xeon-2017/mmu.nested_tlb=off [default: native and nested, in all page sizes]
    #[arg(long = "scheme", value_name = "SCHEME[/KEY=VALUE]...,..")]
    pub schemes: Vec<SystemList>,
    /// Run each virtualized system with each of these values of a key: mmu.nested_tlb=off,16,32 or harts=1..4
    #[arg(long = "sweep", value_name = "KEY=VALUE,..|KEY=FROM..TO")]
    pub sweeps: Vec<Sweep>,
    /// Also run the native machines, the baseline of overheads, if --scheme does not name them
    #[arg(long)]
    pub native: bool,
    /// Classify misses by the segments that would hold them, and print the estimate of a linear model beside each scheme with segments
    /// [default schemes: native, nested and those with segments]
    #[arg(long)]
    pub model: bool,
    /// What comes before measurement: `touch` (all memory of the guest is mapped beforehand, free of charge), `snapshot` (with --restore: as
    /// warm as the snapshot), or this many instructions of the region of interest [default: none, with --restore snapshot]
    #[arg(long, value_name = "none|touch|snapshot|INSTRUCTIONS")]
    pub warmup: Option<Warmup>,
    /// Compare this command, run in the Linux guest's shell, after the workloads if any are named; may be repeated. NAME is what the tables call
    /// it: --run 'gcc: gcc -O2 -c /a.c'
    #[arg(long = "run", value_name = "[NAME: ]COMMAND")]
    pub runs: Vec<CommandSpec>,
    /// Write the comparison as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Compare from the instant of this snapshot on, which `boot --snapshot` took, instead of from a boot
    #[arg(long, value_name = "FILE", conflicts_with_all = ["guest", "workloads", "runs", "kernel", "modules", "initrd", "load_address", "append", "cold", "warm", "files", "programs", "disks", "shares", "net", "rng", "balloon"])]
    pub restore: Option<PathBuf>,
    /// Write the comparison as a page for a browser: one file that needs no network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Profile.
    #[command(flatten)]
    pub profile: ProfileArgs,
    /// Write what happens when, for Perfetto (ui.perfetto.dev): which vCPU has each processor, exits, interrupts, work of the hypervisor,
    /// and counters over time (docs/over-time.md)
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Recordings over time.
    #[command(flatten)]
    pub observe: ObserveArgs,
    /// Record a walk of each run, reference by reference, for --json; --html does that anyway
    #[arg(long)]
    pub walks: bool,
    /// Keep each run that is finished in this directory, and do not run again what is kept there: a comparison that was interrupted goes on
    /// where it was. After a change of Pagewalk, of the configuration or of the guest, it runs again
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// Print a line for each run: misses, references per walk, exits; a single workload has that anyway
    #[arg(long)]
    pub details: bool,
    /// Host threads that run machines side by side [default: the host's processors]
    #[arg(long, value_name = "N", value_parser = number::<u32, 1, { u32::MAX as u64 }>)]
    pub threads: Option<u32>,
    /// Format of tables.
    #[command(flatten)]
    pub format: FormatArgs,
    /// The machine.
    #[command(flatten)]
    pub machine: MachineArgs,
    /// Sandbox.
    #[command(flatten)]
    pub sandbox: SandboxArgs,
    /// Reserved memory.
    #[command(flatten)]
    pub reserved: ReservedMemoryArgs,
    /// The guest.
    #[command(flatten)]
    pub linux: LinuxArgs,
}

/// `pagewalk explain`.
#[derive(Args, Clone, Debug)]
pub struct ExplainArgs {
    /// Schemes, such as vmm-direct [default: all]
    #[arg(value_name = "SCHEME")]
    pub schemes: Vec<String>,
    /// Format of tables.
    #[command(flatten)]
    pub format: FormatArgs,
}

/// `pagewalk bench`.
#[derive(Args, Clone, Debug)]
#[command(after_help = schemes_help())]
pub struct BenchArgs {
    /// Benchmarks: gups, sieve, triad, triadp, qsort, linux-boot [default: these]; programs in Linux: crc, matmul, list, states, json, records, core,
    /// btree, python, deflate, sqlite, gcc, or `programs` for all of them
    #[arg(long = "workload", value_name = "NAME", value_delimiter = ',')]
    pub workloads: Vec<WorkloadSpec>,
    /// Translation schemes, each with its page sizes and settings of its own if you want [default: native:4K,nested:4K+4K]
    #[arg(long = "scheme", value_name = "SCHEME[/KEY=VALUE]...,..")]
    pub schemes: Vec<SystemList>,
    /// Run programs in QEMU as well, in turn: `qemu`, or the path of a qemu-system-riscv64 [default programs: all, and gups]; without the sandbox
    #[arg(long, value_name = "qemu|PATH")]
    pub against: Option<String>,
    /// Runs of each benchmark; the result is their median
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = number::<u32, 1, 1000>)]
    pub repeat: u32,
    /// Write the measurements as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Format of tables.
    #[command(flatten)]
    pub format: FormatArgs,
    /// Configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Sandbox.
    #[command(flatten)]
    pub sandbox: SandboxArgs,
    /// Which cache.
    #[command(flatten)]
    pub cache: CacheArgs,
}
