//! What the host should be tuned to (the paper's AUTOGEN): the memory that the reservations take, and the least host that honours them all.

use super::PAGE;
use super::fluid::FluidPages;
use super::plan::{Granularities, Held, StartPlan};
use super::reservation::Preallocation;
use super::set::Registry;
use crate::{FrameRange, HOST_BASE};

/// Sums over a registry, in pages where nothing else is said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tuning {
    /// Reserved, page tables not included.
    pub reserved: u64,
    /// Reserved for page tables.
    pub tables: u64,
    /// Of all these, how many are set aside in one piece for each reservation.
    pub contiguous: u64,
    /// How few fluid pages there may be: what everything else on the host needs.
    pub minimum_fluid: u64,
    /// The least host memory, in bytes, that honours every reservation at its best alignment and leaves the minimum fluid.
    pub least_host_bytes: u64,
}

impl Tuning {
    /// For a host on which everything else needs `minimum_fluid` pages.
    #[must_use]
    pub fn new(registry: &Registry, minimum_fluid: u64, granularities: Granularities) -> Self {
        let held = registry.descending();
        let reserved: u64 = held.iter().map(|entry| entry.pages()).sum();
        let tables: u64 = held.iter().map(|entry| entry.table_pages()).sum();
        let contiguous: u64 = held
            .iter()
            .filter(|entry| matches!(entry.preallocation, Preallocation::Alloc { .. }))
            .map(|entry| entry.held_pages())
            .sum();
        let least = reserved + tables + minimum_fluid;
        // With this much more, every alignment has room.
        let slack: u64 = held
            .iter()
            .map(|entry| granularities.within(entry.bytes()).next().map_or(0, |size| size.bytes() / PAGE))
            .sum();
        let enough = |pages| honours_all(registry, pages, minimum_fluid, granularities);
        let pages = first(least.max(1), least + slack + 1, enough);
        Self { reserved, tables, contiguous, minimum_fluid, least_host_bytes: pages.saturating_mul(PAGE) }
    }

    /// What a host of `bytes` bytes, all free, does for `registry`.
    #[must_use]
    pub fn plan(registry: &Registry, bytes: u64, minimum_fluid: u64, granularities: Granularities) -> StartPlan {
        let pages = bytes / PAGE;
        let memory = FrameRange::new(HOST_BASE, pages * PAGE);
        StartPlan::new(
            registry,
            &memory.into_iter().collect::<Vec<_>>(),
            FluidPages::new(pages, minimum_fluid),
            granularities,
        )
    }
}

/// Whether a host of `pages` pages honours every reservation as well as can be. If one does, a larger one does too: what is placed lowest stays where it is.
fn honours_all(registry: &Registry, pages: u64, minimum_fluid: u64, granularities: Granularities) -> bool {
    let plan = Tuning::plan(registry, pages.saturating_mul(PAGE), minimum_fluid, granularities);
    plan.refused.is_empty()
        && plan.honoured.iter().all(|entry| match entry.held {
            Held::Fluid => true,
            Held::Alloc { data, alignment, tables } => {
                granularities.within(data.bytes()).next() == Some(alignment)
                    && tables.is_some() == entry.reservation.page_tables
            }
        })
}

/// The first number from `low` to `high` for which `holds`, which then holds for all after it; `high` if there is none before.
fn first(mut low: u64, mut high: u64, holds: impl Fn(u64) -> bool) -> u64 {
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::super::{Change, Reservation, Scope, SectionName};
    use super::*;
    use proptest::prelude::*;

    fn registry(entries: &[(u64, bool, bool)]) -> Registry {
        let mut registry = Registry::default();
        for (index, &(pages, alloc, page_tables)) in entries.iter().enumerate() {
            let name = SectionName::new(&format!("n{index}"), Scope::System).unwrap();
            registry.add(Reservation::new(name.clone(), pages * PAGE).unwrap()).unwrap();
            let change = Change { alloc: Some(alloc), page_tables: Some(page_tables), ..Change::default() };
            registry.modify(&name, change).unwrap();
        }
        registry
    }

    #[test]
    fn the_papers_cache() {
        // 8 GB of section and 16 MB of tables, beside 64 MB for the rest.
        let registry = registry(&[(8 << 18, true, true)]);
        let tuning = Tuning::new(&registry, 64 << 8, Granularities::RISCV);
        assert_eq!((tuning.reserved, tuning.tables), (8 << 18, 4105));
        assert_eq!(tuning.contiguous, (8 << 18) + 4105);
        assert_eq!(tuning.least_host_bytes, (8 << 30) + 4105 * PAGE + (64 << 20), "it lies on a boundary by itself");
    }

    #[test]
    fn no_reservations_need_no_more_than_the_rest() {
        let tuning = Tuning::new(&Registry::default(), 100, Granularities::RISCV);
        assert_eq!((tuning.reserved, tuning.least_host_bytes), (0, 100 * PAGE));
    }

    proptest! {
        /// The least host honours everything; a page less does not.
        #[test]
        fn the_least_host_is_the_least(
            entries in prop::collection::vec((1_u64..3000, any::<bool>(), any::<bool>()), 1..6),
            minimum in 0_u64..500,
        ) {
            let registry = registry(&entries);
            let pages = Tuning::new(&registry, minimum, Granularities::RISCV).least_host_bytes / PAGE;
            prop_assert!(honours_all(&registry, pages, minimum, Granularities::RISCV));
            prop_assert!(!honours_all(&registry, pages - 1, minimum, Granularities::RISCV));
        }
    }
}
