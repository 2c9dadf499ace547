//! Reuse distances and heatmaps as JSON. The keys are a contract: see docs/json-keys.md.

use super::identity::RunIdentity;
use crate::cli::HeatmapCounts;
use machine::{DistanceHistogram, HartReuse, Heatmap, Reuse, Space};
use serde_json::{Value, json};
use types::PagingMode;

/// The document of a command's runs.
pub(super) fn document(format: &str, runs: &[Value]) -> Value {
    json!({ "version": env!("CARGO_PKG_VERSION"), "format": format, "runs": runs })
}

/// The reuse distances of a run.
pub(super) fn reuse(about: &RunIdentity, reuse: &Reuse) -> Value {
    let mut all = HartReuse::default();
    for hart in &reuse.harts {
        all.distances.absorb(&hart.distances);
        all.forgotten += hart.forgotten;
    }
    let mut run = heading(about);
    run["page_bytes"] = PAGE_BYTES.into();
    run["all"] = distances(&all);
    run["harts"] = reuse.harts.iter().map(distances).collect();
    run
}

fn distances(hart: &HartReuse) -> Value {
    let HartReuse { distances, forgotten } = hart;
    let buckets: Vec<[u64; 3]> = distances.buckets().map(|bucket| [bucket.from, bucket.to, bucket.count]).collect();
    json!({
        "accesses": distances.total(),
        "first_uses": distances.cold(),
        "forgotten": forgotten,
        "distances": buckets,
        "lru_misses": lru_misses(distances),
    })
}

/// Misses by the number of entries, up to that from which on only first uses miss.
fn lru_misses(distances: &DistanceHistogram) -> Vec<[u64; 2]> {
    let mut misses = Vec::new();
    for entries in (0..u64::BITS).map(|power| 1 << power) {
        let of = distances.lru_misses(entries);
        misses.push([entries, of]);
        if of == distances.cold() {
            break;
        }
    }
    misses
}

/// The heatmap of a run.
pub(super) fn heatmap(about: &RunIdentity, counts: HeatmapCounts, map: &Heatmap) -> Value {
    let mut rows: Vec<Value> = Vec::new();
    for row in map.cells.chunk_by(|one, other| one.first == other.first) {
        let first = row[0].first;
        let counts: Vec<[u64; 2]> = row.iter().map(|cell| [cell.column, cell.count]).collect();
        rows.push(json!({
            "space": first.space.map(space),
            "address": format!("{:#x}", first.page.0),
            "counts": counts,
        }));
    }
    let mut run = heading(about);
    run["counts"] = match counts {
        HeatmapCounts::Misses => "misses",
        HeatmapCounts::References => "references",
    }
    .into();
    run["total"] = map.cells.iter().map(|cell| cell.count).sum::<u64>().into();
    run["clock_hz"] = about.clock_hz.into();
    run["column_cycles"] = map.column_cycles.into();
    run["row_bytes"] = (map.row_pages * PAGE_BYTES).into();
    run["rows"] = rows.into();
    run
}

/// Bytes of a page, the unit of accesses here.
const PAGE_BYTES: u64 = 4096;

fn heading(about: &RunIdentity) -> Value {
    json!({
        "run": about.run,
        "guest": about.guest,
        "workload": about.work,
        "scheme": about.system,
        "settings": about.settings,
    })
}

fn space(space: Space) -> Value {
    let mode = match space.mode {
        PagingMode::Bare => "bare",
        PagingMode::Sv39 => "sv39",
        PagingMode::Sv48 => "sv48",
        PagingMode::Sv57 => "sv57",
    };
    json!({ "mode": mode, "root": format!("{:#x}", space.root.0), "asid": space.asid.0 })
}
