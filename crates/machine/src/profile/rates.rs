//! The time that the counters of a profile amount to.

use super::counters::{Counter, Counters};
use types::Cycles;

/// How the time of translation follows from counters. It is a sum of products of whole numbers, so that the times of parts add up to that of the whole.
/// A unit, or tick, is the largest part of a cycle of which each product is a whole number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rates {
    pub(crate) l2_hit: Cycles,
    pub(crate) reference: Cycles,
    pub(crate) refill: Cycles,
    /// Of the instructions of refills, in thousandths of a cycle; none where there are no such instructions.
    pub(crate) millicycles: Option<u64>,
    pub(crate) waits: Waiting,
}

/// What walks wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Waiting {
    /// Each step for a reference of the same cost.
    References,
    /// As long as the caches say.
    Caches,
    /// What is left of it by a core that dispatches so many instructions in a cycle.
    Core(u64),
}

impl Rates {
    /// Ticks in a cycle.
    #[must_use]
    pub const fn ticks_per_cycle(&self) -> u64 {
        let width = match self.waits {
            Waiting::References | Waiting::Caches => 1,
            Waiting::Core(width) => width,
        };
        width * if self.millicycles.is_some() { 1000 } else { 1 }
    }

    /// Ticks of translation that were counted.
    #[must_use]
    pub fn translation(&self, counted: &Counters) -> i64 {
        let of = |counter| counted.get(counter);
        let (thousand, width) = (if self.millicycles.is_some() { 1000 } else { 1 }, self.width());
        let hits = of(Counter::L2Hits) * self.l2_hit.0 as i64;
        let hardware = match self.waits {
            Waiting::References => hits + (of(Counter::Steps) + of(Counter::OuterRefs)) * self.reference.0 as i64,
            Waiting::Caches => hits + of(Counter::WalkCycles),
            // The core's ticks are parts of a cycle already.
            Waiting::Core(_) => of(Counter::CoreTicks),
        };
        let software = of(Counter::Refills) * self.refill.0 as i64 * thousand
            + of(Counter::RefillInstructions) * self.millicycles.unwrap_or_default() as i64;
        hardware * thousand + software * width
    }

    /// Ticks in the hypervisor that were counted.
    #[must_use]
    pub fn hypervisor(&self, counted: &Counters) -> i64 {
        counted.get(Counter::HypervisorCycles) * self.ticks_per_cycle() as i64
    }

    const fn width(&self) -> i64 {
        match self.waits {
            Waiting::References | Waiting::Caches => 1,
            Waiting::Core(width) => width as i64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(values: &[(Counter, i64)]) -> Counters {
        let mut counters = Counters::default();
        values.iter().for_each(|&(counter, value)| counters.set(counter as usize, value));
        counters
    }

    #[test]
    fn time_is_that_of_the_fidelity() {
        let counted = counted(&[
            (Counter::L2Hits, 2),
            (Counter::Steps, 5),
            (Counter::WalkCycles, 70),
            (Counter::CoreTicks, -3),
            (Counter::HypervisorCycles, 11),
        ]);
        let rates =
            |waits| Rates { l2_hit: Cycles(7), reference: Cycles(10), refill: Cycles(0), millicycles: None, waits };
        let of = |waits| {
            (rates(waits).translation(&counted), rates(waits).hypervisor(&counted), rates(waits).ticks_per_cycle())
        };
        assert_eq!(of(Waiting::References), (14 + 50, 11, 1));
        assert_eq!(of(Waiting::Caches), (14 + 70, 11, 1));
        assert_eq!(of(Waiting::Core(4)), (-3, 44, 4));
    }

    #[test]
    fn refills_by_software_have_finer_ticks() {
        let counted = counted(&[(Counter::Refills, 3), (Counter::RefillInstructions, 10), (Counter::Steps, 2)]);
        let rates = |waits| Rates {
            l2_hit: Cycles(7),
            reference: Cycles(10),
            refill: Cycles(20),
            millicycles: Some(750),
            waits,
        };
        assert_eq!(rates(Waiting::References).translation(&counted), 20_000 + 60_000 + 7_500);
        assert_eq!(rates(Waiting::Core(4)).translation(&counted), (60_000 + 7_500) * 4);
        assert_eq!(rates(Waiting::Core(4)).ticks_per_cycle(), 4000);
    }
}
