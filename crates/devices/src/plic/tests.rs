use super::*;

const CLAIM: u64 = CONTEXT_BASE + 4;

/// A PLIC whose context 0 has sources 1 to 63 enabled, each at priority 1.
fn open(contexts: usize) -> Plic {
    let mut plic = Plic::new(contexts);
    for source in 1..SOURCES {
        plic.write(u64::from(source) * 4, 1);
    }
    plic.write(ENABLE_BASE, u32::MAX);
    plic.write(ENABLE_BASE + 4, u32::MAX);
    plic
}

#[test]
fn nothing_interrupts_after_reset() {
    let mut plic = Plic::new(2);
    plic.set_level(5, true);
    assert!(!plic.line(0) && !plic.line(1));
    assert_eq!(plic.read(0x1000), 1 << 5, "pending all the same");
    assert_eq!(plic.read(CLAIM), 0);
}

#[test]
fn registers_hold_what_they_can() {
    let mut plic = Plic::new(1);
    plic.write(4, 0xff);
    assert_eq!(plic.read(4), 7, "three bits of priority");
    plic.write(0, 7);
    assert_eq!(plic.read(0), 0, "source 0 has no priority");
    plic.write(4 * u64::from(SOURCES), 7);
    assert_eq!(plic.read(4 * u64::from(SOURCES)), 0, "nor has a source past the last");
    plic.write(ENABLE_BASE, u32::MAX);
    assert_eq!(plic.read(ENABLE_BASE), !1, "source 0 cannot be enabled");
    plic.write(ENABLE_BASE + 4, 0x8000_0001);
    assert_eq!(plic.read(ENABLE_BASE + 4), 0x8000_0001);
    plic.write(ENABLE_BASE + 8, u32::MAX);
    assert_eq!(plic.read(ENABLE_BASE + 8), 0);
    plic.write(CONTEXT_BASE, 13);
    assert_eq!(plic.read(CONTEXT_BASE), 5, "three bits of threshold");
    plic.write(0x1000, u32::MAX);
    assert_eq!(plic.read(0x1000), 0, "pending bits are read-only");
}

#[test]
fn registers_of_contexts_that_do_not_exist_are_reserved() {
    let mut plic = open(2);
    plic.set_level(1, true);
    for offset in
        [ENABLE_BASE + 2 * ENABLE_STRIDE, CONTEXT_BASE + 2 * CONTEXT_STRIDE, CLAIM + 2 * CONTEXT_STRIDE, 0x5f_fffc]
    {
        plic.write(offset, 1);
        assert_eq!(plic.read(offset), 0, "{offset:#x}");
    }
    assert!(!plic.line(2) && !plic.line(usize::MAX));
}

#[test]
fn claim_and_completion_of_a_level() {
    let mut plic = open(1);
    plic.set_level(3, true);
    assert!(plic.line(0));
    assert_eq!(plic.read(CLAIM), 3);
    assert!(!plic.line(0), "in service");
    assert_eq!(plic.read(CLAIM), 0);
    plic.write(CLAIM, 3);
    assert!(plic.line(0), "the level is still high");
    assert_eq!(plic.read(CLAIM), 3);
    plic.set_level(3, false);
    plic.write(CLAIM, 3);
    assert!(!plic.line(0));
    assert_eq!(plic.read(0x1000), 0);
}

#[test]
fn a_request_outlives_its_level() {
    let mut plic = open(1);
    plic.set_level(3, true);
    plic.set_level(3, false);
    assert!(plic.line(0));
    assert_eq!(plic.read(CLAIM), 3);
    plic.write(CLAIM, 3);
    assert!(!plic.line(0));
}

#[test]
fn a_level_that_rises_in_service_waits_for_completion() {
    let mut plic = open(1);
    plic.set_level(3, true);
    assert_eq!(plic.read(CLAIM), 3);
    plic.set_level(3, false);
    plic.set_level(3, true);
    assert_eq!(plic.read(0x1000), 0);
    plic.write(CLAIM, 3);
    assert_eq!(plic.read(0x1000), 1 << 3);
}

#[test]
fn the_highest_priority_comes_first_and_then_the_lowest_number() {
    let mut plic = open(1);
    for source in [63, 40, 7, 9] {
        plic.set_level(source, true);
    }
    plic.write(4 * 40, 6);
    plic.write(4 * 63, 6);
    plic.write(4 * 9, 0);
    assert_eq!([plic.read(CLAIM), plic.read(CLAIM), plic.read(CLAIM), plic.read(CLAIM)], [40, 63, 7, 0]);
}

#[test]
fn the_threshold_masks_the_line_but_not_the_claim() {
    let mut plic = open(1);
    plic.write(4 * 2, 3);
    plic.write(CONTEXT_BASE, 3);
    plic.set_level(2, true);
    assert!(!plic.line(0), "must exceed the threshold");
    assert_eq!(plic.read(CLAIM), 2);
    plic.write(CLAIM, 2);
    plic.write(CONTEXT_BASE, 2);
    assert!(plic.line(0));
}

#[test]
fn completion_needs_the_source_enabled_and_in_range() {
    let mut plic = open(2);
    plic.set_level(4, true);
    assert_eq!(plic.read(CLAIM), 4);
    plic.write(CLAIM + CONTEXT_STRIDE, 4);
    assert!(!plic.line(0), "context 1 has it disabled");
    plic.write(CLAIM, 64);
    plic.write(CLAIM, u32::MAX);
    assert!(!plic.line(0));
    plic.write(CLAIM, 4);
    assert!(plic.line(0));
}

#[test]
fn one_context_claims_for_all() {
    let mut plic = open(3);
    plic.write(ENABLE_BASE + 2 * ENABLE_STRIDE, 1 << 4);
    let before = plic.generation();
    plic.set_level(4, true);
    assert_eq!([plic.line(0), plic.line(1), plic.line(2)], [true, false, true]);
    assert_eq!(plic.generation(), before + 2);
    assert_eq!(plic.read(CLAIM + 2 * CONTEXT_STRIDE), 4);
    assert_eq!([plic.line(0), plic.line(1), plic.line(2)], [false; 3]);
    assert_eq!(plic.read(CLAIM), 0);
}

#[test]
fn the_generation_stays_while_the_lines_stay() {
    let mut plic = open(1);
    plic.set_level(4, true);
    let raised = plic.generation();
    plic.set_level(4, true);
    plic.set_level(5, true);
    plic.write(CONTEXT_BASE, 0);
    assert_eq!(plic.generation(), raised);
}
