use super::*;
use crate::exits::ExitReason;
use crate::hart_state::{Entry, Suspend};
use proptest::prelude::*;
use types::{Asid, Gpa, Gva};

fn limits() -> Limits {
    Limits { harts: 4, ram: Gpa(0x8000_0000)..Gpa(0x8800_0000), extensions: ExtensionSet::ALL }
}

fn call(extension: Extension, fid: u64, args: &[u64]) -> Result<Request, SbiError> {
    let mut all = [0; 6];
    all[..args.len()].copy_from_slice(args);
    decode(&SbiCall { eid: extension.eid(), fid, args: all }, &limits())
}

fn base(fid: u64, argument: u64) -> Result<u64, SbiError> {
    match call(Extension::Base, fid, &[argument])? {
        Request::Base(query) => Ok(query.answer()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn base_tells_versions_and_extensions() {
    assert_eq!(base(0, 0), Ok(0x0300_0000));
    for fid in [4, 5, 6] {
        assert_eq!(base(fid, 0), Ok(0));
    }
    for extension in Extension::ALL {
        assert_eq!(base(3, extension.eid()), Ok(1));
    }
    // CPPC, NACL, SSE, the rest of the legacy range, none.
    for eid in [0x4350_5043, 0x4e41_434c, 0x0053_5345, 9, 0xf, u64::MAX] {
        assert_eq!(base(3, eid), Ok(0));
        assert_eq!(decode(&SbiCall { eid, fid: 0, args: [0; 6] }, &limits()), Err(SbiError::NotSupported));
        assert_eq!(ExtensionSet::ALL.exit_reason(eid), ExitReason::SbiAbsent);
    }
}

#[test]
fn an_extension_that_is_switched_off_is_neither_probed_nor_called() {
    for extension in [Extension::Legacy, Extension::Pmu, Extension::Suspend, Extension::Features, Extension::StealTime]
    {
        let limits = Limits { extensions: ExtensionSet::ALL.with(extension, false), ..limits() };
        let call = |eid, fid, argument| decode(&SbiCall { eid, fid, args: [argument, 0, 0, 0, 0, 0] }, &limits);
        assert_eq!(call(0x10, 3, extension.eid()), Ok(Request::Base(BaseQuery::Probe(None))));
        assert_eq!(call(extension.eid(), 0, 0), Err(SbiError::NotSupported));
    }
}

#[test]
fn functions_that_are_not_there_are_not_supported() {
    for (extension, functions) in
        Extension::ALL.into_iter().filter(|&e| e != Extension::Legacy).zip([7, 1, 1, 3, 4, 1, 3, 7, 1, 2, 1, 1])
    {
        for fid in [functions, functions + 1, u64::MAX] {
            assert_eq!(call(extension, fid, &[]), Err(SbiError::NotSupported), "{extension:?} {fid}");
        }
    }
}

#[test]
fn timers_interrupts_and_fences() {
    assert_eq!(call(Extension::Time, 0, &[u64::MAX]), Ok(Request::SetTimer { at: u64::MAX }));
    assert_eq!(call(Extension::Ipi, 0, &[2, 0]), Ok(Request::SendIpi { harts: HartSet::Window { base: 0, mask: 2 } }));
    assert_eq!(call(Extension::Ipi, 0, &[16, 0]), Err(SbiError::InvalidParam));
    let harts = HartSet::All { harts: 4 };
    let fence = |fence| Ok(Request::RemoteFence { harts, fence });
    let everyone = u64::MAX;
    assert_eq!(call(Extension::Rfence, 0, &[0, everyone]), fence(RemoteFence::Instruction));
    let range = FenceRange::Pages { first: Gva(0x5000), count: 2 };
    assert_eq!(
        call(Extension::Rfence, 1, &[0, everyone, 0x5000, 0x2000]),
        fence(RemoteFence::Address { range, asid: None })
    );
    assert_eq!(
        call(Extension::Rfence, 2, &[0, everyone, 0x5000, 0x2000, 9]),
        fence(RemoteFence::Address { range, asid: Some(Asid(9)) })
    );
    assert_eq!(call(Extension::Rfence, 2, &[0, everyone, 0, 0, 1 << 16]), Err(SbiError::InvalidParam));
    assert_eq!(call(Extension::Rfence, 1, &[0, everyone, u64::MAX - 1, 7]), Err(SbiError::InvalidAddress));
    assert_eq!(call(Extension::Rfence, 1, &[1 << 4, 0, 0, 0]), Err(SbiError::InvalidParam));
}

#[test]
fn harts_start_only_where_they_can() {
    let entry = Entry { pc: Gpa(0x8020_0000), opaque: 5 };
    assert_eq!(call(Extension::Hsm, 0, &[3, 0x8020_0000, 5]), Ok(Request::Hsm(HsmRequest::Start { hart: 3, entry })));
    assert_eq!(call(Extension::Hsm, 0, &[4, 0x8020_0000, 5]), Err(SbiError::InvalidParam));
    for pc in [0, 0x7fff_fffe, 0x8800_0000, 0x8020_0001, u64::MAX - 1] {
        assert_eq!(call(Extension::Hsm, 0, &[1, pc, 0]), Err(SbiError::InvalidAddress), "{pc:#x}");
        assert_eq!(call(Extension::Hsm, 3, &[1 << 31, pc, 0]), Err(SbiError::InvalidAddress), "{pc:#x}");
    }
    assert_eq!(call(Extension::Hsm, 1, &[]), Ok(Request::Hsm(HsmRequest::Stop)));
    assert_eq!(call(Extension::Hsm, 2, &[2]), Ok(Request::Hsm(HsmRequest::Status { hart: 2 })));
    assert_eq!(call(Extension::Hsm, 2, &[u64::MAX]), Err(SbiError::InvalidParam));
}

#[test]
fn suspension_types() {
    let suspend = |how| Ok(Request::Hsm(HsmRequest::Suspend(how)));
    let entry = Entry { pc: Gpa(0x8000_0000), opaque: 1 };
    assert_eq!(call(Extension::Hsm, 3, &[0, 1, 1]), suspend(Suspend::Retentive), "the address is not looked at");
    // The argument is an unsigned int, which the calling convention sign-extends.
    for kind in [1 << 31, 0xffff_ffff_8000_0000] {
        assert_eq!(call(Extension::Hsm, 3, &[kind, 0x8000_0000, 1]), suspend(Suspend::NonRetentive(entry)));
    }
    for kind in [1, 0x0fff_ffff, 0x8000_0001, 0x8fff_ffff] {
        assert_eq!(call(Extension::Hsm, 3, &[kind, 0x8000_0000]), Err(SbiError::InvalidParam), "{kind:#x}");
    }
    for kind in [0x1000_0000, 0x7fff_ffff, 0x9000_0000, 0xffff_ffff] {
        assert_eq!(call(Extension::Hsm, 3, &[kind, 0x8000_0000]), Err(SbiError::NotSupported), "{kind:#x}");
    }
}

#[test]
fn resets() {
    let reset = |kind, reason| Ok(Request::Reset { kind, reason });
    assert_eq!(call(Extension::Reset, 0, &[0, 0]), reset(ResetKind::Shutdown, ResetReason::None));
    assert_eq!(call(Extension::Reset, 0, &[1, 1]), reset(ResetKind::ColdReboot, ResetReason::SystemFailure));
    assert_eq!(call(Extension::Reset, 0, &[2, 0]), reset(ResetKind::WarmReboot, ResetReason::None));
    for (kind, reason) in [(3, 0), (0xf000_0000, 0), (0, 2), (0, 0xe000_0000)] {
        assert_eq!(call(Extension::Reset, 0, &[kind, reason]), Err(SbiError::InvalidParam));
    }
}

#[test]
fn console_buffers_are_ram() {
    let console = |request| Ok(Request::Console(request));
    let buffer = ConsoleBuffer { at: Gpa(0x87ff_fff0), bytes: 16 };
    assert_eq!(call(Extension::Console, 0, &[16, 0x87ff_fff0, 0]), console(ConsoleRequest::Write(buffer)));
    assert_eq!(call(Extension::Console, 1, &[16, 0x87ff_fff0, 0]), console(ConsoleRequest::Read(buffer)));
    assert_eq!(call(Extension::Console, 2, &[0x141]), console(ConsoleRequest::WriteByte(b'A')));
    for args in [[17, 0x87ff_fff0, 0], [16, 0x87ff_fff0, 1], [1, 0x1000_0000, 0], [u64::MAX, 0x8000_0000, 0]] {
        assert_eq!(call(Extension::Console, 0, &args), Err(SbiError::InvalidParam), "{args:x?}");
    }
    assert!(call(Extension::Console, 0, &[0, 0, 0]).is_ok(), "nothing, anywhere");
}

#[test]
fn legacy_calls_become_the_requests_that_replaced_them() {
    let call = |eid, args: &[u64]| {
        let mut all = [0; 6];
        all[..args.len()].copy_from_slice(args);
        // The function ID is not looked at.
        decode(&SbiCall { eid, fid: 0xbad, args: all }, &limits())
    };
    assert_eq!(call(0, &[77]), Ok(Request::SetTimer { at: 77 }));
    assert_eq!(call(1, &[0x141]), Ok(Request::Console(ConsoleRequest::WriteByte(b'A'))));
    assert_eq!(call(2, &[]), Ok(Request::Legacy(LegacyRequest::GetCharacter)));
    assert_eq!(call(3, &[]), Ok(Request::Legacy(LegacyRequest::ClearIpi)));
    let masked = |call| Ok(Request::Legacy(LegacyRequest::Masked { mask: Gva(0x1000), call }));
    assert_eq!(call(4, &[0x1000]), masked(MaskedCall::Ipi));
    assert_eq!(call(5, &[0x1000]), masked(MaskedCall::Fence(RemoteFence::Instruction)));
    let range = FenceRange::Pages { first: Gva(0x5000), count: 2 };
    let fence = |asid| masked(MaskedCall::Fence(RemoteFence::Address { range, asid }));
    assert_eq!(call(6, &[0x1000, 0x5000, 0x2000]), fence(None));
    assert_eq!(call(7, &[0x1000, 0x5000, 0x2000, 9]), fence(Some(Asid(9))));
    assert_eq!(call(7, &[0x1000, 0, 0, 1 << 16]), Err(SbiError::InvalidParam));
    assert_eq!(call(8, &[]), Ok(Request::Reset { kind: ResetKind::Shutdown, reason: ResetReason::None }));
    assert_eq!(ExtensionSet::ALL.exit_reason(1), ExitReason::SbiConsole);
    // Harts that do not exist are left out, as the vector is as long as a word.
    let some = MaskedCall::Ipi.request(Some(u64::MAX - 1), &limits());
    assert_eq!(some, Request::SendIpi { harts: HartSet::Window { base: 0, mask: 0b1110 } });
    assert_eq!(MaskedCall::Ipi.request(None, &limits()), Request::SendIpi { harts: HartSet::All { harts: 4 } });
}

#[test]
fn a_guest_sleeps_where_it_can_begin_again() {
    let entry = Entry { pc: Gpa(0x8020_0000), opaque: 5 };
    assert_eq!(call(Extension::Suspend, 0, &[0, 0x8020_0000, 5]), Ok(Request::Suspend(entry)));
    assert_eq!(call(Extension::Suspend, 0, &[1 << 32, 0x8020_0000, 5]), Ok(Request::Suspend(entry)), "32 bits count");
    for kind in [1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff] {
        assert_eq!(call(Extension::Suspend, 0, &[kind, 0x8020_0000]), Err(SbiError::InvalidParam), "{kind:#x}");
    }
    for pc in [0, 0x8800_0000, u64::MAX - 1] {
        assert_eq!(call(Extension::Suspend, 0, &[0, pc]), Err(SbiError::InvalidAddress), "{pc:#x}");
    }
}

#[test]
fn features_are_named_by_32_bits_and_the_rest_is_denied() {
    let get = |id| call(Extension::Features, 1, &[id]);
    assert_eq!(get(4), Ok(Request::Features(FeatureRequest::Get(Feature::HardwareAd))));
    assert_eq!(get(1 << 32 | 4), get(4));
    let set = FeatureRequest::Set { feature: Feature::HardwareAd, value: 1, flags: u64::MAX };
    assert_eq!(call(Extension::Features, 0, &[4, 1, u64::MAX]), Ok(Request::Features(set)));
    for id in [6, 0x3fff_ffff, 0x4000_0000, 0x8000_0000, 0xbfff_ffff, 0xffff_ffff] {
        assert_eq!(get(id), Err(SbiError::Denied), "{id:#x}");
        assert_eq!(call(Extension::Features, 0, &[id, 1, 0]), Err(SbiError::Denied), "{id:#x}");
    }
}

#[test]
fn steal_time_goes_to_64_bytes_of_ram() {
    let set = |low, high, flags| call(Extension::StealTime, 0, &[low, high, flags]);
    assert_eq!(set(0x8000_0040, 0, 0), Ok(Request::StealTime(Some(Gpa(0x8000_0040)))));
    assert_eq!(set(u64::MAX, u64::MAX, 0), Ok(Request::StealTime(None)));
    assert_eq!(set(0x8000_0040, 0, 1), Err(SbiError::InvalidParam));
    assert_eq!(set(0x8000_0020, 0, 0), Err(SbiError::InvalidParam));
    for (low, high) in [(0x8800_0000, 0), (0x8000_0040, 1), (0x1000_0000, 0), (u64::MAX - 63, u64::MAX)] {
        assert_eq!(set(low, high, 0), Err(SbiError::InvalidAddress), "{low:#x}");
    }
}

#[test]
fn errors_have_the_codes_of_the_specification() {
    let errors = [
        SbiError::Failed,
        SbiError::NotSupported,
        SbiError::InvalidParam,
        SbiError::InvalidAddress,
        SbiError::AlreadyAvailable,
        SbiError::AlreadyStarted,
        SbiError::AlreadyStopped,
        SbiError::NoSharedMemory,
        SbiError::DeniedLocked,
    ];
    assert_eq!(errors.map(SbiError::code), [-1, -2, -3, -5, -6, -7, -8, -9, -14]);
    assert_eq!(SbiReturn::from(Err(SbiError::Failed)), SbiReturn { error: -1, value: 0 });
    assert_eq!(SbiReturn::from(Ok(3)), SbiReturn { error: 0, value: 3 });
}

proptest! {
    /// Whatever a guest passes, decoding ends, and what comes out names only harts and RAM that are there.
    #[test]
    fn requests_are_executable(
        extension in prop::sample::select(&Extension::ALL),
        fid in 0_u64..8,
        args in prop::array::uniform6(prop_oneof![any::<u64>(), 0_u64..100, 0x8000_0000_u64..0x8900_0000]),
    ) {
        match decode(&SbiCall { eid: extension.eid(), fid, args }, &limits()) {
            Ok(Request::SendIpi { harts } | Request::RemoteFence { harts, .. }) => {
                prop_assert!(harts.iter().all(|hart| hart < 4));
            }
            Ok(Request::Hsm(HsmRequest::Start { hart, entry })) => {
                prop_assert!(hart < 4 && limits().ram.contains(&entry.pc));
            }
            Ok(Request::Console(ConsoleRequest::Write(buffer) | ConsoleRequest::Read(buffer))) => {
                prop_assert!(buffer.bytes == 0 || limits().is_ram(buffer.at, buffer.bytes));
            }
            Ok(_) | Err(_) => {}
        }
    }
}
