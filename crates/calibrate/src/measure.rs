//! One measurement after the other.

use crate::caches::last_level::{self, LastLevel};
use crate::caches::reuse::{self, Reuse};
use crate::caches::{self, Contiguity, Through, Translation};
use crate::findings::{Caches, Curve, CurveKind, Finding, Findings, HugeEntries, Overlap};
use crate::host::Host;
use crate::next_line::{self, NextLine};
use crate::overlap::Misses;
use crate::pages::{HUGE, Pages, memory};
use crate::pinned::Pinned;
use crate::raw::Mapping;
use crate::timing::Effort;
use crate::tlb::{Bench, Measured};
use crate::visits::Lines;
use crate::{overlap, pipeline, streams};

/// Memory that a program may take on a machine that others use as well.
const SHARE: u64 = 3;

/// The clock where it could not be measured: only what is a step of translation depends on it.
const ASSUMED_CLOCK: f64 = 2e9;

/// Measures this machine. `say` is told what comes next. The calling thread stays on the processor that it is on.
///
/// # Errors
/// Why there is no memory to measure with.
pub fn measure(effort: Effort, mut say: impl FnMut(&str)) -> Result<Findings, String> {
    let host = Host::find();
    let line = host.line() as usize;
    let no_huge_pages = memory(HUGE, Pages::Huge).err();
    // The thread finds its caches as it left them. A system that refuses makes repeats differ more.
    let _pinned = Pinned::here();
    say("the clock");
    let mut pipeline = pipeline::measure(effort);
    let cycle = 1e9 / pipeline.clock_hz.as_ref().map_or(ASSUMED_CLOCK, |clock| clock.median);
    say("TLBs");
    let most = effort.most_huge_pages.min(host.available / SHARE / HUGE as u64);
    let tlbs = tlbs(Bench::new(effort, line, cycle)?, no_huge_pages.as_deref(), most);
    say("memory to measure with");
    let bytes = effort.largest(&host).min(host.available / SHARE) as usize;
    let mut buffer = memory(bytes, Pages::Huge).or_else(|_| memory(bytes, Pages::Base))?;
    say("caches");
    let (found, mut curves) = caches::measure(effort, &mut buffer, tlbs.through(), line, &host.sizes());
    pipeline.width = pipeline::greater(pipeline.width, pipeline::width(effort));
    say("misses at the same time");
    let all = Lines { size: buffer.bytes() as u64, line };
    let overlap = overlaps(effort, &mut buffer, &found, all, &mut curves);
    let last_level = last_level_of(effort, &mut buffer, &found, line);
    let curve =
        |found: &LastLevel| Curve { kind: CurveKind::LastLevelSize, points: found.points.clone(), levels: Vec::new() };
    curves.extend(last_level.as_ref().ok().map(curve));
    let reuse = reuse_in(&mut buffer, &found, &host);
    let prefetch = found.memory.clone().map(|_| overlap::prefetch(effort, &mut buffer, all));
    let next_line = found.memory.clone().map(|_| next_line::measure(effort, &mut buffer, all));
    let curve = |found: &NextLine| Curve { kind: CurveKind::NextLine, points: found.next.clone(), levels: Vec::new() };
    curves.extend(next_line.as_ref().ok().map(curve));
    let streams = found.memory.clone().map(|_| streams::measure(effort, &mut buffer, all));
    let branches = found.memory.clone().and_then(|_| overlap::branches::measure(effort, &mut buffer, all));
    pipeline.width = pipeline::greater(pipeline.width, pipeline::width(effort));
    curves.extend(tlbs.base.curves);
    curves.extend(tlbs.huge.curves);
    let findings = Findings {
        host,
        no_huge_pages,
        pipeline,
        caches: found,
        base_tlb: tlbs.base.tlb,
        huge_tlb: tlbs.huge.tlb,
        huge_entries: tlbs.huge_entries,
        walks: tlbs.base.walks,
        huge_walks: tlbs.huge.walks,
        overlap,
        last_level,
        reuse,
        prefetch,
        next_line,
        streams,
        branches,
        curves,
    };
    Ok(findings.without_noise())
}

/// What is measured of TLBs.
struct Tlbs {
    base: Measured,
    huge: Measured,
    huge_entries: Finding<HugeEntries>,
}

impl Tlbs {
    /// How the largest memory is seen: it is of huge pages if there are any.
    fn through(&self) -> Through {
        if self.huge_entries == Ok(HugeEntries::Whole) {
            return Through { contiguity: Contiguity::HugePage, translation: Translation::default() };
        }
        let tlb = &self.base.tlb;
        let walks = if self.huge_entries.is_ok() { &self.huge.walks } else { &self.base.walks };
        let translation = match (&tlb.first, &tlb.second, &tlb.second_hit) {
            (Ok(first), Ok(second), Ok(hit)) => Translation {
                first: first.entries.middle(),
                second_hit: hit.median,
                second: second.entries.middle(),
                walk: walks.as_ref().map_or(0.0, |walks| walks.dependent.median),
            },
            (_, _, _) => Translation::default(),
        };
        Through { contiguity: Contiguity::BasePage, translation }
    }
}

/// Those for base pages, and for up to `most` huge ones.
fn tlbs(mut bench: Bench, no_huge_pages: Option<&str>, most: u64) -> Tlbs {
    let base = bench.base();
    if let Some(reason) = no_huge_pages {
        return Tlbs { base, huge: Measured::nothing(reason), huge_entries: Err(reason.to_owned()) };
    }
    match bench.parts_of_huge(&base.tlb) {
        Ok((HugeEntries::Splintered, parts)) => {
            const REASON: &str = "no entry of a TLB holds a huge page: the hypervisor has 4K pages";
            let huge = Measured { tlb: Measured::nothing(REASON).tlb, ..parts };
            Tlbs { base, huge, huge_entries: Ok(HugeEntries::Splintered) }
        }
        Ok((HugeEntries::Whole, _)) => Tlbs { base, huge: bench.huge(most), huge_entries: Ok(HugeEntries::Whole) },
        Err(reason) => Tlbs { base, huge: bench.huge(most), huge_entries: Err(reason) },
    }
}

/// How much of the last of several caches many misses at a time find.
fn last_level_of(effort: Effort, buffer: &mut Mapping, caches: &Caches, line: usize) -> Finding<LastLevel> {
    match caches.levels.as_deref() {
        Ok([_, .., above, _]) => last_level::measure(effort, buffer, above.size.below, line),
        Ok(_) => Err("there are no three levels of caches".to_owned()),
        Err(reason) => Err(reason.clone()),
    }
}

/// Whether the last of several caches keeps lines that are used again. Its size is the system's word: it holds no more, whatever others use.
fn reuse_in(buffer: &mut Mapping, caches: &Caches, host: &Host) -> Finding<Reuse> {
    match (caches.levels.as_deref(), host.sizes().last()) {
        (Ok([_, .., above, _]), Some(&last)) => reuse::measure(buffer, above.size.below, last, host.line() as usize),
        (Ok([_, .., _, _]), None) => Err("the system names no caches".to_owned()),
        (Ok(_), _) => Err("there are no three levels of caches".to_owned()),
        (Err(reason), _) => Err(reason.clone()),
    }
}

/// Misses at the same time, in memory and in the last of several caches.
fn overlaps(effort: Effort, buffer: &mut Mapping, caches: &Caches, all: Lines, curves: &mut Vec<Curve>) -> Overlap {
    let mut outstanding = |misses| {
        let (found, curve) = overlap::outstanding(effort, buffer, misses);
        curves.push(curve);
        Ok(found)
    };
    let memory = match &caches.memory {
        Ok(latency) => outstanding(Misses { lines: all, latency: *latency, kind: CurveKind::Memory }),
        Err(reason) => Err(reason.clone()),
    };
    let last_level = match caches.levels.as_deref() {
        // Of a size at which nothing is left in the level above, and all in this one.
        Ok([.., above, last]) if last.size.least >= 4 * above.size.below => {
            let lines = Lines { size: 2 * above.size.below, ..all };
            outstanding(Misses { lines, latency: last.latency, kind: CurveKind::LastLevel })
        }
        Ok(_) => Err("no last level is much larger than the one above it".to_owned()),
        Err(reason) => Err(reason.clone()),
    };
    Overlap { memory, last_level }
}
