//! Shadow tables in the comparison: what their maintenance took, as JSON and as a table.

use super::Finished;
use crate::text::cell::Cell;
use crate::text::table::Table;
use machine::Statistics;
use serde_json::{Value, json};

/// The key `shadow` of a run; null where the guest has no shadow tables.
pub(super) fn value(run: &Finished) -> Value {
    let mut value = counts(&run.statistics);
    if value.is_null() {
        return value;
    }
    value["not_in_tlb_ratio"] = not_in_tlb_ratio(run).into();
    value["not_in_buffer_ratio"] = super::caches::not_in_buffer_ratio(&run.statistics).into();
    value["mean_instruction_cycles"] = mean_instruction_cycles(run).into();
    value["time"]["rest"] = rest(run).into();
    value
}

/// Of the same, what was counted, without what follows from it.
pub(crate) fn counts(statistics: &Statistics) -> Value {
    let Some(shadow) = &statistics.shadow else { return Value::Null };
    json!({
        "switches": {
            "found": shadow.switches_found,
            "created": shadow.switches_created,
            "stolen": shadow.switches_stolen,
        },
        "invalidations": {
            "selective": shadow.selective,
            "full": shadow.full,
            "double": shadow.double,
        },
        "assisted": {
            "validations": shadow.assisted_validations,
            "switches": shadow.assisted_switches,
            "invalidations": shadow.assisted_invalidations,
        },
        "validations": shadow.validations,
        "promotions": shadow.promotions,
        "links": shadow.links,
        "reflected": shadow.reflected,
        "entries_touched": shadow.entries_touched,
        "steps": shadow.steps,
        "table_writes": shadow.table_writes,
        "unprotects": shadow.unprotects,
        "work": {
            "validation": shadow.work.validation,
            "pptlb": shadow.work.pptlb,
            "load_control": shadow.work.load_control,
            "purge_tlb": shadow.work.purge_tlb,
        },
        "time": {
            "validation": shadow.time.validation.0,
            "pptlb": shadow.time.pptlb.0,
            "load_control": shadow.time.load_control.0,
            "purge_tlb": shadow.time.purge_tlb.0,
        },
    })
}

/// One line for each run with shadow tables, with what their maintenance took. `None` if there is none.
pub(crate) fn maintenance(runs: &[Finished]) -> Option<Table> {
    let columns = [
        ("workload", "workload"),
        ("shadow tables", "scheme"),
        ("switches", "switches"),
        ("stolen", "stolen"),
        ("selective", "selective_invalidations"),
        ("full", "full_invalidations"),
        ("double", "double_invalidations"),
        ("validations", "validations"),
        ("entries", "entries_touched"),
        ("NITLBR", "not_in_tlb_ratio"),
        ("MIET", "mean_instruction_cycles"),
        ("validation", "validation_time_ratio"),
        ("PPTLB", "pptlb_time_ratio"),
        ("LCTL", "load_control_time_ratio"),
        ("purge TLB", "purge_tlb_time_ratio"),
        ("rest", "rest_time_ratio"),
    ];
    let mut table = Table::new("shadow_tables", columns);
    let mut any = false;
    for run in runs {
        let Some(shadow) = &run.statistics.shadow else { continue };
        any = true;
        // Time as the paper's figure 7 has it: in relation to that of the guest.
        let guest = run.statistics.time.guest.0.max(1) as f64;
        let share = |cycles: u64| Cell::percent(cycles as f64 / guest, 2);
        table.row([
            Cell::text(&run.work),
            Cell::text(run.on.system.to_string()),
            Cell::count(shadow.switches_found + shadow.switches_created + shadow.switches_stolen),
            Cell::count(shadow.switches_stolen),
            Cell::count(shadow.selective),
            Cell::count(shadow.full),
            Cell::count(shadow.double),
            Cell::count(shadow.validations),
            Cell::count(shadow.entries_touched),
            Cell::fixed(not_in_tlb_ratio(run), 5),
            Cell::fixed(mean_instruction_cycles(run), 3),
            share(shadow.time.validation.0),
            share(shadow.time.pptlb.0),
            share(shadow.time.load_control.0),
            share(shadow.time.purge_tlb.0),
            share(rest(run)),
        ]);
    }
    any.then_some(table)
}

/// NITLBR: references that no TLB answers, of all references, fetches among them.
fn not_in_tlb_ratio(run: &Finished) -> f64 {
    let statistics = &run.statistics;
    let references = statistics.loads + statistics.stores + statistics.instructions;
    statistics.mmu.l2_misses as f64 / references.max(1) as f64
}

/// MIET: cycles for an instruction, the hypervisor's time left out, as it was for the paper's hardware hypervisor when the guest ran.
fn mean_instruction_cycles(run: &Finished) -> f64 {
    let statistics = &run.statistics;
    (statistics.time.guest + statistics.time.translation).0 as f64 / statistics.instructions.max(1) as f64
}

/// The hypervisor's time for anything but the maintenance of tables.
fn rest(run: &Finished) -> u64 {
    let maintenance = run.statistics.shadow.map_or(0, |shadow| shadow.time.total().0);
    run.statistics.time.hypervisor.0.saturating_sub(maintenance)
}
