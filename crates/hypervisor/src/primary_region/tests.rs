use super::*;
use types::{Asid, Privilege};

const MEMORY: Range<Gpa> = Gpa(0x9000_0000)..Gpa(0x9010_0000);

fn region() -> PrimaryRegion {
    PrimaryRegion::new(MEMORY, 2)
}

fn request(start: u64, end: u64, target: u64) -> SegmentRequest {
    SegmentRequest { range: Gva(start)..Gva(end), target: Gpa(target) }
}

fn space(root: u64) -> TranslationContext {
    let asid = Asid(7);
    let mode = PagingMode::Sv39;
    TranslationContext { mode, root: Gpa(root), asid, privilege: Privilege::User, sum: false, mxr: false }
}

#[test]
fn what_is_refused_is_refused_with_its_reason_and_changes_nothing() {
    let top = 1_u64 << 38;
    for (request, reason) in [
        (request(0x1000, 0x2001, 0x9000_0000), Refusal::Misaligned),
        (request(0x1000, 0x2000, 0x9000_0001), Refusal::Misaligned),
        (request(0x2000, 0x1000, 0x9000_0000), Refusal::Wraps),
        (request(0x1000, 0x3000, !0xfff), Refusal::Wraps),
        (request(top - 0x1000, top + 0x1000, 0x9000_0000), Refusal::Kernel),
        (request(0xffff_ffc0_0000_0000, 0xffff_ffc0_0000_1000, 0x9000_0000), Refusal::Kernel),
        (request(0x1000, 0x2000, 0x8fff_f000), Refusal::OutsideRegion),
        (request(0x1000, 0x10_3000, 0x9000_0000), Refusal::OutsideRegion),
        (request(0x1000, 0x2000, 0x9010_0000), Refusal::OutsideRegion),
    ] {
        let mut region = region();
        assert_eq!(region.set(0, PagingMode::Sv39, &request), Err(reason), "{request:x?}");
        assert_eq!(region.claim(0, &space(0x8000_0000), Gva(0x5000), &request, |_, _| true), Err(reason));
        assert_eq!((region.registers(0), region.is_owned()), (Segment::default(), false));
    }
}

#[test]
fn a_kernel_sets_and_clears_the_registers_of_its_hart_alone() {
    let mut region = region();
    region.set(1, PagingMode::Sv39, &request(0x1000, 0x10_1000, 0x9000_0000)).unwrap();
    assert_eq!(region.registers(1).range(), 0x1000..0x10_1000);
    assert_eq!(region.registers(0), Segment::default());
    region.set(1, PagingMode::Sv39, &request(0, 0, 0)).unwrap();
    assert_eq!(region.registers(1), Segment::default());
}

#[test]
fn a_claim_holds_in_its_address_space_while_that_maps_the_page() {
    let mut region = region();
    let ask = request(0x10_0000, 0x20_0000, 0x9000_0000);
    region.claim(0, &space(0x8000_0000), Gva(0x5018), &ask, |_, _| unreachable!()).unwrap();
    let segment = region.registers(0);
    assert_eq!(segment.range(), 0x10_0000..0x20_0000);
    assert!(region.switch(0, &space(0x8000_4000), |_, _| unreachable!()), "another space");
    assert_eq!(region.registers(0), Segment::default());
    let here = |context: &TranslationContext, page| *context == space(0x8000_0000) && page == Gva(0x5000);
    assert!(region.switch(1, &space(0x8000_0000), here));
    assert_eq!(region.registers(1), segment);
    // The root page is another process's now.
    assert!(region.switch(1, &space(0x8000_0000), |_, _| false));
    assert_eq!((region.registers(1), region.is_owned()), (Segment::default(), false));
    assert!(!region.switch(1, &space(0x8000_0000), |_, _| unreachable!()));
}

#[test]
fn no_other_process_gets_the_region_while_its_owner_lives() {
    let mut region = region();
    let ask = request(0x10_0000, 0x20_0000, 0x9000_0000);
    region.claim(0, &space(0x8000_0000), Gva(0x5000), &ask, |_, _| unreachable!()).unwrap();
    let other = space(0x8000_4000);
    assert_eq!(region.claim(1, &other, Gva(0x6000), &ask, |_, _| true), Err(Refusal::NotOwner));
    assert_eq!(region.registers(1), Segment::default());
    region.claim(1, &other, Gva(0x6000), &ask, |_, _| false).unwrap();
    assert_eq!((region.registers(0), region.owners()), (Segment::default(), 2));
    // The owner may change its own.
    region.claim(1, &other, Gva(0x6000), &request(0, 0, 0), |_, _| unreachable!()).unwrap();
    assert_eq!((region.registers(1), region.owners()), (Segment::default(), 2));
}

#[test]
fn a_claim_comes_from_a_process() {
    let mut region = region();
    let ask = request(0x10_0000, 0x20_0000, 0x9000_0000);
    let kernel = region.claim(0, &space(0x8000_0000), Gva(0xffff_ffd0_0000_0000), &ask, |_, _| true);
    let bare = TranslationContext { mode: PagingMode::Bare, ..space(0) };
    assert_eq!(
        (kernel, region.claim(0, &bare, Gva(0x5000), &ask, |_, _| true)),
        (Err(Refusal::NoProcess), Err(Refusal::NoProcess))
    );
}

#[test]
fn a_region_that_has_grown_takes_larger_segments() {
    let mut region = region();
    let ask = request(0, 0x20_0000, 0x9000_0000);
    assert_eq!(region.set(0, PagingMode::Sv48, &ask), Err(Refusal::OutsideRegion));
    region.grow(0x10_0000);
    assert_eq!(region.set(0, PagingMode::Sv48, &ask), Ok(()));
}
