//! Entries that are derived all at once are those that faults make one by one.

use super::fixture::{A, Choice, D, DATA, End, Fixture, G, R, U, V, W, X, pte, ram};
use crate::shadow::{Coherence, Tables, Tlbs};
use crate::table::{Leaf, LeafBits};
use mmu::Fence;
use types::{Access, Asid, Gpa, Gva, PageSize, PagingMode, Privilege, TranslationContext};

const ROOT: Gpa = ram(1 << 20);
/// Where the supervisor has all of RAM in one leaf.
const LINEAR: Gva = Gva(1 << 30);
/// Pages of RAM that have a frame, beside the tables.
const TOUCHED: [u64; 4] = [30 << 20, (30 << 20) + 0x1000, 33 << 20, (40 << 20) + 0x7000];

struct NoTlbs;

impl Tlbs for NoTlbs {
    fn fence_here(&mut self, _: &Fence) {}
    fn fence_everywhere(&mut self, _: &Fence) {}
}

impl Fixture {
    /// Every entry of every table.
    fn entries(&self) -> Vec<(usize, Gva, Leaf)> {
        let tables = self.vm.shadow.as_ref().unwrap().tables.list.iter().enumerate();
        let leaves = |(number, table): (usize, &crate::shadow::tables::Table)| {
            let leaves = table.shape.leaves(&self.host.memory);
            leaves.into_iter().map(move |(gva, leaf)| (number, gva, leaf)).collect::<Vec<_>>()
        };
        tables.flat_map(leaves).collect()
    }

    fn derive(&mut self, hart: usize) {
        self.vm.derive_shadow(&mut self.host, &mut NoTlbs, hart);
    }
}

fn supervisor() -> TranslationContext {
    let (mode, asid, privilege) = (PagingMode::Sv39, Asid(1), Privilege::Supervisor);
    TranslationContext { mode, root: ROOT, asid, privilege, sum: false, mxr: false }
}

/// A guest with pages of a user and the supervisor's linear map, none of them used yet by a hart that translates.
fn fixture(choice: Choice) -> Fixture {
    let mut fixture = Fixture::new(&choice);
    fixture.space(ROOT);
    // The gigabyte at LINEAR is that of RAM.
    fixture.store(Gpa(ROOT.0 + 8), pte(Gpa(ram(0).0), V | R | W | G | A | D));
    for at in TOUCHED {
        fixture.store(ram(at), at);
    }
    fixture.map(ROOT, Gva(0x3000), ram(TOUCHED[0]), DATA);
    fixture.map(ROOT, Gva(0x4000), ram(TOUCHED[1]), DATA & !D);
    fixture.map(ROOT, Gva(0x5000), ram(TOUCHED[2]), V | X | U | A);
    fixture.map(ROOT, Gva(0x6000), ram(TOUCHED[3]), DATA & !A);
    fixture.map(ROOT, Gva(0x7000), ram(50 << 20), DATA);
    fixture
}

#[test]
fn derived_entries_are_those_that_faults_make() {
    for (host_page, coherence) in [
        (PageSize::Size4K, Coherence::Fence),
        (PageSize::Size2M, Coherence::Fence),
        (PageSize::Size4K, Coherence::WriteProtect),
    ] {
        let choice = || Choice { host_page, coherence, ..Choice::default() };
        let mut faulted = fixture(choice());
        faulted.switch(0, ROOT, 1);
        for (gva, access) in [(0x3000, Access::Read), (0x4000, Access::Read), (0x5000, Access::Execute)] {
            assert!(matches!(faulted.access(0, Gva(gva), access), End::Memory(_)));
        }
        if host_page == PageSize::Size2M {
            // It lies in a page that has a frame.
            faulted.store(ram(50 << 20), 0);
            faulted.access(0, Gva(0x7000), Access::Read);
        }
        faulted.enter(0, supervisor());
        for offset in (0..64 << 20).step_by(4096) {
            if faulted.hpa(ram(offset)).is_some() {
                assert!(matches!(faulted.access(0, Gva(LINEAR.0 + offset), Access::Read), End::Memory(_)));
            }
        }

        let mut derived = fixture(choice());
        if host_page == PageSize::Size2M {
            derived.store(ram(50 << 20), 0);
        }
        derived.enter(0, supervisor());
        let bare = |entries: Vec<(usize, Gva, Leaf)>| entries.into_iter().filter(|&(table, ..)| table != 0);
        assert_eq!(bare(derived.entries()).count(), 0);
        derived.derive(0);
        assert_eq!(
            bare(derived.entries()).collect::<Vec<_>>(),
            bare(faulted.entries()).collect::<Vec<_>>(),
            "{host_page} {coherence:?}"
        );
        assert_eq!(derived.wrong(), [""; 0]);
        // Whatever the hart does now finds its entry, as long as it does not store where D is clear.
        derived.counted();
        derived.switch(0, ROOT, 1);
        assert!(matches!(derived.access(0, Gva(0x3008), Access::Write), End::Memory(_)));
        assert!(matches!(derived.access(0, Gva(0x4008), Access::Read), End::Memory(_)));
        assert_eq!(derived.counted().validations, 0);
        assert_eq!(derived.access(0, Gva(0x4008), Access::Write), End::PageFault, "the guest sets D itself");
    }
}

#[test]
fn no_page_gets_a_frame_and_no_bit_changes() {
    let mut fixture = fixture(Choice::default());
    fixture.enter(0, supervisor());
    fixture.derive(0);
    assert_eq!(fixture.hpa(ram(50 << 20)), None);
    assert_eq!(fixture.load(Fixture::entry(ROOT, Gva(0x6000))), pte(ram(TOUCHED[3]), DATA & !A));
    let entry = |gva: u64| fixture.entries().into_iter().find(|&(table, at, _)| table != 0 && at == Gva(gva));
    assert!(entry(0x6000).is_none() && entry(0x7000).is_none());
    assert!(!entry(0x4000).unwrap().2.bits.contains(LeafBits::WRITE));
    fixture.vm.forget_shadow_counts();
    assert_eq!(fixture.counted(), crate::shadow::ShadowStatistics::default());
}

/// A hart that does not translate has an entry for each page that has a frame.
#[test]
fn a_hart_without_translation_has_its_entries_too() {
    let mut fixture = fixture(Choice { tables: Tables::Single, ..Choice::default() });
    let frames = (0..64 << 20).step_by(4096).filter(|&offset| fixture.hpa(ram(offset)).is_some()).count();
    let hart = fixture.bare();
    fixture.derive(hart);
    assert_eq!(fixture.entries().len(), frames);
    assert_eq!((fixture.vm.shadow_spaces(), fixture.wrong()), (0, Vec::new()));
}

/// Tables whose every entry leads to the table itself map each page more often than there is room for entries.
#[test]
fn a_circular_table_takes_no_more_than_its_share() {
    let mut fixture = Fixture::new(&Choice { tables: Tables::Multiple(1), harts: 2, ..Choice::default() });
    for index in 0..511 {
        fixture.store(Gpa(ROOT.0 + index * 8), pte(ROOT, V));
    }
    fixture.store(Gpa(ROOT.0 + 511 * 8), pte(ROOT, V | R | A));
    fixture.enter(0, supervisor());
    fixture.derive(0);
    let shadow = fixture.vm.shadow.as_ref().unwrap();
    assert!(shadow.tables.frames() <= shadow.budget);
    assert_eq!(fixture.wrong(), [""; 0]);
}
