//! `pagewalk run`.

use super::outputs::{open_control, open_output, open_printer, page_recordings, write_page, write_report};
use crate::cli::RunArgs;
use crate::control::{Guests, Server, Snapshots};
use crate::error::Failure;
use crate::gdb::{self, Debugger};
use crate::html;
use crate::interrupt::{self, Orderly};
use crate::multi_vm::file::{self, MultiVm};
use crate::multi_vm::methods::{self, Figures};
use crate::multi_vm::{self, report};
use crate::observe::{ObserveOutputs, Recorded, Recordings, RunIdentity, is_perfetto};
use crate::output::{Output, Printer, print, print_of_guest};
use crate::profile::{self, ProfileOutput};
use crate::progress::{Running, Runs};
use crate::runs::kernel_panic::KernelPanic;
use crate::runs::share;
use crate::sandbox::Needs;
use crate::shared_memory::{registry, warn_of_refusals};
use crate::side_by_side::{default_threads, side_by_side};
use crate::text::table::Caption;
use crate::time_model::TimeModels;
use machine::sections::{SectionPlan, SectionStore};
use machine::{Console, Controller, GuestPlan, Machine, Outcome};
use profiles::{About, Attribution};
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
/// [`Failure`]: bad usage, or a guest that does not come to a good end.
pub(super) fn run(arguments: &RunArgs) -> Result<ExitCode, Failure> {
    let settings: Vec<(String, String)> =
        arguments.settings.iter().map(|setting| (setting.key.clone(), setting.value.clone())).collect();
    let multi_vm = file::read(&arguments.file, &settings, registry(arguments.reserved_memory.as_ref())?)?;
    let mut reports = Reports::open(arguments)?;
    let (perfetto, trace): (Option<&Path>, _) = arguments
        .trace
        .as_deref()
        .map_or((None, None), |path| if is_perfetto(path) { (Some(path), None) } else { (None, Some(path)) });
    let trace = open_output(trace)?;
    let profile = ProfileOutput::open(&arguments.profile)?;
    let observed = ObserveOutputs::open(&arguments.observe, perfetto)?;
    let of_one_run = [("--control", arguments.control.control.is_some()), ("--gdb", arguments.gdb.is_some())];
    if let Some((option, _)) = of_one_run.iter().find(|(_, given)| *given && arguments.methods.len() > 1) {
        return Err(Failure::Usage(format!("{option} is of one run; --spin names several methods")));
    }
    let recorded = observed.recorded(profile.as_ref().map(ProfileOutput::detail));
    if arguments.gdb.is_some() {
        gdb::check_recorded(&recorded)?;
    }
    let guests = || Guests {
        names: multi_vm.names.clone(),
        sources: multi_vm.sources.clone(),
        clock_hz: multi_vm.model.clock_hz,
    };
    let control = open_control(&arguments.control, guests, Snapshots::None)?;
    // The sandbox gives up the right to bind a port.
    let accept = |address| Debugger::accept(address, "the guests wait");
    let debugger = arguments.gdb.as_ref().map(accept).transpose()?;
    let needs = Needs::of_machines(arguments.methods.len().max(1)).control(control.as_ref()).output(trace.as_ref());
    let needs = needs.output(profile.as_ref().map(ProfileOutput::output));
    let needs = needs.output(reports.json.as_ref()).output(reports.html.as_ref());
    let needs = needs.configuration(&multi_vm.config).sections(&multi_vm.plan.sections);
    let guests = multi_vm.plan.guests.iter();
    let needs = guests.fold(needs, |needs, guest| needs.devices(&guest.image.devices));
    let _sandbox = observed.needs(needs).enter(arguments.sandbox.sandbox)?;
    if let [_, _, ..] = arguments.methods[..] {
        return compare_methods(arguments, &multi_vm, reports, (profile, observed));
    }
    let multi_vm = match arguments.methods[..] {
        [method] => methods::with_method(&multi_vm, method),
        _ => multi_vm,
    };
    let file = arguments.file.display().to_string();
    let progress = Runs::new(vec![file.clone()], 1);
    let recorded = (recorded, Stays::of(trace.is_some()));
    let driver = match debugger {
        Some(debugger) => Driver::Debugger(debugger),
        None => Driver::Loop(control),
    };
    let mut ran = Ran::run(&multi_vm, recorded, progress.begin(&file, &file), driver)?;
    drop(progress);
    if arguments.output {
        ran.print_output(&multi_vm)?;
    }
    let overhead = report::overhead(&multi_vm, &ran.machine) * 100.0;
    warn_of_refusals(&ran.machine);
    let processors = multi_vm.plan.pcpus;
    let times = TimeModels::of(&multi_vm.model.name, &multi_vm.config);
    let printer = &mut reports.printer;
    let caption = format!("{processors} processors, {overhead:.3} % of their time for scheduling; times by {times}");
    printer.table(report::table(&multi_vm, &ran.machine, &ran.outcomes).captioned(Caption::Below(caption)))?;
    printer.say(&format!("{}\n", report::MEANINGS))?;
    if let Some(sections) = report::sections_table(&multi_vm, &ran.machine) {
        printer.table(sections)?;
        printer.say("\n")?;
    }
    let mut profiled = None;
    if let Some(output) = profile {
        let profiles = ran.profiles(&multi_vm);
        profile::print(&profiles, printer)?;
        output.write(&profiles)?;
        profiled = reports.html.as_ref().map(|_| profile::for_page(&profiles)).transpose()?;
    }
    let over_time = ran.take_recordings(&multi_vm, 0);
    let recorded = reports.recordings(profiled, &observed, &over_time)?;
    observed.write(&over_time)?;
    reports.write(&report::report(&multi_vm, &ran.machine, &ran.outcomes), &recorded)?;
    if let Some(output) = trace {
        write_report(output, &multi_vm::trace::trace(&multi_vm, &ran.machine.take_stays()))?;
    }
    ran.judge(&multi_vm)
}

/// Where what was measured goes.
struct Reports {
    printer: Printer,
    json: Option<Output>,
    html: Option<Output>,
}

impl Reports {
    fn open(arguments: &RunArgs) -> Result<Self, Failure> {
        let (printer, json) = open_printer(arguments.format, arguments.json.as_deref())?;
        Ok(Self { printer, json, html: open_output(arguments.html.as_deref())? })
    }

    /// What the page shows beside the report, if there is one.
    fn recordings(
        &self,
        profile: Option<Value>,
        observed: &ObserveOutputs,
        over_time: &[(RunIdentity, Recordings)],
    ) -> Result<html::Recordings, Failure> {
        match self.html {
            Some(_) => page_recordings(profile, observed.documents(over_time)?),
            None => Ok(html::Recordings::default()),
        }
    }

    fn write(self, report: &Value, recorded: &html::Recordings) -> Result<(), Failure> {
        self.printer.finish()?;
        self.json.map_or(Ok(()), |output| write_report(output, report))?;
        self.html.map_or(Ok(()), |output| write_page(output, &html::multi_vm(report, recorded)?))
    }
}

/// One run for each method.
fn compare_methods(
    arguments: &RunArgs,
    multi_vm: &MultiVm,
    mut outputs: Reports,
    (profile, observed): (Option<ProfileOutput>, ObserveOutputs),
) -> Result<ExitCode, Failure> {
    if arguments.trace.as_deref().is_some_and(|path| !is_perfetto(path)) {
        return Err(Failure::Usage("--trace is of one run; --spin names several methods".to_owned()));
    }
    let written = |section: &SectionPlan| matches!(section.store, SectionStore::File { writable: true, .. });
    if let Some(section) = multi_vm.plan.sections.iter().find(|section| written(section)) {
        let problem =
            format!("--spin names several methods, whose runs would all write to the file of section {}", section.name);
        return Err(Failure::Usage(problem));
    }
    if let Some(shared) = multi_vm.plan.guests.iter().find_map(|guest| share::written(&guest.image.devices)) {
        let problem = format!("--spin names several methods, whose runs would all write to {}", shared.display());
        return Err(Failure::Usage(problem));
    }
    // Whatever guests do, they do it under every method.
    let file = arguments.file.display().to_string();
    let progress = Runs::new(vec![file.clone(); arguments.methods.len()], default_threads());
    let runs = side_by_side(default_threads(), &arguments.methods, |&method| {
        let multi_vm = methods::with_method(multi_vm, method);
        let running = progress.begin(&file, &format!("{file} with {}", method.name()));
        let recorded = (observed.recorded(profile.as_ref().map(ProfileOutput::detail)), Stays::Forgotten);
        let ran = Ran::run(&multi_vm, recorded, running, Driver::Loop(None))?;
        let figures = Figures::of(&multi_vm, &ran.machine, method, ran.failed().count());
        let mut report = report::report(&multi_vm, &ran.machine, &ran.outcomes);
        report["total"] = figures.json();
        Ok((figures, report, multi_vm, ran))
    });
    drop(progress);
    let runs: Vec<_> = runs.into_iter().collect::<Result<_, Failure>>()?;
    let (mut figures, mut reports, mut verdicts) = (Vec::new(), Vec::new(), Vec::new());
    let (mut profiles, mut recordings) = (Vec::new(), Vec::new());
    for (number, (of_method, report, multi_vm, mut ran)) in runs.into_iter().enumerate() {
        if arguments.output {
            print(&format!("== {}\n", multi_vm.plan.guests[0].spin))?;
            ran.print_output(&multi_vm)?;
        }
        profiles.extend(ran.profiles(&multi_vm));
        recordings.extend(ran.take_recordings(&multi_vm, number));
        figures.push(of_method);
        reports.push(report);
        verdicts.push(ran.judge(&multi_vm));
    }
    let times = TimeModels::of(&multi_vm.model.name, &multi_vm.config);
    let caption = format!(
        "ms is until the last guest in the foreground ended; the figures are of those guests together, the overhead of the host's {} processors; times by {times}",
        multi_vm.plan.pcpus,
    );
    outputs.printer.table(methods::table(&figures).captioned(Caption::Below(caption)))?;
    outputs.printer.say(&format!("{}\n", report::MEANINGS))?;
    let mut profiled = None;
    if let Some(output) = profile {
        profile::print(&profiles, &mut outputs.printer)?;
        output.write(&profiles)?;
        profiled = outputs.html.as_ref().map(|_| profile::for_page(&profiles)).transpose()?;
    }
    let recorded = outputs.recordings(profiled, &observed, &recordings)?;
    observed.write(&recordings)?;
    outputs.write(&json!({ "runs": reports }), &recorded)?;
    verdicts.into_iter().collect::<Result<Vec<_>, _>>().map(|_| ExitCode::SUCCESS)
}

/// A host that was run.
struct Ran {
    machine: Machine,
    /// By guest: what was recorded of it.
    recordings: Vec<Recordings>,
    outcomes: Vec<Outcome>,
    console: Transcripts,
    /// The exit code that was asked for by the client or the debugger that ended the run.
    quit: Option<u8>,
}

/// Whether the stays of vCPUs on pCPUs are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stays {
    Kept,
    Forgotten,
}

impl Stays {
    const fn of(wanted: bool) -> Self {
        if wanted { Self::Kept } else { Self::Forgotten }
    }
}

/// Who lets the machine take its turns.
enum Driver {
    /// The run loop, with the socket through which others control it.
    Loop(Option<Server>),
    /// A debugger.
    Debugger(Debugger),
}

impl Ran {
    fn run(
        multi_vm: &MultiVm,
        (recorded, stays): (Recorded, Stays),
        running: Running<'_>,
        driver: Driver,
    ) -> Result<Self, Failure> {
        let mut machine = Machine::assemble_host(&multi_vm.config, &multi_vm.plan)?;
        if stays == Stays::Kept {
            machine.record_stays();
        }
        recorded.begin(&mut machine);
        machine.show_on(running.gauge());
        let guests = multi_vm.names.iter().map(|_| Transcript::default()).collect();
        let mut console = Transcripts { guests, control: None };
        let _orderly = Orderly::begin();
        let (outcomes, quit) = match driver {
            Driver::Loop(control) => {
                console.control = control;
                let outcomes = machine.run_controlled(&mut console);
                (outcomes, console.control.take().and_then(|server| server.quit()))
            }
            Driver::Debugger(debugger) => {
                let outcomes = gdb::run(debugger, &mut machine, &multi_vm.names, &mut console)?;
                // The debugger's `kill` ends a run as well as a client's `quit`.
                let killed = outcomes.contains(&Outcome::Interrupted);
                (outcomes, killed.then_some(0))
            }
        };
        if let Some(signal) = interrupt::requested() {
            return Err(Failure::Interrupted(signal));
        }
        let judged = outcomes.into_iter().zip(&mut console.guests).map(|(outcome, guest)| guest.panic.judge(outcome));
        let outcomes = judged.collect();
        let recordings = (0..multi_vm.names.len()).map(|guest| Recordings::of(&machine, guest)).collect();
        let ran = Self { machine, recordings, outcomes, console, quit };
        let problem =
            ran.failed().next().map(|(guest, outcome)| format!("guest `{}`: {outcome}", multi_vm.names[guest]));
        running.finish(problem.as_deref());
        Ok(ran)
    }

    /// The profiles of the guests, if they are recorded. The guest is what differs: it stands where a comparison has the scheme.
    fn profiles(&self, multi_vm: &MultiVm) -> Vec<Attribution> {
        let of = |guest: usize| {
            let profile = self.recordings[guest].profile.as_ref()?;
            let about = About {
                guest: multi_vm.names[guest].clone(),
                work: format!("{}: {}", multi_vm.names[guest], multi_vm.work[guest]),
                system: format!("{} with {}", multi_vm.config.scheme, multi_vm.plan.guests[guest].spin.name()),
                settings: serde_json::Value::Null,
            };
            Some(Attribution::new(about, profile, &multi_vm.sources[guest].names()))
        };
        (0..multi_vm.names.len()).filter_map(of).collect()
    }

    /// What was recorded of each guest, in the run of this number.
    fn take_recordings(&mut self, multi_vm: &MultiVm, number: usize) -> Vec<(RunIdentity, Recordings)> {
        let identity = |guest: usize| RunIdentity {
            run: number,
            guest: multi_vm.names[guest].clone(),
            work: multi_vm.work[guest].clone(),
            system: multi_vm.config.scheme.to_string(),
            settings: json!({ "spin": multi_vm.plan.guests[guest].spin.name() }),
            clock_hz: multi_vm.model.clock_hz,
        };
        std::mem::take(&mut self.recordings)
            .into_iter()
            .enumerate()
            .map(|(guest, recordings)| (identity(guest), recordings))
            .collect()
    }

    fn print_output(&self, multi_vm: &MultiVm) -> Result<(), Failure> {
        for (name, transcript) in multi_vm.names.iter().zip(&self.console.guests) {
            print(&format!("{name}:\n"))?;
            print_of_guest(&transcript.output)?;
        }
        Ok(())
    }

    /// The guests that did not come to a good end. One in the background needs none, and no guest of a run that a client ended.
    fn failed(&self) -> impl Iterator<Item = (usize, &Outcome)> {
        let ended_by_client = |outcome: &Outcome| self.quit.is_some() && *outcome == Outcome::Interrupted;
        let failed = move |(_, outcome): &(usize, &Outcome)| {
            !outcome.succeeded() && **outcome != Outcome::Unfinished && !ended_by_client(outcome)
        };
        self.outcomes.iter().enumerate().filter(failed)
    }

    fn judge(&self, multi_vm: &MultiVm) -> Result<ExitCode, Failure> {
        if let Some(refused) = self.machine.refused_changes().first() {
            return Err(Failure::Run(format!("a change of allocation was refused: {refused}")));
        }
        if let Some(problem) = self.machine.section_problems().first() {
            return Err(Failure::Run(problem.clone()));
        }
        match self.failed().next() {
            Some((guest, outcome)) => {
                let GuestPlan { spin, .. } = &multi_vm.plan.guests[guest];
                Err(Failure::Run(format!("guest `{}` with {spin}: {outcome}", multi_vm.names[guest])))
            }
            None => Ok(self.quit.map_or(ExitCode::SUCCESS, ExitCode::from)),
        }
    }
}

/// Output kept of each guest at the most.
const LIMIT: usize = 1 << 20;

/// What each guest printed.
#[derive(Default)]
struct Transcript {
    output: Vec<u8>,
    panic: KernelPanic,
}

struct Transcripts {
    /// By guest.
    guests: Vec<Transcript>,
    /// The socket through which others control the run.
    control: Option<Server>,
}

impl Console for Transcripts {
    fn output(&mut self, guest: usize, bytes: &[u8]) {
        let Transcript { output, panic } = &mut self.guests[guest];
        panic.read(bytes);
        output.extend_from_slice(&bytes[..bytes.len().min(LIMIT - output.len())]);
    }

    fn input(&mut self) -> std::io::Result<Vec<u8>> {
        interrupt::check().map(|()| Vec::new())
    }
}

impl Controller for Transcripts {
    fn between_turns(&mut self, machine: &mut Machine) -> std::io::Result<()> {
        self.control.as_mut().map_or(Ok(()), |control| control.between_turns(machine, &mut || Ok(())))
    }
}
