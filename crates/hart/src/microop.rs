//! The micro-op: an instruction decoded for execution.

use crate::{bus::DataView, hart::Hart};

/// A micro-op's handler in the threaded engine: executes it and jumps to the next one's. Returns the accumulator when
/// the hart leaves the engine.
pub(crate) type Handler =
    unsafe extern "C" fn(*mut Hart, *mut MicroOp, acc: u64, view: DataView, environment: *mut ()) -> u64;

/// An instruction decoded for execution, or a [`Link`] behind a jump.
///
/// `rd` = 32 is the sink that takes writes to `x0`. What the operand fields mean depends on the operation:
///
/// | operation | `imm` | `rd` | `rs1` | `rs2` |
/// |---|---|---|---|---|
/// | register | | rd | rs1 | rs2 |
/// | immediate | immediate | rd | rs1 | |
/// | load | offset | rd | rs1 | predicted slot |
/// | store | offset | rs2 | rs1 | predicted slot |
/// | atomic | rs2 | rd | rs1 | predicted slot |
/// | branch | | rs2 | rs1 | offset of the target in the page |
/// | jump | offset (`jalr`) | rd | rs1 | offset of the next instruction in the page |
/// | compiled | number of the block in its unit, and above 8 bits that of the unit | | [`OF_UNIT`] | least budget |
/// | float | rounding mode, and rs3 in bits 8–12 | rd | rs1 | rs2 |
/// | system | the instruction | | | |
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct MicroOp {
    pub(crate) handler: Handler,
    pub(crate) imm: i32,
    pub(crate) rd: u8,
    pub(crate) rs1: u8,
    pub(crate) rs2: u16,
}

impl MicroOp {
    /// Where it goes, if it is a load or store: the address of the first byte.
    #[inline(always)]
    pub(crate) fn address(&self, hart: &Hart) -> u64 {
        hart.register(self.rs1).wrapping_add(self.imm as i64 as u64)
    }
}

/// The slot behind a micro-op that may leave its block: what executing up to here costs, and where to go on.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Link {
    /// Added to the accumulator when the link is taken.
    pub(crate) cost: u64,
    /// The first micro-op of the target, or the [resolver](crate::engine) in the next slot.
    pub(crate) target: *mut MicroOp,
}

const _: () = assert!(size_of::<MicroOp>() == 16 && size_of::<Link>() == 16);

/// What `rs1` of a micro-op that enters a unit is, and of no other.
pub(crate) const OF_UNIT: u8 = u8::MAX;

/// Slots before a compiled block that enter its unit: a micro-op `Compiled`, and the address of the unit.
pub(crate) const ENTRY_SLOTS: usize = 2;

/// The accumulator that the engine keeps in a register: `budget(16, signed) | stores(16) | accesses(32)`.
///
/// One addition at the end of a block counts instructions and stores and tells, by the sign, whether the budget is used
/// up. The low half counts accesses as they happen and is the time that exact LRU goes by.
pub(crate) mod accumulator {
    /// One access.
    pub(crate) const ACCESS: u64 = 1;
    /// Largest budget of one entry.
    pub(crate) const MAX_BUDGET: u32 = 0x7f00;

    /// What a run of `instructions` with `stores` among them adds.
    pub(crate) const fn cost(instructions: u32, stores: u32) -> u64 {
        ((instructions as u64) << 48).wrapping_neg().wrapping_add((stores as u64) << 32)
    }

    /// The instructions of a cost.
    pub(crate) const fn instructions(cost: u64) -> u32 {
        -budget(cost) as u32
    }

    /// The start value for a budget of instructions.
    pub(crate) const fn start(budget: u32, stamp: u32) -> u64 {
        ((budget as u64) << 48) | stamp as u64
    }

    /// Whether the budget is used up.
    #[inline(always)]
    pub(crate) const fn spent(acc: u64) -> bool {
        (acc as i64) < 0
    }

    /// Remaining budget; negative where the last block went over it.
    pub(crate) const fn budget(acc: u64) -> i32 {
        (acc as i64 >> 48) as i32
    }

    /// Stores so far.
    pub(crate) const fn stores(acc: u64) -> u32 {
        (acc >> 32) as u32 & 0xffff
    }

    /// The time of the latest access.
    #[inline(always)]
    pub(crate) const fn stamp(acc: u64) -> u32 {
        acc as u32
    }
}

#[cfg(test)]
mod tests {
    use super::accumulator::*;

    #[test]
    fn the_accumulator_keeps_its_three_counts_apart() {
        let mut acc = start(100, 7);
        acc = acc.wrapping_add(cost(60, 5)).wrapping_add(3 * ACCESS);
        assert_eq!((budget(acc), stores(acc), stamp(acc), spent(acc)), (40, 5, 10, false));
        acc = acc.wrapping_add(cost(64, 64));
        assert_eq!((budget(acc), stores(acc), stamp(acc), spent(acc)), (-24, 69, 10, true));
        assert_eq!([(1, 0), (60, 5), (64, 64)].map(|(n, stores)| instructions(cost(n, stores))), [1, 60, 64]);
    }
}
