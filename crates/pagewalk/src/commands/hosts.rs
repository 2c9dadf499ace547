//! `pagewalk hosts`: the models of hosts.

use crate::cli::HostsArgs;
use crate::error::Failure;
use crate::output::{Format, Printer, print};
use crate::text::cell::Cell;
use crate::text::table::Table;
use config::host_model::{ArrayModel, HostModel};
use config::refill::RefillName;
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
/// [`Failure::Usage`]: a name that no model has, or a file that is none.
pub(super) fn run(arguments: &HostsArgs) -> Result<ExitCode, Failure> {
    let format = arguments.format.format;
    match &arguments.name {
        // Only a file that is a model is shown as one.
        Some(name) if format == Format::Table => print(&HostModel::printed(name)?)?,
        Some(_) => {
            let problem = "--format: a host model is printed as a file; the list of models is a table";
            return Err(Failure::Usage(problem.to_owned()));
        }
        None => {
            let mut printer = Printer::alone(format)?;
            printer.table(list()?)?;
            printer.say(
                "\npagewalk hosts NAME prints one with the sources of its numbers; a file like it is a host of yours: --set host=FILE\n",
            )?;
            printer.finish()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list() -> Result<Table, Failure> {
    let columns = [
        ("host", "host"),
        ("MHz", "clock_hz"),
        ("L1D", "l1d_tlb_entries"),
        ("L1I", "l1i_tlb_entries"),
        ("L2", "l2_tlb_entries"),
        ("walk caches", "walk_cache_entries"),
        ("nested TLB", "nested_tlb_entries"),
        ("refill", "refill"),
    ];
    let mut table = Table::new("hosts", columns);
    for name in HostModel::names() {
        let model = HostModel::load(name)?;
        let tlb = &model.tlb;
        let caches = tlb.walk_caches.guest.iter().chain(&tlb.walk_caches.host).sum::<u32>();
        table.row([
            Cell::text(name),
            Cell::new((model.clock_hz / 1_000_000).to_string(), model.clock_hz),
            entries(&tlb.l1d),
            entries(&tlb.l1i),
            entries(&tlb.l2),
            or_none(caches),
            or_none(tlb.nested_tlb),
            Cell::text(match model.refill.by {
                RefillName::Hardware => "hardware",
                RefillName::Software => "software",
            }),
        ]);
    }
    Ok(table)
}

/// Entries of each array, with the smallest size of page that it holds.
fn entries(arrays: &[ArrayModel]) -> Cell {
    let each: Vec<String> = arrays
        .iter()
        .map(|array| format!("{}×{}", u64::from(array.sets) * u64::from(array.ways), array.sizes[0].0))
        .collect();
    if each.is_empty() { Cell::missing() } else { Cell::text(each.join(" + ")) }
}

fn or_none(count: u32) -> Cell {
    if count == 0 { Cell::new("-", 0) } else { Cell::count(count.into()) }
}
