use super::events::TIME;
use super::*;
use crate::sbi::{self, Extension, ExtensionSet, Limits, Request, SbiCall};
use types::Gpa;

/// What a machine has counted: this many cycles, and of every other event as many as its place in [`PmuEvent`].
fn hardware(cycles: u64) -> impl Fn(PmuEvent) -> u64 {
    move |event| match event {
        PmuEvent::Cycles => cycles,
        PmuEvent::Instructions => cycles / 2,
        PmuEvent::DataTlbMisses => 3 * cycles,
        PmuEvent::InstructionTlbMisses => 4 * cycles,
        PmuEvent::SecondLevelHits
        | PmuEvent::SecondLevelMisses
        | PmuEvent::Walks
        | PmuEvent::GuestReferences
        | PmuEvent::HostReferences => 5 * cycles,
        PmuEvent::Firmware(_) => unreachable!("the unit counts firmware events itself"),
    }
}

/// A call of the extension, at a time of this many cycles.
fn call(pmu: &mut Pmu, cycles: u64, fid: u64, args: &[u64]) -> Result<u64, SbiError> {
    let limits = Limits { harts: 1, ram: Gpa(0x8000_0000)..Gpa(0x9000_0000), extensions: ExtensionSet::ALL };
    let mut all = [0; 6];
    all[..args.len()].copy_from_slice(args);
    match sbi::decode(&SbiCall { eid: Extension::Pmu.eid(), fid, args: all }, &limits)? {
        Request::Pmu(request) => pmu.serve(request, hardware(cycles)),
        other => panic!("{other:?}"),
    }
}

const CONFIGURE: u64 = 2;
const START: u64 = 3;
const STOP: u64 = 4;
const READ: u64 = 5;
/// All counters that exist.
const EVERY: u64 = (1 << COUNTERS) - 1 - (1 << TIME);
const DTLB_READ_MISS: u64 = 1 << 16 | 3 << 3 | 1;
const SET_TIMER: u64 = 0xf << 16 | 5;

#[test]
fn counters_say_where_they_are_read() {
    let mut pmu = Pmu::default();
    assert_eq!(call(&mut pmu, 0, 0, &[]), Ok(COUNTERS as u64));
    assert_eq!(call(&mut pmu, 0, 1, &[0]), Ok(0xc00 | 63 << 12));
    assert_eq!(call(&mut pmu, 0, 1, &[10]), Ok(0xc0a | 63 << 12));
    assert_eq!(call(&mut pmu, 0, 1, &[11]).map(|info| info >> 63), Ok(1));
    for none in [1, COUNTERS as u64, u64::MAX, 1 << 32] {
        assert_eq!(call(&mut pmu, 0, 1, &[none]), Err(SbiError::InvalidParam), "{none}");
    }
}

#[test]
fn a_counter_counts_between_start_and_stop_from_what_it_was_given() {
    let mut pmu = Pmu::default();
    assert_eq!(call(&mut pmu, 100, CONFIGURE, &[0, EVERY, 2, DTLB_READ_MISS, 0]), Ok(3));
    assert_eq!(call(&mut pmu, 100, START, &[3, 1, 1, 1000]), Ok(0));
    assert_eq!(pmu.value(3, hardware(110)), 1030);
    assert_eq!(call(&mut pmu, 110, START, &[3, 1, 0, 0]), Err(SbiError::AlreadyStarted));
    assert_eq!(call(&mut pmu, 120, STOP, &[3, 1, 0]), Ok(0));
    assert_eq!(pmu.value(3, hardware(999)), 1060);
    assert_eq!(call(&mut pmu, 120, STOP, &[3, 1, 0]), Err(SbiError::AlreadyStopped));
    assert_eq!(call(&mut pmu, 200, START, &[3, 1, 0, 7]), Ok(0), "without a value it goes on");
    assert_eq!(pmu.value(3, hardware(201)), 1063);
    assert_eq!(call(&mut pmu, 201, STOP, &[3, 1, 1]), Ok(0));
    assert_eq!(call(&mut pmu, 201, START, &[3, 1, 0, 0]), Err(SbiError::InvalidParam), "it counts no event");
}

#[test]
fn cycle_and_instret_count_from_reset_and_stop_when_they_are_told() {
    let mut pmu = Pmu::default();
    assert_eq!((pmu.value(0, hardware(50)), pmu.value(2, hardware(50))), (50, 25));
    assert_eq!(call(&mut pmu, 50, STOP, &[0, 5, 1]), Ok(0));
    assert_eq!((pmu.value(0, hardware(80)), pmu.value(2, hardware(80))), (50, 25));
    assert_eq!(call(&mut pmu, 80, CONFIGURE, &[0, EVERY, 6, 1, 0]), Ok(0), "`cycle` is the first that counts cycles");
    assert_eq!(pmu.value(0, hardware(90)), 10);
    assert_eq!(call(&mut pmu, 90, CONFIGURE, &[0, EVERY, 6, 1, 0]), Ok(3), "and when it is taken another one is");
    assert_eq!(call(&mut pmu, 90, CONFIGURE, &[0, 1, 1, 1, 0]), Ok(0), "without a match it is found all the same");
}

#[test]
fn firmware_counters_count_calls() {
    let mut pmu = Pmu::default();
    pmu.count(FirmwareEvent::SetTimer);
    assert_eq!(call(&mut pmu, 0, CONFIGURE, &[0, EVERY, 6, SET_TIMER, 0]), Ok(11));
    pmu.count(FirmwareEvent::SetTimer);
    pmu.leave(hardware(10));
    pmu.count(FirmwareEvent::SetTimer);
    pmu.enter(hardware(1000));
    pmu.count(FirmwareEvent::IpiSent);
    assert_eq!(call(&mut pmu, 0, READ, &[11]), Ok(2));
    assert_eq!(call(&mut pmu, 0, 6, &[11]), Ok(0));
    for counter in [0, 3, 27] {
        assert_eq!(call(&mut pmu, 0, READ, &[counter]), Err(SbiError::InvalidParam), "{counter}");
    }
}

#[test]
fn what_cannot_be_counted_is_not_supported() {
    let mut pmu = Pmu::default();
    // No event, cache references, a write miss, illegal instructions, an unknown raw event, data where there is none.
    for (event, data) in [(0, 0), (3, 0), (DTLB_READ_MISS + 2, 0), (0xf_0004, 0), (2 << 16, 9), (1, 1), (2 << 16, 0)] {
        let result = call(&mut pmu, 0, CONFIGURE, &[0, EVERY, 0, event, data]);
        assert_eq!(result, Err(SbiError::NotSupported), "{event:#x} {data}");
    }
    assert_eq!(call(&mut pmu, 0, CONFIGURE, &[11, 1, 0, DTLB_READ_MISS, 0]), Err(SbiError::NotSupported));
    assert_eq!(call(&mut pmu, 0, CONFIGURE, &[11, 1, 1, DTLB_READ_MISS, 0]), Err(SbiError::InvalidParam));
    for raw in 1..=5 {
        assert_eq!(call(&mut pmu, 0, CONFIGURE, &[3, 1, 0, 3 << 16, raw]), Ok(3));
    }
}

#[test]
fn sets_with_a_counter_that_does_not_exist_and_undefined_flags_are_refused() {
    for fid in [CONFIGURE, START, STOP] {
        for (base, mask, flags) in
            [(1, 1, 0), (0, 2, 0), (0, 1 << COUNTERS, 0), (u64::MAX, 1, 0), (28, 0, 0), (3, 1, 1 << 8)]
        {
            let result = call(&mut Pmu::default(), 0, fid, &[base, mask, flags, 1]);
            assert_eq!(result, Err(SbiError::InvalidParam), "{fid}: {base} {mask:#x} {flags:#x}");
        }
    }
    for fid in [START, STOP] {
        assert_eq!(call(&mut Pmu::default(), 0, fid, &[0, 1, 2]), Err(SbiError::NoSharedMemory));
    }
}

#[test]
fn a_hart_that_changes_its_pcpu_counts_what_it_does_and_nothing_else() {
    let mut pmu = Pmu::default();
    pmu.enter(hardware(1000));
    assert_eq!(pmu.value(0, hardware(1010)), 10);
    pmu.leave(hardware(1020));
    pmu.enter(hardware(5));
    assert_eq!(pmu.value(0, hardware(6)), 21);
}
