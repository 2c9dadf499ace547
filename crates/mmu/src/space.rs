//! Which address space an entry belongs to.

use types::{Asid, PagingMode, Vmid};

/// The address-space part of a tag: VMID, and ASID, *global* or *bare*, exactly, in 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Space(u32);

impl Space {
    const VMID_SHIFT: u32 = 18;
    const GLOBAL: u32 = 1 << 16;
    const BARE: u32 = 1 << 17;

    /// Mappings of one ASID.
    pub(crate) const fn of_asid(vmid: Vmid, asid: Asid) -> Self {
        Self(Self::of_vmid(vmid) | asid.0 as u32)
    }

    /// Mappings of every ASID (the G bit).
    pub(crate) const fn global(vmid: Vmid) -> Self {
        Self(Self::of_vmid(vmid) | Self::GLOBAL)
    }

    /// Guest physical addresses: untranslated in the first stage.
    #[inline(always)]
    pub(crate) const fn bare(vmid: Vmid) -> Self {
        Self(Self::of_vmid(vmid) | Self::BARE)
    }

    const fn of_vmid(vmid: Vmid) -> u32 {
        (vmid.0 as u32) << Self::VMID_SHIFT
    }

    /// The VMID, all 14 bits of it.
    pub(crate) const fn vmid(self) -> Vmid {
        Vmid((self.0 >> Self::VMID_SHIFT) as u16)
    }

    /// All of it.
    pub(crate) const fn bits(self) -> u32 {
        self.0
    }

    /// The inverse of [`Self::bits`].
    pub(crate) const fn of_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Whether the first stage has no part in it.
    pub(crate) const fn is_bare(self) -> bool {
        self.0 & Self::BARE != 0
    }
}

/// The two spaces in which an address is looked up at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Spaces {
    /// Of the address space itself.
    pub(crate) local: Space,
    /// Of global mappings; equal to `local` where there are none.
    pub(crate) global: Space,
}

impl Spaces {
    /// The spaces of a guest virtual address.
    pub(crate) const fn of_guest(mode: PagingMode, vmid: Vmid, asid: Asid) -> Self {
        match mode {
            PagingMode::Bare => Self::of_guest_physical(vmid),
            _ => Self { local: Space::of_asid(vmid, asid), global: Space::global(vmid) },
        }
    }

    /// The space of a guest physical address.
    #[inline(always)]
    pub(crate) const fn of_guest_physical(vmid: Vmid) -> Self {
        Self { local: Space::bare(vmid), global: Space::bare(vmid) }
    }

    /// Whether an entry of `space` is seen from here.
    #[inline(always)]
    pub(crate) fn contain(self, space: Space) -> bool {
        // Without a branch: which of the two it is cannot be predicted.
        (space.0 == self.local.0) | (space.0 == self.global.0)
    }

    /// The space of a mapping found from here.
    #[inline(always)]
    pub(crate) const fn of(self, global: bool) -> Space {
        if global { self.global } else { self.local }
    }
}
