//! Bytes of the host's memory, read and written for a hart.

use hart::{HostPage, Stored};
use types::Width;

/// Whether an access of this width at `address` is misaligned.
#[inline(always)]
pub(super) const fn is_misaligned(address: u64, width: Width) -> bool {
    address & (width.bytes() - 1) != 0
}

/// # Safety
/// `bytes`, at most 8, are readable at `at`.
pub(super) unsafe fn read_bytes(at: *const u8, bytes: u64) -> u64 {
    let mut value = [0; 8];
    // SAFETY: by the contract.
    unsafe { at.copy_to_nonoverlapping(value.as_mut_ptr(), bytes as usize) };
    u64::from_le_bytes(value)
}

/// # Safety
/// `bytes`, at most 8, are writable at `at`.
pub(super) unsafe fn write_bytes(at: *mut u8, bytes: u64, value: u64) {
    // SAFETY: by the contract.
    unsafe { at.copy_from_nonoverlapping(value.to_le_bytes().as_ptr(), bytes as usize) };
}

/// A store that is complete with this.
///
/// # Safety
/// The bytes of `width` are writable at `at`.
pub(super) unsafe fn store_bytes(at: *mut u8, width: Width, value: u64) -> Stored {
    // SAFETY: by the contract.
    unsafe { write_bytes(at, width.bytes(), value) };
    Stored::Done([Some(HostPage::containing(at)), None])
}
