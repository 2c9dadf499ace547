//! Pagewalk's paravirtual extension, EID 0x08504157: `docs/paravirtual.md` is its specification. The EID is in the range for vendors (SBI 2.0,
//! chapter 15), and its last bytes read "PAW".

use super::{Limits, SbiCall, SbiError};
use types::{Gpa, Gva};

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

/// What a guest that knows Pagewalk asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParavirtualRequest {
    /// The entry is made invalid, and every processor forgets what it translated; returns the entry as it was.
    PartialPurge(PartialPurge),
}

pub(super) fn decode(call: &SbiCall, limits: &Limits) -> Result<ParavirtualRequest, SbiError> {
    let [entry, page, flags, ..] = call.args;
    match call.fid {
        0 if flags > 1 => Err(SbiError::InvalidParam),
        0 if !entry.is_multiple_of(ENTRY_BYTES) || !limits.is_ram(Gpa(entry), ENTRY_BYTES) => {
            Err(SbiError::InvalidAddress)
        }
        0 => Ok(ParavirtualRequest::PartialPurge(PartialPurge {
            entry: Gpa(entry),
            page: Gva(page),
            handshake: flags == 1,
        })),
        _ => Err(SbiError::NotSupported),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sbi::{self, Extension, Request};

    #[test]
    fn a_partial_purge_names_an_entry_in_ram() {
        let limits = Limits { harts: 2, ram: Gpa(0x8000_0000)..Gpa(0x8010_0000) };
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
        for fid in [1, 0xf, u64::MAX] {
            assert_eq!(request(fid, 0x8000_0000, 0), Err(SbiError::NotSupported));
        }
    }
}
