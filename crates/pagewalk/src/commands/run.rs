//! `pagewalk run`.

use super::{check_report, write_page, write_report};
use crate::cli::RunArgs;
use crate::error::Failure;
use crate::hosting::file::{self, Hosting};
use crate::hosting::methods::{self, Figures};
use crate::hosting::{report, trace};
use crate::html;
use crate::output::{print, print_bytes};
use crate::shared_memory::{registry, warn_of_refusals};
use crate::side_by_side::{default_threads, side_by_side};
use machine::sections::{SectionPlan, SectionStore};
use machine::{Console, GuestPlan, Machine, Outcome};
use serde_json::{Value, json};
use std::process::ExitCode;
use std::time::Duration;

/// Runs the command.
///
/// # Errors
/// [`Failure`]: bad usage, or a guest that does not come to a good end.
pub(super) fn run(arguments: &RunArgs) -> Result<ExitCode, Failure> {
    let settings: Vec<(String, String)> =
        arguments.settings.iter().map(|setting| (setting.key.clone(), setting.value.clone())).collect();
    let hosting = file::read(&arguments.file, &settings, registry(arguments.reserved_memory.as_ref())?)?;
    check_report(arguments.json.as_deref())?;
    check_report(arguments.html.as_deref())?;
    check_report(arguments.trace.as_deref())?;
    if let [_, _, ..] = arguments.methods[..] {
        return compare_methods(arguments, &hosting);
    }
    let hosting = match arguments.methods[..] {
        [method] => methods::with_method(&hosting, method),
        _ => hosting,
    };
    let mut ran = Ran::run(&hosting, arguments.trace.is_some())?;
    if arguments.output {
        ran.print_output(&hosting)?;
    }
    let overhead = report::overhead(&hosting, &ran.machine) * 100.0;
    warn_of_refusals(&ran.machine);
    let processors = hosting.plan.reals;
    let host = &hosting.model.name;
    print(&format!(
        "{}\n{processors} processors of {host}, {overhead:.3} % of their time for scheduling\n",
        report::table(&hosting, &ran.machine, &ran.outcomes)
    ))?;
    if let Some(sections) = report::sections_table(&hosting, &ran.machine) {
        print(&format!("{sections}\n"))?;
    }
    write_reports(arguments, &report::report(&hosting, &ran.machine, &ran.outcomes))?;
    if let Some(path) = &arguments.trace {
        write_report(path, &trace::trace(&hosting, &ran.machine.take_stays()))?;
    }
    ran.judge(&hosting)
}

/// Writes what was measured, as the user wants it.
fn write_reports(arguments: &RunArgs, report: &Value) -> Result<(), Failure> {
    arguments.json.as_deref().map_or(Ok(()), |path| write_report(path, report))?;
    arguments.html.as_deref().map_or(Ok(()), |path| write_page(path, &html::hosting(report)?))
}

/// One run for each method.
fn compare_methods(arguments: &RunArgs, hosting: &Hosting) -> Result<ExitCode, Failure> {
    if arguments.trace.is_some() {
        return Err(Failure::Usage("--trace is of one run; --spin names several methods".to_owned()));
    }
    let written = |section: &SectionPlan| matches!(section.store, SectionStore::File { writable: true, .. });
    if let Some(section) = hosting.plan.sections.iter().find(|section| written(section)) {
        let problem =
            format!("--spin names several methods, whose runs would all write to the file of section {}", section.name);
        return Err(Failure::Usage(problem));
    }
    let runs = side_by_side(default_threads(), &arguments.methods, |&method| {
        let hosting = methods::with_method(hosting, method);
        let ran = Ran::run(&hosting, false)?;
        let figures = Figures::of(&hosting, &ran.machine, method, ran.failed().count());
        let mut report = report::report(&hosting, &ran.machine, &ran.outcomes);
        report["total"] = figures.json();
        Ok((figures, report, hosting, ran))
    });
    let runs: Vec<_> = runs.into_iter().collect::<Result<_, Failure>>()?;
    let (mut figures, mut reports, mut verdicts) = (Vec::new(), Vec::new(), Vec::new());
    for (of_method, report, hosting, ran) in runs {
        if arguments.output {
            print(&format!("== {}\n", hosting.plan.guests[0].spin))?;
            ran.print_output(&hosting)?;
        }
        figures.push(of_method);
        reports.push(report);
        verdicts.push(ran.judge(&hosting));
    }
    print(&format!(
        "{}\nms is until the last guest in the foreground ended; the figures are of those guests together, the overhead of the host's {} processors\n",
        methods::table(&figures),
        hosting.plan.reals
    ))?;
    write_reports(arguments, &json!({ "runs": reports }))?;
    verdicts.into_iter().collect::<Result<Vec<_>, _>>().map(|_| ExitCode::SUCCESS)
}

/// A host that was run.
struct Ran {
    machine: Machine,
    outcomes: Vec<Outcome>,
    console: Transcripts,
}

impl Ran {
    fn run(hosting: &Hosting, record_stays: bool) -> Result<Self, Failure> {
        let mut machine = Machine::assemble_host(&hosting.config, &hosting.plan)?;
        if record_stays {
            machine.record_stays();
        }
        let mut console = Transcripts(vec![Vec::new(); hosting.names.len()]);
        let outcomes = machine.run_all(&mut console);
        Ok(Self { machine, outcomes, console })
    }

    fn print_output(&self, hosting: &Hosting) -> Result<(), Failure> {
        for (name, output) in hosting.names.iter().zip(&self.console.0) {
            print(&format!("{name}:\n"))?;
            print_bytes(output)?;
        }
        Ok(())
    }

    /// The guests that did not come to a good end. One in the background needs none.
    fn failed(&self) -> impl Iterator<Item = (usize, &Outcome)> {
        let failed = |(_, outcome): &(usize, &Outcome)| !outcome.succeeded() && **outcome != Outcome::Unfinished;
        self.outcomes.iter().enumerate().filter(failed)
    }

    fn judge(&self, hosting: &Hosting) -> Result<ExitCode, Failure> {
        if let Some(refused) = self.machine.refused_changes().first() {
            return Err(Failure::Run(format!("a change of allocation was refused: {refused}")));
        }
        if let Some(problem) = self.machine.section_problems().first() {
            return Err(Failure::Run(problem.clone()));
        }
        match self.failed().next() {
            Some((guest, outcome)) => {
                let GuestPlan { spin, .. } = &hosting.plan.guests[guest];
                Err(Failure::Run(format!("guest `{}` with {spin}: {outcome}", hosting.names[guest])))
            }
            None => Ok(ExitCode::SUCCESS),
        }
    }
}

/// Output kept of each guest at the most.
const LIMIT: usize = 1 << 20;

/// What each guest printed.
struct Transcripts(Vec<Vec<u8>>);

impl Console for Transcripts {
    fn output(&mut self, guest: usize, bytes: &[u8]) {
        let transcript = &mut self.0[guest];
        transcript.extend_from_slice(&bytes[..bytes.len().min(LIMIT - transcript.len())]);
    }

    fn input(&mut self) -> std::io::Result<Vec<u8>> {
        Ok(Vec::new())
    }

    fn idle(&mut self, _: Option<Duration>) -> bool {
        false
    }
}
