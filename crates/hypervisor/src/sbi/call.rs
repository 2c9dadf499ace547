//! A call, and what it can refer to.

use super::error::SbiError;
use super::extension::ExtensionSet;
use core::ops::Range;
use types::Gpa;

/// A call as the guest made it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SbiCall {
    /// Extension ID, `a7`.
    pub eid: u64,
    /// Function ID, `a6`.
    pub fid: u64,
    /// `a0` to `a5`.
    pub args: [u64; 6],
}

/// What a call can refer to: the machine of the guest that makes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Harts, with IDs from 0.
    pub harts: usize,
    /// RAM.
    pub ram: Range<Gpa>,
    /// The extensions that it finds.
    pub extensions: ExtensionSet,
}

impl Limits {
    /// The ID of an existing hart.
    pub(super) fn hart(&self, id: u64) -> Result<usize, SbiError> {
        usize::try_from(id).ok().filter(|&id| id < self.harts).ok_or(SbiError::InvalidParam)
    }

    /// Whether `bytes` bytes at `gpa` are all RAM.
    pub(super) fn is_ram(&self, gpa: Gpa, bytes: u64) -> bool {
        gpa >= self.ram.start && gpa.checked_add(bytes).is_some_and(|end| end <= self.ram.end)
    }
}

/// The address of memory that guest and firmware share, `bytes` long and so aligned (section 3.2). All ones are none.
pub(super) fn shared_memory(low: u64, high: u64, bytes: u64, limits: &Limits) -> Result<Option<Gpa>, SbiError> {
    if (low, high) == (u64::MAX, u64::MAX) {
        return Ok(None);
    }
    let at = Gpa(low);
    if !at.is_aligned(bytes) {
        return Err(SbiError::InvalidParam);
    }
    // The address is 2 × XLEN wide, and nothing of ours lies in its upper half.
    if high != 0 || !limits.is_ram(at, bytes) {
        return Err(SbiError::InvalidAddress);
    }
    Ok(Some(at))
}
