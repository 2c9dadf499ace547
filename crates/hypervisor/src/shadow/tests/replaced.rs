//! An entry that replaces another page's: what TLBs hold of the old page goes with the old entry.

use super::fixture::{A, Choice, D, End, Fixture, R, U, V, W, X, pte, ram};
use types::{Access, Gpa, Gva};

const ROOT: Gpa = ram(1 << 20);
const PAGE: Gva = Gva(0x3000);
const CODE: Gpa = ram(30 << 20);
const DATA: Gpa = ram(31 << 20);
const CODE_BITS: u64 = V | R | X | U | A;
const DATA_BITS: u64 = V | R | W | U | A | D;

/// The guest changes the entry of [`PAGE`] by a store that no fence follows.
fn remap(fixture: &mut Fixture, page: Gpa, bits: u64) {
    let entry = fixture.hpa(Fixture::entry(ROOT, PAGE)).unwrap();
    fixture.host.memory.write(entry, pte(page, bits)).unwrap();
}

/// A space with [`CODE`] at [`PAGE`].
fn fixture(harts: usize) -> Fixture {
    let mut fixture = Fixture::new(&Choice { harts, ..Choice::default() });
    fixture.space(ROOT);
    fixture.map(ROOT, PAGE, CODE, CODE_BITS);
    fixture
}

/// Regression: a mutant without the fence of a replaced base page passed every test. With one processor, a partial purge with the
/// handshake finds what the TLB may hold by the shadow entry alone. Here the entry has the data page, and the TLB for fetches had the code
/// page still: the guest ran code from a page that it had purged.
#[test]
fn a_partial_purge_reaches_a_page_whose_entry_was_replaced_before() {
    let mut fixture = fixture(1);
    fixture.switch(0, ROOT, 1);
    assert_eq!(fixture.access(0, PAGE, Access::Execute), End::Memory(fixture.hpa(CODE).unwrap()));
    remap(&mut fixture, DATA, DATA_BITS);
    let End::Memory(_) = fixture.access(0, PAGE, Access::Write) else { panic!("the page is data now") };
    remap(&mut fixture, CODE, CODE_BITS);
    let old = fixture.partial_purge(0, Fixture::entry(ROOT, PAGE), PAGE, true);
    assert_eq!(old, pte(CODE, CODE_BITS));
    assert_eq!(fixture.access(0, PAGE, Access::Execute), End::PageFault, "the entry is invalid, and purged");
    assert_eq!(fixture.wrong(), [""; 0]);
}

/// The rule behind it, on every processor: one that had the old page finds the new entry.
#[test]
fn a_replaced_page_is_in_no_tlb() {
    let mut fixture = fixture(3);
    for hart in [0, 1] {
        fixture.switch(hart, ROOT, 1);
        assert_eq!(fixture.access(hart, PAGE, Access::Read), End::Memory(fixture.hpa(CODE).unwrap()));
    }
    remap(&mut fixture, DATA, DATA_BITS);
    let data = fixture.access(0, PAGE, Access::Write);
    assert_eq!(data, End::Memory(fixture.hpa(DATA).unwrap()));
    assert_eq!(fixture.access(1, PAGE, Access::Read), data);
    assert_eq!(fixture.wrong(), [""; 0]);
}
