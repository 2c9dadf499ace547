//! Accesses near each other: off the same base register, a few bytes apart, as those of a structure, of a stack frame, and the store that
//! follows the load of what it changes. They are mostly in the same page, so that the second looks first at the entry that the first has hit.
//! Where that is wrong it misses, as any other.

use crate::engine::{access_group::is_access, operands::Operands};
use crate::{microop::MicroOp, ops::Opcode};
use cranelift_codegen::ir::Value;

/// Bytes between accesses that are near each other. The chance that a page ends between them is at most a sixteenth.
const NEAR: i64 = 256;

/// The accesses of one block that follow others near them.
#[derive(Default)]
pub(super) struct Near {
    /// The slot of such an access, and that of the latest one near it.
    pairs: Vec<(usize, usize)>,
    /// The addresses of the entries that the others have hit, by their slots.
    entries: Vec<(usize, Value)>,
}

impl Near {
    /// Those among a block's micro-ops. They are executed in this order, as far as the block is.
    pub(super) fn of<'a>(block: impl Iterator<Item = (usize, Opcode, &'a MicroOp)>) -> Self {
        let (mut near, mut latest) = (Self::default(), Latest::default());
        for (slot, opcode, op) in block {
            if is_access(opcode) {
                near.pairs.extend(latest.near(op).map(|other| (slot, other)));
                latest.set(op.rs1, Some((i64::from(op.imm), slot)));
            }
            if opcode == Opcode::Addi {
                latest.add(op.rd, op.rs1, i64::from(op.imm));
            } else {
                Operands::of(opcode, op).written.integers().for_each(|register| latest.set(register, None));
            }
        }
        near
    }

    /// Whether the access in this slot follows another near it.
    pub(super) fn follows(&self, slot: usize) -> bool {
        self.pairs.iter().any(|&(access, _)| access == slot)
    }

    /// Whether another access asks for what the one in this slot has hit.
    pub(super) fn is_asked_for(&self, slot: usize) -> bool {
        self.pairs.iter().any(|&(_, other)| other == slot)
    }

    /// The access in this slot has hit the entry.
    pub(super) fn hit(&mut self, slot: usize, entry: Value) {
        self.entries.push((slot, entry));
    }

    /// The entry that the access in this slot has hit.
    pub(super) fn of_access(&self, slot: usize) -> Option<Value> {
        self.entries.iter().find(|&&(hit, _)| hit == slot).map(|&(_, entry)| entry)
    }

    /// How many entries are known.
    pub(super) fn known(&self) -> usize {
        self.entries.len()
    }

    /// Forgets all entries but the first ones: where the code goes on, the others are not known.
    pub(super) fn forget(&mut self, known: usize) {
        self.entries.truncate(known);
    }

    /// The entry that the access near the one in this slot has hit.
    pub(super) fn entry(&self, slot: usize) -> Option<Value> {
        let &(_, other) = self.pairs.iter().find(|&&(access, _)| access == slot)?;
        self.of_access(other)
    }
}

/// The latest access by its base register: how far from what the register is now, in bytes, and its slot.
#[derive(Default)]
struct Latest(Vec<(u8, i64, usize)>);

impl Latest {
    fn get(&self, base: u8) -> Option<(i64, usize)> {
        self.0.iter().find(|access| access.0 == base).map(|&(_, offset, slot)| (offset, slot))
    }

    fn set(&mut self, base: u8, access: Option<(i64, usize)>) {
        self.0.retain(|access| access.0 != base);
        self.0.extend(access.map(|(offset, slot)| (base, offset, slot)));
    }

    /// The `sum` register is now `bytes` more than `base` is, or was.
    fn add(&mut self, sum: u8, base: u8, bytes: i64) {
        let access = self.get(base).map(|(offset, slot)| (offset - bytes, slot));
        self.set(sum, access);
    }

    fn near(&self, op: &MicroOp) -> Option<usize> {
        let (offset, slot) = self.get(op.rs1)?;
        ((offset - i64::from(op.imm)).abs() < NEAR).then_some(slot)
    }
}
