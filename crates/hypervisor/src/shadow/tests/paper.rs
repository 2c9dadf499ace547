//! What Umeno et al. (1985) say of tables and invalidations, in their geometry: spaces of 16M, pages of 4K.

use super::fixture::{Choice, DATA, Fixture, G, R, U, V, X, ram};
use crate::shadow::steps::{self, Entered, Selective};
use crate::shadow::{Activity, Assist, Clear, Coherence, Invalidation, Tables, Way};
use crate::vm::MemoryAttribute;
use types::{Access, Gpa, Gva};

const PAGES: u64 = 4096;
/// The page that all spaces have in common.
const COMMON: Gva = Gva(0x5_7000);

/// Where space `number` has its root.
const fn root(number: u64) -> Gpa {
    ram((1 << 20) + number * 0x1_0000)
}

/// A fixture with this many spaces, numbered from 1 as their ASIDs are, each used, with [`COMMON`] and one page of its own mapped.
fn fixture(choice: &Choice, spaces: u64) -> Fixture {
    let mut fixture = Fixture::new(choice);
    for space in 1..=spaces {
        fixture.space(root(space));
        // Every table is there.
        for number in 0..8 {
            fixture.map(root(space), Gva(number << 21), ram(32 << 20), DATA);
        }
        fixture.map(root(space), COMMON, ram(33 << 20), DATA);
        fixture.map(root(space), Gva(0x9000), ram((34 << 20) + space * 4096), DATA);
    }
    touch(&mut fixture, spaces);
    fixture.counted();
    fixture
}

/// Every space is used.
fn touch(fixture: &mut Fixture, spaces: u64) {
    for space in 1..=spaces {
        fixture.switch(0, root(space), space as u16);
        for gva in (0..8).map(|number| Gva(number << 21)).chain([COMMON, Gva(0x9000)]) {
            fixture.access(0, gva, Access::Read);
        }
    }
}

fn multiple(count: usize) -> Choice {
    Choice { tables: Tables::Multiple(count), ..Choice::default() }
}

#[test]
fn a_selective_invalidation_touches_an_entry_of_each_table_and_a_full_one_all() {
    for spaces in 1..=8 {
        let selective = multiple(8);
        let full = Choice { invalidation: Invalidation::Full, ..selective };
        let mut touched = [0, 0];
        let mut steps = [0, 0];
        for (index, choice) in [selective, full].iter().enumerate() {
            let mut fixture = fixture(choice, spaces);
            fixture.fence(0, Some(COMMON), None);
            let counted = fixture.counted();
            (touched[index], steps[index]) = (counted.entries_touched, counted.steps);
            assert_eq!(counted.selective, u64::from(index == 0));
            assert_eq!(counted.full, if index == 0 { 0 } else { spaces });
        }
        assert_eq!(touched, [spaces, spaces * PAGES], "the ratio of table 3, row 1, for {spaces} tables");
        // What each takes follows from what it did: three levels and one entry of each table, or all entries.
        let done = Selective { tables: spaces, references: 3 * spaces, touched: spaces, cleared: spaces };
        let exit = steps::exit(Entered::Instruction);
        let full = steps::full(spaces, spaces * PAGES, Clear::Stores);
        assert_eq!(steps, [exit + done.steps(), exit + full], "{spaces} tables");
    }
}

#[test]
fn a_virtual_page_is_found_in_every_table_where_a_real_one_is_not() {
    let mut fixture = fixture(&Choice { invalidation: Invalidation::Conventional, ..multiple(8) }, 6);
    fixture.fence(0, Some(COMMON), None);
    let counted = fixture.counted();
    assert_eq!((counted.selective, counted.full, counted.entries_touched), (1, 0, 6), "section 3.3.1, (1)");
    fixture.partial_purge(0, Fixture::entry(root(1), COMMON), COMMON, true);
    let counted = fixture.counted();
    assert_eq!((counted.selective, counted.full, counted.entries_touched), (0, 6, 6 * PAGES), "section 3.3.1, (2)");
}

#[test]
fn a_fence_for_one_address_space_touches_its_table_alone() {
    let mut fixture = fixture(&multiple(8), 5);
    fixture.fence(0, Some(COMMON), Some(3));
    assert_eq!(fixture.counted().entries_touched, 1);
    fixture.fence(0, None, Some(3));
    let counted = fixture.counted();
    assert_eq!((counted.entries_touched, counted.full), (PAGES, 1));
}

#[test]
fn the_selection_flag_spares_unused_tables_a_second_invalidation() {
    for (selection_flag, second, double) in [(true, PAGES, 0), (false, 6 * PAGES, 5)] {
        let mut fixture = fixture(&Choice { selection_flag, ..multiple(8) }, 6);
        fixture.fence(0, None, None);
        let counted = fixture.counted();
        assert_eq!((counted.full, counted.double, counted.entries_touched), (6, 0, 6 * PAGES));
        // One space goes on alone; the hypervisor is not told that the others are gone.
        fixture.fence(0, None, None);
        let counted = fixture.counted();
        assert_eq!((counted.entries_touched, counted.double), (second, double), "flag {selection_flag}");
        assert_eq!(counted.full, second / PAGES);
        // A space that comes back is selected, and invalidated again.
        fixture.switch(0, root(2), 2);
        fixture.counted();
        fixture.fence(0, None, None);
        assert_eq!(fixture.counted().full, if selection_flag { 2 } else { 6 });
    }
}

#[test]
fn tables_are_found_again_and_the_least_recently_used_is_stolen() {
    let mut fixture = fixture(&multiple(3), 3);
    for (space, found, created, stolen) in
        [(1, 1, 0, 0), (3, 1, 0, 0), (1, 1, 0, 0), (4, 0, 0, 1), (3, 1, 0, 0), (2, 0, 0, 1)]
    {
        if space == 4 {
            fixture.space(root(4));
            fixture.counted();
        }
        fixture.switch(0, root(space), space as u16);
        let counted = fixture.counted();
        let switches = (counted.switches_found, counted.switches_created, counted.switches_stolen);
        assert_eq!(switches, (found, created, stolen), "to space {space}");
    }
    assert_eq!(fixture.wrong(), [""; 0]);
}

#[test]
fn what_was_in_a_stolen_table_maps_nothing() {
    let mut fixture = fixture(&multiple(2), 3);
    let own = |fixture: &mut Fixture| fixture.access(0, Gva(0x9000), Access::Read);
    for space in [1, 2, 3, 1, 3, 2] {
        fixture.switch(0, root(space), space as u16);
        let page = fixture.hpa(ram((34 << 20) + space * 4096)).unwrap();
        assert_eq!(own(&mut fixture), super::fixture::End::Memory(page), "space {space}");
    }
    assert_eq!(fixture.wrong(), [""; 0]);
}

#[test]
fn a_single_table_is_invalidated_at_every_switch() {
    let choice = Choice { tables: Tables::Single, ..Choice::default() };
    let mut fixture = fixture(&choice, 2);
    fixture.switch(0, root(1), 1);
    let counted = fixture.counted();
    assert_eq!((counted.entries_touched, counted.switches_created), (PAGES, 1));
    let walks = fixture.mmus[0].statistics().walks;
    assert!(matches!(fixture.access(0, COMMON, Access::Read), super::fixture::End::Memory(_)));
    assert!(fixture.mmus[0].statistics().walks > walks, "the TLB went with the table");
    assert_eq!(fixture.counted().validations, 1);
}

#[test]
fn pptlb_takes_the_pair_away_where_the_real_page_is_the_same() {
    for attribute in [MemoryAttribute::Virtual, MemoryAttribute::Resident, MemoryAttribute::Real] {
        let mut fixture = fixture(&Choice { attribute, harts: 1, ..multiple(8) }, 6);
        fixture.enter(0, Default::default());
        // Space 6 has another page there.
        fixture.map(root(6), COMMON, ram(35 << 20), DATA);
        fixture.switch(0, root(6), 6);
        fixture.fence(0, Some(COMMON), None);
        touch(&mut fixture, 6);
        fixture.counted();
        let entry = Fixture::entry(root(1), COMMON);
        let old = fixture.load(entry);
        assert_eq!(fixture.partial_purge(0, entry, COMMON, true), old);
        assert_eq!(fixture.load(entry), old & !V);
        let counted = fixture.counted();
        assert_eq!((counted.entries_touched, counted.selective, counted.full), (6, 1, 0));
        // The guest's entry and V1, each through three levels of the host's table where memory is not fixed; three levels of each shadow
        // table, of which five have V0.
        let host_levels = if attribute == MemoryAttribute::Virtual { 3 } else { 0 };
        let done = Selective { tables: 6, references: 2 + 2 * host_levels + 6 * 3, touched: 6, cleared: 5 };
        assert_eq!(counted.steps, steps::exit(Entered::Call) + done.partial_purge());
        assert_eq!((counted.work.pptlb.events, counted.work.pptlb.steps), (1, counted.steps));
        for space in 1..=6 {
            fixture.switch(0, root(space), space as u16);
            fixture.counted();
            let end = fixture.access(0, COMMON, Access::Read);
            let validated = fixture.counted().validations;
            // Space 1 has lost its page; 2 to 5 have theirs in entries of their own, which are made again; 6 has another page.
            let expected = if space == 1 { None } else { Some(u64::from(space < 6)) };
            let got = if end == super::fixture::End::PageFault { None } else { Some(validated) };
            assert_eq!(got, expected, "space {space}, {attribute}");
        }
        assert_eq!(fixture.wrong(), [""; 0]);
    }
}

#[test]
fn pptlb_without_the_handshake_invalidates_every_table() {
    let ways = [(false, Invalidation::Selective), (true, Invalidation::Conventional), (true, Invalidation::Full)];
    for (handshake, invalidation) in ways {
        let mut fixture = fixture(&Choice { invalidation, ..multiple(8) }, 6);
        fixture.partial_purge(0, Fixture::entry(root(1), COMMON), COMMON, handshake);
        let counted = fixture.counted();
        assert_eq!((counted.full, counted.entries_touched), (6, 6 * PAGES));
        assert_eq!(counted.steps, steps::exit(Entered::Call) + steps::full(6, 6 * PAGES, Clear::Stores));
        fixture.switch(0, root(1), 1);
        assert_eq!(fixture.access(0, COMMON, Access::Read), super::fixture::End::PageFault);
    }
}

#[test]
fn pptlb_reaches_the_tlb_of_a_hart_that_fenced_late() {
    // Hart 0 takes the entry out of the table that both use; hart 1 still has it in its TLB.
    let mut fixture = fixture(&Choice { harts: 3, ..multiple(8) }, 1);
    fixture.switch(1, root(1), 1);
    fixture.access(1, COMMON, Access::Read);
    fixture.fence(0, Some(COMMON), Some(1));
    fixture.partial_purge(0, Fixture::entry(root(1), COMMON), COMMON, true);
    assert_eq!(fixture.access(1, COMMON, Access::Read), super::fixture::End::PageFault);
}

#[test]
fn pptlb_reaches_a_global_page_in_the_tlb() {
    let mut fixture = fixture(&Choice { harts: 1, ..multiple(8) }, 1);
    fixture.enter(0, Default::default());
    fixture.map(root(1), COMMON, ram(33 << 20), DATA | G);
    fixture.switch(0, root(1), 1);
    fixture.fence(0, Some(COMMON), None);
    assert!(matches!(fixture.access(0, COMMON, Access::Read), super::fixture::End::Memory(_)));
    fixture.partial_purge(0, Fixture::entry(root(1), COMMON), COMMON, true);
    assert_eq!(fixture.access(0, COMMON, Access::Read), super::fixture::End::PageFault);
}

#[test]
fn assists_take_no_exit_for_what_they_find() {
    let ways = |assist: Assist| {
        let mut fixture = fixture(&Choice { assist, ..multiple(8) }, 2);
        fixture.access(0, Gva(0x9000), Access::Read);
        fixture.events.clear();
        fixture.switch(0, root(1), 1);
        fixture.fence(0, Some(Gva(0x9000)), None);
        fixture.access(0, Gva(0x9000), Access::Read);
        fixture.partial_purge(0, Fixture::entry(root(1), COMMON), COMMON, true);
        fixture.partial_purge(0, Fixture::entry(root(1), Gva(0x9000)), Gva(0x9000), false);
        fixture.fence(0, None, None);
        fixture.space(root(3));
        fixture.events.clear();
        let seen: Vec<_> = fixture.events.iter().map(|event| (event.work.activity, event.work.way)).collect();
        assert!(seen.is_empty());
        fixture.switch(0, root(3), 3);
        fixture.events.iter().map(|event| (event.work.activity, event.work.way)).collect::<Vec<_>>()
    };
    // A table that is not there is the hypervisor's to make.
    for assist in [Assist::None, Assist::VmAssist, Assist::MultiShadow] {
        assert_eq!(ways(assist), [(Activity::LoadControl, Way::Exit)]);
    }
    let found = |assist: Assist| {
        let mut fixture = fixture(&Choice { assist, ..multiple(8) }, 2);
        fixture.events.clear();
        fixture.switch(0, root(1), 1);
        fixture.fence(0, Some(Gva(0x9000)), None);
        fixture.access(0, Gva(0x9000), Access::Read);
        fixture.partial_purge(0, Fixture::entry(root(1), COMMON), COMMON, true);
        fixture.partial_purge(0, Fixture::entry(root(1), Gva(0x9000)), Gva(0x9000), false);
        fixture.fence(0, None, None);
        fixture.events.iter().map(|event| event.work.way).collect::<Vec<_>>()
    };
    let (exit, assisted) = (Way::Exit, Way::Assist);
    assert_eq!(found(Assist::None), [exit; 6]);
    assert_eq!(found(Assist::VmAssist), [exit, exit, assisted, exit, exit, exit]);
    assert_eq!(found(Assist::MultiShadow), [assisted, assisted, assisted, assisted, exit, exit]);
}

#[test]
fn invalidations_without_an_exit_are_counted_as_assisted() {
    for (assist, each) in [(Assist::None, 0), (Assist::VmAssist, 0), (Assist::MultiShadow, 1)] {
        let mut fixture = fixture(&Choice { assist, ..multiple(8) }, 2);
        fixture.fence(0, Some(Gva(0x9000)), None);
        assert_eq!(fixture.counted().assisted_invalidations, each, "a fence, {assist:?}");
        fixture.partial_purge(0, Fixture::entry(root(1), COMMON), COMMON, true);
        assert_eq!(fixture.counted().assisted_invalidations, each, "PPTLB, {assist:?}");
        // A call has exited already.
        fixture.fence_all(Some(Gva(0x9000)), None);
        assert_eq!(fixture.counted().assisted_invalidations, 0, "a call, {assist:?}");
    }
}

#[test]
fn a_store_after_a_load_promotes_the_entry() {
    for ad in [mmu::AdPolicy::Update, mmu::AdPolicy::Fault] {
        let mut fixture = fixture(&Choice { ad, ..multiple(8) }, 1);
        let (gva, entry) = (Gva(0xa000), Fixture::entry(root(1), Gva(0xa000)));
        fixture.map(root(1), gva, ram(36 << 20), DATA & !super::fixture::D);
        fixture.access(0, gva, Access::Read);
        fixture.counted();
        let end = fixture.access(0, gva, Access::Write);
        if ad == mmu::AdPolicy::Fault {
            assert_eq!(end, super::fixture::End::PageFault, "the guest sets D");
            assert_eq!(fixture.counted().reflected, 1);
            fixture.map(root(1), gva, ram(36 << 20), DATA);
            fixture.access(0, gva, Access::Write);
        }
        assert_eq!(fixture.counted().promotions, 1);
        assert_eq!(fixture.load(entry) & DATA, DATA, "D is in the guest's entry");
        assert_eq!(fixture.wrong(), [""; 0]);
    }
}

#[test]
fn a_fence_for_one_address_of_a_large_page_takes_all_its_pieces() {
    for host_page in [types::PageSize::Size4K, types::PageSize::Size2M] {
        let mut fixture = fixture(&Choice { host_page, ..multiple(8) }, 1);
        let at = Gva(0x20_0000);
        // The entry of the level above, which leads to a table, maps 2M from now on.
        let entry = Gpa(root(1).0 + 4096 + 8);
        let bits = V | R | X | U | super::fixture::A;
        fixture.store(entry, super::fixture::pte(ram(40 << 20), bits));
        fixture.fence(0, None, None);
        for offset in [0, 0x1000, 0x1f_f000] {
            fixture.access(0, Gva(at.0 + offset), Access::Read);
        }
        fixture.store(entry, super::fixture::pte(ram(42 << 20), bits));
        fixture.fence(0, Some(Gva(at.0 + 0x8_0000)), None);
        for offset in [0, 0x1000, 0x1f_f000] {
            let end = fixture.access(0, Gva(at.0 + offset), Access::Read);
            assert_eq!(end, super::fixture::End::Memory(fixture.hpa(ram((42 << 20) + offset)).unwrap()), "{offset:#x}");
        }
        assert_eq!(fixture.wrong(), [""; 0]);
    }
}

#[test]
fn a_fence_for_one_address_of_a_64k_page_takes_all_its_pieces() {
    let mut fixture = fixture(&multiple(8), 1);
    let napot = |page: Gpa| super::fixture::pte(Gpa(page.0 | 0x8000), DATA) | 1 << 63;
    let map = |fixture: &mut Fixture, page: Gpa| {
        (0..16).for_each(|piece| fixture.store(Fixture::entry(root(1), Gva(0x10_0000 + piece * 4096)), napot(page)));
    };
    map(&mut fixture, ram(40 << 20));
    let pieces = [0, 0x5000, 0xf000];
    for offset in pieces {
        let page = fixture.access(0, Gva(0x10_0000 + offset), Access::Write);
        assert_eq!(page, super::fixture::End::Memory(fixture.hpa(ram((40 << 20) + offset)).unwrap()));
    }
    map(&mut fixture, ram(41 << 20));
    fixture.fence(0, Some(Gva(0x10_8000)), None);
    for offset in pieces {
        let page = fixture.access(0, Gva(0x10_0000 + offset), Access::Read);
        assert_eq!(page, super::fixture::End::Memory(fixture.hpa(ram((41 << 20) + offset)).unwrap()), "{offset:#x}");
    }
    assert_eq!(fixture.wrong(), [""; 0]);
}

#[test]
fn superpages_are_kept_where_both_dimensions_have_them() {
    for (host_page, faults) in [(types::PageSize::Size4K, 3), (types::PageSize::Size2M, 1)] {
        let mut fixture = fixture(&Choice { host_page, ..multiple(8) }, 1);
        fixture.store(Gpa(root(1).0 + 4096 + 8), super::fixture::pte(ram(40 << 20), DATA | G));
        fixture.fence(0, None, None);
        fixture.counted();
        for offset in [0, 0x1000, 0x1f_f000] {
            fixture.access(0, Gva(0x20_0000 + offset), Access::Write);
        }
        assert_eq!(fixture.counted().validations, faults, "{host_page}");
        assert_eq!(fixture.wrong(), [""; 0]);
    }
}

#[test]
fn the_checker_finds_what_a_fence_has_missed() {
    let mut fixture = fixture(&multiple(8), 1);
    assert_eq!(fixture.wrong(), [""; 0]);
    // Without a fence the entry is out of date, and that is allowed.
    fixture.map(root(1), COMMON, ram(37 << 20), DATA);
    assert_eq!(fixture.wrong(), [""; 0]);
    // As if the fence had done nothing to the table.
    let shadow = fixture.vm.shadow.take().unwrap();
    let mut shadow = shadow;
    shadow.verify(&fixture.vm, &fixture.host.memory, &[1], Some(&[COMMON]), None);
    fixture.vm.shadow = Some(shadow);
    let wrong = fixture.wrong();
    assert!(wrong.len() == 1 && wrong[0].contains("after a fence"), "{wrong:?}");
}

#[test]
fn the_checker_finds_entries_that_nothing_allows() {
    for coherence in [Coherence::Fence, Coherence::WriteProtect] {
        let mut fixture = fixture(&Choice { coherence, ..multiple(8) }, 1);
        let page = fixture.hpa(ram(33 << 20)).unwrap();
        let shadow = fixture.vm.shadow.as_mut().unwrap();
        let table = &mut shadow.tables.list[1].shape;
        let bits = table.lookup(&fixture.host.memory, COMMON).unwrap().bits;
        table.set_bits(&fixture.host.memory, COMMON, bits | crate::table::LeafBits::EXECUTE);
        let wrong = fixture.wrong();
        assert!(wrong.len() == 1 && wrong[0].contains("permits Execute"), "{wrong:?}");
        let _ = page;
    }
}
