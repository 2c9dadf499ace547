use super::*;
use crate::hart_state::{Entry, Suspend};
use proptest::prelude::*;
use types::{Asid, Gva};

fn limits() -> Limits {
    Limits { harts: 4, ram: Gpa(0x8000_0000)..Gpa(0x8800_0000) }
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
    assert_eq!(base(0, 0), Ok(0x0200_0000));
    for fid in [4, 5, 6] {
        assert_eq!(base(fid, 0), Ok(0));
    }
    for extension in Extension::ALL {
        assert_eq!(base(3, extension.eid()), Ok(1));
    }
    // PMU, SUSP, legacy console and timer, none.
    for eid in [0x50_4d55, 0x5355_5350, 0, 1, u64::MAX] {
        assert_eq!(base(3, eid), Ok(0));
        assert_eq!(decode(&SbiCall { eid, fid: 0, args: [0; 6] }, &limits()), Err(SbiError::NotSupported));
        assert_eq!(exit_reason(eid), ExitReason::SbiAbsent);
    }
}

#[test]
fn functions_that_are_not_there_are_not_supported() {
    for (extension, functions) in Extension::ALL.into_iter().zip([7, 1, 1, 3, 4, 1, 3, 1]) {
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
fn errors_have_the_codes_of_the_specification() {
    let errors = [
        SbiError::Failed,
        SbiError::NotSupported,
        SbiError::InvalidParam,
        SbiError::InvalidAddress,
        SbiError::AlreadyAvailable,
    ];
    assert_eq!(errors.map(SbiError::code), [-1, -2, -3, -5, -6]);
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
