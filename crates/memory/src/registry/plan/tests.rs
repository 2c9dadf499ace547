use super::super::{Change, Scope};
use super::*;
use crate::HOST_BASE;
use proptest::prelude::*;

const MIB: u64 = 1 << 20;

fn run(offset: u64, bytes: u64) -> FrameRange {
    FrameRange::new(HOST_BASE.wrapping_add(offset), bytes).unwrap()
}

fn name(text: &str) -> SectionName {
    SectionName::new(text, Scope::System).unwrap()
}

/// Name, bytes, ALLOC, page tables.
fn registry(entries: &[(&str, u64, bool, bool)]) -> Registry {
    let mut registry = Registry::default();
    for &(text, bytes, alloc, page_tables) in entries {
        registry.add(Reservation::new(name(text), bytes).unwrap()).unwrap();
        let change = Change { alloc: Some(alloc), page_tables: Some(page_tables), ..Change::default() };
        registry.modify(&name(text), change).unwrap();
    }
    registry
}

fn plan(registry: &Registry, host: u64, minimum: u64) -> StartPlan {
    StartPlan::new(registry, &[run(0, host)], FluidPages::new(host / PAGE, minimum / PAGE), Granularities::RISCV)
}

fn data(plan: &StartPlan, text: &str) -> Option<(FrameRange, PageSize)> {
    plan.honoured.iter().find(|entry| entry.reservation.name.text() == text).and_then(|entry| match entry.held {
        Held::Alloc { data, alignment, .. } => Some((data, alignment)),
        Held::Fluid => None,
    })
}

#[test]
fn alignment_is_the_largest_granularity_that_fits() {
    // Something small is in the way of every boundary.
    let registry = registry(&[
        ("tiny", 8192, true, false),
        ("napot", 64 << 10, true, false),
        ("super", 5 * MIB, true, false),
        ("giga", 1 << 30, true, false),
    ]);
    let runs = [run(PAGE, (4 << 30) - PAGE)];
    let plan = StartPlan::new(&registry, &runs, FluidPages::new(1 << 20, 0), Granularities::RISCV);
    assert_eq!(data(&plan, "giga"), Some((run(1 << 30, 1 << 30), PageSize::Size1G)));
    assert_eq!(data(&plan, "super"), Some((run(2 * MIB, 5 * MIB), PageSize::Size2M)));
    assert_eq!(data(&plan, "napot"), Some((run(64 << 10, 64 << 10), PageSize::Size64K)));
    assert_eq!(data(&plan, "tiny"), Some((run(PAGE, 8192), PageSize::Size4K)), "the gap below");
    assert_eq!(plan.fluid.count(), (1 << 20) - (262_144 + 1280 + 16 + 2));
}

#[test]
fn a_smaller_granularity_is_better_than_none() {
    // Room for 1G, but not on its boundary.
    let plan = {
        let registry = registry(&[("giga", 1 << 30, true, false)]);
        let runs = [run(2 * MIB, 1 << 30)];
        StartPlan::new(&registry, &runs, FluidPages::new(1 << 18, 0), Granularities::RISCV)
    };
    assert_eq!(data(&plan, "giga"), Some((run(2 * MIB, 1 << 30), PageSize::Size2M)));
}

#[test]
fn the_largest_is_honoured_first_and_what_does_not_fit_is_named() {
    let registry = registry(&[
        ("first-by-name", 3 * MIB, false, false),
        ("largest", 6 * MIB, true, false),
        ("small", MIB, false, false),
    ]);
    let plan = plan(&registry, 8 * MIB, MIB);
    let honoured: Vec<_> = plan.honoured.iter().map(|entry| entry.reservation.name.text()).collect();
    assert_eq!(honoured, ["largest", "small"], "a smaller one may still fit where a larger did not");
    let starved = Starved { wanted: 768, count: 512, minimum: 256 };
    assert_eq!(plan.refused, [Refused { name: name("first-by-name"), why: Refusal::Starved(starved) }]);
    let text = plan.refused[0].to_string();
    assert!(text.contains("first-by-name") && text.contains("768") && text.contains("512 are missing"), "{text}");
    assert_eq!((plan.fluid.count(), plan.fluid.minimum()), (256, 256));
}

#[test]
fn fragmented_memory_refuses_contiguous_pages_and_takes_no_promise() {
    let registry = registry(&[("cache", 4 * MIB, true, true), ("promised", 4 * MIB, false, false)]);
    let runs = [run(0, 3 * MIB), run(4 * MIB, 3 * MIB)];
    let plan = StartPlan::new(&registry, &runs, FluidPages::new(6 * 256, 0), Granularities::RISCV);
    let why = Refusal::Fragmented { bytes: 4 * MIB, longest: 3 * MIB };
    assert_eq!(plan.refused, [Refused { name: name("cache"), why }]);
    assert_eq!(plan.honoured[0].held, Held::Fluid);
    assert_eq!(plan.fluid.count(), 512);
}

#[test]
fn page_tables_are_counted_and_fill_gaps() {
    let registry = registry(&[("a", 8 * MIB, true, true), ("b", 6 * MIB, false, true), ("c", 2 * MIB, true, false)]);
    let plan = plan(&registry, 64 * MIB, 0);
    let Held::Alloc { data, tables, .. } = plan.honoured[0].held else { panic!() };
    assert_eq!((data, tables), (run(0, 8 * MIB), Some(run(10 * MIB, 5 * PAGE))), "above c, which is placed first");
    assert_eq!(plan.fluid.count(), 16384 - (2048 + 4 + 1) - (1536 + 3 + 1) - 512);
}

#[test]
fn tables_without_room_in_one_piece_are_promised() {
    let registry = registry(&[("a", 8 * MIB, true, true)]);
    let runs = [run(0, 8 * MIB), run(9 * MIB, PAGE), run(10 * MIB, 2 * PAGE), run(11 * MIB, 2 * PAGE)];
    let plan = StartPlan::new(&registry, &runs, FluidPages::new(2053, 0), Granularities::RISCV);
    assert!(matches!(plan.honoured[0].held, Held::Alloc { tables: None, .. }));
    assert_eq!(plan.fluid.count(), 0);
}

#[test]
fn a_host_of_nothing_refuses_everything() {
    let registry = registry(&[("a", PAGE, true, false), ("b", PAGE, false, false)]);
    let plan = StartPlan::new(&registry, &[], FluidPages::new(0, 0), Granularities::RISCV);
    assert_eq!((plan.honoured.len(), plan.refused.len()), (0, 2));
}

proptest! {
    /// Any registry on any host: the pages promised add up, nothing overlaps, everything is aligned as it says and lies in free memory,
    /// and the minimum stays.
    #[test]
    fn a_plan_keeps_its_promises(
        entries in prop::collection::vec((1_u64..5000, any::<bool>(), any::<bool>()), 0..8),
        runs in prop::collection::vec((1_u64..4000, 1_u64..100), 1..5),
        minimum in 0_u64..3000,
    ) {
        let mut set = Registry::default();
        for (index, &(pages, alloc, page_tables)) in entries.iter().enumerate() {
            let name = name(&format!("n{index}"));
            set.add(Reservation::new(name.clone(), pages * PAGE).unwrap()).unwrap();
            set.modify(&name, Change { alloc: Some(alloc), page_tables: Some(page_tables), ..Change::default() }).unwrap();
        }
        let mut at = 0;
        let runs: Vec<_> = runs.iter().map(|&(pages, gap)| { at += gap; let r = run(at * PAGE, pages * PAGE); at += pages; r }).collect();
        let count = runs.iter().map(|run| run.bytes() / PAGE).sum();
        let plan = StartPlan::new(&set, &runs, FluidPages::new(count, minimum), Granularities::RISCV);
        prop_assert_eq!(plan.honoured.len() + plan.refused.len(), entries.len());
        let promised: u64 = plan.honoured.iter().map(|entry| entry.reservation.held_pages()).sum();
        prop_assert_eq!(plan.fluid.count() + promised, count);
        prop_assert!(promised == 0 || plan.fluid.count() >= minimum);
        let mut taken = Vec::new();
        for entry in &plan.honoured {
            if let Held::Alloc { data, alignment, tables } = entry.held {
                prop_assert!(data.start().is_aligned(alignment.bytes()) && alignment.bytes() <= data.bytes());
                prop_assert_eq!(data.bytes(), entry.reservation.bytes());
                taken.extend([Some(data), tables].into_iter().flatten());
            }
        }
        taken.sort();
        prop_assert!(taken.windows(2).all(|pair| pair[0].end() <= pair[1].start()));
        prop_assert!(taken.iter().all(|taken| runs.iter().any(|run| run.start() <= taken.start() && taken.end() <= run.end())));
    }
}
