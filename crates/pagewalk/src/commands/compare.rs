//! `pagewalk compare`.

use crate::cli::CompareArgs;
use crate::commands::{check_report, write_report};
use crate::comparison::{Finished, Plan, details, execute, overview, report};
use crate::error::Failure;
use crate::image::{GuestKind, Work, prepare};
use crate::output::{print, print_bytes};
use crate::setup::{configuration, machine_flags};
use machine::Outcome;
use machine::host_model::HostModel;
use machine::scheme::Scheme;
use std::process::ExitCode;

/// The workloads that are compared where none is named.
const WORKLOADS: [&str; 5] = ["gups", "bfs", "cg", "stream", "kv"];

/// Those that there are; see docs/workloads.md.
const KNOWN_WORKLOADS: [&str; 14] =
    ["gups", "bfs", "cg", "stream", "kv", "sieve", "triad", "triadp", "qsort", "mcf", "jobs", "hello", "spin", "crash"];

/// The one that needs system calls of `vos`.
const VOS_WORKLOAD: &str = "jobs";

/// The schemes that are compared where none is named: each page size natively, and nested with host pages as large or larger.
const SCHEMES: [&str; 8] = [
    "native:4K",
    "nested:4K+4K",
    "nested:4K+2M",
    "nested:4K+1G",
    "native:2M",
    "nested:2M+2M",
    "native:1G",
    "nested:1G+1G",
];

/// The same for Linux, which maps 1G pages only to programs that ask for them.
const LINUX_SCHEMES: [&str; 5] = ["native:4K", "nested:4K+4K", "nested:4K+2M", "native:2M", "nested:2M+2M"];

/// Runs the command.
///
/// # Errors
/// [`Failure`]: bad usage, or a guest that does not come to a good end.
pub(super) fn run(arguments: &CompareArgs) -> Result<ExitCode, Failure> {
    let kind = GuestKind::parse(&arguments.guest);
    // vos takes 1G pages from a whole free gigabyte.
    let defaults: &[(&str, &str)] = if kind == GuestKind::Vos { &[("memory", "'4G'")] } else { &[] };
    let config = configuration(defaults, &arguments.machine.config, &machine_flags(&arguments.machine))?;
    let host = HostModel::load(&config.host)?;
    let schemes = schemes(arguments, &kind)?;
    check_report(arguments.json.as_deref())?;
    let mut works = Vec::new();
    for (name, work) in works_of(arguments, &kind)? {
        works.push((name, prepare(kind.clone(), work, &arguments.linux)?));
    }
    let available = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = arguments.threads.map_or_else(available, |threads| threads as usize);
    let plan = Plan { config: &config, works, schemes, threads };
    let runs = execute(&plan)?;

    if arguments.run.is_some() {
        // The user's own program: what it printed is theirs to see, once where all runs agree.
        show_outputs(&runs)?;
    }
    if arguments.details || plan.works.len() == 1 {
        print(&details(&runs).to_string())?;
    } else {
        let table = overview(&runs, &plan.schemes);
        print(&format!("cycles over those of a machine whose translation is free ({})\n\n{table}", host.name))?;
    }
    if let Some(path) = &arguments.json {
        let value = report(&kind.name(), &config, &host, &runs);
        write_report(path, &value)?;
    }
    failures(&kind, &runs)
}

fn schemes(arguments: &CompareArgs, kind: &GuestKind) -> Result<Vec<Scheme>, Failure> {
    let default: &[&str] = if *kind == GuestKind::Vos { &SCHEMES } else { &LINUX_SCHEMES };
    let named: Vec<&str> = arguments.schemes.iter().map(String::as_str).collect();
    let texts = if named.is_empty() { default } else { &named };
    let mut schemes = Vec::new();
    for text in texts {
        let scheme: Scheme = text.parse().map_err(|error| Failure::Usage(format!("--scheme: {error}")))?;
        if !schemes.contains(&scheme) {
            schemes.push(scheme);
        }
    }
    Ok(schemes)
}

fn works_of(arguments: &CompareArgs, kind: &GuestKind) -> Result<Vec<(String, Work)>, Failure> {
    if let Some(command) = &arguments.run {
        if *kind != GuestKind::Linux {
            return Err(Failure::Usage("--run is for --guest linux; vos runs workloads".to_owned()));
        }
        return Ok(vec![(command.clone(), Work::Command(command.clone()))]);
    }
    if let GuestKind::File(_) = kind {
        return Ok(vec![(kind.name(), Work::Console)]);
    }
    if arguments.workloads.is_empty() {
        let work = |name: &str| (name.to_owned(), Work::Workload { name: name.to_owned(), options: String::new() });
        return Ok(WORKLOADS.map(work).into());
    }
    arguments
        .workloads
        .iter()
        .map(|spec| {
            if !KNOWN_WORKLOADS.contains(&spec.name.as_str()) {
                let known = KNOWN_WORKLOADS.join(", ");
                return Err(Failure::Usage(format!("--workload: unknown workload `{}` ({known})", spec.name)));
            }
            if *kind == GuestKind::Linux && spec.name == VOS_WORKLOAD {
                return Err(Failure::Usage(format!(
                    "--workload: `{VOS_WORKLOAD}` is for --guest vos, whose paging it drives"
                )));
            }
            let (label, options) = match &spec.size {
                Some(size) => (format!("{}:{size}", spec.name), format!("size={size}")),
                None => (spec.name.clone(), String::new()),
            };
            Ok((label, Work::Workload { name: spec.name.clone(), options }))
        })
        .collect()
}

/// Prints what the guests printed: of the first, and of each other that printed something else.
fn show_outputs(runs: &[Finished]) -> Result<(), Failure> {
    let mut shown: Vec<&[u8]> = Vec::new();
    for run in runs {
        if shown.contains(&run.output.as_slice()) {
            continue;
        }
        if !shown.is_empty() {
            print(&format!("under {}:\n", run.scheme))?;
        }
        print_bytes(&run.output)?;
        if !run.output.ends_with(b"\n") && !run.output.is_empty() {
            print("\n")?;
        }
        shown.push(&run.output);
    }
    Ok(())
}

/// The exit code: 1 if any guest did not end well, each named on standard error with the end of what it printed.
fn failures(kind: &GuestKind, runs: &[Finished]) -> Result<ExitCode, Failure> {
    let silent = |run: &Finished| run.outcome == Outcome::Shutdown && kind.reports_status();
    let failed: Vec<&Finished> = runs.iter().filter(|run| !run.outcome.succeeded() || silent(run)).collect();
    let Some(first) = failed.first() else { return Ok(ExitCode::SUCCESS) };
    let output = String::from_utf8_lossy(&first.output);
    let last = output.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing").trim().to_owned();
    let others = match failed.len() {
        1 => String::new(),
        2 => " (and 1 more run)".to_owned(),
        more => format!(" (and {} more runs)", more - 1),
    };
    Err(Failure::Run(format!("{} under {}: {}; it printed: {last}{others}", first.work, first.scheme, first.outcome)))
}
