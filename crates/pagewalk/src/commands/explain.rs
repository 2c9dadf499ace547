//! `pagewalk explain`.

use crate::cli::ExplainArgs;
use crate::error::Failure;
use crate::output::Printer;
use crate::text::cell::Cell;
use crate::text::table::{Column, Shape, Table};
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
    let mut printer = Printer::alone(arguments.format.format)?;
    printer.table(table(&schemes))?;
    printer.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// The services of a hypervisor that a scheme may lack, with what a table calls them.
const SERVICES: [(&str, &str, ServiceName); 4] = [
    ("page sharing", "page_sharing", ServiceName::PageSharing),
    ("ballooning", "ballooning", ServiceName::Ballooning),
    ("swapping by the guest", "guest_swapping", ServiceName::GuestSwapping),
    ("swapping by the hypervisor", "hypervisor_swapping", ServiceName::HypervisorSwapping),
];

fn table(schemes: &[SchemeRef]) -> Table {
    let columns = [
        ("scheme", "scheme"),
        ("dimensions of a walk", "dimensions"),
        ("references at most", "references"),
        ("changes of the guest", "guest_changes"),
        ("changes of the hypervisor", "hypervisor_changes"),
        ("applications", "applications"),
    ];
    let services = SERVICES.map(|(heading, name, _)| Column::new(heading, name));
    let exact = ["references_sv39", "references_sv48", "references_sv57"].map(Column::exact);
    let columns = columns.map(Column::from).into_iter().chain(services).chain(exact);
    let mut table = Table::new("schemes", columns).shaped(Shape::Blocks);
    for scheme in schemes {
        let facts = scheme.facts();
        let inside = if facts.segments.has_guest() { ", inside the primary region" } else { "" };
        let references = [3, 4, 5].map(|levels| scheme.worst_case(levels, levels).references);
        let [sv39, sv48, sv57] = references;
        let cells = [
            Cell::text(facts.name),
            Cell::new(format!("{}{inside}", facts.dimensions), facts.dimensions),
            Cell::text(format!("{sv39} (Sv39), {sv48} (Sv48), {sv57} (Sv57){inside}")),
            Cell::text(facts.guest_changes),
            Cell::text(facts.hypervisor_changes),
            Cell::text(facts.applications),
        ];
        let services = SERVICES.map(|(_, _, service)| {
            Cell::text(match facts.services.of(service) {
                Service::Yes => "yes".to_owned(),
                Service::Limited(reason) => format!("limited: {reason}"),
                Service::Absent(reason) => format!("no: {reason}"),
            })
        });
        table.row(cells.into_iter().chain(services).chain(references.map(Cell::exact)));
    }
    table
}
