//! `pagewalk compare`.

use super::outputs::{open_output, open_printer, page_recordings, write_page, write_report};
use crate::cli::{CompareArgs, NetKind, WorkloadSpec};
use crate::comparison::{
    Execution, Finished, Over, Plan, add_beginnings, beginnings, caption, default_workloads, details, execute,
    lacks_natives, maintenance, mark_incomplete, model, modes, notes, overview, report, shortened,
    tell_of_interruption, with_default_fidelity,
};
use crate::error::Failure;
use crate::guest::Memory;
use crate::html;
use crate::interrupt::Orderly;
use crate::observe::ObserveOutputs;
use crate::output::{Output, Printer, print, print_of_guest, warn};
use crate::profile::{self, NameSources, ProfileOutput};
use crate::runs::image::{GuestKind, Preparations, Work, least_for_gigapages, program_memory};
use crate::runs::network::Opened;
use crate::runs::start::{self, Start};
use crate::runs::workload_size;
use crate::sandbox::Needs;
use crate::setup::{builder_with_sections, built, machine_flags};
use crate::side_by_side::default_threads;
use crate::store::Store;
use crate::systems::{Configured, configured, with_natives};
use crate::text::table::Caption;
use crate::time_model::TimeModels;
use config::FidelityName;
use config::system::System;
use config::units::ByteSize;
use keys::suggestion::unknown;
use machine::snapshot::Snapshot;
use profiles::Attribution;
use schemes::Segments;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use types::PageSize;

/// Those that there are; see docs/workloads.md.
const KNOWN_WORKLOADS: [&str; 21] = [
    "gups",
    "bfs",
    "cg",
    "stream",
    "kv",
    "sieve",
    "triad",
    "triadp",
    "qsort",
    "mcf",
    "jobs",
    "waiting-jobs",
    "io",
    "terminals",
    "batch",
    "servers",
    "references",
    "hello",
    "spin",
    "crash",
    "reach",
];

/// Those that need system calls of `vos`.
const VOS_WORKLOADS: [&str; 7] = ["jobs", "waiting-jobs", "io", "terminals", "batch", "servers", "references"];

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

/// The schemes that are compared by default on Linux, which maps 1G pages only for programs that request them.
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
    let defaults = match kind {
        GuestKind::Vos => start::VOS_WORKLOADS,
        _ => start::of_guest(start::goes_on(&arguments.guest, &arguments.linux)),
    };
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
        let region = config.segment.region_bytes(Segments::Both, config.memory);
        builder =
            builder.set("segment.region", &region.to_string()).map_err(|error| Failure::Usage(error.to_string()))?;
        config = built(&builder)?;
    }
    let host = config.host_model()?;
    let requested = systems(arguments, &kind, snapshot.as_deref(), config.memory);
    let mut systems = configured(&builder, requested.clone(), &arguments.sweeps)?;
    if !builder.is_set("fidelity") {
        builder = with_default_fidelity(builder, &systems)?;
        config = built(&builder)?;
        systems = configured(&builder, requested, &arguments.sweeps)?;
    }
    if arguments.native {
        systems = with_natives(&builder, &systems)?;
    }
    let commands = kind.runs_commands() && !arguments.runs.is_empty();
    if commands && systems.iter().any(|on| on.has_guest_segment()) {
        systems = systems.into_iter().map(Configured::with_like_region).collect();
    }
    check_sizes(arguments, &systems)?;
    start::check_warm(&arguments.linux, &shared, &systems)?;
    let (mut printer, json) = open_printer(arguments.format, arguments.json.as_deref())?;
    let html = open_output(arguments.html.as_deref())?;
    let with_region = |on: &Arc<Configured>| program_memory(&on.config) == Memory::OfRegion;
    let memory = if systems.iter().any(with_region) { Memory::OfRegion } else { Memory::OfKernel };
    let mut works = Vec::new();
    if let Some(snapshot) = &snapshot {
        works.push((snapshot.about().work.clone(), Start::Snapshot(snapshot.clone())));
    }
    let named = if snapshot.is_some() { Some(Vec::new()) } else { named_works(arguments, &kind)? };
    let short = named.is_none().then(shortened);
    let mut preparations = Preparations::new(kind.clone(), &arguments.linux, memory);
    for (name, work) in named.unwrap_or_else(default_workloads) {
        if matches!(work, Work::Command(_)) && works.iter().any(|(other, _)| *other == name) {
            let problem = format!("--run: `{name}` is there twice; --run 'NAME: COMMAND' gives a command another name");
            return Err(Failure::Usage(problem));
        }
        works.push((name, Start::Boot(Box::new(preparations.prepare(work)?))));
    }
    // Whatever cannot be is said before anything runs, or is made.
    check_shares(arguments)?;
    if start::goes_on(&arguments.guest, &arguments.linux) && shared.is_empty() {
        works.iter_mut().try_for_each(|(_, start)| start.boot_once(&systems))?;
    }
    works.iter().try_for_each(|(_, start)| systems.iter().try_for_each(|on| start.check(on, &shared)))?;
    let past = match (works.first(), systems.first()) {
        (Some((_, start)), Some(on)) => start.past(on)?,
        _ => None,
    };
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
    let profile = ProfileOutput::open(&arguments.profile)?;
    let observed = ObserveOutputs::open(&arguments.observe, arguments.trace.as_deref())?;
    let sources: Vec<NameSources> = match &profile {
        Some(_) => works.iter().map(|(_, start)| NameSources::of(start, &arguments.linux.files)).collect(),
        None => Vec::new(),
    };
    let network = match arguments.linux.net {
        Some(NetKind::User) => Some(Opened::open(&[])?),
        Some(NetKind::None | NetKind::Switch) | None => None,
    };
    let recorded = observed.recorded(profile.as_ref().map(ProfileOutput::detail));
    let plan = Plan { works, systems, threads, walks, recorded, keep, shared, network };
    let needs = needs(&plan, [json.as_ref(), html.as_ref(), profile.as_ref().map(ProfileOutput::output)]);
    let _sandbox = observed.needs(needs).enter(arguments.sandbox.sandbox)?;
    // Until the report of an interrupted comparison is written: the thread that waits for signals may run later than the runs end.
    let orderly = Orderly::begin();
    let runs = match execute(&plan)? {
        Execution::Whole(runs) => runs,
        Execution::Interrupted { signal, finished, missing } => {
            tell_of_interruption(&plan, &finished, printer);
            // A report without a run would only take the place of an earlier one.
            if let Some(output) = json.filter(|_| !finished.is_empty()) {
                let caption = [captions(&plan), Vec::from_iter(short)].concat();
                let mut value = report(&kind.name(), &config, &host, &caption, &finished);
                add_beginnings(&mut value, &finished, past.as_deref());
                mark_incomplete(&mut value, &missing);
                write_report(output, &value)?;
            }
            return Err(Failure::Interrupted(signal));
        }
    };
    drop(orderly);

    // The user's own programs: what they printed is theirs to see, once where all runs agree.
    let workloads = plan.works.len() - arguments.runs.len();
    for (own, of_work) in arguments.runs.iter().zip(runs.chunks(plan.systems.len()).skip(workloads)) {
        let heading = (plan.works.len() > 1).then_some(own.name.as_str());
        show_outputs(heading, of_work)?;
    }
    let mut caption = captions(&plan);
    caption.iter().try_for_each(|line| printer.say(&format!("{line}\n")))?;
    let times = TimeModels::of_systems(&plan.systems);
    print_tables(arguments, &plan, &runs, &mut printer)?;
    let beginnings = beginnings(&runs, past.as_deref());
    if !beginnings.is_empty() {
        printer.say(&format!("\n{beginnings}"))?;
    }
    if let Some(table) = model(&runs).filter(|_| arguments.model) {
        printer.say("\n")?;
        let caption = format!(
            "the linear model's translation overhead: cycles over those of the same run with free translation ({times})\n"
        );
        printer.table(table.captioned(Caption::Above(caption)))?;
    }
    if let Some(line) = short {
        printer.say(&format!("\n{line}\n"))?;
        caption.push(line);
    }
    printer.say(&format!("\n{}", times.explained()))?;
    if boots_slowly(arguments, &plan) {
        printer
            .say("Linux booted under each system; with --warm it boots once for all of them (docs/linux-guest.md)\n")?;
    }
    let noted = notes(&runs);
    if !noted.is_empty() {
        printer.say("\n")?;
        noted.iter().try_for_each(|note| printer.say(&format!("note: {note}\n")))?;
    }
    let mut profiled = None;
    if let Some(output) = profile {
        let named = runs.iter().zip(sources.iter().flat_map(|of| std::iter::repeat_n(of, plan.systems.len())));
        let profiles: Vec<Attribution> =
            named.filter_map(|(run, sources)| run.attribution(&kind.name(), sources)).collect();
        profile::print(&profiles, &mut printer)?;
        output.write(&profiles)?;
        profiled = html.as_ref().map(|_| profile::for_page(&profiles)).transpose()?;
    }
    let over_time = runs.iter().enumerate().map(|(number, run)| (run.identity(number, &kind.name()), &run.recordings));
    let over_time = over_time.collect::<Vec<_>>();
    let for_page = match &html {
        Some(_) => page_recordings(profiled, observed.documents(&over_time)?)?,
        None => html::Recordings::default(),
    };
    observed.write(&over_time)?;
    printer.finish()?;
    warnings(&runs);
    if json.is_some() || html.is_some() {
        let mut value = report(&kind.name(), &config, &host, &caption, &runs);
        add_beginnings(&mut value, &runs, past.as_deref());
        json.map_or(Ok(()), |output| write_report(output, &value))?;
        html.map_or(Ok(()), |output| write_page(output, &html::comparison(&value, &for_page)?))?;
    }
    failures(&runs)
}

/// Prints what the runs cost: a line for each, or for each workload. CSV always has one for each run.
fn print_tables(arguments: &CompareArgs, plan: &Plan, runs: &[Finished], printer: &mut Printer) -> Result<(), Failure> {
    let times = TimeModels::of_systems(&plan.systems);
    if !arguments.details && plan.works.len() > 1 && !printer.is_csv() {
        let table = overview(runs, &plan.systems, Over::Ideal);
        let caption =
            format!("translation overhead: cycles over those of the same run with free translation ({times})\n");
        printer.table(table.captioned(Caption::Above(caption)))?;
        if arguments.native {
            printer.say("\n")?;
            let table = overview(runs, &plan.systems, Over::Native);
            let caption = format!(
                "virtualization overhead: cycles over those of the same machine without its hypervisor ({times})\n"
            );
            printer.table(table.captioned(Caption::Above(caption)))?;
        }
        return Ok(());
    }
    printer.table(details(runs).captioned(Caption::Above(format!("cycles by {times}\n"))))?;
    if let Some(maintenance) = maintenance(runs).filter(|_| arguments.details) {
        printer.say("\n")?;
        let caption = format!("maintenance of shadow tables; times in relation to the guest's own ({times})\n");
        printer.table(maintenance.captioned(Caption::Above(caption)))?;
    }
    if let Some(modes) = modes(runs).filter(|_| arguments.details) {
        printer.say("\n")?;
        let caption =
            format!("agile paging: walks by the guest's tables that they read nested; pages of tables ({times})\n");
        printer.table(modes.captioned(Caption::Above(caption)))?;
    }
    if lacks_natives(runs) {
        printer.say("\n-: the native machine to compare with was not run; --native adds it\n")?;
    }
    Ok(())
}

/// Lines that go above the tables.
fn captions(plan: &Plan) -> Vec<String> {
    let network = plan.network.as_ref().map(|_| {
        "the guests have a network (--net): results depend on what comes through it, and when, and equal runs may differ".to_owned()
    });
    caption(&plan.works, &plan.systems).into_iter().chain(network).collect()
}

/// Whether each run booted Linux on a model that takes seconds for it, and `--warm` would have saved that.
fn boots_slowly(arguments: &CompareArgs, plan: &Plan) -> bool {
    let of_linux = |(_, start): &(String, Start)| match start {
        Start::Boot(prepared) => *prepared.kind() == GuestKind::Linux,
        Start::Snapshot(_) => false,
    };
    plan.works.iter().all(of_linux)
        && plan.systems.iter().any(|on| on.config.fidelity != FidelityName::Counts)
        && start::could_be_warm(&arguments.linux, &plan.shared, &plan.systems)
}

/// Refuses sizes of workloads that no guest of these systems could run with.
fn check_sizes(arguments: &CompareArgs, systems: &[Arc<Configured>]) -> Result<(), Failure> {
    let least = systems.iter().map(|on| on.config.memory).min();
    // Arrays in a section take none of the guest's own memory.
    let elsewhere = arguments.linux.append.as_ref().is_some_and(|append| append.contains("section="));
    let memory = least.filter(|_| !elsewhere);
    let sized = arguments.workloads.iter().filter_map(|spec| Some((spec, spec.size.as_ref()?)));
    let refused = |problem| Failure::Usage(format!("--workload: {problem}"));
    for (spec, size) in sized {
        workload_size::check(&spec.name, size, memory).map_err(refused)?;
    }
    Ok(())
}

/// What the runs of a plan and its reports need of the host.
fn needs(plan: &Plan, outputs: [Option<&Output>; 3]) -> Needs {
    let kept = plan.keep.as_ref().map(Store::directory);
    let needs = Needs::of_machines(plan.threads).directory(kept).sections(plan.shared.sections());
    let needs = outputs.into_iter().fold(needs, Needs::output);
    let needs = needs.network(plan.network.as_ref());
    let needs = plan.systems.iter().fold(needs, |needs, on| needs.configuration(&on.config));
    plan.works.iter().fold(needs, |needs, (_, start)| {
        start.files().iter().fold(needs.devices(start.devices()), |needs, file| needs.reads(file))
    })
}

/// The requested systems, before sweeps.
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
        warn(&format!("without {}, for which memory would have to be {least}", names.join(" and ")));
    }
    fitting
}

/// What is shared with the guests of several runs is the same for all, and no part of what is kept of one.
fn check_shares(arguments: &CompareArgs) -> Result<(), Failure> {
    let Some(first) = arguments.linux.shares.first() else { return Ok(()) };
    if let Some(written) = arguments.linux.shares.iter().find(|share| share.write) {
        let host = written.host.display();
        return Err(Failure::Usage(format!(
            "--share {host}: the runs would all write to it; only `boot` takes `,write`"
        )));
    }
    match arguments.keep {
        Some(_) => Err(Failure::Usage(format!("--keep: a run depends on what it finds in {}", first.host.display()))),
        None => Ok(()),
    }
}

/// Reports which segments guests requested without success, and which escape filters are too small.
fn warnings(runs: &[Finished]) {
    for run in runs {
        let (count, noted) = &run.refused;
        for text in noted {
            warn(&format!("{} under {}: refused: {text}", run.work, run.on.system));
        }
        if *count > noted.len() as u64 {
            let more = count - noted.len() as u64;
            warn(&format!("{} under {}: {more} more segments refused", run.work, run.on.system));
        }
        if let Some(filter) = &run.saturated {
            warn(&format!("{} under {}: {filter} (segment.filter.bits)", run.work, run.on.system));
        }
    }
}

/// What the command names to run; `None` if it names nothing, so that the default workloads run.
fn named_works(arguments: &CompareArgs, kind: &GuestKind) -> Result<Option<Vec<(String, Work)>>, Failure> {
    if !arguments.runs.is_empty() && !kind.runs_commands() {
        return Err(Failure::Usage("--run is for --guest linux or debian; vos runs workloads".to_owned()));
    }
    if let GuestKind::File(_) = kind {
        return Ok(Some(vec![(kind.name(), Work::Console)]));
    }
    if arguments.workloads.is_empty() && arguments.runs.is_empty() {
        return Ok(None);
    }
    let commands = arguments.runs.iter().map(|run| Ok((run.name.clone(), Work::Command(run.command.clone()))));
    arguments.workloads.iter().map(|spec| work_of(spec, kind)).chain(commands).collect::<Result<_, _>>().map(Some)
}

/// A workload, with the name that reports give it.
///
/// # Errors
/// [`Failure::Usage`]: there is no such workload, or the guest has none of that name.
pub(crate) fn work_of(spec: &WorkloadSpec, kind: &GuestKind) -> Result<(String, Work), Failure> {
    if !KNOWN_WORKLOADS.contains(&spec.name.as_str()) {
        return Err(Failure::Usage(format!("--workload: {}", unknown("workload", &spec.name, KNOWN_WORKLOADS))));
    }
    if kind.runs_commands() && VOS_WORKLOADS.contains(&spec.name.as_str()) {
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
        print_of_guest(&run.output)?;
        if !run.output.ends_with(b"\n") && !run.output.is_empty() {
            print("\n")?;
        }
        shown.push(&run.output);
    }
    Ok(())
}

/// The exit code: 1 if any run failed; the first is named on standard error, with why.
fn failures(runs: &[Finished]) -> Result<ExitCode, Failure> {
    let mut failed = runs.iter().filter_map(|run| Some((run, run.failed.as_ref()?)));
    let Some((first, why)) = failed.next() else { return Ok(ExitCode::SUCCESS) };
    let others = match failed.count() {
        0 => String::new(),
        1 => " (and 1 more run)".to_owned(),
        more => format!(" (and {more} more runs)"),
    };
    Err(Failure::Run(format!("{} under {}: {why}{others}", first.work, first.on.system)))
}
