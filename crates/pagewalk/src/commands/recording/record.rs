//! `pagewalk record`.

use super::about::About;
use crate::cli::{RecordArgs, SandboxMode, TraceFiles};
use crate::commands::outputs::{open_output, unwritten};
use crate::commands::work_of;
use crate::comparison::failure;
use crate::error::Failure;
use crate::interrupt::{self, Orderly};
use crate::output::{Output, print, warn};
use crate::progress::Runs;
use crate::runs::image::{GuestKind, Prepared, Work, prepare, program_memory};
use crate::runs::quiet::QuietConsole;
use crate::runs::start::{self, Promise};
use crate::sandbox::Needs;
use crate::setup::{builder, machine_flags};
use crate::systems::Configured;
use config::system::System;
use config::{Config, FidelityName, GuestTimeName};
use machine::{Image, Machine, Recorded};
use recording::Writer;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;
use tracer::{Pages, Traced, Tracer};

/// A run to record.
struct Plan {
    work: String,
    guest: String,
    promise: Promise,
    on: Configured,
    image: Image,
}

/// Runs the command.
///
/// # Errors
/// [`Failure`]: bad usage, a guest that does not come to a good end, or one whose run cannot be replayed.
pub(in crate::commands) fn run(arguments: &RecordArgs) -> Result<ExitCode, Failure> {
    let plan = plan(arguments)?;
    let path = &arguments.output;
    let output = Output::open(path).map_err(|error| unwritten(path, &error))?;
    let files = arguments.trace.as_ref().map(|trace| trace.files().map_err(Failure::Usage)).transpose()?;
    let traced = files.as_ref().map(|files| &*files.trace);
    let trace = open_output(traced)?;
    let map = open_output(files.as_ref().and_then(|files| files.map.as_deref()))?;
    let needs = Needs::of_machines(1).configuration(&plan.on.config).output(Some(&output));
    let needs = needs.output(trace.as_ref()).output(map.as_ref());
    let about = about(&plan)?;
    let mut machine = Machine::assemble(&plan.on.config, &plan.image)?;
    let mut result = None;
    let run = |file: &File, trace: Option<&File>, map: Option<&File>| {
        // The sandbox gives up the right to duplicate them.
        let (file, trace) = (file.try_clone()?, trace.map(File::try_clone).transpose()?);
        let pages = map.map(|_| Pages::default());
        let tracer = trace.zip(arguments.trace.as_ref()).map(|(file, spec)| Tracer::new(spec.sink(file), pages));
        if let Some(tracer) = &tracer {
            machine.trace_instructions(Box::new(tracer.clone()));
        }
        let recorded = record(&plan, &mut machine, (file, &about), |mode| needs.enter(mode), arguments)
            .and_then(|recorded| Ok((recorded, finish_trace(tracer.as_ref(), files.as_ref(), map)?)));
        let stays = recorded.is_ok();
        result = Some(recorded);
        if stays { Ok(()) } else { Err(io::ErrorKind::Other.into()) }
    };
    let written = output.write_with(|file| with(trace, |trace| with(map, |map| run(file, trace, map))));
    let (recorded, traces) = match (result, written) {
        (Some(recorded), Ok(())) => recorded?,
        (Some(Err(failure)), Err(_)) => return Err(failure),
        (_, Err(error)) => return Err(unwritten(path, &error)),
        (None, Ok(())) => return Err(Failure::Run(format!("{}: nothing was recorded", path.display()))),
    };
    report(&plan, &machine, path, &recorded)?;
    if let Some((traces, files)) = traces.zip(files) {
        report_trace(&traces, &files)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Does `write` with an output, if it was requested.
fn with(output: Option<Output>, write: impl FnOnce(Option<&File>) -> io::Result<()>) -> io::Result<()> {
    match output {
        Some(output) => output.write_with(|file| write(Some(file))),
        None => write(None),
    }
}

/// Ends the trace that was requested, and writes the map of its pages.
fn finish_trace(
    tracer: Option<&Tracer>,
    files: Option<&TraceFiles>,
    map: Option<&File>,
) -> Result<Option<Traced>, Failure> {
    let Some((tracer, files)) = tracer.zip(files) else { return Ok(None) };
    let traced = tracer.finish().map_err(|error| unwritten(&files.trace, &error))?;
    if traced.instructions == 0 {
        return Err(Failure::Run(format!(
            "{}: the guest marks no region of interest, so nothing is traced",
            files.trace.display()
        )));
    }
    if let (Some(file), Some(name), Some(pages)) = (map, &files.map, &traced.pages) {
        let mut to = BufWriter::new(file);
        pages.map.write(&mut to).and_then(|()| to.flush()).map_err(|error| unwritten(name, &error))?;
    }
    Ok(Some(traced))
}

fn report_trace(traced: &Traced, files: &TraceFiles) -> Result<(), Failure> {
    let Traced { instructions, warmup, spaces, pages } = traced;
    print(&format!(
        "trace: {instructions} instructions, {warmup} of them of the warm-up: {}\n",
        files.trace.display()
    ))?;
    if let Some((pages, name)) = pages.as_ref().zip(files.map.as_ref()) {
        print(&format!("map: {} pages: {}\n", pages.map.len(), name.display()))?;
        if pages.elsewhere > 0 {
            warn(&format!(
                "{} pages have been mapped twice, and the map has what each was mapped to first",
                pages.elsewhere
            ));
        }
        if !pages.gone.is_empty() {
            warn(&format!(
                "{} pages of 4K were unmapped at the end of their turn, and are not in the map",
                pages.gone.len()
            ));
        }
    }
    if *spaces > 1 {
        warn(&format!("the trace is of {spaces} address spaces, and its format does not say which"));
    }
    Ok(())
}

fn plan(arguments: &RecordArgs) -> Result<Plan, Failure> {
    let kind = GuestKind::parse(&arguments.guest);
    let mut flags = machine_flags(&arguments.machine);
    flags.extend(arguments.warmup.map(|warmup| ("warmup", warmup.to_string())));
    let defaults = if kind == GuestKind::Vos { start::VOS_WORKLOADS } else { &[] };
    let builder = builder(defaults, &arguments.machine.config, &flags)?;
    let system: System =
        format!("native:{}", arguments.page).parse().map_err(|error| Failure::Usage(format!("--page: {error}")))?;
    let on = Configured::new(&builder, system)?;
    check(&on.config)?;
    let (name, work) = match (&arguments.workload, &arguments.command) {
        (Some(spec), _) => work_of(spec, &kind)?,
        (None, Some(command)) if kind == GuestKind::Linux => {
            (command.name.clone(), Work::Command(command.command.clone()))
        }
        (None, Some(_)) => return Err(Failure::Usage("--run is for --guest linux; vos runs workloads".to_owned())),
        (None, None) => match kind {
            GuestKind::File(_) => (kind.name(), Work::Console),
            GuestKind::Vos | GuestKind::Linux | GuestKind::Debian => {
                return Err(Failure::Usage("record: which --workload?".to_owned()));
            }
        },
    };
    if arguments.linux.warm {
        return Err(Failure::Usage("record: --warm: a recording begins with a boot".to_owned()));
    }
    let guest = kind.name();
    let promise = if kind.reports_status() { Promise::Status } else { Promise::Nothing };
    let prepared: Prepared = prepare(kind, work, &arguments.linux, program_memory(&on.config))?;
    let image = prepared.image(&on.config)?;
    if !image.devices.is_empty() {
        return Err(Failure::Usage(
            "record: a recording has no disks, network cards or other virtio devices".to_owned(),
        ));
    }
    Ok(Plan { work: name, guest, promise, on, image })
}

/// Refuses what a recording cannot have.
fn check(config: &Config) -> Result<(), Failure> {
    let problem = if config.fidelity != FidelityName::Counts {
        "fidelity: a recording is made with `counts`: caches change how long the guest's turns are"
    } else if config.harts != 1 {
        "harts: a recording has one hart: how several take turns depends on translation"
    } else if config.timeout != 0 {
        "timeout: a recording has no end by time, which depends on translation"
    } else {
        return Ok(());
    };
    Err(Failure::Usage(problem.to_owned()))
}

/// The description of the recording, as JSON.
fn about(plan: &Plan) -> Result<String, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::Run(format!("the configuration cannot be written: {error}"));
    let toml = toml::to_string(&plan.on.config).map_err(|error| failed(&error))?;
    let about = About::new(plan.guest.clone(), plan.work.clone(), (&plan.on.config, toml), &plan.image);
    serde_json::to_string(&about).map_err(|error| failed(&error))
}

/// Runs the guest and writes the recording.
fn record<E>(
    plan: &Plan,
    machine: &mut Machine,
    (file, about): (File, &str),
    enter: impl FnOnce(SandboxMode) -> Result<E, Failure>,
    arguments: &RecordArgs,
) -> Result<Recorded, Failure> {
    let unwritten = |error: io::Error| unwritten(&arguments.output, &error);
    let files: Vec<&[u8]> =
        [Some(&plan.image.kernel), plan.image.initrd.as_ref()].into_iter().flatten().map(|file| &file[..]).collect();
    let out: Box<dyn Write + Send> = Box::new(BufWriter::new(file));
    let writer = Writer::new(out, about, &files).map_err(unwritten)?;
    machine.record(writer).map_err(|error| Failure::Usage(error.to_string()))?;
    let _sandbox = enter(arguments.sandbox.sandbox)?;
    let _orderly = Orderly::begin();
    let progress = Runs::new(vec![plan.work.clone()], 1);
    let running = progress.begin(&plan.work, &format!("recording {}", plan.work));
    machine.show_on(running.gauge());
    let mut console = QuietConsole::default();
    let outcome = machine.run(&mut console);
    if let Some(signal) = interrupt::requested() {
        return Err(Failure::Interrupted(signal));
    }
    let outcome = console.panic.judge(outcome);
    if let Some(problem) = failure(&outcome, plan.promise, &[], Some(&console.output)) {
        return Err(Failure::Run(format!("{}: {problem}", plan.work)));
    }
    let recorded = machine.finish_recording().map_err(|error| match error {
        machine::RecordError::Write(error) => unwritten(error),
        other => Failure::Run(format!("{}: {other}", plan.work)),
    })?;
    running.finish(None);
    Ok(recorded)
}

fn report(plan: &Plan, machine: &Machine, path: &Path, recorded: &Recorded) -> Result<(), Failure> {
    let Recorded { totals, used_time } = recorded;
    let instructions = machine.statistics().instructions;
    let bytes = totals.frame_bytes as f64 / totals.events.max(1) as f64;
    print(&format!(
        "{}: {:.1} M instructions, {:.2} M events, {bytes:.2} bytes an event: {}\n",
        plan.work,
        instructions as f64 / 1e6,
        totals.events as f64 / 1e6,
        path.display(),
    ))?;
    if *used_time && plan.on.config.guest_time == GuestTimeName::Cycles {
        warn(
            "the guest has used the time, which depends on translation: to replay it, record it with --set guest_time=instructions",
        );
    }
    Ok(())
}
