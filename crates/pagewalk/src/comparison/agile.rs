//! Agile paging in the comparison: how far walks were nested, and what the policy did, as JSON and as a table.

use super::Finished;
use crate::text::cell::Cell;
use crate::text::table::Table;
use serde_json::{Value, json};

fn is_agile(run: &Finished) -> bool {
    run.on.config.shadow().is_some_and(|shadow| shadow.config.agile.is_some())
}

/// The key `agile` of a run; null under other schemes.
pub(super) fn value(run: &Finished) -> Value {
    let Some(shadow) = run.statistics.shadow.as_ref().filter(|_| is_agile(run)) else { return Value::Null };
    let (agile, walks) = (&shadow.agile, &run.statistics.mmu.agile_walks);
    json!({
        "walks": {
            "shadow": walks[0],
            "switched": &walks[1..6],
            "nested": walks[6],
        },
        "switches": agile.switches,
        "to_nested": agile.to_nested,
        "to_shadow": agile.to_shadow,
        "spaces_to_shadow": agile.spaces_to_shadow,
        "intervals": agile.intervals,
        "dirty": agile.dirty,
        "table_writes": shadow.table_writes,
        "nested_table_writes": agile.nested_table_writes,
        "table_writes_avoided": agile.avoided,
        "root_cache_hits": agile.root_cache_hits,
        "status_updates": agile.status_updates,
    })
}

/// One line for each run under agile paging: its walks by how many tables of the guest they read nested, and what changed its mode. `None` if
/// there is none.
pub(crate) fn modes(runs: &[Finished]) -> Option<Table> {
    let columns = [
        ("workload", "workload"),
        ("scheme", "scheme"),
        ("shadow", "shadow_walks_ratio"),
        ("1", "switched_1_walks_ratio"),
        ("2", "switched_2_walks_ratio"),
        ("3", "switched_3_walks_ratio"),
        ("4", "switched_4_walks_ratio"),
        ("5", "switched_5_walks_ratio"),
        ("nested", "nested_walks_ratio"),
        ("to nested", "tables_to_nested"),
        ("to shadow", "tables_to_shadow"),
        ("traps", "table_writes"),
        ("avoided", "table_writes_avoided"),
    ];
    let mut table = Table::new("agile", columns);
    let mut any = false;
    for run in runs.iter().filter(|run| is_agile(run)) {
        let Some(shadow) = &run.statistics.shadow else { continue };
        any = true;
        let walks = run.statistics.mmu.agile_walks;
        let all = walks.iter().sum::<u64>().max(1) as f64;
        let shares = walks.map(|walks| Cell::percent(walks as f64 / all, 1));
        let agile = &shadow.agile;
        let counts = [agile.to_nested, agile.to_shadow, shadow.table_writes, agile.avoided];
        let names = [Cell::text(&run.work), Cell::text(run.on.system.to_string())];
        table.row(names.into_iter().chain(shares).chain(counts.map(Cell::count)));
    }
    any.then_some(table)
}
