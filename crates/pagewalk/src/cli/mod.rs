//! The command line, declared once. Execution is in [`crate::commands`].

mod advise;
mod calibrate;
mod config;
mod control;
mod format;
mod gdb;
mod guest;
mod host;
mod install;
mod profile;
mod recording;
mod refusal;
mod report;
mod reproduce;
mod reserve;
mod run;
mod sandbox;
mod validate;
mod values;
mod vlm;

pub use ::config::units::ByteSize;
pub use advise::AdviseArgs;
pub use calibrate::CalibrateArgs;
pub use config::ConfigReferenceArgs;
pub use control::{ControlArgs, CtlArgs, CtlRequest, TopArgs};
pub use format::FormatArgs;
pub use gdb::GdbAddress;
pub use guest::{ArchiveArgs, CacheArgs, Distribution, FetchArgs, GuestCommand, ImageArgs, ListArgs};
pub use host::{HostsArgs, RunArgs};
pub use install::{CompletionsArgs, ManArgs};
pub use profile::{HeatmapCounts, ObserveArgs, ProfileArgs, ProfileFormat};
pub use recording::{ImportArgs, RecordArgs, SweepArgs, TraceFiles, TraceSpec};
pub use report::ReportArgs;
pub use reproduce::ReproduceArgs;
pub use reserve::{AddArgs, FreeArgs, ModifyArgs, RegistryArgs, ReservationArgs, ReserveCommand, ShowArgs};
pub use run::{BenchArgs, BootArgs, CompareArgs, ConfigArgs, ExplainArgs, LinuxArgs, MachineArgs, ReservedMemoryArgs};
pub use sandbox::{SandboxArgs, SandboxMode};
pub use validate::{LastLevelSize, ValidateArgs};
pub(crate) use values::{COPY_TAG, address, is_tag};
pub use values::{
    CommandSpec, CopySpec, Copying, DiskSpec, FileSpec, NameArgs, NetKind, Setting, ShareSpec, WorkloadSpec,
};
pub use vlm::VlmArgs;

use crate::error::Failure;
use clap::builder::FalseyValueParser;
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};

/// A virtual machine hypervisor with a software RISC-V machine under it: what does virtualizing memory cost a workload?
#[derive(Debug, Parser)]
#[command(name = "pagewalk", version, max_term_width = 110)]
#[command(
    after_help = "A first command: pagewalk compare\n\nExit codes: 0 done, 1 the run failed, 2 bad usage or configuration."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Print no progress on standard error. Without a terminal, progress is one line for each finished run
    #[arg(short, long, global = true, env = "PAGEWALK_QUIET", hide_env = true, value_parser = FalseyValueParser::new())]
    pub quiet: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Open a console on a guest, or run one command in it
    Boot(BootArgs),
    /// Run workloads on several systems and print what translation costs on each
    Compare(CompareArgs),
    /// Measure the simulator's own speed
    Bench(BenchArgs),
    /// Repeat a paper's evaluation: print its figures beside ours, and a verdict for each claim
    Reproduce(ReproduceArgs),
    /// Recommend the scheme, page sizes and spin method that measured best, and list what each of them requires
    Advise(AdviseArgs),
    /// Describe schemes: dimensions, references of a walk, required changes, and what they do not support
    Explain(ExplainArgs),
    /// Run a host with several guests that share its processors
    Run(RunArgs),
    /// Run a guest once, and write what translation depends on to a file that `sweep` replays
    Record(RecordArgs),
    /// Make a recording of a trace that another tool wrote; a policy for pages replaces its operating system
    Import(ImportArgs),
    /// Replay a recording on many systems: the counts are those of full runs, as lines of JSON
    Sweep(SweepArgs),
    /// Fetch the Linux guest, list what is fetched, or print the header that marks regions of interest
    #[command(subcommand)]
    Guest(GuestCommand),
    /// List the keys of the configuration: defaults, meaning, values
    Config(ConfigReferenceArgs),
    /// List the models of hosts, or print one with the sources of its numbers
    Hosts(HostsArgs),
    /// Measure this machine, and write a model of it as a host
    Calibrate(CalibrateArgs),
    /// Run programs on this machine and in Pagewalk, and print predicted beside measured results
    Validate(ValidateArgs),
    /// Ask something of a run that has --control: status, pause, resume, statistics, snapshot, balloon, free, quit
    Ctl(CtlArgs),
    /// Show what a run that has --control does now: instructions per cycle, misses, walks, exits and functions, by interval
    Top(TopArgs),
    /// Make an HTML page from JSON that a command wrote earlier
    Report(ReportArgs),
    /// Edit the reserved memory registry: host memory with a name, for sections that VMs share
    #[command(subcommand)]
    Reserve(ReserveCommand),
    /// Measure what very large sections cost: tables, start-up, TLB misses, private and shared (Noel and Karkhanis 1998)
    Vlm(VlmArgs),
    /// Print completions for a shell
    Completions(CompletionsArgs),
    /// Print the manual page of a command, or write all of them
    Man(ManArgs),
}

/// Reads the process's command line. Asked for help or the version, it prints them and ends the process.
///
/// # Errors
/// [`Failure::Usage`] with what is wrong.
pub fn parse() -> Result<Cli, Failure> {
    Cli::try_parse().map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            error.exit()
        }
        _ => {
            let named = std::env::args_os().nth(1);
            let command = Cli::command();
            let command =
                named.and_then(|name| command.find_subcommand(&name).map(|found| found.get_name().to_owned()));
            Failure::Usage(refusal::line(&error, &Cli::command(), command.as_deref()))
        }
    })
}

/// Reads options of `boot`, as a program gives them that is no command line.
///
/// # Errors
/// [`Failure::Usage`] with what is wrong.
pub(crate) fn boot_arguments(options: &[String]) -> Result<BootArgs, Failure> {
    let words = ["pagewalk", "boot"].into_iter().chain(options.iter().map(String::as_str));
    let cli = Cli::try_parse_from(words)
        .map_err(|error| Failure::Usage(refusal::line(&error, &Cli::command(), Some("boot"))))?;
    match cli.command {
        Command::Boot(arguments) => Ok(arguments),
        _ => Err(Failure::Usage("these are no options of boot".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_declaration_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_flag_of_a_comparison_reads() {
        let line = "pagewalk compare --guest linux --file ./prog --file data:/srv/ --run /prog --scheme native,nested:4K+2M/mmu.l2=[] --sweep harts=1,2,3 --native \
                    --set mmu.walk_caches=off --set mmu.nested_tlb=off --config c.toml --timeout 9 --threads 2 --json out.json \
                    --disk a.img,write --net --rng --harts 4 --memory 2G --programs redis";
        let cli = Cli::try_parse_from(line.split_whitespace()).unwrap();
        let Command::Compare(arguments) = cli.command else { panic!("not a comparison") };
        let systems: Vec<_> = arguments.schemes[0].0.iter().map(ToString::to_string).collect();
        assert_eq!(systems, ["native:4K", "nested:4K+2M/mmu.l2=[]"]);
        assert!(arguments.native && arguments.sweeps[0].count() == 3);
        assert_eq!(arguments.machine.config.settings.len(), 2);
        assert_eq!(arguments.linux.files[1].guest, "/srv/data");
        assert!(arguments.linux.disks[0].write && arguments.linux.net == Some(NetKind::User) && arguments.linux.rng);
    }
}
