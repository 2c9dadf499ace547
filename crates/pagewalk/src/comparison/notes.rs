//! What a reader of a comparison has to know beside its figures: in a caption what all runs have in common, and in notes what is odd about one.

use super::Finished;
use super::table::{brief, millions};
use super::work::{SAME, by_transaction, differs, instructions, reference};
use crate::runs::start::Start;
use crate::systems::Configured;
use std::sync::Arc;
use types::PageSize;

/// Lines that go above the tables: the guests' huge pages, and the memory that all have for direct segments.
pub(crate) fn caption(works: &[(String, Start)], systems: &[Arc<Configured>]) -> Vec<String> {
    let huge = works.first().and_then(|(_, start)| huge_pages(start, systems));
    let region = systems.iter().find_map(|on| on.like_region());
    let region = region.map(|bytes| {
        format!(
            "all systems with guest pages of 4K have a primary region ({bytes}, segment.region), so that programs do the same under all: large \
             allocations lie there, translated by a segment where the scheme has one, and else by pages"
        )
    });
    huge.into_iter().chain(region).collect()
}

/// Linux's policy for transparent huge pages, by the guest's page size where it is not the same for all.
fn huge_pages(start: &Start, systems: &[Arc<Configured>]) -> Option<String> {
    let mut policies: Vec<(PageSize, String)> = Vec::new();
    for on in systems {
        let policy = (on.config.scheme.guest_page(), start.huge_pages(&on.config)?);
        if !policies.contains(&policy) {
            policies.push(policy);
        }
    }
    let (_, first) = policies.first()?;
    let told = if policies.iter().all(|(_, policy)| policy == first) {
        first.clone()
    } else {
        let each = policies.iter().map(|(page, policy)| format!("{policy} with guest pages of {page}"));
        each.collect::<Vec<_>>().join(", ")
    };
    Some(format!("Linux's transparent huge pages (guest.thp): {told}"))
}

/// A line for each note of any run, which names the run.
pub(crate) fn notes(runs: &[Finished]) -> Vec<String> {
    let named = |run: &Finished, note: &str| format!("{} under {}: {note}", brief(&run.work), run.on.system);
    let failed = runs.iter().filter_map(|run| Some(named(run, &format!("failed: {}", run.failed.as_ref()?))));
    let others = runs.iter().flat_map(|run| of(runs, run).into_iter().map(move |note| named(run, &note)));
    failed.chain(others).collect()
}

/// What is odd about one run among others. Nothing of one that failed.
pub(super) fn of(runs: &[Finished], run: &Finished) -> Vec<String> {
    if run.failed.is_some() {
        return Vec::new();
    }
    let idle = idle_segments(run);
    let idle = (!idle.is_empty()).then(|| {
        let why = match run.refused.0 {
            0 => String::new(),
            count => format!(" ({count} were refused)"),
        };
        format!(
            "no access hit the direct segment of the {}{why}; the figures are those of its page tables",
            idle.join(" and the ")
        )
    });
    idle.into_iter().chain(unequal(runs, run)).chain(short(run)).chain(faulting(run)).collect()
}

/// That what was measured is too short for the misses to be told from those of a warm-up: it did not fill the largest TLB once, and yet translation
/// took time.
fn short(run: &Finished) -> Option<String> {
    let entries = run.on.config.mmu.largest(&run.on.host);
    let (mmu, time) = (&run.statistics.mmu, &run.statistics.time);
    let fills = mmu.l2_misses;
    // Hits of the second level are no sign of a warm-up.
    let walks = time.translation.0.saturating_sub(run.on.host.prices.l2_tlb_hit.0 * mmu.l2_hits);
    let matters = walks as f64 >= MATTERS * time.guest.0 as f64;
    (fills < entries && matters).then(|| {
        format!(
            "{fills} entries were filled into TLBs of up to {entries}: what was measured is shorter than their warm-up, and a longer region of \
             interest may have other figures"
        )
    })
}

/// The part of the guest's time from which on that of translation matters.
const MATTERS: f64 = 0.02;

/// That most of what was executed is the kernel's work on page faults.
fn faulting(run: &Finished) -> Option<String> {
    let statistics = &run.statistics;
    let part = statistics.page_fault_instructions as f64 / statistics.instructions.max(1) as f64;
    (part >= FAULTING).then(|| {
        format!(
            "{:.0} % of the instructions are the kernel's work on {} page faults: the figures are those of the kernel, and say little of the \
             program's own accesses",
            100.0 * part,
            statistics.page_faults,
        )
    })
}

/// The part of the instructions from which on page faults are nearly all that was executed.
const FAULTING: f64 = 0.75;

/// The dimensions whose direct segment the scheme has and no access hit.
pub(super) fn idle_segments(run: &Finished) -> Vec<&'static str> {
    let (segments, mmu) = (run.on.config.scheme.facts().segments, &run.statistics.mmu);
    let guest = segments.has_guest() && mmu.segment_hits + mmu.guest_segment_hits == 0;
    // A native machine's segment counts what it hits as both.
    let hypervisor =
        segments.has_hypervisor() && mmu.segment_hits + mmu.hypervisor_segment_hits + mmu.hypervisor_segment_pages == 0;
    let idle = [(guest, "guest"), (hypervisor, "hypervisor")];
    idle.into_iter().filter_map(|(idle, name)| (idle && run.failed.is_none()).then_some(name)).collect()
}

/// That a run executed more or fewer instructions than others for the same work.
fn unequal(runs: &[Finished], run: &Finished) -> Option<String> {
    let other = reference(runs, run).filter(|_| differs(runs, run))?;
    let (own, others) = (&run.statistics, &other.statistics);
    let each = if by_transaction(own, others) { " for each transaction" } else { "" };
    Some(format!(
        "{} M instructions, {:+.1} %{each} over the {} M of {}; beyond {:.0} % the work may not be the same, and a difference of cycles \
         is not translation's alone",
        millions(own.instructions),
        100.0 * instructions(run, other),
        millions(others.instructions),
        other.on.system,
        100.0 * SAME,
    ))
}
