//! What a core is given of an instruction.

use types::Gva;

/// The number of a line of memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct Line(pub u64);

/// Where a line is found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// In the first level.
    L1,
    /// In the second.
    L2,
    /// In the last.
    Llc,
    /// In memory.
    Memory,
}

/// A register that an instruction writes: 0 to 31 are `x0` to `x31`, 32 to 63 `f0` to `f31`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Register(u8);

impl Register {
    /// The integer register `x{number}`.
    #[inline]
    #[must_use]
    pub const fn x(number: u8) -> Self {
        Self(number & 31)
    }

    /// The floating-point register `f{number}`.
    #[inline]
    #[must_use]
    pub const fn f(number: u8) -> Self {
        Self(32 | (number & 31))
    }

    #[inline]
    pub(crate) const fn number(self) -> usize {
        self.0 as usize
    }

    /// The set of this register alone; of `x0`, which no instruction waits for, the empty set.
    #[inline]
    #[must_use]
    pub const fn set(self) -> Registers {
        Registers((1 << self.0) & !1)
    }
}

/// A set of registers, without `x0`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(transparent)]
pub struct Registers(pub(crate) u64);

impl Registers {
    /// None.
    pub const NONE: Self = Self(0);

    /// Those whose bits are set: bit n for x n, bit 32 + n for f n.
    #[inline]
    #[must_use]
    pub const fn of_bits(bits: u64) -> Self {
        Self(bits & !1)
    }

    /// The first of them.
    #[inline]
    #[must_use]
    pub const fn first(self) -> Option<Register> {
        if self.0 == 0 { None } else { Some(Register(self.0.trailing_zeros() as u8)) }
    }

    /// As [`Self::of_bits`] takes them.
    #[inline]
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Whether a register is in both sets.
    #[inline]
    #[must_use]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Those of both sets.
    #[inline]
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// An instruction that computes.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// The register it writes, if any.
    pub destination: Option<Register>,
    /// Those it reads.
    pub sources: Registers,
}

/// A load, or the load of an atomic operation.
#[derive(Clone, Copy, Debug)]
pub struct Load<'w> {
    /// The register it writes, if any.
    pub destination: Option<Register>,
    /// Those that make its address.
    pub address_of: Registers,
    /// What it reads.
    pub access: Access<'w>,
}

/// A store, or the store of an atomic operation.
#[derive(Clone, Copy, Debug)]
pub struct Store<'w> {
    /// The registers that hold what it stores.
    pub data: Registers,
    /// Those that make its address.
    pub address_of: Registers,
    /// What it writes.
    pub access: Access<'w>,
}

/// A use of a line of data.
#[derive(Clone, Copy, Debug)]
pub struct Access<'w> {
    /// The address that was translated.
    pub address: Gva,
    /// How.
    pub translation: Translation<'w>,
    /// The line that it led to.
    pub line: Line,
    /// Where the line was.
    pub found: Level,
}

/// A use of a line of data that the L1D has, by an address that the first level of TLBs translates.
#[derive(Clone, Copy, Debug)]
pub struct Hit {
    /// The address that was translated.
    pub address: Gva,
    /// The line that it led to.
    pub line: Line,
}

impl Hit {
    /// The same as an access.
    #[inline(always)]
    pub(crate) const fn access(self) -> Access<'static> {
        let Self { address, line } = self;
        Access { address, translation: Translation::FirstLevel, line, found: Level::L1 }
    }
}

impl Access<'_> {
    /// The access if its translation took no time.
    pub(crate) fn translated_at_once(self) -> Access<'static> {
        let Self { address, translation: _, line, found } = self;
        Access { address, translation: Translation::FirstLevel, line, found }
    }
}

/// How an address was translated.
#[derive(Clone, Copy, Debug)]
pub enum Translation<'w> {
    /// By the first level of TLBs, in the time of the access.
    FirstLevel,
    /// By the second.
    SecondLevel,
    /// By a walk.
    Walk(Walk<'w>),
}

/// A page walk.
#[derive(Clone, Copy, Debug)]
pub struct Walk<'w> {
    /// The table entries that it read, in the order of their steps.
    pub references: &'w [TableReference],
    /// log2 of the bytes of the page that it found: other accesses to the page wait for it.
    pub page_shift: u8,
}

/// A table entry that a walk reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableReference {
    /// The number of its step. Entries of one step are read at once, those of the next behind all of them.
    pub step: u16,
    /// Its line.
    pub line: Line,
    /// Where the line was.
    pub found: Level,
}

/// A conditional branch.
#[derive(Clone, Copy, Debug)]
pub struct Branch {
    /// Its address.
    pub pc: u64,
    /// Which way it went.
    pub way: Way,
    /// The registers that its condition reads.
    pub sources: Registers,
}

/// Which way a branch goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// To its target.
    Taken,
    /// To the next instruction.
    NotTaken,
}

/// What an instruction waits for that is not executed beside others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Serialize {
    /// All earlier instructions retire: a CSR access.
    Window,
    /// They retire, and their stores leave the store buffer: a fence, an exit to the hypervisor.
    Stores,
    /// They retire, and the front end starts again: a trap, or the return from one.
    Trap,
}
