use super::*;
use machine::sections::private_table_bytes;
use memory::registry::Granularities;
use mmu::{Groups, MmuConfig, TlbArray, WalkCaches};
use types::{Cycles, PageSize};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const BASE: Granularities = Granularities::RISCV.at_most(PageSize::Size4K);

fn mappers(bytes: u64, sharing: Sharing, count: u16) -> (Mappers, Vec<u64>) {
    let mut mappers = Mappers::new(bytes, sharing, BASE, count, Cycles(1)).unwrap();
    let times = (0..count).map(|_| mappers.start().unwrap().0).collect();
    (mappers, times)
}

/// Figure 4, and the text beside it: 8 GB by 100 processes are 800 MB of private tables and 8 MB of shared ones, with pages of 8K; with pages
/// of 4K, twice as much.
#[test]
fn table_memory_is_what_the_closed_form_says() {
    for (bytes, count) in [(8 * GIB, 2), (2 * GIB, 3), (5 * GIB + 6 * MIB, 2), (64 * MIB, 50), (3 * MIB, 10)] {
        let (private, _) = mappers(bytes, Sharing::Private, count);
        assert_eq!(private.table_bytes(), u64::from(count) * private_table_bytes(bytes), "{bytes:#x}");
        let (shared, _) = mappers(bytes, Sharing::Shared, count);
        // Below a gigabyte, leaf tables are linked into one table of each VM; from there on, its root leads to the section's.
        let linking = if bytes < GIB { 4096 } else { 0 };
        assert_eq!(shared.table_bytes(), shared_table_bytes(bytes) + u64::from(count) * linking, "{bytes:#x}");
    }
    assert_eq!(private_table_bytes(8 * GIB) * 100, 1600 * MIB + 100 * 8 * 4096);
    assert_eq!(shared_table_bytes(8 * GIB), 16 * MIB + 9 * 4096);
}

#[test]
fn a_hundred_mappers_of_eight_gigabytes_share_sixteen_megabytes() {
    let (shared, _) = mappers(8 * GIB, Sharing::Shared, 100);
    assert_eq!((shared.count(), shared.table_bytes()), (100, shared_table_bytes(8 * GIB)));
}

/// Figure 8: every VM takes as long to start as the first.
#[test]
fn start_up_takes_the_same_for_each_vm() {
    for sharing in [Sharing::Private, Sharing::Shared] {
        let (_, times) = mappers(256 * MIB, sharing, 20);
        assert!(times.iter().all(|&time| time == times[0]), "{sharing:?} {times:?}");
    }
}

/// Figure 9: with private tables start-up grows with the section, by the entries and the tables of each mapper; with shared ones it does not, but for a link for
/// each gigabyte.
#[test]
fn start_up_grows_with_the_section_for_private_tables_only() {
    let time = |bytes, sharing| mappers(bytes, sharing, 1).1[0];
    let sizes = [GIB, 2 * GIB, 4 * GIB];
    let private = sizes.map(|bytes| time(bytes, Sharing::Private));
    let shared = sizes.map(|bytes| time(bytes, Sharing::Shared));
    // By gigabyte: an entry for each page, and 513 tables cleared and linked.
    let each = (1 << 18) * 4 + 513 * (576 + 16);
    assert_eq!([private[1] - private[0], private[2] - private[1]], [each, 2 * each]);
    assert_eq!([shared[1] - shared[0], shared[2] - shared[1]], [16, 32]);
    assert!(private[2] > 100 * shared[2], "{private:?} {shared:?}");
}

#[test]
fn what_ends_leaves_the_section_as_it_was() {
    for sharing in [Sharing::Private, Sharing::Shared] {
        let (mut mappers, times) = mappers(64 * MIB, sharing, 5);
        let before = mappers.table_bytes();
        let end = mappers.stop_all().unwrap();
        assert!(end.0 > 0);
        assert_eq!(mappers.table_bytes(), if sharing == Sharing::Shared { shared_table_bytes(64 * MIB) } else { 0 });
        assert_eq!(mappers.start().unwrap().0, times[0]);
        assert!(mappers.table_bytes() <= before);
    }
}

/// A TLB of 64 entries for pages of any size: the Alpha's.
fn processor() -> MmuConfig {
    let array = |ways| vec![TlbArray::new(&PageSize::ALL, 1, ways)];
    MmuConfig { l1i: array(48), l1d: array(64), l2: Vec::new(), walk_caches: WalkCaches::OFF, ..MmuConfig::default() }
}

/// Where the entries reach over the section, each page misses once; otherwise, as many updates miss as there are pages without an entry.
#[test]
fn a_group_of_pages_is_one_entry_of_the_tlb() {
    let misses = |bytes, largest| {
        let sizes = Granularities::RISCV.at_most(largest);
        gups(bytes, 20_000, sizes, &processor()).unwrap().statistics.l1d_misses
    };
    let bytes = 64 * MIB;
    assert_eq!(misses(bytes, PageSize::Size2M), 32, "one each");
    assert_eq!(misses(GIB, PageSize::Size1G), 1);
    let near = |misses: u64, pages: u64| {
        let expected = 20_000 * (pages - 64) / pages;
        misses.abs_diff(expected) < 20_000 / 50
    };
    let (base, grouped) = (misses(bytes, PageSize::Size4K), misses(bytes, PageSize::Size64K));
    assert!(near(base, bytes / 4096), "{base}");
    assert!(near(grouped, bytes / 65536), "{grouped}");
    assert!(near(misses(GIB, PageSize::Size2M), 512));
}

/// The paper's groups of 8, 64 and 512 pages, each with an entry for every page.
#[test]
fn granularity_hints_make_groups_of_8_64_and_512_pages() {
    let processor = MmuConfig { second_stage_groups: Groups::GranularityHints, ..processor() };
    let bytes = 16 * MIB;
    let run = |largest| {
        let sizes = Granularities::HINTS.at_most(largest);
        gups(bytes, 20_000, sizes, &processor).unwrap().statistics
    };
    let near = |misses: u64, pages: u64| misses.abs_diff(20_000 * (pages - 64) / pages) < 20_000 / 50;
    assert!(near(run(PageSize::Size4K).l1d_misses, 4096));
    assert!(near(run(PageSize::Size32K).l1d_misses, 512));
    let [hundreds, thousands] = [PageSize::Size256K, PageSize::Size2M].map(run);
    assert_eq!((hundreds.l1d_misses, thousands.l1d_misses), (64, 8), "one each");
    assert_eq!(thousands.host_refs, 8 * 3, "each walk goes to the last level");
    // Hints do not make tables smaller.
    let of = |sizes| Mappers::new(bytes, Sharing::Shared, sizes, 1, Cycles(1)).unwrap().table_bytes();
    assert_eq!(of(Granularities::HINTS), shared_table_bytes(bytes));
}
