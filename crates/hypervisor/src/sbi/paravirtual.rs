//! Pagewalk's paravirtual extension, EID 0x08504157: `docs/paravirtual.md` is its specification. The EID is in the range for vendors (SBI 2.0,
//! chapter 15), and its last bytes read "PAW".

use super::call::{Limits, SbiCall};
use super::error::SbiError;
use crate::primary_region::SegmentRequest;
use crate::sched::spin::{SpinCall, SpinReason};
use types::{Gpa, Gva};

/// The flag f is one 32-bit word.
const AREA_BYTES: u64 = 4;

/// An entry of a table.
const ENTRY_BYTES: u64 = 8;

/// PPTLB, Partial Purge TLB: the invalidation of one page with real page specification (Umeno et al. 1985, sections 3.3.1 and 4.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PartialPurge {
    /// The guest's leaf entry: aligned, and in RAM.
    pub entry: Gpa,
    /// The address that it translates. Without the handshake, only the page's index in its last-level table is right.
    pub page: Gva,
    /// Whether the other bits of the address are right.
    pub handshake: bool,
}

/// A spin that was excessive: it outlasted the count that the guest had set itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpinReport {
    /// What for.
    pub reason: SpinReason,
    /// Whether the guest takes the vCPU off line because of it.
    pub lost: bool,
}

/// What a guest that knows Pagewalk asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ParavirtualRequest {
    /// The entry is made invalid, and every processor forgets what it translated; returns the entry as it was.
    PartialPurge(PartialPurge),
    /// The communication area is there, 4-byte aligned in RAM; 0 gives it up.
    RegisterArea(Gpa),
    /// How the VM's processors are allocated: the return code.
    Allocation,
    /// Whether the external interrupt is wanted.
    AllocationInterrupt(bool),
    /// The caller spins.
    Spin(SpinCall),
    /// The caller has spun excessively.
    ExcessiveSpin(SpinReport),
    /// The caller's segment registers; not validated yet.
    SetSegment(SegmentRequest),
    /// One of the VM's sections.
    Section(SectionCall),
}

/// What a VM asks concerning a section of its device tree, by the number there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SectionCall {
    /// Map it; returns its bytes.
    Map {
        /// Its number.
        section: u64,
        /// Where.
        at: Gpa,
        /// Whether to write as well.
        write: bool,
    },
    /// Take it out.
    Unmap {
        /// Its number.
        section: u64,
    },
    /// Delete it; no VM may map it.
    Delete {
        /// Its number.
        section: u64,
    },
    /// Make it again after its end; returns its bytes.
    Create {
        /// Its number.
        section: u64,
    },
}

pub(super) fn decode(call: &SbiCall, limits: &Limits) -> Result<ParavirtualRequest, SbiError> {
    let [first, second, third, ..] = call.args;
    Ok(match call.fid {
        0 if third > 1 => return Err(SbiError::InvalidParam),
        0 if !first.is_multiple_of(ENTRY_BYTES) || !limits.is_ram(Gpa(first), ENTRY_BYTES) => {
            return Err(SbiError::InvalidAddress);
        }
        0 => ParavirtualRequest::PartialPurge(PartialPurge {
            entry: Gpa(first),
            page: Gva(second),
            handshake: third == 1,
        }),
        0x10 if first == 0 => ParavirtualRequest::RegisterArea(Gpa(0)),
        0x10 if !first.is_multiple_of(AREA_BYTES) || !limits.is_ram(Gpa(first), AREA_BYTES) => {
            return Err(SbiError::InvalidAddress);
        }
        0x10 => ParavirtualRequest::RegisterArea(Gpa(first)),
        0x11 => ParavirtualRequest::Allocation,
        0x12 if first > 1 => return Err(SbiError::InvalidParam),
        0x12 => ParavirtualRequest::AllocationInterrupt(first == 1),
        0x13 => {
            let partner = if second == u64::MAX { None } else { Some(limits.hart(second)?) };
            ParavirtualRequest::Spin(SpinCall { reason: reason(first)?, partner })
        }
        0x14 if second > 1 => return Err(SbiError::InvalidParam),
        0x14 => ParavirtualRequest::ExcessiveSpin(SpinReport { reason: reason(first)?, lost: second == 1 }),
        0x20 => ParavirtualRequest::SetSegment(SegmentRequest { range: Gva(first)..Gva(second), target: Gpa(third) }),
        0x30 if third > 1 => return Err(SbiError::InvalidParam),
        0x30 => ParavirtualRequest::Section(SectionCall::Map { section: first, at: Gpa(second), write: third == 1 }),
        0x31 => ParavirtualRequest::Section(SectionCall::Unmap { section: first }),
        0x32 => ParavirtualRequest::Section(SectionCall::Delete { section: first }),
        0x33 => ParavirtualRequest::Section(SectionCall::Create { section: first }),
        _ => return Err(SbiError::NotSupported),
    })
}

/// The reasons that a guest can give (section 2.2 of the paper, in its order).
fn reason(code: u64) -> Result<SpinReason, SbiError> {
    match code {
        0 => Ok(SpinReason::Lock),
        1 => Ok(SpinReason::Process),
        2 => Ok(SpinReason::Request),
        _ => Err(SbiError::InvalidParam),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sbi::{self, Extension, ExtensionSet, Request};

    #[test]
    fn a_partial_purge_names_an_entry_in_ram() {
        let limits = Limits { harts: 2, ram: Gpa(0x8000_0000)..Gpa(0x8010_0000), extensions: ExtensionSet::ALL };
        let request = |fid, entry, flags| {
            let call = SbiCall { eid: Extension::Paravirtual.eid(), fid, args: [entry, 0x5000, flags, 7, 7, 7] };
            sbi::decode(&call, &limits)
        };
        for (flags, handshake) in [(0, false), (1, true)] {
            let purge = PartialPurge { entry: Gpa(0x800f_fff8), page: Gva(0x5000), handshake };
            let expected = Request::Paravirtual(ParavirtualRequest::PartialPurge(purge));
            assert_eq!(request(0, 0x800f_fff8, flags), Ok(expected));
        }
        assert_eq!(request(0, 0x8000_0000, 2), Err(SbiError::InvalidParam));
        for entry in [0, 0x8000_0004, 0x7fff_fff8, 0x8010_0000, !7] {
            assert_eq!(request(0, entry, 0), Err(SbiError::InvalidAddress), "{entry:#x}");
        }
    }

    fn request(fid: u64, first: u64, second: u64) -> Result<ParavirtualRequest, SbiError> {
        let limits = Limits { harts: 2, ram: Gpa(0x8000_0000)..Gpa(0x8010_0000), extensions: ExtensionSet::ALL };
        let call = SbiCall { eid: Extension::Paravirtual.eid(), fid, args: [first, second, 7, 7, 7, 7] };
        sbi::decode(&call, &limits).map(|request| match request {
            Request::Paravirtual(request) => request,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn an_area_is_an_aligned_word_of_ram() {
        assert_eq!(request(0x10, 0x8000_0004, 0), Ok(ParavirtualRequest::RegisterArea(Gpa(0x8000_0004))));
        assert_eq!(request(0x10, 0, 0), Ok(ParavirtualRequest::RegisterArea(Gpa(0))));
        for address in [0x8000_0002, 0x1000_0000, 0x800f_fffe, 0x8010_0000, !3] {
            assert_eq!(request(0x10, address, 0), Err(SbiError::InvalidAddress), "{address:#x}");
        }
    }

    #[test]
    fn a_spin_has_a_reason_and_perhaps_a_partner() {
        let spin = |reason, partner| Ok(ParavirtualRequest::Spin(SpinCall { reason, partner }));
        assert_eq!(request(0x13, 0, u64::MAX), spin(SpinReason::Lock, None));
        assert_eq!(request(0x13, 2, 1), spin(SpinReason::Request, Some(1)));
        assert_eq!(request(0x13, 0, 2), Err(SbiError::InvalidParam));
        assert_eq!(request(0x13, 3, 0), Err(SbiError::InvalidParam));
        let report = SpinReport { reason: SpinReason::Process, lost: true };
        assert_eq!(request(0x14, 1, 1), Ok(ParavirtualRequest::ExcessiveSpin(report)));
        assert_eq!(request(0x14, 1, 2), Err(SbiError::InvalidParam));
    }

    #[test]
    fn a_section_is_named_by_its_number() {
        let map = |write| Ok(ParavirtualRequest::Section(SectionCall::Map { section: 3, at: Gpa(0x1001), write }));
        let call = |flags| {
            let limits = Limits { harts: 2, ram: Gpa(0x8000_0000)..Gpa(0x8010_0000), extensions: ExtensionSet::ALL };
            let call = SbiCall { eid: Extension::Paravirtual.eid(), fid: 0x30, args: [3, 0x1001, flags, 7, 7, 7] };
            sbi::decode(&call, &limits).map(|request| match request {
                Request::Paravirtual(request) => request,
                other => panic!("{other:?}"),
            })
        };
        assert_eq!((call(0), call(1)), (map(false), map(true)));
        assert_eq!(call(2), Err(SbiError::InvalidParam));
        assert_eq!(request(0x31, 9, 9), Ok(ParavirtualRequest::Section(SectionCall::Unmap { section: 9 })));
        assert_eq!(
            request(0x32, u64::MAX, 9),
            Ok(ParavirtualRequest::Section(SectionCall::Delete { section: u64::MAX }))
        );
        assert_eq!(request(0x33, 4, 9), Ok(ParavirtualRequest::Section(SectionCall::Create { section: 4 })));
        assert_eq!(request(0x34, 4, 9), Err(SbiError::NotSupported));
    }

    #[test]
    fn other_functions_are_absent() {
        assert_eq!(request(0x12, 1, 0), Ok(ParavirtualRequest::AllocationInterrupt(true)));
        assert_eq!(request(0x12, 2, 0), Err(SbiError::InvalidParam));
        assert_eq!(request(0x11, 0, 0), Ok(ParavirtualRequest::Allocation));
        for fid in [1, 0x0f, 0x15, u64::MAX] {
            assert_eq!(request(fid, 0, 0), Err(SbiError::NotSupported));
        }
    }
}
