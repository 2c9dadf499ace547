//! `pagewalk compare`.

use crate::cli::CompareArgs;
use crate::commands::{check_report, write_page, write_report};
use crate::comparison::{Finished, Over, Plan, details, execute, lacks_natives, model, overview, report, upkeep};
use crate::error::Failure;
use crate::html;
use crate::image::{GuestKind, Work, least_for_gigapages, prepare};
use crate::output::{print, print_bytes};
use crate::setup::{builder_with_sections, built, machine_flags};
use crate::side_by_side::default_threads;
use crate::start::{self, Start};
use crate::store::Store;
use crate::systems::{Configured, configured, with_natives};
use machine::Outcome;
use machine::host_model::HostModel;
use machine::scheme::Mechanism;
use machine::snapshot::Snapshot;
use machine::suggestion::unknown;
use machine::system::System;
use machine::units::ByteSize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use types::PageSize;

/// The workloads that are compared where none is named.
const WORKLOADS: [&str; 5] = ["gups", "bfs", "cg", "stream", "kv"];

/// Those that there are; see docs/workloads.md.
const KNOWN_WORKLOADS: [&str; 16] = [
    "gups", "bfs", "cg", "stream", "kv", "sieve", "triad", "triadp", "qsort", "mcf", "jobs", "io", "hello", "spin",
    "crash", "reach",
];

/// Those that need system calls of `vos`.
const VOS_WORKLOADS: [&str; 2] = ["jobs", "io"];

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

/// What the linear model is about, and what it predicts from.
const MODEL_SCHEMES: [&str; 6] =
    ["native:4K", "nested:4K+4K", "native-segment:4K", "vmm-direct:4K", "guest-direct:4K+4K", "dual-direct:4K"];

/// Runs the command.
///
/// # Errors
/// [`Failure`]: bad usage, or a guest that does not come to a good end.
pub(super) fn run(arguments: &CompareArgs) -> Result<ExitCode, Failure> {
    let snapshot = arguments.restore.as_deref().map(start::open).transpose()?;
    let kind = snapshot.as_deref().map_or_else(|| GuestKind::parse(&arguments.guest), start::kind);
    let mut flags = machine_flags(&arguments.machine);
    flags.extend(arguments.warmup.map(|warmup| ("warmup", warmup.to_string())));
    // vos takes 1G pages from a whole free gigabyte.
    let defaults: &[(&str, &str)] = if kind == GuestKind::Vos { &[("memory", "'4G'")] } else { &[] };
    if arguments.model {
        flags.push(("segment.classify", "true".to_owned()));
    }
    let registry = arguments.reserved.reserved_memory.as_ref();
    let defaults = start::defaults(snapshot.as_deref(), defaults);
    let (mut builder, shared) =
        builder_with_sections(&start::borrowed(&defaults), &arguments.machine.config, &flags, registry)?;
    let mut config = built(&builder)?;
    if arguments.model && config.segment.region.is_none() && snapshot.is_none() {
        // What would lie in a segment has to lie there without one, too.
        let region = config.segment.region_bytes(Mechanism::DualDirect, config.memory);
        builder =
            builder.set("segment.region", &region.to_string()).map_err(|error| Failure::Usage(error.to_string()))?;
        config = built(&builder)?;
    }
    let host = HostModel::load(&config.host)?;
    let mut systems =
        configured(&builder, systems(arguments, &kind, snapshot.as_deref(), config.memory), &arguments.sweeps)?;
    if arguments.native {
        systems = with_natives(&builder, &systems)?;
    }
    check_report(arguments.json.as_deref())?;
    check_report(arguments.html.as_deref())?;
    let mut works = Vec::new();
    if let Some(snapshot) = &snapshot {
        works.push((snapshot.about().work.clone(), Start::Snapshot(snapshot.clone())));
    }
    for (name, work) in if snapshot.is_some() { Vec::new() } else { works_of(arguments, &kind)? } {
        if matches!(work, Work::Command(_)) && works.iter().any(|(other, _)| *other == name) {
            let problem = format!("--run: `{name}` is there twice; --run 'NAME: COMMAND' gives a command another name");
            return Err(Failure::Usage(problem));
        }
        works.push((name, Start::Boot(Box::new(prepare(kind.clone(), work, &arguments.linux)?))));
    }
    // Whatever cannot be is said before anything runs.
    works.iter().try_for_each(|(_, start)| systems.iter().try_for_each(|on| start.check(on, &shared)))?;
    let threads = arguments.threads.map_or_else(default_threads, |threads| threads as usize);
    let opened = |directory: &PathBuf| {
        let failed = |error| Failure::Usage(format!("--keep: {}: {error}", directory.display()));
        Store::open(directory.clone()).map_err(failed)
    };
    let keep = arguments.keep.as_ref().map(opened).transpose()?;
    if let Some(section) = shared.written().filter(|_| works.len() * systems.len() > 1) {
        let problem = format!("these runs would all write to the file of section {}", section.name);
        return Err(Failure::Usage(problem));
    }
    let walks = arguments.walks || arguments.html.is_some();
    let plan = Plan { works, systems, threads, walks, keep, shared };
    let runs = execute(&plan)?;

    // The user's own programs: what they printed is theirs to see, once where all runs agree.
    let workloads = plan.works.len() - arguments.runs.len();
    for (own, of_work) in arguments.runs.iter().zip(runs.chunks(plan.systems.len()).skip(workloads)) {
        let heading = (plan.works.len() > 1).then_some(own.name.as_str());
        show_outputs(heading, of_work)?;
    }
    if arguments.details || plan.works.len() == 1 {
        print(&details(&runs).to_string())?;
        if let Some(upkeep) = upkeep(&runs).filter(|_| arguments.details) {
            print(&format!("\nupkeep of shadow tables; times in relation to the guest's own\n\n{upkeep}"))?;
        }
        if lacks_natives(&runs) {
            print("\n-: the native machine to compare with was not run; --native adds it\n")?;
        }
    } else {
        let table = overview(&runs, &plan.systems, Over::Ideal);
        let hosts = hosts(&plan.systems);
        print(&format!("cycles over those of a machine whose translation is free ({hosts})\n\n{table}"))?;
        if arguments.native {
            let table = overview(&runs, &plan.systems, Over::Native);
            print(&format!("\ncycles over those of the same machine without its monitor\n\n{table}"))?;
        }
    }
    if let Some(table) = model(&runs).filter(|_| arguments.model) {
        print(&format!("\nthe linear model: cycles over those of a machine whose translation is free\n\n{table}"))?;
    }
    notes(&runs);
    if arguments.json.is_some() || arguments.html.is_some() {
        let value = report(&kind.name(), &config, &host, &runs);
        arguments.json.as_deref().map_or(Ok(()), |path| write_report(path, &value))?;
        arguments.html.as_deref().map_or(Ok(()), |path| write_page(path, &html::comparison(&value)?))?;
    }
    failures(&kind, &runs)
}

/// The systems that were asked for, before sweeps.
fn systems(arguments: &CompareArgs, kind: &GuestKind, snapshot: Option<&Snapshot>, memory: ByteSize) -> Vec<System> {
    if !arguments.schemes.is_empty() {
        return arguments.schemes.iter().flat_map(|list| list.0.iter().cloned()).collect();
    }
    let default: &[&str] = if arguments.model {
        &MODEL_SCHEMES
    } else if *kind == GuestKind::Vos {
        &SCHEMES
    } else {
        &LINUX_SCHEMES
    };
    let all = default.iter().map(|scheme| scheme.parse::<System>().expect("the default schemes exist"));
    let least = least_for_gigapages(0);
    let fits = |system: &System| match (snapshot, system.scheme().guest_page()) {
        // What a guest has mapped stays as it is.
        (Some(snapshot), page) => page == start::page(snapshot),
        (None, PageSize::Size1G) => memory >= least,
        (None, _) => true,
    };
    let (fitting, others): (Vec<System>, Vec<System>) = all.partition(fits);
    if snapshot.is_none() && !others.is_empty() {
        let names: Vec<String> = others.iter().map(ToString::to_string).collect();
        eprintln!("pagewalk: without {}, for which memory would have to be {least}", names.join(" and "));
    }
    fitting
}

/// Says which segments guests asked for in vain, and which escape filters are too small.
fn notes(runs: &[Finished]) {
    for run in runs {
        let (count, noted) = &run.refused;
        for text in noted {
            eprintln!("pagewalk: {} under {}: refused: {text}", run.work, run.on.system);
        }
        if *count > noted.len() as u64 {
            eprintln!(
                "pagewalk: {} under {}: {} more segments refused",
                run.work,
                run.on.system,
                count - noted.len() as u64
            );
        }
        if let Some(filter) = &run.saturated {
            eprintln!("pagewalk: {} under {}: {filter} (segment.filter.bits)", run.work, run.on.system);
        }
    }
}

/// The names of all hosts, in the order of the systems.
fn hosts(systems: &[Arc<Configured>]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for on in systems {
        if !names.contains(&on.host.name.as_str()) {
            names.push(&on.host.name);
        }
    }
    names.join(", ")
}

fn works_of(arguments: &CompareArgs, kind: &GuestKind) -> Result<Vec<(String, Work)>, Failure> {
    if !arguments.runs.is_empty() && *kind != GuestKind::Linux {
        return Err(Failure::Usage("--run is for --guest linux; vos runs workloads".to_owned()));
    }
    if let GuestKind::File(_) = kind {
        return Ok(vec![(kind.name(), Work::Console)]);
    }
    if arguments.workloads.is_empty() && arguments.runs.is_empty() {
        let work = |name: &str| (name.to_owned(), Work::Workload { name: name.to_owned(), options: String::new() });
        return Ok(WORKLOADS.map(work).into());
    }
    let commands = arguments.runs.iter().map(|run| Ok((run.name.clone(), Work::Command(run.command.clone()))));
    arguments
        .workloads
        .iter()
        .map(|spec| {
            if !KNOWN_WORKLOADS.contains(&spec.name.as_str()) {
                return Err(Failure::Usage(format!(
                    "--workload: {}",
                    unknown("workload", &spec.name, KNOWN_WORKLOADS)
                )));
            }
            if *kind == GuestKind::Linux && VOS_WORKLOADS.contains(&spec.name.as_str()) {
                return Err(Failure::Usage(format!(
                    "--workload: `{}` is for --guest vos, whose system calls it needs",
                    spec.name
                )));
            }
            let (label, options) = match &spec.size {
                Some(size) => (format!("{}:{size}", spec.name), format!("size={size}")),
                None => (spec.name.clone(), String::new()),
            };
            Ok((label, Work::Workload { name: spec.name.clone(), options }))
        })
        .chain(commands)
        .collect()
}

/// Prints what the guests printed: of the first, and of each other that printed something else.
fn show_outputs(heading: Option<&str>, runs: &[Finished]) -> Result<(), Failure> {
    if let Some(heading) = heading {
        print(&format!("{heading}:\n"))?;
    }
    let mut shown: Vec<&[u8]> = Vec::new();
    for run in runs {
        if shown.contains(&run.output.as_slice()) {
            continue;
        }
        if !shown.is_empty() {
            print(&format!("under {}:\n", run.on.system))?;
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
    let silent = |run: &Finished| matches!(run.outcome, Outcome::Shutdown | Outcome::Reset) && kind.reports_status();
    let failed: Vec<&Finished> = runs.iter().filter(|run| !run.outcome.succeeded() || silent(run)).collect();
    let Some(first) = failed.first() else { return wrong(runs) };
    let output = String::from_utf8_lossy(&first.output);
    let last = output.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing").trim().to_owned();
    let others = match failed.len() {
        1 => String::new(),
        2 => " (and 1 more run)".to_owned(),
        more => format!(" (and {} more runs)", more - 1),
    };
    Err(Failure::Run(format!(
        "{} under {}: {}; it printed: {last}{others}",
        first.work, first.on.system, first.outcome
    )))
}

/// The exit code of runs that ended well: 1 if the monitor's tables were wrong in any.
fn wrong(runs: &[Finished]) -> Result<ExitCode, Failure> {
    match runs.iter().find_map(|run| run.wrong.first().map(|first| (run, first))) {
        Some((run, first)) => {
            let Finished { work, on, wrong, .. } = run;
            Err(Failure::Run(format!("{work} under {}: {} entries are wrong; {first}", on.system, wrong.len())))
        }
        None => Ok(ExitCode::SUCCESS),
    }
}
