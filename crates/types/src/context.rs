//! What an access is made with: its kind, privilege, paging mode and tags.

use crate::Gpa;

/// Why memory is accessed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Access {
    /// A load, or a load-reserved.
    Read,
    /// A store, a store-conditional or an atomic memory operation.
    Write,
    /// An instruction fetch.
    Execute,
}

/// The privilege of a guest's access. There is no M-mode: the hypervisor stands where firmware would.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Privilege {
    /// U (VU under a hypervisor).
    User = 0,
    /// S (VS under a hypervisor).
    #[default]
    Supervisor = 1,
}

/// Address-space identifier (`satp.ASID`), 16 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Asid(pub u16);

/// Virtual-machine identifier (`hgatp.VMID`), 14 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Vmid(pub u16);

/// Width of a memory access of an integer, float or atomic instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Width {
    /// One byte.
    Byte = 1,
    /// Two bytes.
    Half = 2,
    /// Four bytes.
    Word = 4,
    /// Eight bytes.
    Double = 8,
}

impl Width {
    /// Width in bytes.
    #[inline]
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self as u64
    }
}

/// The first stage's mode (`satp.MODE`; RISC-V Privileged 1.13, section 12.1.11).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum PagingMode {
    /// No translation.
    #[default]
    Bare,
    /// Three levels, 39 bits.
    Sv39,
    /// Four levels, 48 bits.
    Sv48,
    /// Five levels, 57 bits.
    Sv57,
}

impl PagingMode {
    /// Levels of table: 0 for bare.
    #[inline]
    #[must_use]
    pub const fn levels(self) -> u32 {
        match self {
            Self::Bare => 0,
            Self::Sv39 => 3,
            Self::Sv48 => 4,
            Self::Sv57 => 5,
        }
    }

    /// Bits of virtual address that are translated; those above repeat the topmost.
    #[inline]
    #[must_use]
    pub const fn address_bits(self) -> u32 {
        match self {
            Self::Bare => 64,
            _ => 12 + 9 * self.levels(),
        }
    }
}

/// The second stage's mode (`hgatp.MODE`; RISC-V Privileged 1.13, section 19.2.10). A root table is 16 KiB.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SecondStageMode {
    /// Three levels, 41 bits.
    Sv39x4,
    /// Four levels, 50 bits.
    Sv48x4,
    /// Five levels, 59 bits.
    Sv57x4,
}

impl SecondStageMode {
    /// Levels of table.
    #[inline]
    #[must_use]
    pub const fn levels(self) -> u32 {
        match self {
            Self::Sv39x4 => 3,
            Self::Sv48x4 => 4,
            Self::Sv57x4 => 5,
        }
    }

    /// Bits of guest physical address that are translated; those above must be zero.
    #[inline]
    #[must_use]
    pub const fn address_bits(self) -> u32 {
        14 + 9 * self.levels()
    }
}

/// Everything of a hart's state that decides how its virtual addresses translate in the first stage.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TranslationContext {
    /// `satp.MODE`.
    pub mode: PagingMode,
    /// `satp.PPN` × 4096.
    pub root: Gpa,
    /// `satp.ASID`.
    pub asid: Asid,
    /// Privilege of loads, stores and fetches.
    pub privilege: Privilege,
    /// `sstatus.SUM`: S may load from and store to U pages.
    pub sum: bool,
    /// `sstatus.MXR`: loads may read executable pages.
    pub mxr: bool,
}

impl TranslationContext {
    /// The same tables, with the right to load from every page: for who looks, such as a debugger.
    #[must_use]
    pub const fn that_may_load_all(self) -> Self {
        Self { privilege: Privilege::Supervisor, sum: true, mxr: true, ..self }
    }
}
