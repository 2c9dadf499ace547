//! Agile paging: what its faults and intervals are charged, and what they take from the TLBs.

use super::fixture::{AGILE, Choice, D, DATA, End, Fixture, V, pte, ram};
use crate::exits::ExitReason;
use crate::shadow::steps::{self, Entered};
use crate::shadow::{Activity, AgileConfig, Back, Coherence, Event, Start, Tables, Way, Work};
use types::{Access, Gpa, Gva};

const ROOT: Gpa = ram(1 << 20);
const PAGE: Gva = Gva(0x3000);
/// The last-level table of [`PAGE`], and where the guest has it as data.
const TABLE: Gpa = Gpa(ROOT.0 + 2 * 4096);
const WINDOW: Gva = Gva(0x20_3000);

fn fixture(agile: AgileConfig) -> Fixture {
    let (tables, coherence) = (Tables::Multiple(4), Coherence::WriteProtect);
    let mut fixture = Fixture::new(&Choice { tables, coherence, agile: Some(agile), ..Choice::default() });
    fixture.space(ROOT);
    fixture.map(ROOT, PAGE, ram(30 << 20), DATA);
    fixture.map(ROOT, WINDOW, TABLE, DATA);
    fixture.switch(0, ROOT, 1);
    fixture.access(0, PAGE, Access::Write);
    forget(&mut fixture);
    fixture
}

/// The table of [`PAGE`] is stored to until it is nested, and hardware is led to it.
fn nest(fixture: &mut Fixture) {
    for number in 0..2 {
        fixture.map(ROOT, Gva((8 + number) << 12), ram((31 << 20) + (number << 12)), DATA);
    }
    assert!(matches!(fixture.access(0, PAGE, Access::Read), End::Memory(_)));
    assert_eq!(nested(fixture), 1);
}

fn nested(fixture: &Fixture) -> usize {
    fixture.vm.shadow.as_ref().unwrap().nested_pages()
}

fn forget(fixture: &mut Fixture) {
    fixture.counted();
    fixture.events.clear();
}

fn event(reason: ExitReason, activity: Activity, steps: u64, references: u64) -> Event {
    let steps = steps::exit(Entered::Fault) + steps;
    Event { reason, work: Work { activity, way: Way::Exit, steps, references, filled: 0 } }
}

#[test]
fn a_switching_entry_is_charged_for_the_walk_down_to_the_nested_table() {
    // The last level's table, behind two others, and the root's own page.
    for (depth, store) in [(2, Fixture::entry(ROOT, Gva(8 << 12))), (0, Gpa(ROOT.0 + 4 * 8))] {
        let mut fixture = fixture(AGILE);
        for number in 0..2 {
            fixture.store(Gpa(store.0 + number * 8), 0);
        }
        forget(&mut fixture);
        assert!(matches!(fixture.access(0, PAGE, Access::Read), End::Memory(_)));
        // Entries of the guest's tables, each behind three of the nested one, and the levels of the shadow table.
        let references = (depth + 1) * (1 + 3) + 3;
        let expected = event(ExitReason::ShadowFault, Activity::Validation, steps::validation(references), references);
        assert_eq!(fixture.events, [expected], "depth {depth}");
        let counted = fixture.counted();
        assert_eq!((counted.agile.switches, counted.agile.to_nested, counted.validations), (1, 0, 0));
    }
}

#[test]
fn an_interval_is_charged_for_each_nested_page_and_each_that_comes_back() {
    for (back, returned) in [(Back::Never, 0), (Back::Reset, 1)] {
        let mut fixture = fixture(AgileConfig { back, ..AGILE });
        nest(&mut fixture);
        forget(&mut fixture);
        fixture.end_interval();
        let references = 1 + 3 + returned;
        let expected = event(ExitReason::Timer, Activity::PurgeTlb, steps::fault(references), references);
        assert_eq!(fixture.events, [expected], "{back:?}");
        let counted = fixture.counted().agile;
        assert_eq!((counted.intervals, counted.to_shadow, counted.dirty), (1, returned, 0));
    }
}

#[test]
fn an_interval_with_nothing_nested_is_no_exit() {
    let mut fixture = fixture(AGILE);
    fixture.end_interval();
    assert_eq!(fixture.events, []);
    assert_eq!(fixture.counted().agile.intervals, 0);
}

#[test]
fn an_interval_is_charged_for_a_space_that_gets_its_shadow_table() {
    let mut fixture = fixture(AgileConfig { start: Start::Nested, ..AGILE });
    fixture.end_interval();
    assert_eq!(fixture.events, [], "it has not lived through it");
    fixture.end_interval();
    assert_eq!(fixture.events, [event(ExitReason::Timer, Activity::PurgeTlb, steps::fault(1), 0)]);
    assert_eq!(fixture.counted().agile.intervals, 1);
}

/// With [`Back::Dirty`], a load of a nested table through a window is no store; the first store after it is one.
#[test]
fn a_nested_table_is_dirty_by_a_store_and_not_by_a_load() {
    for (accesses, stays) in
        [(&[][..], 0), (&[Access::Read][..], 0), (&[Access::Write][..], 1), (&[Access::Read, Access::Write][..], 1)]
    {
        let mut fixture = fixture(AgileConfig { back: Back::Dirty, ..AGILE });
        nest(&mut fixture);
        fixture.end_interval();
        assert_eq!(nested(&fixture), 1, "it was stored to");
        forget(&mut fixture);
        for &access in accesses {
            assert!(matches!(fixture.access(0, WINDOW, access), End::Memory(_)));
        }
        fixture.end_interval();
        assert_eq!(nested(&fixture), stays, "{accesses:?}");
        let counted = fixture.counted().agile;
        assert_eq!((counted.dirty, counted.to_shadow), (stays as u64, 1 - stays as u64), "{accesses:?}");
        assert_eq!(fixture.wrong(), [""; 0]);
    }
}

#[test]
fn changes_of_an_interval_are_traps_avoided_only_where_hardware_is_led_to_the_table() {
    for (led_to, avoided) in [(true, 9), (false, 0)] {
        let mut fixture = fixture(AGILE);
        for number in 0..2 {
            fixture.map(ROOT, Gva((8 + number) << 12), ram(31 << 20), DATA);
        }
        if led_to {
            fixture.access(0, PAGE, Access::Read);
        }
        // The hypervisor's own store that nested it is one of the changes: it comes after the page has been looked at.
        for number in 0..8 {
            fixture.map(ROOT, Gva((100 + number) << 12), ram(32 << 20), DATA);
        }
        forget(&mut fixture);
        fixture.end_interval();
        assert_eq!(fixture.counted().agile.avoided, avoided, "led to: {led_to}");
    }
}

#[test]
fn a_refused_store_of_hardware_is_charged_for_the_nested_walk() {
    let mut fixture = fixture(AGILE);
    fixture.access(0, WINDOW, Access::Read);
    // The window's table is nested, so hardware walks to the protected table of `PAGE` by the nested one.
    for number in 0..2 {
        fixture.map(ROOT, Gva(0x20_4000 + (number << 12)), ram(33 << 20), DATA);
    }
    fixture.access(0, WINDOW, Access::Read);
    forget(&mut fixture);
    let End::Memory(_) = fixture.access(0, Gva(WINDOW.0 + 3 * 8), Access::Write) else { panic!("it is mapped") };
    // The nested walk, and the entry of `PAGE` that the store outdates.
    let expected = event(ExitReason::TableWrite, Activity::Validation, steps::fault(3 + 1), 3 + 1);
    assert_eq!(fixture.events, [expected]);
    let counted = fixture.counted();
    assert_eq!((counted.agile.nested_table_writes, counted.table_writes), (1, 1));
}

#[test]
fn a_table_that_is_one_no_more_may_be_stored_to_again_through_the_nested_table() {
    let mut fixture = fixture(AGILE);
    // Its only link is cut; nothing is derived from it.
    fixture.store(Gpa(ROOT.0 + 4096), 0);
    fixture.store(Gpa(ROOT.0 + 4096), pte(Gpa(ROOT.0 + 5 * 4096), V));
    forget(&mut fixture);
    for number in 0..3 {
        fixture.map(ROOT, Gva((8 + number) << 12), ram(31 << 20), DATA);
    }
    assert_eq!(fixture.counted().table_writes, 0);
    let leaf = fixture.vm.mapped(&fixture.host.memory, TABLE).expect("it was stored to");
    assert!(leaf.bits.contains(crate::table::LeafBits::WRITE));
    assert_eq!(fixture.wrong(), [""; 0]);
}

#[test]
fn an_entry_that_gets_status_bits_alone_is_no_trap_avoided() {
    let mut fixture = fixture(AgileConfig { back: Back::Never, ..AGILE });
    nest(&mut fixture);
    let clean = [Gva(0x6000), Gva(0x7000)];
    for gva in clean {
        fixture.map(ROOT, gva, ram(34 << 20), DATA & !D);
    }
    fixture.end_interval();
    forget(&mut fixture);
    // One entry leads to another page with the same bits, two get D.
    fixture.map(ROOT, PAGE, ram(33 << 20), DATA);
    for gva in clean {
        fixture.map(ROOT, gva, ram(34 << 20), DATA);
    }
    fixture.end_interval();
    assert_eq!(fixture.counted().agile.avoided, 1);
}
