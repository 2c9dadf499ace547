//! Agile paging: when a table of the guest becomes nested, and shadowed again, and what that spares.

use super::fixture::{A, AGILE, Choice, D, DATA, End, Fixture, V, pte, ram};
use crate::dma::Dma;
use crate::exits::ExitReason;
use crate::shadow::{AgileConfig, Back, Coherence, Start, StatusUpdates, Tables, Way};
use crate::testing::{NoProcessors, supply};
use mmu::AdPolicy;
use types::{Access, Gpa, Gva, PageSize};

const ROOT: Gpa = ram(1 << 20);
const PAGE: Gva = Gva(0x3000);

/// A guest whose hart 0 has used a page; the last hart, which does not translate, writes its tables.
fn bed_with(choice: Choice) -> Fixture {
    let mut fixture = Fixture::new(&choice);
    fixture.space(ROOT);
    fixture.map(ROOT, PAGE, ram(30 << 20), DATA);
    fixture.switch(0, ROOT, 1);
    fixture.access(0, PAGE, Access::Write);
    fixture.counted();
    fixture.events.clear();
    fixture
}

fn fixture(agile: AgileConfig) -> Fixture {
    let (tables, coherence) = (Tables::Multiple(4), Coherence::WriteProtect);
    bed_with(Choice { tables, coherence, agile: Some(agile), ..Choice::default() })
}

/// Stores to the table of `PAGE`, each of another entry.
fn stores(fixture: &mut Fixture, count: u64) {
    for number in 0..count {
        fixture.map(ROOT, Gva((8 + number) << 12), ram((31 << 20) + (number << 12)), DATA);
    }
}

fn exits(fixture: &Fixture, reason: ExitReason) -> usize {
    fixture.events.iter().filter(|event| event.reason == reason && event.work.way == Way::Exit).count()
}

/// Walks of hart 0 so far, by how many tables they read nested.
fn walks(fixture: &Fixture) -> [u64; 7] {
    fixture.mmus[0].statistics().agile_walks
}

#[test]
fn a_table_that_is_stored_to_often_is_nested_and_its_stores_exit_no_more() {
    let mut fixture = fixture(AGILE);
    assert_eq!(walks(&fixture), [1, 0, 0, 0, 0, 0, 0], "the shadow table has the page");
    stores(&mut fixture, 100);
    assert_eq!(exits(&fixture, ExitReason::TableWrite), 2, "the threshold");
    let before = walks(&fixture);
    assert_eq!(fixture.access(0, Gva(8 << 12), Access::Write), End::Memory(fixture.hpa(ram(31 << 20)).unwrap()));
    assert_eq!(walks(&fixture)[1] - before[1], 1, "the last table is read nested");
    let counted = fixture.counted();
    assert_eq!((counted.agile.to_nested, counted.agile.switches), (1, 1));
    // What the guest takes away is gone with its own fence.
    fixture.map(ROOT, PAGE, ram(30 << 20), 0);
    fixture.fence(0, Some(PAGE), None);
    assert_eq!(fixture.access(0, PAGE, Access::Read), End::PageFault);
    assert_eq!((exits(&fixture, ExitReason::TableWrite), exits(&fixture, ExitReason::Fence)), (2, 0));
    assert_eq!(fixture.wrong(), [""; 0]);
}

#[test]
fn an_upper_table_that_is_nested_takes_all_below_along() {
    let mut fixture = fixture(AGILE);
    // The root's own entries: its page is nested, and walks begin there.
    for number in 0..3 {
        fixture.store(Gpa(ROOT.0 + (4 + number) * 8), pte(Gpa(ROOT.0 + 4096), V));
    }
    assert_eq!(fixture.access(0, PAGE, Access::Read), End::Memory(fixture.hpa(ram(30 << 20)).unwrap()));
    assert_eq!(walks(&fixture)[3], 1, "three tables of Sv39");
    fixture.events.clear();
    stores(&mut fixture, 20);
    assert_eq!(exits(&fixture, ExitReason::TableWrite), 0);
    fixture.end_interval();
    fixture.fence(0, Some(PAGE), None);
    let before = walks(&fixture);
    assert!(matches!(fixture.access(0, PAGE, Access::Read), End::Memory(_)));
    assert_eq!(walks(&fixture)[0], before[0] + 1, "all is shadowed again");
    assert_eq!(fixture.wrong(), [""; 0]);
}

#[test]
fn reset_makes_every_page_shadowed_and_dirty_those_that_are_quiet() {
    for (back, stays) in [(Back::Reset, 0), (Back::Dirty, 1), (Back::Never, 2)] {
        let mut fixture = fixture(AgileConfig { back, ..AGILE });
        // Two last-level tables, of which one goes on being stored to.
        let other = Gva(0x20_0000);
        fixture.map(ROOT, other, ram(32 << 20), DATA);
        fixture.access(0, other, Access::Read);
        stores(&mut fixture, 5);
        for number in 0..5 {
            fixture.map(ROOT, Gva(other.0 | (1 + number) << 12), ram(33 << 20), DATA);
        }
        for gva in [PAGE, other] {
            assert!(matches!(fixture.access(0, gva, Access::Read), End::Memory(_)));
        }
        // In the first interval both were stored to.
        fixture.end_interval();
        fixture.access(0, PAGE, Access::Read);
        stores(&mut fixture, 7);
        fixture.counted();
        fixture.end_interval();
        let counted = fixture.counted().agile;
        let nested = fixture.vm.shadow.as_ref().unwrap().nested_pages();
        match back {
            Back::Reset => assert_eq!((nested, counted.to_shadow), (stays, 1)),
            Back::Dirty => assert_eq!((nested, counted.to_shadow, counted.dirty), (stays, 1, 1)),
            Back::Never => assert_eq!((nested, counted.to_shadow), (stays, 0)),
        }
        for gva in [PAGE, other] {
            assert!(matches!(fixture.access(0, gva, Access::Write), End::Memory(_)));
        }
        assert_eq!(fixture.wrong(), [""; 0]);
    }
}

#[test]
fn stores_are_counted_within_an_interval() {
    let mut fixture = fixture(AgileConfig { threshold: 3, ..AGILE });
    for _ in 0..4 {
        stores(&mut fixture, 2);
        fixture.access(0, PAGE, Access::Read);
        fixture.end_interval();
    }
    assert_eq!(fixture.counted().agile.to_nested, 0);
    assert_eq!(exits(&fixture, ExitReason::TableWrite), 8);
    // A walk in between is no pardon.
    stores(&mut fixture, 2);
    fixture.access(0, PAGE, Access::Read);
    stores(&mut fixture, 1);
    assert_eq!(fixture.counted().agile.to_nested, 1);
}

#[test]
fn the_entries_that_an_interval_changes_are_traps_that_were_avoided() {
    let mut fixture = fixture(AGILE);
    stores(&mut fixture, 2);
    fixture.access(0, PAGE, Access::Read);
    for number in 0..9 {
        fixture.map(ROOT, Gva((100 + number) << 12), ram(32 << 20), DATA);
    }
    fixture.end_interval();
    // The second store was made by the hypervisor when the page was nested already.
    let avoided = fixture.counted().agile.avoided;
    assert!((9..=10).contains(&avoided), "{avoided}");
}

#[test]
fn an_address_space_that_begins_nested_takes_no_exit_until_it_has_lived_through_an_interval() {
    let mut fixture = fixture(AgileConfig { start: Start::Nested, ..AGILE });
    assert_eq!(walks(&fixture), [0, 0, 0, 0, 0, 0, 1]);
    stores(&mut fixture, 10);
    assert_eq!(fixture.events, [], "the hypervisor has nothing to do");
    fixture.end_interval();
    fixture.fence(0, None, None);
    fixture.access(0, PAGE, Access::Read);
    assert_eq!(walks(&fixture)[6], 2, "it has not lived through all of it");
    fixture.end_interval();
    fixture.access(0, PAGE, Access::Read);
    assert_eq!((walks(&fixture)[0], fixture.counted().agile.spaces_to_shadow), (1, 1));
    assert_eq!(fixture.wrong(), [""; 0]);
}

#[test]
fn a_root_cache_spares_the_exits_of_spaces_that_it_holds() {
    let spaces = [ROOT, ram(2 << 20), ram(3 << 20)];
    for (root_cache, expected) in [(0, 9), (2, 9), (3, 0)] {
        let mut fixture = fixture(AgileConfig { root_cache, ..AGILE });
        for (number, root) in spaces.into_iter().enumerate() {
            fixture.space(root);
            fixture.switch(0, root, number as u16 + 1);
        }
        fixture.events.clear();
        fixture.counted();
        for _ in 0..3 {
            for (number, root) in spaces.into_iter().enumerate() {
                fixture.switch(0, root, number as u16 + 1);
            }
        }
        assert_eq!(exits(&fixture, ExitReason::Satp), expected, "{root_cache} entries");
        assert_eq!(fixture.counted().agile.root_cache_hits as usize, 9 - expected);
    }
}

#[test]
fn hardware_that_sets_status_bits_spares_the_exit_of_a_first_store() {
    for (status, expected) in [(StatusUpdates::Exit, 1), (StatusUpdates::Hardware, 0)] {
        let (tables, coherence) = (Tables::Multiple(4), Coherence::WriteProtect);
        let agile = Some(AgileConfig { status, ..AGILE });
        let mut fixture = bed_with(Choice { tables, coherence, agile, ad: AdPolicy::Update, ..Choice::default() });
        let gva = Gva(0x5000);
        fixture.map(ROOT, gva, ram(34 << 20), DATA & !D);
        fixture.access(0, gva, Access::Read);
        fixture.events.clear();
        assert!(matches!(fixture.access(0, gva, Access::Write), End::Memory(_)));
        assert_eq!(exits(&fixture, ExitReason::ShadowFault), expected);
        assert_eq!(fixture.counted().agile.status_updates as usize, 1 - expected);
        assert_eq!(fixture.load(Fixture::entry(ROOT, gva)) & (A | D), A | D);
    }
}

#[test]
fn hardware_that_sets_a_bit_in_a_shadowed_table_makes_it_nested() {
    let (tables, coherence) = (Tables::Multiple(4), Coherence::WriteProtect);
    let mut fixture =
        bed_with(Choice { tables, coherence, agile: Some(AGILE), ad: AdPolicy::Update, ..Choice::default() });
    let gva = Gva(0x5000);
    fixture.map(ROOT, gva, ram(34 << 20), DATA & !(A | D));
    // Another space has the same last-level table, and its own tables are nested.
    let other = ram(4 << 20);
    fixture.store(other, pte(Gpa(other.0 + 4096), V));
    fixture.store(Gpa(other.0 + 4096), pte(Gpa(ROOT.0 + 2 * 4096), V));
    fixture.switch(0, other, 2);
    fixture.access(0, PAGE, Access::Read);
    for number in 0..3 {
        fixture.store(Gpa(other.0 + (4 + number) * 8), 0);
    }
    fixture.access(0, PAGE, Access::Read);
    fixture.counted();
    assert!(matches!(fixture.access(0, gva, Access::Write), End::Memory(_)));
    let counted = fixture.counted().agile;
    assert_eq!((counted.to_nested, counted.nested_table_writes), (1, 1));
    assert_eq!(fixture.load(Fixture::entry(ROOT, gva)) & (A | D), A | D);
    assert_eq!(fixture.wrong(), [""; 0]);
}

#[test]
fn a_store_through_a_nested_mapping_to_a_shadowed_table_is_seen() {
    for host_page in [PageSize::Size4K, PageSize::Size2M] {
        let (tables, coherence) = (Tables::Multiple(4), Coherence::WriteProtect);
        let mut fixture = bed_with(Choice { tables, coherence, agile: Some(AGILE), host_page, ..Choice::default() });
        // The window's own table is nested.
        let (window, table) = (Gva(0x20_3000), Gpa(ROOT.0 + 2 * 4096));
        fixture.map(ROOT, window, table, DATA);
        for number in 0..3 {
            fixture.map(ROOT, Gva(0x20_4000 + (number << 12)), ram(33 << 20), DATA);
        }
        fixture.access(0, window, Access::Read);
        for number in 0..3 {
            fixture.map(ROOT, Gva(0x20_4000 + (number << 12)), ram(35 << 20), DATA);
        }
        fixture.counted();
        let End::Memory(at) = fixture.access(0, Gva(window.0 + 3 * 8), Access::Write) else { panic!("it is mapped") };
        assert_eq!(fixture.counted().table_writes, 1, "the nested table has no W there");
        fixture.host.memory.write(at, pte(ram(36 << 20), DATA)).unwrap();
        assert_eq!(fixture.access(0, PAGE, Access::Read), End::Memory(fixture.hpa(ram(36 << 20)).unwrap()));
        assert_eq!(fixture.wrong(), [""; 0]);
    }
}

#[test]
fn a_device_that_writes_to_a_table_is_noticed() {
    let mut fixture = fixture(AGILE);
    let entry = pte(ram(31 << 20), DATA).to_le_bytes();
    let at = Fixture::entry(ROOT, PAGE);
    Dma::new(supply(&mut fixture.host, &mut fixture.vm, None, NoProcessors), 0).write(at, &entry).unwrap();
    let fence = fixture.vm.shadow_fence_due().expect("the TLBs have the old page");
    fixture.mmus.iter_mut().for_each(|mmu| mmu.fence(&fence));
    assert_eq!(fixture.access(0, PAGE, Access::Read), End::Memory(fixture.hpa(ram(31 << 20)).unwrap()));
    assert_eq!(fixture.wrong(), [""; 0]);
}

#[test]
fn a_nested_table_whose_page_goes_is_led_to_no_more() {
    let mut fixture = fixture(AGILE);
    stores(&mut fixture, 3);
    fixture.access(0, PAGE, Access::Read);
    let table = Gpa(ROOT.0 + 2 * 4096);
    let contents: Vec<u64> = (0..512).map(|index| fixture.load(Gpa(table.0 + index * 8))).collect();
    let invalidation = fixture.vm.unmap_page(&fixture.host.memory, table).unwrap();
    let mut fences = Vec::new();
    invalidation.perform(&mut Fences(&mut fences), &mut fixture.host.frames);
    for fence in &fences {
        fixture.mmus.iter_mut().for_each(|mmu| mmu.fence(fence));
    }
    // It comes back in another frame.
    let taken = fixture.host.frames.allocate(&fixture.host.memory, PageSize::Size4K).unwrap();
    for (index, entry) in (0..).zip(contents) {
        fixture.store(Gpa(table.0 + index * 8), entry);
    }
    assert_ne!(fixture.hpa(table), Some(taken.start()));
    assert_eq!(fixture.access(0, Gva(8 << 12), Access::Read), End::Memory(fixture.hpa(ram(31 << 20)).unwrap()));
    assert_eq!(fixture.wrong(), [""; 0]);
}

#[test]
fn what_an_upper_table_led_to_before_it_was_nested_is_forgotten() {
    let mut fixture = fixture(AgileConfig { back: Back::Dirty, ..AGILE });
    // The table of `PAGE` is nested, and then the root above it.
    stores(&mut fixture, 2);
    fixture.access(0, PAGE, Access::Read);
    let unused = |fixture: &mut Fixture, entry: u64| fixture.store(Gpa(ROOT.0 + entry * 8), 0);
    (4..6).for_each(|entry| unused(&mut fixture, entry));
    fixture.access(0, PAGE, Access::Read);
    // Now the root leads elsewhere: to tables that map another page there.
    let other = ram(5 << 20);
    fixture.space(other);
    fixture.map(other, PAGE, ram(37 << 20), DATA);
    fixture.store(ROOT, pte(Gpa(other.0 + 4096), V));
    fixture.fence(0, None, None);
    fixture.end_interval();
    // The root is quiet from now on; the nested table is not.
    stores(&mut fixture, 3);
    fixture.end_interval();
    assert_eq!(fixture.vm.shadow.as_ref().unwrap().nested_pages(), 1);
    assert_eq!(fixture.access(0, PAGE, Access::Read), End::Memory(fixture.hpa(ram(37 << 20)).unwrap()));
    assert_eq!(fixture.wrong(), [""; 0]);
}

#[test]
fn the_tables_above_a_nested_one_are_shadowed_whatever_was_known_of_them() {
    let mut fixture = fixture(AGILE);
    stores(&mut fixture, 2);
    fixture.access(0, PAGE, Access::Read);
    // The root's entry is stored to, so nothing below is derived from any table.
    fixture.store(ROOT, pte(Gpa(ROOT.0 + 4096), V));
    assert_eq!(fixture.access(0, PAGE, Access::Read), End::Memory(fixture.hpa(ram(30 << 20)).unwrap()));
    // The table between the two leads to another one.
    let other = ram(5 << 20);
    fixture.space(other);
    fixture.map(other, PAGE, ram(37 << 20), DATA);
    fixture.store(Gpa(ROOT.0 + 4096), pte(Gpa(other.0 + 2 * 4096), V));
    fixture.fence(0, None, None);
    assert_eq!(fixture.access(0, PAGE, Access::Read), End::Memory(fixture.hpa(ram(37 << 20)).unwrap()));
    assert_eq!(fixture.wrong(), [""; 0]);
}

/// Notes what is fenced.
struct Fences<'f>(&'f mut Vec<mmu::Fence>);

impl crate::FlushTlbs for Fences<'_> {
    fn fence(&mut self, fence: &mmu::Fence) {
        self.0.push(*fence);
    }

    fn forget_code(&mut self, _: memory::FrameRange) {}
}
