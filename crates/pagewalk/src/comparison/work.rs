//! What runs are compared by. Two runs of a workload do the same work if they count the same transactions, or, where there are none, if the
//! whole of each is the unit of work. Instructions per unit tell whether that holds.

use super::Finished;
use machine::Statistics;

/// Instructions per unit of work that differ by more than this part are shown: no scheme alone makes that much difference to a program that
/// does the same.
pub(crate) const SAME: f64 = 0.02;

/// The least transactions of a run that is compared by them. Of fewer, one that ends just inside or outside of the region of interest would make
/// more difference than [`SAME`].
pub(crate) const LEAST_TRANSACTIONS: u64 = 50;

/// Whether two runs are compared by their transactions.
pub(super) fn by_transaction(one: &Statistics, other: &Statistics) -> bool {
    one.transactions.min(other.transactions) >= LEAST_TRANSACTIONS
}

/// Units of work that a run did, for a comparison with `other`.
fn units(statistics: &Statistics, other: &Statistics) -> f64 {
    if by_transaction(statistics, other) { statistics.transactions as f64 } else { 1.0 }
}

/// `of` one run over that of another, for a unit of work, minus one.
fn over(run: &Finished, other: &Finished, of: impl Fn(&Statistics) -> u64) -> f64 {
    let (own, others) = (&run.statistics, &other.statistics);
    let each = |statistics: &Statistics, units: f64| of(statistics).max(1) as f64 / units;
    each(own, units(own, others)) / each(others, units(others, own)) - 1.0
}

/// Cycles for a unit of work over those of `native`, minus one.
pub(super) fn overhead(run: &Finished, native: &Finished) -> f64 {
    over(run, native, |statistics| statistics.time.total().0)
}

/// Instructions for a unit of work over those of `other`, minus one.
pub(super) fn instructions(run: &Finished, other: &Finished) -> f64 {
    over(run, other, |statistics| statistics.instructions)
}

/// Cycles over those of the same run if translation were free, minus one. It is the run's own work that both did.
pub(super) fn overhead_ideal(run: &Finished) -> f64 {
    let time = run.statistics.time;
    time.total().0 as f64 / time.guest.0.max(1) as f64 - 1.0
}

/// The run of the same work that `run`'s instructions are set against: on its native machine, or else the first of all. Failed runs do less than
/// the work, and none of them is it.
pub(super) fn reference<'r>(runs: &'r [Finished], run: &Finished) -> Option<&'r Finished> {
    let same = |other: &&Finished| other.work == run.work && other.failed.is_none();
    native_of(runs, run).or_else(|| runs.iter().find(same))
}

/// Whether `run` and its [`reference()`] executed different amounts of instructions for the same work.
pub(super) fn differs(runs: &[Finished], run: &Finished) -> bool {
    let other = reference(runs, run).filter(|_| run.failed.is_none());
    other.is_some_and(|other| instructions(run, other).abs() > SAME)
}

/// The run of the same work on the native machine that `run`'s system is compared with. One that failed is none.
pub(super) fn native_of<'r>(runs: &'r [Finished], run: &Finished) -> Option<&'r Finished> {
    let good = |other: &&Finished| other.failed.is_none();
    runs.iter().filter(good).find(|other| other.work == run.work && other.on.is_native_of(&run.on))
}

#[cfg(test)]
#[path = "work_tests.rs"]
mod tests;
