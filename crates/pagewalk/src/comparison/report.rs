//! The comparison as JSON. The keys are a contract: see docs/json-keys.md.

use super::Finished;
use super::counts;
use super::model;
use super::notes;
use super::work::{instructions, native_of, overhead, overhead_ideal};
use config::Config;
use config::host_model::HostModel;
use serde_json::{Value, json};

/// The report of a comparison of `guest`, with the lines of its caption.
pub(crate) fn report(guest: &str, config: &Config, host: &HostModel, caption: &[String], runs: &[Finished]) -> Value {
    let runs: Vec<Value> = runs.iter().map(|run| entry(guest, host, runs, run)).collect();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "host": host.as_used(config.footprint),
        "config": config,
        "caption": caption,
        "runs": runs,
    })
}

fn entry(guest: &str, host: &HostModel, runs: &[Finished], run: &Finished) -> Value {
    let good = run.failed.is_none();
    let native = native_of(runs, run).filter(|_| good);
    let statistics = &run.statistics;
    let (mmu, time) = (&statistics.mmu, statistics.time);
    let scheme = run.on.config.scheme;
    let mut segments = counts::segments(statistics);
    segments.insert("refused".to_owned(), run.refused.0.into());
    segments.insert("idle".to_owned(), notes::idle_segments(run).into());
    segments.insert("classified".to_owned(), counts::classes(&mmu.classified_misses));
    let mut entry = json!({
        "guest": guest,
        "workload": run.work,
        "scheme": scheme.to_string(),
        "settings": run.on.system.settings(),
        "host": (run.on.host != *host).then(|| run.on.host.as_used(run.on.config.footprint)),
        "guest_page": scheme.guest_page().to_string(),
        "host_page": scheme.host_page().map(|page| page.to_string()),
        "storage_bits": counts::storage_bits(&run.on.storage),
        "outcome": run.outcome.to_string(),
        "failed": run.failed,
        "notes": notes::of(runs, run),
        "instructions": statistics.instructions,
        "loads": statistics.loads,
        "stores": statistics.stores,
        "page_faults": counts::page_faults(statistics),
        "transactions": statistics.transactions,
        "instructions_over_native": native.map(|native| instructions(run, native)),
        "cycles": time.total().0,
        "overhead": native.map(|native| overhead(run, native)),
        "overhead_ideal": good.then(|| overhead_ideal(run)),
        "predicted_overhead_ideal": model::predicted(runs, run),
        "tlb": counts::tlb(statistics),
        "walks": counts::walks(statistics),
        "refills": counts::refills(statistics),
        "segment_hits": mmu.segment_hits,
        "escape_hits": mmu.escape_hits,
        "segments": segments,
        "exits": counts::exits(statistics),
        "paging": counts::paging(statistics),
        "caches": super::caches::value(statistics),
        "core": statistics.core,
        "shadow": super::shadow::value(run),
        "agile": super::agile::value(run),
        "sections": run.sections,
        "time": {
            "guest": time.guest.0,
            "translation": time.translation.0,
            "monitor": time.hypervisor.0,
        },
    });
    if !run.figures.is_empty() {
        entry["figures"] = json!(run.figures);
    }
    if let Some(footprint) = &statistics.footprint {
        entry["footprint"] = serde_json::json!(footprint);
    }
    if let Some(walk) = &run.walk {
        entry["recorded_walk"] = walk.clone();
    }
    entry
}
