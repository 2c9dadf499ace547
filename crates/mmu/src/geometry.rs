//! Shapes of trees of tables.

use types::{PageSize, PagingMode, SecondStageMode};

/// Shape of a tree of tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Geometry {
    /// Level of the root table; the last level is 0.
    pub(crate) root_level: u32,
    /// Bits of address that the tree translates; the root's index is what the other levels leave of them.
    pub(crate) address_bits: u32,
    /// The root's indices.
    root_mask: u64,
}

impl Geometry {
    /// Of no tables at all.
    pub(crate) const NONE: Self = Self::new(0, PageSize::Size4K.shift());

    /// Of a first stage.
    pub(crate) const fn of_first_stage(mode: PagingMode) -> Self {
        match mode {
            PagingMode::Bare => Self::NONE,
            PagingMode::Sv39 | PagingMode::Sv48 | PagingMode::Sv57 => Self::new(mode.levels() - 1, mode.address_bits()),
        }
    }

    /// Of a second stage. The root has four times the entries.
    #[inline(always)]
    pub(crate) const fn of_second_stage(mode: SecondStageMode) -> Self {
        Self::new(mode.levels() - 1, mode.address_bits())
    }

    #[inline(always)]
    const fn new(root_level: u32, address_bits: u32) -> Self {
        Self { root_level, address_bits, root_mask: (1 << (address_bits - 12 - 9 * root_level)) - 1 }
    }

    /// Byte offset of the entry of `address` in a table of `level`.
    #[inline(always)]
    pub(crate) const fn slot(self, address: u64, level: u32) -> u64 {
        let mask = if level == self.root_level { self.root_mask } else { 0x1ff };
        ((address >> (12 + 9 * level)) & mask) * 8
    }

    /// Byte offset of the entry of `address` in a table of the last level, which is no tree's root.
    #[inline(always)]
    pub(crate) const fn last_slot(address: u64) -> u64 {
        ((address >> 12) & 0x1ff) * 8
    }
}
