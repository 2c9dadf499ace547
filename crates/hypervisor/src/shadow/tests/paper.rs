//! What Umeno et al. (1985) say of tables and invalidations, in their geometry: spaces of 16M, pages of 4K.

use super::bed::{Bed, Choice, DATA, G, R, U, V, X, ram};
use crate::shadow::{Activity, Assist, Coherence, Invalidation, Tables, Way, steps};
use crate::vm::MemoryAttribute;
use types::{Access, Gpa, Gva};

const PAGES: u64 = 4096;
/// The page that all spaces have in common.
const COMMON: Gva = Gva(0x5_7000);

/// Where space `number` has its root.
const fn root(number: u64) -> Gpa {
    ram((1 << 20) + number * 0x1_0000)
}

/// A bed with so many spaces, numbered from 1 as their ASIDs are, each used, with [`COMMON`] and one page of its own mapped.
fn bed(choice: &Choice, spaces: u64) -> Bed {
    let mut bed = Bed::new(choice);
    for space in 1..=spaces {
        bed.space(root(space));
        // Every table is there.
        for number in 0..8 {
            bed.map(root(space), Gva(number << 21), ram(32 << 20), DATA);
        }
        bed.map(root(space), COMMON, ram(33 << 20), DATA);
        bed.map(root(space), Gva(0x9000), ram((34 << 20) + space * 4096), DATA);
    }
    touch(&mut bed, spaces);
    bed.counted();
    bed
}

/// Every space is used.
fn touch(bed: &mut Bed, spaces: u64) {
    for space in 1..=spaces {
        bed.switch(0, root(space), space as u16);
        for gva in (0..8).map(|number| Gva(number << 21)).chain([COMMON, Gva(0x9000)]) {
            bed.access(0, gva, Access::Read);
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
            let mut bed = bed(choice, spaces);
            bed.fence(0, Some(COMMON), None);
            let counted = bed.counted();
            (touched[index], steps[index]) = (counted.entries_touched, counted.steps);
            assert_eq!(counted.selective, u64::from(index == 0));
            assert_eq!(counted.full, if index == 0 { 0 } else { spaces });
        }
        assert_eq!(touched, [spaces, spaces * PAGES], "the ratio of table 3, row 1, for {spaces} tables");
        assert_eq!(steps[1], (7 * spaces + 4) * steps[0], "table 3, row 2, for {spaces} tables");
    }
}

#[test]
fn a_virtual_page_is_found_in_every_table_where_a_real_one_is_not() {
    let mut bed = bed(&Choice { invalidation: Invalidation::Conventional, ..multiple(8) }, 6);
    bed.fence(0, Some(COMMON), None);
    let counted = bed.counted();
    assert_eq!((counted.selective, counted.full, counted.entries_touched), (1, 0, 6), "section 3.3.1, (1)");
    bed.partial_purge(0, Bed::entry(root(1), COMMON), COMMON, true);
    let counted = bed.counted();
    assert_eq!((counted.selective, counted.full, counted.entries_touched), (0, 6, 6 * PAGES), "section 3.3.1, (2)");
}

#[test]
fn a_fence_for_one_address_space_touches_its_table_alone() {
    let mut bed = bed(&multiple(8), 5);
    bed.fence(0, Some(COMMON), Some(3));
    assert_eq!(bed.counted().entries_touched, 1);
    bed.fence(0, None, Some(3));
    let counted = bed.counted();
    assert_eq!((counted.entries_touched, counted.full), (PAGES, 1));
}

#[test]
fn the_selection_flag_spares_unused_tables_a_second_invalidation() {
    for (selection_flag, second, double) in [(true, PAGES, 0), (false, 6 * PAGES, 5)] {
        let mut bed = bed(&Choice { selection_flag, ..multiple(8) }, 6);
        bed.fence(0, None, None);
        let counted = bed.counted();
        assert_eq!((counted.full, counted.double, counted.entries_touched), (6, 0, 6 * PAGES));
        // One space goes on alone; nobody tells the hypervisor that the others are gone.
        bed.fence(0, None, None);
        let counted = bed.counted();
        assert_eq!((counted.entries_touched, counted.double), (second, double), "flag {selection_flag}");
        assert_eq!(counted.full, second / PAGES);
        // A space that comes back is selected, and invalidated again.
        bed.switch(0, root(2), 2);
        bed.counted();
        bed.fence(0, None, None);
        assert_eq!(bed.counted().full, if selection_flag { 2 } else { 6 });
    }
}

#[test]
fn tables_are_found_again_and_the_least_recently_used_is_stolen() {
    let mut bed = bed(&multiple(3), 3);
    for (space, found, created, stolen) in
        [(1, 1, 0, 0), (3, 1, 0, 0), (1, 1, 0, 0), (4, 0, 0, 1), (3, 1, 0, 0), (2, 0, 0, 1)]
    {
        if space == 4 {
            bed.space(root(4));
            bed.counted();
        }
        bed.switch(0, root(space), space as u16);
        let counted = bed.counted();
        let switches = (counted.switches_found, counted.switches_created, counted.switches_stolen);
        assert_eq!(switches, (found, created, stolen), "to space {space}");
    }
    assert_eq!(bed.wrong(), [""; 0]);
}

#[test]
fn what_was_in_a_stolen_table_is_nobodys() {
    let mut bed = bed(&multiple(2), 3);
    let own = |bed: &mut Bed| bed.access(0, Gva(0x9000), Access::Read);
    for space in [1, 2, 3, 1, 3, 2] {
        bed.switch(0, root(space), space as u16);
        let page = bed.hpa(ram((34 << 20) + space * 4096)).unwrap();
        assert_eq!(own(&mut bed), super::bed::End::Memory(page), "space {space}");
    }
    assert_eq!(bed.wrong(), [""; 0]);
}

#[test]
fn a_single_table_is_invalidated_at_every_switch() {
    let choice = Choice { tables: Tables::Single, ..Choice::default() };
    let mut bed = bed(&choice, 2);
    bed.switch(0, root(1), 1);
    let counted = bed.counted();
    assert_eq!((counted.entries_touched, counted.switches_created), (PAGES, 1));
    let walks = bed.mmus[0].statistics().walks;
    assert!(matches!(bed.access(0, COMMON, Access::Read), super::bed::End::Memory(_)));
    assert!(bed.mmus[0].statistics().walks > walks, "the TLB went with the table");
    assert_eq!(bed.counted().validations, 1);
}

#[test]
fn pptlb_takes_the_pair_away_where_the_real_page_is_the_same() {
    for attribute in [MemoryAttribute::Virtual, MemoryAttribute::Resident, MemoryAttribute::Real] {
        let mut bed = bed(&Choice { attribute, harts: 1, ..multiple(8) }, 6);
        bed.enter(0, Default::default());
        // Space 6 has another page there.
        bed.map(root(6), COMMON, ram(35 << 20), DATA);
        bed.switch(0, root(6), 6);
        bed.fence(0, Some(COMMON), None);
        touch(&mut bed, 6);
        bed.counted();
        let entry = Bed::entry(root(1), COMMON);
        let old = bed.load(entry);
        assert_eq!(bed.partial_purge(0, entry, COMMON, true), old);
        assert_eq!(bed.load(entry), old & !V);
        let counted = bed.counted();
        assert_eq!((counted.entries_touched, counted.selective, counted.full), (6, 1, 0));
        assert_eq!(counted.steps, steps::SELECTIVE);
        for space in 1..=6 {
            bed.switch(0, root(space), space as u16);
            bed.counted();
            let end = bed.access(0, COMMON, Access::Read);
            let validated = bed.counted().validations;
            // Space 1 has lost its page; 2 to 5 have theirs in entries of their own, which are made anew; 6 has another page.
            let expected = if space == 1 { None } else { Some(u64::from(space < 6)) };
            let got = if end == super::bed::End::PageFault { None } else { Some(validated) };
            assert_eq!(got, expected, "space {space}, {attribute}");
        }
        assert_eq!(bed.wrong(), [""; 0]);
    }
}

#[test]
fn pptlb_without_the_handshake_invalidates_every_table() {
    let ways = [(false, Invalidation::Selective), (true, Invalidation::Conventional), (true, Invalidation::Full)];
    for (handshake, invalidation) in ways {
        let mut bed = bed(&Choice { invalidation, ..multiple(8) }, 6);
        bed.partial_purge(0, Bed::entry(root(1), COMMON), COMMON, handshake);
        let counted = bed.counted();
        assert_eq!((counted.full, counted.entries_touched), (6, 6 * PAGES));
        assert_eq!(counted.steps, (7 * 6 + 4) * steps::SELECTIVE);
        bed.switch(0, root(1), 1);
        assert_eq!(bed.access(0, COMMON, Access::Read), super::bed::End::PageFault);
    }
}

#[test]
fn pptlb_reaches_the_tlb_of_a_hart_that_fenced_late() {
    // Hart 0 takes the entry out of the table that both use; hart 1 still has it in its TLB.
    let mut bed = bed(&Choice { harts: 3, ..multiple(8) }, 1);
    bed.switch(1, root(1), 1);
    bed.access(1, COMMON, Access::Read);
    bed.fence(0, Some(COMMON), Some(1));
    bed.partial_purge(0, Bed::entry(root(1), COMMON), COMMON, true);
    assert_eq!(bed.access(1, COMMON, Access::Read), super::bed::End::PageFault);
}

#[test]
fn assists_take_no_exit_for_what_they_find() {
    let ways = |assist: Assist| {
        let mut bed = bed(&Choice { assist, ..multiple(8) }, 2);
        bed.access(0, Gva(0x9000), Access::Read);
        bed.events.clear();
        bed.switch(0, root(1), 1);
        bed.fence(0, Some(Gva(0x9000)), None);
        bed.access(0, Gva(0x9000), Access::Read);
        bed.partial_purge(0, Bed::entry(root(1), COMMON), COMMON, true);
        bed.partial_purge(0, Bed::entry(root(1), Gva(0x9000)), Gva(0x9000), false);
        bed.fence(0, None, None);
        bed.space(root(3));
        bed.events.clear();
        let seen: Vec<_> = bed.events.iter().map(|event| (event.work.activity, event.work.way)).collect();
        assert!(seen.is_empty());
        bed.switch(0, root(3), 3);
        bed.events.iter().map(|event| (event.work.activity, event.work.way)).collect::<Vec<_>>()
    };
    // A table that is not there is the hypervisor's to make.
    for assist in [Assist::None, Assist::VmAssist, Assist::MultiShadow] {
        assert_eq!(ways(assist), [(Activity::LoadControl, Way::Exit)]);
    }
    let found = |assist: Assist| {
        let mut bed = bed(&Choice { assist, ..multiple(8) }, 2);
        bed.events.clear();
        bed.switch(0, root(1), 1);
        bed.fence(0, Some(Gva(0x9000)), None);
        bed.access(0, Gva(0x9000), Access::Read);
        bed.partial_purge(0, Bed::entry(root(1), COMMON), COMMON, true);
        bed.partial_purge(0, Bed::entry(root(1), Gva(0x9000)), Gva(0x9000), false);
        bed.fence(0, None, None);
        bed.events.iter().map(|event| event.work.way).collect::<Vec<_>>()
    };
    let (exit, assisted) = (Way::Exit, Way::Assist);
    assert_eq!(found(Assist::None), [exit; 6]);
    assert_eq!(found(Assist::VmAssist), [exit, exit, assisted, exit, exit, exit]);
    assert_eq!(found(Assist::MultiShadow), [assisted, assisted, assisted, assisted, exit, exit]);
}

#[test]
fn a_store_after_a_load_promotes_the_entry() {
    for ad in [mmu::AdPolicy::Update, mmu::AdPolicy::Fault] {
        let mut bed = bed(&Choice { ad, ..multiple(8) }, 1);
        let (gva, entry) = (Gva(0xa000), Bed::entry(root(1), Gva(0xa000)));
        bed.map(root(1), gva, ram(36 << 20), DATA & !super::bed::D);
        bed.access(0, gva, Access::Read);
        bed.counted();
        let end = bed.access(0, gva, Access::Write);
        if ad == mmu::AdPolicy::Fault {
            assert_eq!(end, super::bed::End::PageFault, "the guest sets D");
            assert_eq!(bed.counted().reflected, 1);
            bed.map(root(1), gva, ram(36 << 20), DATA);
            bed.access(0, gva, Access::Write);
        }
        assert_eq!(bed.counted().promotions, 1);
        assert_eq!(bed.load(entry) & DATA, DATA, "D is in the guest's entry");
        assert_eq!(bed.wrong(), [""; 0]);
    }
}

#[test]
fn a_fence_for_one_address_of_a_large_page_takes_all_its_pieces() {
    for host_page in [types::PageSize::Size4K, types::PageSize::Size2M] {
        let mut bed = bed(&Choice { host_page, ..multiple(8) }, 1);
        let at = Gva(0x20_0000);
        // The entry of the level above, which leads to a table, maps 2M from now on.
        let entry = Gpa(root(1).0 + 4096 + 8);
        let bits = V | R | X | U | super::bed::A;
        bed.store(entry, super::bed::pte(ram(40 << 20), bits));
        bed.fence(0, None, None);
        for offset in [0, 0x1000, 0x1f_f000] {
            bed.access(0, Gva(at.0 + offset), Access::Read);
        }
        bed.store(entry, super::bed::pte(ram(42 << 20), bits));
        bed.fence(0, Some(Gva(at.0 + 0x8_0000)), None);
        for offset in [0, 0x1000, 0x1f_f000] {
            let end = bed.access(0, Gva(at.0 + offset), Access::Read);
            assert_eq!(end, super::bed::End::Memory(bed.hpa(ram((42 << 20) + offset)).unwrap()), "{offset:#x}");
        }
        assert_eq!(bed.wrong(), [""; 0]);
    }
}

#[test]
fn a_fence_for_one_address_of_a_64k_page_takes_all_its_pieces() {
    let mut bed = bed(&multiple(8), 1);
    let napot = |page: Gpa| super::bed::pte(Gpa(page.0 | 0x8000), DATA) | 1 << 63;
    let map = |bed: &mut Bed, page: Gpa| {
        (0..16).for_each(|piece| bed.store(Bed::entry(root(1), Gva(0x10_0000 + piece * 4096)), napot(page)));
    };
    map(&mut bed, ram(40 << 20));
    let pieces = [0, 0x5000, 0xf000];
    for offset in pieces {
        let page = bed.access(0, Gva(0x10_0000 + offset), Access::Write);
        assert_eq!(page, super::bed::End::Memory(bed.hpa(ram((40 << 20) + offset)).unwrap()));
    }
    map(&mut bed, ram(41 << 20));
    bed.fence(0, Some(Gva(0x10_8000)), None);
    for offset in pieces {
        let page = bed.access(0, Gva(0x10_0000 + offset), Access::Read);
        assert_eq!(page, super::bed::End::Memory(bed.hpa(ram((41 << 20) + offset)).unwrap()), "{offset:#x}");
    }
    assert_eq!(bed.wrong(), [""; 0]);
}

#[test]
fn superpages_are_kept_where_both_dimensions_have_them() {
    for (host_page, faults) in [(types::PageSize::Size4K, 3), (types::PageSize::Size2M, 1)] {
        let mut bed = bed(&Choice { host_page, ..multiple(8) }, 1);
        bed.store(Gpa(root(1).0 + 4096 + 8), super::bed::pte(ram(40 << 20), DATA | G));
        bed.fence(0, None, None);
        bed.counted();
        for offset in [0, 0x1000, 0x1f_f000] {
            bed.access(0, Gva(0x20_0000 + offset), Access::Write);
        }
        assert_eq!(bed.counted().validations, faults, "{host_page}");
        assert_eq!(bed.wrong(), [""; 0]);
    }
}

#[test]
fn the_checker_finds_what_a_fence_has_missed() {
    let mut bed = bed(&multiple(8), 1);
    assert_eq!(bed.wrong(), [""; 0]);
    // Without a fence the entry is out of date, and that is allowed.
    bed.map(root(1), COMMON, ram(37 << 20), DATA);
    assert_eq!(bed.wrong(), [""; 0]);
    // As if the fence had done nothing to the table.
    let shadow = bed.vm.shadow.take().unwrap();
    let mut shadow = shadow;
    shadow.verify(&bed.vm, &bed.host.memory, &[1], Some(&[COMMON]), None);
    bed.vm.shadow = Some(shadow);
    let wrong = bed.wrong();
    assert!(wrong.len() == 1 && wrong[0].contains("after a fence"), "{wrong:?}");
}

#[test]
fn the_checker_finds_entries_that_nothing_allows() {
    for coherence in [Coherence::Fence, Coherence::WriteProtect] {
        let mut bed = bed(&Choice { coherence, ..multiple(8) }, 1);
        let page = bed.hpa(ram(33 << 20)).unwrap();
        let shadow = bed.vm.shadow.as_mut().unwrap();
        let table = &mut shadow.tables.list[1].shape;
        let bits = table.lookup(&bed.host.memory, COMMON).unwrap().bits;
        table.set_bits(&bed.host.memory, COMMON, bits | crate::table::LeafBits::EXECUTE);
        let wrong = bed.wrong();
        assert!(wrong.len() == 1 && wrong[0].contains("permits Execute"), "{wrong:?}");
        let _ = page;
    }
}
