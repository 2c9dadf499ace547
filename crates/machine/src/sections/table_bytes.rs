//! Memory that a section's tables take.

use types::PageSize;

/// Bytes of tables that one mapper of `bytes` bytes of section has for itself: leaf tables, and those that lead to them from its root.
#[must_use]
pub const fn private_table_bytes(bytes: u64) -> u64 {
    (bytes.div_ceil(PageSize::Size2M.bytes()) + bytes.div_ceil(PageSize::Size1G.bytes())) * PageSize::Size4K.bytes()
}
