//! BASE, EID 0x10 (SBI 3.0, chapter 4).

use super::call::{Limits, SbiCall};
use super::error::SbiError;
use super::extension::Extension;

/// Version 3.0: major in bits 30–24, minor below.
const SPECIFICATION: u64 = 3 << 24;

/// Of this implementation, "PW"; registered IDs are small numbers, so it belongs to no other implementation.
const IMPLEMENTATION: u64 = 0x5057;

/// Pagewalk 0.1: major in bits 31–16, minor below.
const IMPLEMENTATION_VERSION: u64 = 1;

/// A question about the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BaseQuery {
    /// Version of the specification.
    SpecificationVersion,
    /// Which implementation this is.
    ImplementationId,
    /// Its version.
    ImplementationVersion,
    /// Whether the extension of an EID is there.
    Probe(Option<Extension>),
    /// `mvendorid`.
    VendorId,
    /// `marchid`.
    ArchitectureId,
    /// `mimpid`.
    MachineImplementationId,
}

impl BaseQuery {
    /// What the call returns.
    #[must_use]
    pub const fn answer(self) -> u64 {
        match self {
            Self::SpecificationVersion => SPECIFICATION,
            Self::ImplementationId => IMPLEMENTATION,
            Self::ImplementationVersion => IMPLEMENTATION_VERSION,
            Self::Probe(extension) => extension.is_some() as u64,
            // Zero is "not implemented" in all three, and keeps Linux from applying some vendor's errata.
            Self::VendorId | Self::ArchitectureId | Self::MachineImplementationId => 0,
        }
    }
}

pub(super) fn decode(call: &SbiCall, limits: &Limits) -> Result<BaseQuery, SbiError> {
    Ok(match call.fid {
        0 => BaseQuery::SpecificationVersion,
        1 => BaseQuery::ImplementationId,
        2 => BaseQuery::ImplementationVersion,
        3 => BaseQuery::Probe(limits.extensions.of(call.args[0])),
        4 => BaseQuery::VendorId,
        5 => BaseQuery::ArchitectureId,
        6 => BaseQuery::MachineImplementationId,
        _ => return Err(SbiError::NotSupported),
    })
}
