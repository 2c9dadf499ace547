//! What one fault on a shadow table is charged, to the unit.

use super::fixture::{Choice, D, DATA, End, Fixture, W, ram};
use crate::exits::ExitReason;
use crate::shadow::steps::{self, Entered};
use crate::shadow::{Activity, Assist, Coherence, Event, Way, Work};
use crate::table::LeafBits;
use crate::vm::LeafStatus;
use types::{Access, Gpa, Gva};

const ROOT: Gpa = ram(1 << 20);
const PAGE: Gva = Gva(0x3000);

/// A page that the guest maps and no shadow table has. Its frame is there if it has been `used` before.
fn fixture(choice: &Choice, used: bool) -> Fixture {
    let at = ram(33 << 20);
    let mut fixture = Fixture::new(choice);
    fixture.space(ROOT);
    fixture.map(ROOT, PAGE, at, DATA);
    if used {
        fixture.store(at, 1);
    }
    fixture.switch(0, ROOT, 1);
    fixture.counted();
    fixture.events.clear();
    fixture
}

#[test]
fn a_fault_is_charged_for_each_entry_of_each_table_that_it_reads_or_writes() {
    for (assist, used, way) in [
        (Assist::None, true, Way::Exit),
        (Assist::None, false, Way::Exit),
        (Assist::VmAssist, true, Way::Assist),
        // Only the hypervisor gives frames.
        (Assist::VmAssist, false, Way::Exit),
    ] {
        let mut fixture = fixture(&Choice { assist, ..Choice::default() }, used);
        assert!(matches!(fixture.access(0, PAGE, Access::Read), End::Memory(_)));
        let work: Vec<Work> = fixture.events.iter().map(|event| event.work).collect();
        // Three entries of the guest's tables, each behind three of the nested one; the page's own nested walk; and the walk of the shadow table.
        let references = 3 * (1 + 3) + 3 + 3;
        let filled = u64::from(!used);
        let exit = if way == Way::Exit { steps::exit(Entered::Fault) } else { 0 };
        let steps = exit + steps::validation(references);
        let expected = Work { activity: Activity::Validation, way, steps, references, filled };
        assert_eq!(work, [expected], "{assist:?}, used: {used}");
        let counted = fixture.counted();
        assert_eq!((counted.validations, counted.assisted_validations), (1, u64::from(way == Way::Assist)));
        assert_eq!(fixture.wrong(), [""; 0]);
    }
}

/// Three entries of the guest's tables, each behind three of the nested one.
const GUEST_WALK: u64 = 3 * (1 + 3);

/// A fault that makes no entry.
fn other(way: Way, steps: u64) -> Event {
    let work = Work { activity: Activity::Other, way, steps, references: GUEST_WALK, filled: 0 };
    Event { reason: ExitReason::ShadowFault, work }
}

#[test]
fn a_fault_of_the_guests_own_is_charged_for_the_guests_walk_and_counted() {
    let mut fixture = fixture(&Choice::default(), true);
    // Nothing is mapped at the second page, and nothing lies where the third is mapped.
    fixture.map(ROOT, Gva(0x5000), Gpa(0x4000_0000), DATA);
    fixture.counted();
    fixture.events.clear();
    assert_eq!(fixture.access(0, Gva(0x4000), Access::Read), End::PageFault);
    assert_eq!(fixture.access(0, Gva(0x5000), Access::Read), End::AccessFault);
    let steps = steps::exit(Entered::Fault) + steps::fault(GUEST_WALK);
    assert_eq!(fixture.events, [other(Way::Exit, steps); 2]);
    assert_eq!(fixture.counted().reflected, 2);
}

#[test]
fn an_access_to_a_device_is_charged_for_the_walk_and_its_exit_where_the_device_is() {
    let mut fixture = fixture(&Choice::default(), true);
    let uart = devices::map::UART.base;
    fixture.map(ROOT, Gva(0x5000), uart, DATA);
    fixture.counted();
    fixture.events.clear();
    assert_eq!(fixture.access(0, Gva(0x5000), Access::Read), End::Device(uart));
    assert_eq!(fixture.events, [other(Way::Within, steps::fault(GUEST_WALK))]);
    assert_eq!(fixture.counted().reflected, 0);
}

#[test]
fn a_store_to_a_protected_table_is_charged_for_both_walks_and_the_entries_looked_at() {
    let mut fixture = fixture(&Choice { coherence: Coherence::WriteProtect, ..Choice::default() }, true);
    let window = Gva(0x20_0000);
    fixture.map(ROOT, window, Gpa(ROOT.0 + 2 * 4096), DATA);
    fixture.access(0, PAGE, Access::Read);
    fixture.counted();
    fixture.events.clear();
    // The entry of `PAGE`, from which one entry of the shadow table was made.
    assert!(matches!(fixture.access(0, Gva(window.0 + 3 * 8), Access::Write), End::Memory(_)));
    let references = GUEST_WALK + 3 + 1;
    let steps = steps::exit(Entered::Fault) + steps::fault(references);
    let work = Work { activity: Activity::Validation, way: Way::Exit, steps, references, filled: 0 };
    assert_eq!(fixture.events, [Event { reason: ExitReason::TableWrite, work }]);
    assert_eq!(fixture.counted().table_writes, 1);
}

#[test]
fn a_page_is_dirty_for_the_host_as_soon_as_an_entry_permits_stores_and_not_before() {
    for (bits, dirty) in [(DATA, true), (DATA & !D, false), (DATA & !W, false)] {
        let mut fixture = fixture(&Choice { status: LeafStatus::Clear, ..Choice::default() }, false);
        let page = ram(33 << 20);
        fixture.map(ROOT, PAGE, page, bits);
        fixture.fence(0, None, None);
        assert!(matches!(fixture.access(0, PAGE, Access::Read), End::Memory(_)));
        let leaf = fixture.vm.mapped(&fixture.host.memory, page).expect("it was read");
        assert_eq!(leaf.bits.contains(LeafBits::DIRTY), dirty, "{bits:#x}");
        fixture.events.clear();
        if dirty {
            assert!(matches!(fixture.access(0, PAGE, Access::Write), End::Memory(_)));
            assert_eq!(fixture.events, [], "a store needs no second fault");
        }
    }
}

#[test]
fn an_entry_of_another_page_is_no_promotion_and_leaves_the_tlb() {
    let mut fixture = fixture(&Choice::default(), true);
    fixture.map(ROOT, PAGE, ram(33 << 20), DATA & !W);
    fixture.fence(0, None, None);
    fixture.access(0, PAGE, Access::Read);
    // The guest maps another page for stores, and does not fence; the store faults, and finds it.
    let other = ram(34 << 20);
    fixture.store(other, 1);
    fixture.map(ROOT, PAGE, other, DATA);
    fixture.counted();
    let moved = End::Memory(fixture.hpa(other).unwrap());
    assert_eq!(fixture.access(0, PAGE, Access::Write), moved);
    assert_eq!(fixture.access(0, PAGE, Access::Read), moved);
    let counted = fixture.counted();
    assert_eq!((counted.validations, counted.promotions), (1, 0));
    assert_eq!(fixture.wrong(), [""; 0]);
}

#[test]
fn a_changed_entry_of_one_page_leaves_the_rest_of_the_tlb_alone() {
    let mut fixture = fixture(&Choice::default(), true);
    let neighbour = Gva(0x4000);
    fixture.map(ROOT, PAGE, ram(33 << 20), DATA & !W);
    fixture.map(ROOT, neighbour, ram(35 << 20), DATA);
    fixture.fence(0, None, None);
    fixture.access(0, PAGE, Access::Read);
    fixture.access(0, neighbour, Access::Read);
    fixture.map(ROOT, PAGE, ram(34 << 20), DATA);
    fixture.access(0, PAGE, Access::Write);
    let walks = fixture.mmus[0].statistics().walks;
    fixture.access(0, neighbour, Access::Read);
    assert_eq!(fixture.mmus[0].statistics().walks, walks, "the neighbour is in the TLB");
}
