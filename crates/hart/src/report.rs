//! What a hart reports of the instructions it executes, to a bus that models the time of an out-of-order core.
//!
//! Most instructions need no report. The bus says after each one whether anything is outstanding that the next instructions may wait for; if not, only the events
//! that are long by themselves are reported until one is.

use types::Access;

/// Whether a bus wants reports: a constant, so that the engines of other buses contain nothing of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reports {
    /// None.
    None,
    /// As the [module](self) says.
    Instructions,
}

/// Whether the core waits for anything that later instructions may wait for as well.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outstanding {
    /// Only long events have to be reported.
    Nothing,
    /// So do all loads and stores, and the instructions that read or write one of these registers.
    Something(RegisterSet),
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
    /// The byte that this led to, in the host; `None` where the bus has completed the access itself, and knows.
    pub at: Option<*const u8>,
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
