//! The linear model of Gandhi et al. 2014 (slide 27): what each mode with segments costs, predicted from two runs without any, beside
//! what it costs when it is simulated.
//!
//! The paper counts TLB misses on a real machine, classifies them by the segments that would hold them (BadgerTrap), and gives each
//! class the cost of a miss that was measured: a native one where a segment has taken a dimension away, a virtualized one where none has,
//! and none where both have. So does this. What the mode takes beside walks is that of the run that it is predicted from: hits of the
//! second TLB level, but for those that both segments answer before it, and the hypervisor's time, but for faults on memory that it maps beforehand.

use super::Finished;
use super::work::overhead_ideal;
use crate::systems::Configured;
use crate::text::cell::Cell;
use crate::text::table::Table;
use machine::MissClass;
use schemes::{Facts, SchemeRef, Segments, builtin};

/// Translation of one run, as the model takes it.
struct Measured {
    /// Cycles of walks for a miss.
    per_miss: f64,
    /// Cycles of a hit of the second TLB level.
    per_hit: f64,
    /// Misses by class, and hits of the second level.
    misses: [f64; 4],
    hits: [f64; 4],
    /// Cycles of the guest's own instructions.
    guest: f64,
    /// Cycles of the hypervisor, or the firmware.
    hypervisor: f64,
}

impl Measured {
    fn of(run: &Finished) -> Self {
        let (mmu, time) = (&run.statistics.mmu, run.statistics.time);
        let floats = |counts: [u64; 4]| counts.map(|count| count as f64);
        let hit = run.on.host.prices.l2_tlb_hit.0 as f64;
        let walks = time.translation.0 as f64 - hit * mmu.l2_hits as f64;
        Self {
            per_miss: walks / mmu.l2_misses.max(1) as f64,
            per_hit: hit,
            misses: floats(mmu.classified_misses),
            hits: floats(mmu.classified_hits),
            guest: time.guest.0 as f64,
            hypervisor: time.hypervisor.0 as f64,
        }
    }
}

/// The model's overhead: cycles over those of the same run with free translation, minus one. It follows from a native run and, for a virtual
/// machine, from one with nested paging. `None` where these runs tell nothing of the scheme.
fn predict(scheme: &Facts, native: &Measured, base: Option<&Measured>) -> Option<f64> {
    use MissClass::{Both, Guest, Hypervisor, Neither};
    let class = |counts: &[f64; 4], class: MissClass| counts[class as usize];
    // In a class with a segment of the hypervisor that the mode does not have, and so on: what is left of each class, and those whose hits of the
    // second level no segment leaves.
    let (from, costs, free): (_, _, &[MissClass]) = match (scheme.is_native, scheme.segments) {
        (_, Segments::None) => return None,
        (true, _) => (native, [native.per_miss, 0.0, native.per_miss, 0.0], &[Guest, Both]),
        (false, Segments::Hypervisor) => {
            let base = base?;
            (base, [base.per_miss, base.per_miss, native.per_miss, native.per_miss], &[])
        }
        (false, Segments::Guest) => {
            let base = base?;
            (base, [base.per_miss, native.per_miss, base.per_miss, native.per_miss], &[])
        }
        (false, Segments::Both) => {
            let base = base?;
            (base, [base.per_miss, native.per_miss, native.per_miss, 0.0], &[Both])
        }
    };
    let walks: f64 =
        [Neither, Guest, Hypervisor, Both].into_iter().map(|of| class(&from.misses, of) * costs[of as usize]).sum();
    let freed: f64 = free.iter().map(|&of| class(&from.hits, of)).sum();
    let hits = (from.hits.iter().sum::<f64>() - freed) * from.per_hit;
    Some((walks + hits + from.hypervisor) / from.guest.max(1.0))
}

/// The model's overhead of a run, in the terms of [`overhead_ideal`], from the native run and the one with nested paging of the same workload on the same host.
/// `None` where the scheme has no segments, or where these runs are missing, have failed, or did not classify their misses.
pub(crate) fn predicted(runs: &[Finished], run: &Finished) -> Option<f64> {
    let find = |wanted: SchemeRef| {
        let same = |on: &Configured| {
            let scheme = on.config.scheme;
            scheme.name() == wanted.facts().name && scheme.guest_page() == run.on.config.scheme.guest_page()
        };
        let mut good = runs.iter().filter(|other| other.failed.is_none() && other.on.config.segment.classify);
        good.find(|other| other.work == run.work && same(&other.on) && other.on.host == run.on.host)
    };
    if run.failed.is_some() {
        return None;
    }
    let native = find(builtin::NATIVE).map(Measured::of)?;
    let base = find(builtin::NESTED).map(Measured::of);
    predict(run.on.config.scheme.facts(), &native, base.as_ref())
}

/// One line for each run under a scheme with segments. `None` if there is none, or nothing to predict it from.
pub(crate) fn model(runs: &[Finished]) -> Option<Table> {
    let mut table = Table::new(
        "linear_model",
        [
            ("workload", "workload"),
            ("scheme", "scheme"),
            ("predicted", "predicted_over_ideal_ratio"),
            ("simulated", "simulated_over_ideal_ratio"),
            ("prediction over truth", "prediction_error_ratio"),
        ],
    );
    let mut any = false;
    for run in runs {
        let Some(predicted) = predicted(runs, run) else { continue };
        any = true;
        let simulated = overhead_ideal(run);
        table.row([
            Cell::text(&run.work),
            Cell::text(run.on.system.to_string()),
            Cell::percent(predicted, 2),
            Cell::percent(simulated, 2),
            Cell::new(deviation(predicted, simulated), error_ratio(predicted, simulated)),
        ]);
    }
    any.then_some(table)
}

/// A prediction over what was simulated: in relation to it, or, of what is too small for that to say anything, in points of cycles.
fn deviation(predicted: f64, simulated: f64) -> String {
    match error_ratio(predicted, simulated) {
        None => format!("{:+.3} points", 100.0 * (predicted - simulated)),
        Some(ratio) => format!("{:+.1} %", 100.0 * ratio),
    }
}

/// The error of a prediction in relation to what was simulated; `None` where that is too small.
fn error_ratio(predicted: f64, simulated: f64) -> Option<f64> {
    const LEAST: f64 = 0.002;
    (simulated >= LEAST).then(|| predicted / simulated - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use schemes::registry;

    #[test]
    fn deviations_are_relative_where_there_is_something_to_relate_to() {
        assert_eq!(deviation(0.11, 0.10), "+10.0 %");
        assert_eq!(deviation(0.0005, 0.0), "+0.050 points");
    }

    fn measured(per_miss: f64, misses: [f64; 4]) -> Measured {
        Measured { per_miss, per_hit: 7.0, misses, hits: [0.0, 0.0, 0.0, 10.0], guest: 1000.0, hypervisor: 0.0 }
    }

    #[test]
    fn each_class_costs_what_the_mode_leaves_of_it() {
        let native = measured(20.0, [1.0, 9.0, 0.0, 0.0]);
        let base = measured(60.0, [0.0, 0.0, 2.0, 8.0]);
        let facts = |name| registry::find(name).unwrap().facts();
        let of = |name| predict(facts(name), &native, Some(&base)).unwrap() * 1000.0;
        assert_eq!(of("vmm-direct"), 10.0 * 20.0 + 70.0);
        assert_eq!(of("guest-direct"), 2.0 * 60.0 + 8.0 * 20.0 + 70.0);
        assert_eq!(of("dual-direct"), 2.0 * 20.0);
        assert_eq!(of("native-segment"), 20.0);
        assert_eq!(predict(facts("nested"), &native, Some(&base)), None);
        assert_eq!(predict(facts("vmm-direct"), &native, None), None);
    }
}
