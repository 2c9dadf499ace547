//! Flag bits of a page-table entry (RISC-V Privileged 1.13, section 12.4.1).

pub(crate) const V: u64 = 1;
pub(crate) const R: u64 = 1 << 1;
pub(crate) const W: u64 = 1 << 2;
pub(crate) const X: u64 = 1 << 3;
pub(crate) const U: u64 = 1 << 4;
pub(crate) const G: u64 = 1 << 5;
pub(crate) const A: u64 = 1 << 6;
pub(crate) const D: u64 = 1 << 7;
