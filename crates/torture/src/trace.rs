//! Code that may be anything, and trap: what it does, trap by trap, on one of the hart's engines.

use hart::{CodeCache, Counts, Engine, Exit, Hart, Isa, Registers};
use types::PagingMode;

use crate::flat::{HANDLER_AT, Memory, STATUS_AND_COUNTERS, SUPERVISOR, SUPERVISOR_AT};

/// Where the code lies, at most 8 KiB of it.
pub const CODE: u64 = 0x2000;
/// Where the code's own memory begins, which may be executed as well.
pub const DATA: u64 = 0x4000;
/// Bytes of that memory.
pub const DATA_BYTES: usize = 0x2000;
/// The most traps and other exits of a run.
const MOST_EXITS: usize = 64;
/// Instructions after which a run is over; the last block may go over it.
const MOST_INSTRUCTIONS: u32 = 4096;

const T0: u8 = 5;
const T1: u8 = 6;
const T2: u8 = 7;

/// Where a run left for the supervisor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    /// A trap: `scause`, `sepc` and `stval`.
    Trap {
        /// `scause`.
        cause: u64,
        /// `sepc`.
        pc: u64,
        /// `stval`.
        value: u64,
    },
    /// Another exit.
    Exit(Exit),
}

/// What code did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    /// Every exit, in order.
    pub left: Vec<Left>,
    /// The registers at the end.
    pub registers: Registers,
    /// What was counted.
    pub counts: Counts,
    /// The memory from [`CODE`] on.
    pub memory: Vec<u8>,
}

/// What a run starts from.
#[derive(Clone, Debug)]
pub struct Start {
    /// Machine code, run in U-mode.
    pub code: Vec<u8>,
    /// The memory from [`DATA`] on; shorter ones are continued with zeroes.
    pub data: Vec<u8>,
    /// `x1` to `x31`, of which the supervisor uses `x5` to `x7` itself.
    pub x: [u64; 31],
    /// `f0` to `f31`, as bits.
    pub f: [u64; 32],
}

impl Start {
    /// Runs the code under `engine`. A trap goes on behind the instruction that trapped, and the run ends after a number of instructions or
    /// exits, or where no instruction can be fetched.
    ///
    /// # Panics
    /// If code or data are longer than their room.
    pub fn run(&self, engine: Engine) -> Trace {
        assert!(self.code.len() as u64 <= DATA - CODE && self.data.len() <= DATA_BYTES, "no room");
        let mut memory = Memory::new(DATA + DATA_BYTES as u64);
        let supervisor: Vec<u8> = SUPERVISOR.iter().flat_map(|word| word.to_le_bytes()).collect();
        for (address, bytes) in [(SUPERVISOR_AT, &supervisor), (CODE, &self.code), (DATA, &self.data)] {
            memory.bytes_mut()[address as usize..][..bytes.len()].copy_from_slice(bytes);
        }
        let isa = Isa::default();
        let mut code = CodeCache::new(isa, memory.bytes().as_ptr(), memory.bytes().len());
        let mut hart = Hart::new(isa, PagingMode::Bare);
        hart.set_pc(SUPERVISOR_AT);
        for (number, &value) in (1..).zip(&self.x) {
            hart.set_register(number, value);
        }
        for (number, &bits) in (0..).zip(&self.f) {
            hart.set_float_register(number, bits);
        }
        hart.set_register(T0, STATUS_AND_COUNTERS);
        hart.set_register(T1, CODE);
        hart.set_register(T2, HANDLER_AT);
        let mut left = Vec::new();
        // A handler that traps uses up a budget, and retires nothing.
        for _ in 0..2 * MOST_EXITS {
            let retired = hart.counts().instructions as u32;
            if left.len() == MOST_EXITS || retired >= MOST_INSTRUCTIONS {
                break;
            }
            match hart.run(&mut code, &mut memory, MOST_INSTRUCTIONS - retired, engine) {
                Exit::Budget => {}
                Exit::SupervisorCall => {
                    let [cause, pc, value] = [T0, T1, T2].map(|number| hart.register(number));
                    left.push(Left::Trap { cause, pc, value });
                    let Some(parcel) = memory.bytes().get(pc as usize..).and_then(|bytes| bytes.first()) else { break };
                    hart.set_register(T1, pc + if parcel & 3 == 3 { 4 } else { 2 });
                }
                exit => left.push(Left::Exit(exit)),
            }
        }
        Trace {
            left,
            registers: hart.registers(),
            counts: hart.counts(),
            memory: memory.bytes()[CODE as usize..].to_vec(),
        }
    }
}
