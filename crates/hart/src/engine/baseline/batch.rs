//! Code of several blocks.
//!
//! JUSTIFICATION for unsafe: the address of code becomes a handler.

use super::host::{Condition, Host, jump};
use super::jumps::{jump_to_register, take};
use super::routines::Routines;
use super::scope::{computes, has_template, is_last};
use super::templates::{Block, BusLayout, Output, Rare, Templates, of_guest};
use crate::{
    code::translations::Translations,
    engine::{access_group::AccessGroup, compiled::is_link},
    microop::{Handler, MicroOp},
    ops::{Class, Opcode},
};
use cranelift_assembler_x64::inst;

/// Templates in a row that are worth code: a single one is as fast in its handler.
const LEAST: usize = 2;

/// Code of blocks, before it has its place in memory.
pub(crate) struct Batch {
    output: Output,
    /// Blocks whose rare code is to follow.
    blocks: Vec<Block>,
}

impl Batch {
    /// No code yet. In compact code, accesses call what is long.
    pub(crate) fn new(is_compact: bool) -> Self {
        Self { output: Output { is_compact, ..Output::default() }, blocks: Vec::new() }
    }

    /// Appends the code of the block whose first micro-op behind its gate is in `slot`, if that is worth it; whether it is.
    pub(crate) fn add(&mut self, translations: &Translations, bus: &BusLayout, slot: usize) -> bool {
        let before = self.output.entries.len();
        let block = Block { base: slot, ..Block::default() };
        let mut templates = Templates { output: &mut self.output, translations, bus, block };
        append_block(&mut templates, slot);
        let block = templates.block;
        let has_code = self.output.entries.len() > before;
        if has_code {
            self.blocks.push(block);
        }
        has_code
    }

    /// The code, which is to lie at `address`. What is rare lies behind the code of all blocks, so that less of it gets into the host's caches. Behind it are the
    /// routines that it is the first to need.
    pub(crate) fn finish(
        &mut self,
        translations: &Translations,
        bus: &BusLayout,
        routines: &mut Routines,
        address: usize,
    ) -> &[u8] {
        for block in std::mem::take(&mut self.blocks) {
            let mut templates = Templates { output: &mut self.output, translations, bus, block };
            // What is rare may have rare cases of its own.
            while !templates.block.rare.is_empty() {
                for rare in std::mem::take(&mut templates.block.rare) {
                    append_rare(&mut templates, rare);
                }
            }
        }
        let Output { code, calls, .. } = &mut self.output;
        routines.lead((code, address), std::mem::take(calls), translations, bus);
        code.bytes()
    }

    /// For each entry, the slot of its micro-op and the handler that leads to it, where the code lies at `address`.
    pub(crate) fn handlers(&self, address: usize) -> impl Iterator<Item = (usize, Handler)> {
        self.output.entries.iter().map(move |(slot, offset)| {
            // SAFETY: code at an entry is entered as a handler is, and goes on as one does.
            (*slot, unsafe { std::mem::transmute::<usize, Handler>(address + offset) })
        })
    }
}

/// The code of a block from `slot` on, without what is rare.
fn append_block(templates: &mut Templates, mut slot: usize) {
    let mut is_inside = false;
    loop {
        let (opcode, op) = templates.translations.slot(slot);
        let op = *op;
        if !is_inside && templates_from(templates, slot) >= LEAST {
            templates.enter(slot);
            is_inside = true;
        }
        if is_inside {
            is_inside = has_template(opcode, templates.bus);
            if is_inside {
                append_template(templates, (opcode, &op), slot);
            } else {
                templates.hand_over(slot);
            }
        }
        if is_last(opcode) {
            break;
        }
        slot = behind(opcode, slot);
    }
    templates.block.held.clear();
}

/// How many micro-ops with templates follow each other from `slot` on, as far as that matters.
fn templates_from(templates: &Templates, mut slot: usize) -> usize {
    for number in 0..LEAST {
        let opcode = templates.translations.slot(slot).0;
        if !has_template(opcode, templates.bus) {
            return number;
        }
        if is_last(opcode) {
            return number + 1;
        }
        slot = behind(opcode, slot);
    }
    LEAST
}

/// The slot of the micro-op that follows where nothing is taken.
fn behind(opcode: Opcode, slot: usize) -> usize {
    slot + if is_link(opcode) { 3 } else { 1 }
}

fn append_template(templates: &mut Templates, (opcode, op): (Opcode, &MicroOp), slot: usize) {
    templates.block.is_overwritten = computes(opcode, templates.bus) && {
        let (next, following) = templates.translations.slot(slot + 1);
        computes(next, templates.bus) && following.rd == op.rd
    };
    match opcode.class() {
        Class::immediate | Class::register => templates.integer(opcode, op),
        Class::load | Class::store | Class::float_load | Class::float_store => access(templates, (opcode, op), slot),
        Class::branch => {
            let condition = templates.compare(opcode, op);
            let from = jump(&mut templates.output.code, condition);
            templates.block.rare.push(Rare::Taken { from, slot });
        }
        _ => match opcode {
            Opcode::Nop => {}
            Opcode::Li => templates.constant(op),
            Opcode::Auipc => templates.address_in_page(op, op.imm),
            Opcode::Jal => {
                templates.address_in_page(op, i32::from(op.rs2));
                take(templates, slot);
            }
            Opcode::Jalr => jump_to_register(templates, op, slot),
            _ => take(templates, slot),
        },
    }
}

/// A load or store, in the group that has begun, as the first of a group, or by itself.
fn access(templates: &mut Templates, (opcode, op): (Opcode, &MicroOp), slot: usize) {
    let bus = templates.bus;
    if templates.block.group.is_none() {
        let group = AccessGroup::at(templates.translations, bus.entry, slot, |opcode| computes(opcode, bus));
        if let Some(group) = group {
            templates.begin_group(&group, slot);
        }
    }
    match templates.block.group {
        Some(group) => templates.access_of_group(&group, (opcode, op), slot),
        None => templates.access(opcode, op, slot),
    }
}

fn append_rare(templates: &mut Templates, rare: Rare) {
    let here = templates.output.code.len();
    match rare {
        Rare::Missed(missed) => templates.missed(missed),
        Rare::Taken { from, slot } => {
            templates.output.code.lead(from, here);
            take(templates, slot);
        }
        Rare::TakeBack { from, slot } => {
            templates.output.code.lead(from, here);
            templates.take_back(slot);
        }
        Rare::Resume { slot, to, place } => {
            templates.enter(slot);
            for (register, guest) in templates.block.held.needed_at(place) {
                inst::movq_rm::<Host>::new(register, of_guest(guest)).encode(&mut templates.output.code);
            }
            let back = jump(&mut templates.output.code, Condition::Always);
            templates.output.code.lead(back, to);
        }
    }
}
