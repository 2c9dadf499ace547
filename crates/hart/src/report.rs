//! What a hart reports of the instructions it executes, to a bus that models the time of an out-of-order core.
//!
//! Most instructions need no report. The bus says after each one whether anything is outstanding that the next instructions may wait for; if not, only the events
//! that are long by themselves are reported until one is.

use types::{Access, PageGroups};

/// Whether a bus wants reports: a constant, so that the engines of other buses contain nothing of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reports {
    /// None.
    None,
    /// As the [module](self) says.
    Instructions,
}

/// What a core waits for that later instructions may wait for as well.
///
/// The first word, which compiled code keeps in a register, has bit 0 set where something is outstanding. Its other bits are those of the
/// [`RegisterSet`] of registers whose values are not there yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Outstanding {
    pub(crate) registers: u64,
    /// Pages that walks are under way for.
    pub(crate) walks: PageGroups,
}

impl Outstanding {
    /// Nothing: only long events have to be reported.
    pub const NOTHING: Self = Self { registers: 0, walks: PageGroups::NONE };

    /// Whatever it may be: everything has to be reported.
    pub const ANYTHING: Self = Self::something(RegisterSet::ALL, PageGroups::ALL);

    /// Something: all loads and stores have to be reported, and the instructions that read or write one of these registers. A load needs no
    /// report that reads and writes none of them, changes nothing in the caches, is of a line that is not
    /// [under way](crate::models::UnderWayLayout), and of a page that no walk is under way for.
    #[inline]
    #[must_use]
    pub const fn something(registers: RegisterSet, walks: PageGroups) -> Self {
        Self { registers: registers.0 | 1, walks }
    }

    /// Whether nothing is outstanding.
    #[inline]
    #[must_use]
    pub const fn is_nothing(self) -> bool {
        self.registers == 0
    }

    /// Whether an instruction that reads and writes these registers has to be reported.
    #[inline]
    #[must_use]
    pub const fn concerns(self, registers: RegisterSet) -> bool {
        self.registers & registers.0 & !1 != 0
    }
}

/// A set of registers: bit n stands for x n, bit 32 + n for f n. It does not have x0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(transparent)]
pub struct RegisterSet(pub u64);

impl RegisterSet {
    /// All registers.
    pub const ALL: Self = Self(!1);

    /// Whether a register is in both sets.
    #[inline]
    #[must_use]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// What is reported of an instruction, before its registers change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Report {
    /// It computes.
    Operation {
        /// From these.
        reads: RegisterSet,
        /// This one, if any.
        writes: RegisterSet,
    },
    /// It accesses memory. That is translated.
    Data(DataReport),
    /// It is a conditional branch. All are reported.
    Branch {
        /// Its address.
        pc: u64,
        /// Which way it goes.
        way: BranchWay,
        /// What its condition reads.
        reads: RegisterSet,
    },
    /// It is a conditional branch that compiled code has predicted as [`BranchLayout`](crate::models::BranchLayout) says.
    Resolved {
        /// Whether it goes as predicted.
        outcome: BranchOutcome,
        /// What its condition reads.
        reads: RegisterSet,
    },
    /// It is on another line of instructions than the one before it: the byte there, in the host.
    FetchLine(*const u8),
    /// It is on a page that was looked up with [`Bus::fetch`](crate::Bus::fetch): its address.
    Fetched(u64),
    /// Something comes before it that waits for earlier instructions.
    Serialize(Serialize),
}

/// Which way a branch goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BranchWay {
    /// To its target.
    Taken,
    /// To the next instruction.
    NotTaken,
}

/// Whether a branch goes as predicted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BranchOutcome {
    /// It does.
    Predicted,
    /// It does not.
    Mispredicted,
}

/// An access to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataReport {
    /// What it does there.
    pub kind: DataKind,
    /// The register that it writes, if any.
    pub writes: RegisterSet,
    /// Those that make its address.
    pub address_of: RegisterSet,
    /// Those that it stores.
    pub stores: RegisterSet,
    /// Its address.
    pub address: u64,
    /// Where this led to.
    pub place: DataPlace,
}

/// Where an access has found its data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataPlace {
    /// The byte is here in the host, in the line of its set that was used last: the use changes nothing in the caches.
    LatestLine(*const u8),
    /// The byte is here in the host.
    Line(*const u8),
    /// The bus has completed the access itself, and knows.
    Completed,
}

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataKind {
    /// A load, or LR.
    Load,
    /// A store.
    Store,
    /// Both: SC or an AMO.
    Atomic,
}

impl DataKind {
    /// How the access uses its line.
    #[must_use]
    pub const fn access(self) -> Access {
        match self {
            Self::Load => Access::Read,
            Self::Store | Self::Atomic => Access::Write,
        }
    }
}

/// What waits for earlier instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Serialize {
    /// A CSR access.
    Csr,
    /// A fence, or a wait.
    Fence,
    /// A trap, or the return from one.
    Trap,
}
