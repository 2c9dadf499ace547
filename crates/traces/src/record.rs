//! What a trace has, whatever its format.

use crate::operands::Operands;
use std::str::FromStr;

/// A format of traces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Records of 64 bytes, as the simulator ChampSim reads them.
    ChampSim,
    /// Lines of text, as Valgrind's tool lackey writes them.
    Lackey,
    /// Records of 12 bytes, as `DynamoRIO`'s drmemtrace has them.
    Drmemtrace,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::ChampSim, Self::Lackey, Self::Drmemtrace];

    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ChampSim => "champsim",
            Self::Lackey => "lackey",
            Self::Drmemtrace => "drmemtrace",
        }
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::ALL.into_iter().find(|format| format.name() == text);
        named.ok_or_else(|| format!("{text}: the formats are {}", Self::ALL.map(Self::name).join(", ")))
    }
}

/// Where a branch goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BranchKind {
    /// To a fixed address.
    Jump,
    /// To an address in a register.
    IndirectJump,
    /// To a fixed address, or on.
    Conditional,
    /// To a fixed function.
    Call,
    /// To a function whose address is in a register.
    IndirectCall,
    /// Back from a function.
    Return,
}

/// A branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Branch {
    /// Where it goes.
    pub kind: BranchKind,
    /// Whether it was taken.
    pub taken: bool,
    /// The address of the next instruction, where the format has it.
    pub target: Option<u64>,
}

/// An instruction that was executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instruction {
    /// Its address.
    pub pc: u64,
    /// Its length in bytes; 0 where the format does not have it.
    pub bytes: u8,
    /// Whether it is a branch.
    pub branch: Option<Branch>,
    /// Registers, where the format has them.
    pub operands: Operands,
    /// Its bits, where the format has them; of a compressed one the low 16.
    pub encoding: Option<u32>,
}

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataKind {
    /// It loads.
    Load,
    /// It stores.
    Store,
    /// It loads and stores at once.
    Modify,
}

/// An access of the instruction before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Data {
    /// What it does.
    pub kind: DataKind,
    /// Its first byte.
    pub address: u64,
    /// How many bytes; 1 where the format does not have it.
    pub bytes: u32,
}

/// What happens between instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// A region of interest begins, or the part of it that is measured.
    Window,
    /// A trap is taken, and the next instruction is that of a handler. Without the trap, it were the one at `pc`.
    Trap {
        /// The address in `sepc`.
        pc: u64,
    },
    /// The instruction before returns from a handler.
    Return {
        /// The address behind that instruction.
        from: u64,
        /// The address of the next instruction.
        to: u64,
    },
}

/// A record of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Record {
    /// An instruction is fetched and executed.
    Instruction(Instruction),
    /// The instruction before accesses memory.
    Data(Data),
    /// Something happens between instructions, where the format has it.
    Mark(Mark),
}
