//! A guest's mapping of one address, as a fault finds it in the guest's table.

use mmu::SoftwareLeaf;
use types::Gpa;

/// W and D of an entry.
pub(super) const WRITABLE_AND_DIRTY: u64 = 1 << 2 | 1 << 7;

/// A guest's mapping of one address.
pub(super) struct GuestPage {
    pub(super) gpa: Gpa,
    pub(super) leaf: SoftwareLeaf,
}
