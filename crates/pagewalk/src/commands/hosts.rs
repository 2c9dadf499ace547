//! `pagewalk hosts`: the models of hosts.

use crate::cli::HostsArgs;
use crate::error::Failure;
use crate::output::print;
use crate::text::table::Table;
use config::host_model::{ArrayModel, HostModel};
use config::refill::RefillName;
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
/// [`Failure::Usage`]: a name that no model has, or a file that is none.
pub(super) fn run(arguments: &HostsArgs) -> Result<ExitCode, Failure> {
    let text = match &arguments.name {
        // Only a file that is a model is shown as one.
        Some(name) => HostModel::printed(name)?,
        None => format!(
            "{}\npagewalk hosts NAME prints one with the sources of its numbers; a file like it is a host of yours: --set host=FILE\n",
            list()?
        ),
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn list() -> Result<Table, Failure> {
    let mut table = Table::new(["host", "MHz", "L1D", "L1I", "L2", "walk caches", "nested TLB", "refill"]);
    for name in HostModel::names() {
        let model = HostModel::load(name)?;
        let tlb = &model.tlb;
        let caches = tlb.walk_caches.guest.iter().chain(&tlb.walk_caches.host).sum::<u32>();
        table.row([
            name.to_owned(),
            (model.clock_hz / 1_000_000).to_string(),
            entries(&tlb.l1d),
            entries(&tlb.l1i),
            entries(&tlb.l2),
            or_none(caches),
            or_none(tlb.nested_tlb),
            match model.refill.by {
                RefillName::Hardware => "hardware".to_owned(),
                RefillName::Software => "software".to_owned(),
            },
        ]);
    }
    Ok(table)
}

/// Entries of each array, with the smallest size of page that it holds.
fn entries(arrays: &[ArrayModel]) -> String {
    let each: Vec<String> = arrays
        .iter()
        .map(|array| format!("{}×{}", u64::from(array.sets) * u64::from(array.ways), array.sizes[0].0))
        .collect();
    if each.is_empty() { "-".to_owned() } else { each.join(" + ") }
}

fn or_none(count: u32) -> String {
    if count == 0 { "-".to_owned() } else { count.to_string() }
}
