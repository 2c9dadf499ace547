//! A random program: a starting state, and code as a tree whose branches only ever leave a subtree at its ends.
//!
//! The tree makes programs end by construction, tells which instructions are certain to run, and lets a failing program be cut down
//! branch by branch.

use crate::instruction::Instruction;

/// Bytes of memory that a program works on.
pub const SCRATCH: usize = 256;

/// The registers, `fcsr` and memory that a program starts from, and those that it leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// `fcsr`.
    pub fcsr: u64,
    /// `x0` to `x31`; the first is not used.
    pub x: [u64; 32],
    /// `f0` to `f31`, raw.
    pub f: [u64; 32],
    /// The memory at the program's base register.
    pub scratch: [u64; SCRATCH / 8],
}

/// A piece of a program.
#[derive(Clone, Debug)]
pub enum Node {
    /// Instructions that belong together.
    Straight(Vec<Instruction>),
    /// A branch or direct jump over `body`.
    Skip {
        /// The branch, without its distance.
        branch: Instruction,
        /// What it may skip.
        body: Vec<Node>,
    },
    /// An indirect jump over `body`, which never runs.
    SkipIndirect {
        /// Receives the target's address.
        pointer: u8,
        /// The jump; if it has an immediate, that is taken off the address beforehand.
        jump: Instruction,
        /// What it skips.
        body: Vec<Node>,
    },
    /// `body`, `count` times.
    Loop {
        /// Counts down to zero; `body` leaves it alone.
        counter: u8,
        /// 1 to 2047.
        count: u16,
        /// Jumps back while the counter is not zero; without its distance.
        branch: Instruction,
        /// The repeated part.
        body: Vec<Node>,
    },
    /// A call of `body` as a subroutine, and its return.
    Call {
        /// The call, without its distance.
        call: Instruction,
        /// The return through the link register, which `body` leaves alone.
        back: Instruction,
        /// The subroutine.
        body: Vec<Node>,
    },
    /// Instructions that the program writes into its memory and runs there, after `fence.i`.
    Patch {
        /// Holds the words to be written.
        temporary: u8,
        /// Holds the way back.
        link: u8,
        /// Where they go: an offset from the base register, even.
        offset: i64,
        /// One full or two compressed instructions.
        instructions: Vec<Instruction>,
    },
    /// Bits that are no code, where nothing runs.
    Garbage(Vec<u16>),
}

/// A program.
#[derive(Clone, Debug)]
pub struct Program {
    /// What it starts from.
    pub start: State,
    /// The register that points to its record throughout.
    pub base: u8,
    /// Its code.
    pub nodes: Vec<Node>,
}

impl Node {
    /// The nodes inside this one.
    pub fn body(&self) -> Option<&Vec<Node>> {
        match self {
            Self::Skip { body, .. }
            | Self::SkipIndirect { body, .. }
            | Self::Loop { body, .. }
            | Self::Call { body, .. } => Some(body),
            Self::Straight(_) | Self::Patch { .. } | Self::Garbage(_) => None,
        }
    }

    /// The nodes inside this one, to be changed.
    pub fn body_mut(&mut self) -> Option<&mut Vec<Node>> {
        match self {
            Self::Skip { body, .. }
            | Self::SkipIndirect { body, .. }
            | Self::Loop { body, .. }
            | Self::Call { body, .. } => Some(body),
            Self::Straight(_) | Self::Patch { .. } | Self::Garbage(_) => None,
        }
    }
}
