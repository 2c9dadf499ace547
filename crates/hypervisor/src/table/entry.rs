//! One table entry, as the hypervisor writes it (RISC-V Privileged 1.13, sections 12.4.1 and 19.5.1).

use core::ops::BitOr;
use types::{Access, Hpa, PageSize};

/// Rights and status of a leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LeafBits(u64);

impl LeafBits {
    /// Readable.
    pub const READ: Self = Self(1 << 1);
    /// Writable.
    pub const WRITE: Self = Self(1 << 2);
    /// Executable.
    pub const EXECUTE: Self = Self(1 << 3);
    /// U: every access of a guest counts as one from user mode, so a second-stage leaf must have it (section 19.5.1).
    pub const USER: Self = Self(1 << 4);
    /// Global: seen in every address space (first stage only).
    pub const GLOBAL: Self = Self(1 << 5);
    /// Accessed.
    pub const ACCESSED: Self = Self(1 << 6);
    /// Dirty.
    pub const DIRTY: Self = Self(1 << 7);
    /// All rights.
    pub const RWX: Self = Self(Self::READ.0 | Self::WRITE.0 | Self::EXECUTE.0);
    /// All rights, and A and D set.
    pub(crate) const FULL: Self = Self(Self::RWX.0 | Self::ACCESSED.0 | Self::DIRTY.0);
    const ALL: u64 = 0b1111_1110;

    /// These and those of `other`.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether every bit of `other` is set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The bits among `self` that `other` has as well.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The bits of `self` that `other` has not.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// As they stand in an entry.
    #[must_use]
    pub const fn value(self) -> u64 {
        self.0
    }

    /// Those of a table entry.
    #[must_use]
    pub const fn of_entry(entry: u64) -> Self {
        Self(entry & Self::ALL)
    }

    /// What the hardware would set for `access`.
    #[must_use]
    pub const fn of_access(access: Access) -> Self {
        match access {
            Access::Read | Access::Execute => Self::ACCESSED,
            Access::Write => Self(Self::ACCESSED.0 | Self::DIRTY.0),
        }
    }
}

impl BitOr for LeafBits {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.with(other)
    }
}

/// A page that a tree maps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leaf {
    /// Its first byte.
    pub page: Hpa,
    /// Its size.
    pub size: PageSize,
    /// Rights and status.
    pub bits: LeafBits,
}

impl Leaf {
    /// The leaf PTE of the page, with U, as a second stage has it (RISC-V Privileged 1.13, section 19.5.1).
    #[must_use]
    pub const fn entry(&self) -> u64 {
        Entry::leaf(self.page, self.bits.with(LeafBits::USER)).0
    }

    /// The page of `size` that a leaf PTE maps; `None` where it is none.
    #[must_use]
    pub fn of_entry(entry: u64, size: PageSize) -> Option<Self> {
        let entry = Entry(entry);
        entry.is_leaf().then(|| Self { page: entry.address().page(size), size, bits: entry.bits() })
    }
}

/// An entry of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Entry(pub(super) u64);

impl Entry {
    pub(super) const EMPTY: Self = Self(0);
    const VALID: u64 = 1;
    const PPN_SHIFT: u32 = 10;
    const PPN: u64 = (1 << 44) - 1;
    /// Of a flat table's entry: part of a superpage. The low nine bits of the page number are `1_0000_0000` then.
    const SUPERPAGE: u64 = 1 << 63 | 0x100 << Self::PPN_SHIFT;
    /// RSW: two bits that the hardware ignores.
    const SOFTWARE_SHIFT: u32 = 8;
    /// Of a pointer of a tree, in RSW: the table that it leads to is another's.
    const FOREIGN: u64 = 1;
    /// Svnapot's N: the entry is one of a group.
    const GROUPED: u64 = 1 << 63;

    /// Where the entry of number `index` is in the table at `table`.
    pub(super) const fn place(table: Hpa, index: u64) -> Hpa {
        table.wrapping_add(index * 8)
    }

    /// Leads to the table at `table`.
    pub(super) const fn pointer(table: Hpa) -> Self {
        Self(Self::VALID | table.number() << Self::PPN_SHIFT)
    }

    /// Leads to the table at `table`, which is not the tree's own: see `page_table/linked.rs`.
    pub(super) const fn link(table: Hpa) -> Self {
        Self::pointer(table).with_software(Self::FOREIGN)
    }

    /// Whether it leads to a table that is not the tree's own.
    pub(super) const fn is_link(self) -> bool {
        self.is_valid() && !self.is_leaf() && self.software() == Self::FOREIGN
    }

    /// One of the entries of a last-level table that together map the page of `size` at `page`. With one for each of its base pages it is a group that a TLB may hold
    /// in one entry (Svnapot); the lower bits of the page number say how long it is.
    pub(super) const fn grouped(page: Hpa, size: PageSize, bits: LeafBits) -> Self {
        let leaf = Self::leaf(page, bits);
        match size {
            PageSize::Size4K => leaf,
            _ => Self(leaf.0 | Self::GROUPED | (size.bytes() / 2) >> PageSize::Size4K.shift() << Self::PPN_SHIFT),
        }
    }

    /// The page that the entry maps, if it is a leaf, in a table of `level`.
    pub(super) fn leaf_of(self, level: u32) -> Option<Leaf> {
        if !self.is_leaf() {
            return None;
        }
        let whole = Leaf { page: self.address(), size: PageSize::of_level(level), bits: self.bits() };
        if self.0 & Self::GROUPED == 0 {
            return Some(whole);
        }
        let shift = self.address().number().trailing_zeros() + 1 + PageSize::Size4K.shift();
        let size = PageSize::ALL.into_iter().find(|size| size.shift() == shift)?;
        Some(Leaf { page: self.address().page(size), size, ..whole })
    }

    /// Maps the page at `page`.
    pub(super) const fn leaf(page: Hpa, bits: LeafBits) -> Self {
        Self(Self::pointer(page).0 | bits.0)
    }

    /// One entry of a flat table for the page of `size`, 4K or 2M, at `page`: see `mmu`'s `stage/flat.rs`.
    pub(super) const fn flat(page: Hpa, size: PageSize, bits: LeafBits) -> Self {
        let leaf = Self::leaf(page, bits);
        if matches!(size, PageSize::Size4K) { leaf } else { Self(leaf.0 | Self::SUPERPAGE) }
    }

    /// The size of the page that an entry of a flat table maps.
    pub(super) const fn flat_size(self) -> PageSize {
        if self.0 & Self::SUPERPAGE == Self::SUPERPAGE { PageSize::Size2M } else { PageSize::Size4K }
    }

    /// With `bits` set as well.
    pub(super) const fn with(self, bits: LeafBits) -> Self {
        Self(self.0 | bits.0)
    }

    /// With `bits` clear.
    pub(super) const fn without(self, bits: LeafBits) -> Self {
        Self(self.0 & !bits.0)
    }

    /// With these bits in place of those.
    pub(super) const fn with_bits(self, bits: LeafBits) -> Self {
        Self(self.0 & !LeafBits::ALL | bits.0)
    }

    pub(super) const fn is_valid(self) -> bool {
        self.0 & Self::VALID != 0
    }

    pub(super) const fn is_leaf(self) -> bool {
        self.is_valid() && self.bits().0 & (LeafBits::READ.0 | LeafBits::EXECUTE.0) != 0
    }

    /// The page or table that it leads to.
    pub(super) const fn address(self) -> Hpa {
        Hpa((self.0 >> Self::PPN_SHIFT & Self::PPN) << PageSize::Size4K.shift())
    }

    pub(super) const fn bits(self) -> LeafBits {
        LeafBits::of_entry(self.0)
    }

    /// The two bits that the hardware leaves to software.
    pub(super) const fn software(self) -> u64 {
        self.0 >> Self::SOFTWARE_SHIFT & 3
    }

    /// The entry with these bits, 0 to 3, in place of those.
    pub(super) const fn with_software(self, bits: u64) -> Self {
        Self(self.0 & !(3 << Self::SOFTWARE_SHIFT) | (bits & 3) << Self::SOFTWARE_SHIFT)
    }
}
