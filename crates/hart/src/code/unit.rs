//! A unit, from the blocks of its region to the address of its code.

use super::block;
use super::translations::{Side, Slot, Translations};
use crate::{
    Bus,
    engine::{
        compiled::{Block, reserve},
        operands::Written,
        threaded,
    },
    hart::SINK,
    microop::{ENTRY_SLOTS, Link, MicroOp, OF_UNIT},
    ops::{Class, Opcode},
    report::RegisterSet,
};

/// A unit whose blocks are translated once more, and which is not entered yet.
pub(super) struct Unit {
    pub(super) number: u32,
    /// The blocks that lead to it once it is [installed](Self::install).
    pub(super) region: Vec<Block>,
    /// Its own.
    pub(super) blocks: Vec<Block>,
}

impl Unit {
    /// Translates the blocks of `region` once more. Nothing leads to them yet.
    pub(super) fn translate<B: Bus>(code: &mut Translations, number: u32, region: Vec<Block>) -> Self {
        let mut blocks = Vec::with_capacity(region.len());
        for (entry_number, old) in region.iter().enumerate() {
            let entry = code.mark();
            push_entry::<B>(code, (number << 8 | entry_number as u32) as i32, old.offset);
            block::translate::<B>(code, old.page, old.offset);
            copy_slots(code, old.slot, entry + ENTRY_SLOTS);
            blocks.push(Block { slot: entry + ENTRY_SLOTS, ..*old });
        }
        Self { number, region, blocks }
    }

    /// What leads to a block of the region leads to the unit from now on, whose code is at `address`.
    pub(super) fn install<B: Bus>(&self, code: &mut Translations, address: usize) {
        let reserve = u16::try_from(reserve(code, &self.blocks)).expect("32 blocks of at most 64 instructions");
        for (old, new) in self.region.iter().zip(&self.blocks) {
            let entry = new.slot - ENTRY_SLOTS;
            let led = if old.is_compiled { old.slot - ENTRY_SLOTS } else { old.slot };
            code.set_block(old.page, old.offset, entry);
            code.ops[entry].op.rs2 = reserve;
            code.ops[entry + 1].link = Link { cost: address as u64, target: std::ptr::null_mut() };
            // A link to the old block leads to the new one, also past its gate.
            let gated = code.side[led].opcode == Opcode::FloatGate;
            for slot in led..=led + usize::from(gated) {
                let (handler, imm) = (threaded::handler::<B>(Opcode::Moved), (entry - slot) as i32);
                code.ops[slot].op = MicroOp { handler, imm, rd: SINK, rs1: 0, rs2: 0 };
                code.side[slot].opcode = Opcode::Moved;
            }
        }
    }
}

/// Appends what enters block `number` of a unit.
fn push_entry<B: Bus>(code: &mut Translations, number: i32, offset: u16) {
    let (names, written) = (RegisterSet::default(), Written::default());
    let side = Side { opcode: Opcode::Compiled, offset, instructions: 0, stores: 0, names, written };
    let handler = threaded::handler::<B>(Opcode::Compiled);
    code.push(Slot { op: MicroOp { handler, imm: number, rd: SINK, rs1: OF_UNIT, rs2: 0 } }, side);
    let link = Link { cost: 0, target: std::ptr::null_mut() };
    code.push(Slot { link }, Side { opcode: Opcode::Nop, ..side });
}

/// Copies what the loads and stores of a block know of where they hit last.
fn copy_slots(code: &mut Translations, from: usize, to: usize) {
    for slot in 0..code.ops.len() - to {
        let class = code.side[to + slot].opcode.class();
        if matches!(class, Class::load | Class::store | Class::float_load | Class::float_store) {
            let predicted = code.slot(from + slot).1.rs2;
            code.ops[to + slot].op.rs2 = predicted;
        }
    }
}
