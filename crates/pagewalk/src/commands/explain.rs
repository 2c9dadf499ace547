//! `pagewalk explain`.

use crate::cli::ExplainArgs;
use crate::error::Failure;
use crate::output::print;
use schemes::{SchemeError, SchemeRef, Service, ServiceName, registry};
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
/// [`Failure::Usage`]: no such scheme.
pub(super) fn run(arguments: &ExplainArgs) -> Result<ExitCode, Failure> {
    let named = |name: &String| {
        let name = name.split(':').next().unwrap_or_default();
        let unknown = || Failure::Usage(SchemeError::Name { name: name.to_owned() }.to_string());
        registry::find(name).ok_or_else(unknown)
    };
    let schemes: Vec<SchemeRef> = match arguments.schemes.as_slice() {
        [] => registry::all().into(),
        names => names.iter().map(named).collect::<Result<_, _>>()?,
    };
    let texts: Vec<String> = schemes.into_iter().map(text).collect();
    print(&texts.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

fn text(scheme: SchemeRef) -> String {
    let facts = scheme.facts();
    let inside = if facts.segments.has_guest() { ", inside the primary region" } else { "" };
    let references = |levels| scheme.worst_case(levels, levels).references;
    let mut lines = format!("{}\n", facts.name);
    let mut line = |name: &str, value: String| lines += &format!("  {name:<28}{value}\n");
    line("dimensions of a walk", format!("{}{inside}", facts.dimensions));
    let [sv39, sv48, sv57] = [3, 4, 5].map(references);
    line("references at most", format!("{sv39} (Sv39), {sv48} (Sv48), {sv57} (Sv57){inside}"));
    line("changes of the guest", facts.guest_changes.to_owned());
    line("changes of the hypervisor", facts.hypervisor_changes.to_owned());
    line("applications", facts.applications.to_owned());
    for (name, service) in [
        ("page sharing", ServiceName::PageSharing),
        ("ballooning", ServiceName::Ballooning),
        ("swapping by the guest", ServiceName::GuestSwapping),
        ("swapping by the hypervisor", ServiceName::HypervisorSwapping),
    ] {
        let cell = match facts.services.of(service) {
            Service::Yes => "yes".to_owned(),
            Service::Limited(reason) => format!("limited: {reason}"),
            Service::Absent(reason) => format!("no: {reason}"),
        };
        line(name, cell);
    }
    lines
}
