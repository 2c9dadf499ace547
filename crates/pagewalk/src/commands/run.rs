//! `pagewalk run`.

use super::outputs::{open_control, open_output, open_printer, page_recordings, write_page, write_report};
use crate::cli::RunArgs;
use crate::control::{Guests, Snapshots};
use crate::error::Failure;
use crate::gdb::{self, Debugger};
use crate::html;
use crate::multi_vm::file::{self, MultiVm};
use crate::multi_vm::methods::{self, Figures};
use crate::multi_vm::ran::{Driver, Ran, Stays, Way};
use crate::multi_vm::{self, report};
use crate::observe::{ObserveOutputs, Recordings, RunIdentity, is_perfetto};
use crate::output::{Output, Printer, print};
use crate::profile::{self, ProfileOutput};
use crate::progress::{Runs, note};
use crate::runs::share;
use crate::sandbox::Needs;
use crate::shared_memory::{registry, warn_of_refusals};
use crate::side_by_side::{default_threads, side_by_side};
use crate::text::table::Caption;
use crate::time_model::TimeModels;
use machine::sections::{SectionPlan, SectionStore};
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
    let recorded = (recorded, Stays::of(trace.is_some()));
    let driver = match debugger {
        Some(debugger) => Driver::Debugger(debugger),
        None => Driver::Loop(control),
    };
    let threads = arguments.threads.map_or_else(default_threads, |threads| threads as usize);
    let runs = arguments.methods.len().max(1);
    let way = Way::of(&multi_vm, recorded, &driver, threads / runs);
    // Several runs use the threads that were named in any case.
    if runs == 1
        && arguments.threads.is_some_and(|threads| threads > 1)
        && let Way::Together(why) = way
    {
        note(&format!("one thread of the host runs all guests: {why}"));
    }
    let machines = runs * way.machines(&multi_vm);
    let needs = Needs::of_machines(machines).control(driver.control()).output(trace.as_ref());
    let needs = needs.output(profile.as_ref().map(ProfileOutput::output));
    let needs = needs.output(reports.json.as_ref()).output(reports.html.as_ref());
    let needs = needs.configuration(&multi_vm.config).sections(&multi_vm.plan.sections);
    let guests = multi_vm.plan.guests.iter();
    let needs = guests.fold(needs, |needs, guest| needs.devices(&guest.image.devices));
    let _sandbox = observed.needs(needs).enter(arguments.sandbox.sandbox)?;
    if let [_, _, ..] = arguments.methods[..] {
        return compare_methods(arguments, &multi_vm, reports, (profile, observed), (threads, way));
    }
    let multi_vm = match arguments.methods[..] {
        [method] => methods::with_method(&multi_vm, method),
        _ => multi_vm,
    };
    let file = arguments.file.display().to_string();
    let progress = Runs::new(vec![file.clone()], 1);
    let mut ran = Ran::run(&multi_vm, recorded, progress.begin(&file, &file), driver, way)?;
    drop(progress);
    if arguments.output {
        ran.print_output(&multi_vm)?;
    }
    let overhead = report::overhead(&multi_vm, &ran.machines) * 100.0;
    warn_of_refusals(ran.machines.shared());
    let processors = multi_vm.plan.pcpus;
    let times = TimeModels::of(&multi_vm.model.name, &multi_vm.config);
    let printer = &mut reports.printer;
    let caption = format!("{processors} processors, {overhead:.3} % of their time for scheduling; times by {times}");
    printer.table(report::table(&multi_vm, &ran.machines, &ran.outcomes).captioned(Caption::Below(caption)))?;
    printer.say(&format!("{}\n", report::MEANINGS))?;
    if let Some(sections) = report::sections_table(&multi_vm, &ran.machines) {
        printer.table(sections)?;
        printer.say("\n")?;
    }
    if let Some(figures) = report::figures_table(&multi_vm, &ran.machines) {
        printer.table(figures)?;
        printer.say("\n")?;
    }
    let freed = report::freed(ran.machines.shared());
    if !freed.is_empty() {
        printer.say(&freed)?;
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
    let mut report = report::report(&multi_vm, &ran.machines, &ran.outcomes);
    if let [method] = arguments.methods[..] {
        report["total"] = Figures::of(&multi_vm, &ran.machines, method, ran.failed().count()).json();
    }
    reports.write(&report, &recorded)?;
    if let Some(output) = trace {
        write_report(output, &multi_vm::trace::trace(&multi_vm, &ran.machines.shared_mut().take_stays()))?;
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
    (threads, way): (usize, Way),
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
    let progress = Runs::new(vec![file.clone(); arguments.methods.len()], threads);
    let runs = side_by_side(threads, &arguments.methods, |&method| {
        let multi_vm = methods::with_method(multi_vm, method);
        let running = progress.begin(&file, &format!("{file} with {}", method.name()));
        let recorded = (observed.recorded(profile.as_ref().map(ProfileOutput::detail)), Stays::Forgotten);
        let ran = Ran::run(&multi_vm, recorded, running, Driver::Loop(None), way)?;
        let figures = Figures::of(&multi_vm, &ran.machines, method, ran.failed().count());
        let mut report = report::report(&multi_vm, &ran.machines, &ran.outcomes);
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
