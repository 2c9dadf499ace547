//! What a switch to another address space is charged, to the unit.

use super::fixture::{Choice, DATA, Fixture, ram};
use crate::shadow::steps::{self, Entered};
use crate::shadow::{Activity, Assist, Clear, Tables, Way, Work};
use types::{Access, Gpa, Gva, TranslationContext};

const PAGES: u64 = 5;

const fn root(space: u64) -> Gpa {
    ram((1 << 20) + space * 0x1_0000)
}

/// Two spaces that hart 0 has used one after the other, with as many entries each.
fn fixture(choice: &Choice) -> Fixture {
    let mut fixture = Fixture::new(choice);
    for space in 1..=3 {
        fixture.space(root(space));
        for page in 0..PAGES {
            fixture.map(root(space), Gva(page << 12), ram((32 << 20) + (page << 12)), DATA);
        }
    }
    for space in 1..=2 {
        fixture.switch(0, root(space), space as u16);
        (0..PAGES).for_each(|page| assert!(used(&mut fixture, page)));
    }
    fixture.counted();
    fixture.events.clear();
    fixture
}

fn used(fixture: &mut Fixture, page: u64) -> bool {
    matches!(fixture.access(0, Gva(page << 12), Access::Read), super::fixture::End::Memory(_))
}

fn works(fixture: &Fixture) -> Vec<Work> {
    fixture.events.iter().map(|event| event.work).collect()
}

fn load_control(way: Way, steps: u64) -> Work {
    Work { activity: Activity::LoadControl, way, steps, references: 0, filled: 0 }
}

fn exit() -> u64 {
    steps::exit(Entered::Instruction)
}

#[test]
fn a_table_that_is_found_is_charged_for_the_tables_looked_at() {
    for (assist, way, steps) in [(Assist::None, Way::Exit, exit()), (Assist::MultiShadow, Way::Assist, 0)] {
        let mut fixture = fixture(&Choice { tables: Tables::Multiple(3), assist, ..Choice::default() });
        fixture.switch(0, root(1), 1);
        assert_eq!(works(&fixture), [load_control(way, steps + steps::switch(2))], "{assist:?}");
        let counted = fixture.counted();
        assert_eq!((counted.switches_found, counted.assisted_switches), (1, u64::from(way == Way::Assist)));
    }
}

#[test]
fn a_switch_within_a_space_and_one_that_leaves_translation_look_at_no_table() {
    let mut fixture = fixture(&Choice::default());
    fixture.switch(0, root(2), 2);
    assert_eq!(fixture.events, [], "it is there already");
    fixture.enter(0, TranslationContext::default());
    assert_eq!(works(&fixture), [load_control(Way::Exit, exit() + steps::switch(0))]);
}

#[test]
fn a_table_that_is_made_is_the_hypervisors_work_and_counts_among_those_looked_at() {
    for assist in [Assist::None, Assist::MultiShadow] {
        let mut fixture = fixture(&Choice { tables: Tables::Multiple(3), assist, ..Choice::default() });
        let bytes = fixture.vm.shadow_table_bytes();
        fixture.switch(0, root(3), 3);
        assert_eq!(fixture.vm.shadow_table_bytes() - bytes, 4096, "its root");
        assert_eq!(works(&fixture), [load_control(Way::Exit, exit() + steps::switch(3))], "{assist:?}");
        let counted = fixture.counted();
        assert_eq!((counted.switches_created, counted.assisted_switches, counted.full), (1, 0, 0));
    }
}

#[test]
fn a_table_that_is_stolen_is_charged_for_its_invalidation_once() {
    for clear in [Clear::Stores, Clear::Blocks] {
        let mut fixture = fixture(&Choice { tables: Tables::Multiple(2), clear, ..Choice::default() });
        fixture.switch(0, root(3), 3);
        let counted = fixture.counted();
        assert!(counted.entries_touched >= PAGES, "{}", counted.entries_touched);
        assert_eq!((counted.switches_stolen, counted.full), (1, 1));
        let clearing = steps::full(1, counted.entries_touched, clear);
        // What was looked at for one switch is not charged to the next.
        fixture.switch(0, root(2), 2);
        let steps = exit() + steps::switch(2);
        assert_eq!(works(&fixture), [load_control(Way::Exit, steps + clearing), load_control(Way::Exit, steps)]);
    }
}

#[test]
fn a_single_table_is_charged_for_what_it_held_and_looks_for_nothing() {
    let mut fixture = fixture(&Choice { tables: Tables::Single, ..Choice::default() });
    fixture.switch(0, root(1), 1);
    let touched = fixture.counted().entries_touched;
    assert!(touched >= PAGES, "{touched}");
    // Its last-level table stays, so as much is cleared again.
    fixture.switch(0, root(2), 2);
    let steps = exit() + steps::switch(0) + steps::full(1, touched, Clear::Stores);
    assert_eq!(works(&fixture), [load_control(Way::Exit, steps); 2]);
    assert_eq!(fixture.wrong(), [""; 0]);
}
