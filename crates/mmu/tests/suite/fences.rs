//! Every form of fence, and exactly what it removes.

use crate::common::builder::{A, D, G, R, U, W, X};
use crate::common::fixture::{Fixture, GUEST_ROOT};
use mmu::{Fence, MmuConfig};
use types::{Asid, Gpa, Gva, PageSize, PagingMode, Vmid};

const ALL: u64 = R | W | X | U | A | D;
/// Pages of ASIDs 1 and 2, and a global one.
const ONE: u64 = 0x1000;
const TWO: u64 = 0x2000;
const GLOBAL: u64 = 0x4000_0000;
const OTHER_VMID: Vmid = Vmid(2);

/// What is cached: a name for it, and how it is reached.
const CACHED: [(&str, Vmid, Asid, PagingMode, u64); 6] = [
    ("asid 1, one", Vmid(1), Asid(1), PagingMode::Sv39, ONE),
    ("asid 1, two", Vmid(1), Asid(1), PagingMode::Sv39, TWO),
    ("asid 2, one", Vmid(1), Asid(2), PagingMode::Sv39, ONE),
    ("global", Vmid(1), Asid(1), PagingMode::Sv39, GLOBAL),
    ("bare", Vmid(1), Asid(1), PagingMode::Bare, 0x9000_0000),
    ("other vmid", OTHER_VMID, Asid(1), PagingMode::Sv39, ONE),
];

fn reach(fixture: &mut Fixture, (_, vmid, asid, mode, gva): (&str, Vmid, Asid, PagingMode, u64)) -> bool {
    fixture.vmid = vmid;
    fixture.context.asid = asid;
    fixture.context.mode = mode;
    fixture.enter();
    fixture.walks(gva)
}

/// Fills the TLBs, fences in VMID 1, and says what must be walked for again.
fn removed_by(fence: &Fence) -> Vec<&'static str> {
    let mut removed = Vec::new();
    // Each is looked at on a fixture of its own, for a look fills.
    for looked_at in CACHED {
        let mut fixture = Fixture::native(&MmuConfig::default());
        for (gva, flags) in [(ONE, ALL), (TWO, ALL), (GLOBAL, ALL | G)] {
            fixture.map(gva, PageSize::Size4K, 0x9000_0000 + gva, flags);
        }
        for cached in CACHED {
            reach(&mut fixture, cached);
        }
        assert!(!reach(&mut fixture, looked_at), "{} is cached", looked_at.0);
        reach(&mut fixture, CACHED[0]);
        fixture.mmu.fence(fence);
        if reach(&mut fixture, looked_at) {
            removed.push(looked_at.0);
        }
    }
    removed
}

#[test]
fn sfence_vma_in_every_form() {
    let vma = |gva: Option<u64>, asid: Option<u16>| removed_by(&Fence::Vma { gva: gva.map(Gva), asid: asid.map(Asid) });
    assert_eq!(vma(None, None), ["asid 1, one", "asid 1, two", "asid 2, one", "global"]);
    assert_eq!(vma(None, Some(1)), ["asid 1, one", "asid 1, two"]);
    assert_eq!(vma(None, Some(2)), ["asid 2, one"]);
    assert_eq!(vma(Some(ONE + 8), None), ["asid 1, one", "asid 2, one"]);
    assert_eq!(vma(Some(GLOBAL), None), ["global"]);
    assert_eq!(vma(Some(ONE), Some(2)), ["asid 2, one"]);
    assert_eq!(vma(Some(GLOBAL), Some(1)), [""; 0], "global entries survive a fence of an ASID");
    // An address that no mode translates, though its lower bits are those of a page.
    assert_eq!(vma(Some(1 << 60 | ONE), None), [""; 0]);
    // A gPA is no gVA.
    assert_eq!(vma(Some(0x9000_0000), None), [""; 0]);
}

#[test]
fn hfence_vvma_reaches_another_vmid() {
    let vvma = |gva: Option<u64>, asid| removed_by(&Fence::Vvma { vmid: OTHER_VMID, gva: gva.map(Gva), asid });
    assert_eq!(vvma(None, None), ["other vmid"]);
    assert_eq!(vvma(None, Some(Asid(1))), ["other vmid"]);
    assert_eq!(vvma(None, Some(Asid(2))), [""; 0]);
    assert_eq!(vvma(Some(ONE), None), ["other vmid"]);
    assert_eq!(vvma(Some(TWO), None), [""; 0]);
}

#[test]
fn hfence_gvma_in_every_form() {
    let all = CACHED.map(|(name, ..)| name);
    let gvma = |gpa: Option<u64>, vmid| removed_by(&Fence::Gvma { gpa: gpa.map(Gpa), vmid });
    assert_eq!(gvma(None, None), all);
    assert_eq!(gvma(Some(0), None), all);
    assert_eq!(gvma(None, Some(OTHER_VMID)), ["other vmid"]);
    assert_eq!(gvma(Some(0x9000_1000), Some(Vmid(1))), all[..5]);
}

/// References of the next walk after a fence, nested, with all caches on: 1 for the last guest PTE where the walk
/// caches and the nested TLB have the rest.
#[test]
fn fences_reach_the_walk_caches_and_the_nested_tlb() {
    let refs_after = |fence: Option<Fence>| {
        let mut fixture = Fixture::nested(&MmuConfig::default());
        fixture.map(ONE, PageSize::Size4K, 0x9000_0000, ALL);
        fixture.map(TWO, PageSize::Size4K, 0x9000_0000, ALL);
        for page in 0..0x400 {
            let at = GUEST_ROOT + page * 0x1000;
            fixture.map_host(at, PageSize::Size4K, at, ALL);
        }
        fixture.map_host(0x9000_0000, PageSize::Size4K, 0x9000_0000, ALL);
        fixture.access(ONE, types::Access::Read).unwrap();
        if let Some(fence) = fence {
            fixture.mmu.fence(&fence);
        }
        fixture.mmu.reset_statistics();
        fixture.access(TWO, types::Access::Read).unwrap();
        let counts = *fixture.mmu.statistics();
        (counts.guest_refs, counts.host_refs)
    };
    let gvma = |gpa: Option<u64>| Some(Fence::Gvma { gpa: gpa.map(Gpa), vmid: None });
    assert_eq!(refs_after(None), (1, 0));
    assert_eq!(refs_after(Some(Fence::Vma { gva: Some(Gva(TWO)), asid: None })), (1, 0), "leaf PTEs only");
    assert_eq!(refs_after(Some(Fence::Vma { gva: None, asid: Some(Asid(2)) })), (1, 0));
    assert_eq!(refs_after(Some(Fence::Vma { gva: None, asid: Some(Asid(1)) })), (3, 0));
    assert_eq!(refs_after(Some(Fence::Vma { gva: None, asid: None })), (3, 0));
    assert_eq!(refs_after(gvma(Some(0x9000_0000))), (1, 1), "the page's leaf, and no pointer above it");
    assert_eq!(refs_after(gvma(Some(0x9100_0000))), (1, 0));
    // The table's page and the data's, whose paths share all but the last level or two.
    assert_eq!(refs_after(gvma(None)), (1, 3 + 2));
}
