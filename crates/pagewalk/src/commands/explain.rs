//! `pagewalk explain`.

use crate::cli::ExplainArgs;
use crate::error::Failure;
use crate::output::print;
use machine::scheme::{Mechanism, SchemeError};
use machine::tradeoffs::{Service, ServiceName};
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
/// [`Failure::Usage`]: no such scheme.
pub(super) fn run(arguments: &ExplainArgs) -> Result<ExitCode, Failure> {
    let named = |name: &String| {
        let name = name.split(':').next().unwrap_or_default();
        let found = Mechanism::ALL.into_iter().find(|mechanism| mechanism.name() == name);
        found.ok_or_else(|| Failure::Usage(SchemeError::Name { name: name.to_owned() }.to_string()))
    };
    let mechanisms: Vec<Mechanism> = match arguments.schemes.as_slice() {
        [] => Mechanism::ALL.into(),
        names => names.iter().map(named).collect::<Result<_, _>>()?,
    };
    let texts: Vec<String> = mechanisms.into_iter().map(text).collect();
    print(&texts.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

fn text(mechanism: Mechanism) -> String {
    let facts = mechanism.tradeoffs();
    let inside = if mechanism.has_guest_segment() { ", inside the primary region" } else { "" };
    let references = |levels| facts.references.count(levels, levels);
    let mut lines = format!("{}\n", mechanism.name());
    let mut line = |name: &str, value: String| lines += &format!("  {name:<26}{value}\n");
    line("dimensions of a walk", format!("{}{inside}", facts.dimensions));
    let [sv39, sv48, sv57] = [3, 4, 5].map(references);
    line("references at most", format!("{sv39} (Sv39), {sv48} (Sv48), {sv57} (Sv57){inside}"));
    line("changes of the guest", facts.guest_changes.to_owned());
    line("changes of the monitor", facts.monitor_changes.to_owned());
    line("applications", facts.applications.to_owned());
    for (name, service) in [
        ("page sharing", ServiceName::PageSharing),
        ("ballooning", ServiceName::Ballooning),
        ("swapping by the guest", ServiceName::GuestSwapping),
        ("swapping by the monitor", ServiceName::MonitorSwapping),
    ] {
        let cell = match facts.of(service) {
            Service::Yes => "yes".to_owned(),
            Service::Limited(reason) => format!("limited: {reason}"),
            Service::Absent(reason) => format!("no: {reason}"),
        };
        line(name, cell);
    }
    lines
}
