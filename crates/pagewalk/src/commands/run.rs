//! `pagewalk run`.

use super::{check_report, write_report};
use crate::cli::RunArgs;
use crate::error::Failure;
use crate::hosting::{file, report, trace};
use crate::output::{print, print_bytes};
use machine::{Console, Machine, Outcome};
use std::process::ExitCode;
use std::time::Duration;

/// Runs the command.
///
/// # Errors
/// [`Failure`]: bad usage, or a guest that does not come to a good end.
pub(super) fn run(arguments: &RunArgs) -> Result<ExitCode, Failure> {
    let settings: Vec<(String, String)> =
        arguments.settings.iter().map(|setting| (setting.key.clone(), setting.value.clone())).collect();
    let hosting = file::read(&arguments.file, &settings)?;
    check_report(arguments.json.as_deref())?;
    check_report(arguments.trace.as_deref())?;
    let mut machine = Machine::assemble_host(&hosting.config, &hosting.plan)?;
    if arguments.trace.is_some() {
        machine.record_stays();
    }
    let mut console = Transcripts(vec![Vec::new(); hosting.names.len()]);
    let outcomes = machine.run_all(&mut console);
    if arguments.output {
        for (name, output) in hosting.names.iter().zip(&console.0) {
            print(&format!("{name}:\n"))?;
            print_bytes(output)?;
        }
    }
    let overhead = report::overhead(&hosting, &machine) * 100.0;
    let processors = hosting.plan.reals;
    let host = &hosting.model.name;
    print(&format!(
        "{}\n{processors} processors of {host}, {overhead:.3} % of their time for scheduling\n",
        report::table(&hosting, &machine, &outcomes)
    ))?;
    if let Some(path) = &arguments.json {
        write_report(path, &report::report(&hosting, &machine, &outcomes))?;
    }
    if let Some(path) = &arguments.trace {
        write_report(path, &trace::trace(&hosting, &machine.take_stays()))?;
    }
    if let Some(refused) = machine.refused_changes().first() {
        return Err(Failure::Run(format!("a change of allocation was refused: {refused}")));
    }
    let failed = |(_, outcome): &(usize, &Outcome)| !outcome.succeeded() && **outcome != Outcome::Unfinished;
    match outcomes.iter().enumerate().find(failed) {
        Some((guest, outcome)) => Err(Failure::Run(format!("guest `{}`: {outcome}", hosting.names[guest]))),
        None => Ok(ExitCode::SUCCESS),
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
