//! What of a block compiled code executes.

use crate::{
    code::translations::Translations,
    csr::is_read,
    hart::transfer,
    host_page::HostPage,
    microop::{MicroOp, accumulator},
    ops::{Class, Opcode},
};

/// A block of a unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub(crate) page: HostPage,
    /// Where in the page it begins.
    pub(crate) offset: u16,
    /// The slot of its first micro-op.
    pub(crate) slot: usize,
    /// Instructions that were sampled there.
    pub(crate) heat: u64,
    /// Whether another unit has it so far.
    pub(crate) is_compiled: bool,
}

/// Budget, in instructions, with which a unit of these blocks may be entered: each of them may be executed once.
pub(crate) fn reserve(code: &Translations, blocks: &[Block]) -> u32 {
    let cost = |block: &Block| {
        let part = compiled_part(code, block.slot);
        let links = part.filter(|(_, opcode, _)| is_link(*opcode) || *opcode == Opcode::Jalr);
        links.map(|(slot, ..)| accumulator::instructions(code.link(slot).0.cost)).max()
    };
    blocks.iter().filter_map(cost).sum()
}

/// Whether a jump to a register is a return.
pub(crate) fn returns(op: &MicroOp) -> bool {
    transfer::of_indirect_jump(op.rd, op.rs1).0
}

/// Whether a micro-op is a call, which comes back to the instruction behind it.
pub(crate) fn calls(opcode: Opcode, op: &MicroOp) -> bool {
    match opcode {
        Opcode::Jal => transfer::calls(op.rd),
        Opcode::Jalr => transfer::of_indirect_jump(op.rd, op.rs1).1,
        _ => false,
    }
}

/// Whether a link to a known place follows the micro-op.
pub(crate) fn is_link(opcode: Opcode) -> bool {
    opcode.class() == Class::branch || matches!(opcode, Opcode::Jal | Opcode::Next)
}

/// Whether it is the last that compiled code executes of its block.
fn ends(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::Jal | Opcode::Next | Opcode::Jalr)
}

/// Whether compiled code executes a micro-op itself.
fn executes(opcode: Opcode, op: &MicroOp) -> bool {
    use Opcode as O;
    match opcode {
        O::Csr => is_read(op.imm as u32),
        O::Li | O::Auipc | O::Nop | O::Jal | O::Jalr | O::Next | O::FloatGate | O::FetchLine => true,
        _ => opcode.class() != Class::single,
    }
}

/// Slots up to the next micro-op of the block.
pub(super) fn slots_of(opcode: Opcode) -> usize {
    if opcode.class() == Class::branch { 3 } else { 1 }
}

/// The micro-ops of the block at `slot` that compiled code executes, with their slots.
pub(crate) fn compiled_part(code: &Translations, slot: usize) -> impl Iterator<Item = (usize, Opcode, &MicroOp)> {
    let mut next = Some(slot);
    std::iter::from_fn(move || {
        let slot = next?;
        let (opcode, op) = code.slot(slot);
        next = (!ends(opcode)).then(|| slot + slots_of(opcode));
        executes(opcode, op).then_some((slot, opcode, op))
    })
}
