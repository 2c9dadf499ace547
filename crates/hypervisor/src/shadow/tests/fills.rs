//! What one fault on a shadow table is charged, to the unit.

use super::fixture::{Choice, DATA, End, Fixture, ram};
use crate::shadow::steps::{self, Entered};
use crate::shadow::{Activity, Assist, Way, Work};
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
