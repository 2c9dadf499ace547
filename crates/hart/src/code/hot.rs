//! Which blocks are hot, and what is compiled with them.
//!
//! Where execution is when a budget ends is a sample of where it spends its time, so that the hit path counts nothing. When
//! enough was sampled at a block, it becomes a unit of host code together with the blocks of its region (`region.rs`). Those blocks are
//! translated once more, behind a micro-op that enters the unit; of the old ones the first micro-op leads to the new.

use super::block;
use super::jumps::Jumps;
use super::place::Place;
use super::region::{Growth, Heat, Links, Region};
use super::translations::{Side, Slot, Translations};
use super::units::Units;
use crate::{
    Bus, Hotness,
    engine::{
        compiled::{Block, CodeMemoryError, Compiler, reserve},
        threaded,
    },
    hart::SINK,
    host_page::HostPage,
    microop::{ENTRY_SLOTS, Link, MicroOp, OF_UNIT},
    ops::{Class, Opcode},
    report::RegisterSet,
};
use std::collections::HashMap;

/// How often dropping a page doubles the hotness that its next unit takes.
const MOST_DOUBLINGS: u32 = 12;

/// The most units that a code cache makes: so many numbers fit beside that of a block. Compiling them takes hours.
const MOST_UNITS: u64 = 1 << 23;

/// What compiling one micro-op takes, in instructions that an interpreter could have executed meanwhile: some 20 microseconds.
const COST_OF_OP: u64 = 10_000;

/// Compiling takes at most one in so many instructions that were sampled, beside a first amount.
const SHARE: u64 = 50;
const FIRST: u64 = 4_000_000;

/// Blocks whose samples are kept; when there are more, counting starts again.
const MOST_SAMPLED: usize = 1 << 16;

/// What a sample demands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AfterSample {
    /// Nothing.
    GoOn,
    /// All translations have to go: there is no room for a further unit, or the compiler has failed.
    Clear,
}

/// The state of the compiling tier.
#[derive(Default)]
pub(super) struct Hot {
    compiler: Option<Box<Compiler>>,
    /// The units of more than one page.
    units: Units,
    /// Whether `compiler` is what it will be.
    asked: bool,
    /// Why the compiler is gone, if the host is to blame.
    failure: Option<CodeMemoryError>,
    /// Compile every block when it is found.
    all: bool,
    /// Units made so far.
    made: u64,
    /// Instructions sampled so far, and those that compiling took the time of.
    sampled: u64,
    spent: u64,
    /// Instructions sampled at a block.
    heat: Heat,
    /// How often each page with units was dropped: the oftener, the hotter the next must be.
    dropped: HashMap<HostPage, u32>,
}

impl Hot {
    pub(super) fn compiles_all(&self) -> bool {
        self.all
    }

    /// Whether a unit of `region` is due: at its blocks as many instructions were sampled as compiling costs, so that what is
    /// lost by waiting is at most what is lost by compiling in vain; and compiling keeps to its share of the time.
    fn pays(&self, region: &Region) -> bool {
        let cost = region.ops as u64 * COST_OF_OP;
        let heat = |block: &Block| self.heat.get(&(block.page, block.offset)).copied().unwrap_or(0);
        region.blocks.iter().map(heat).sum::<u64>() >= cost && self.spent + cost <= FIRST + self.sampled / SHARE
    }

    /// The blocks of a page were dropped. Those of other pages in the same units have to be as well.
    pub(super) fn page_dropped(&mut self, page: HostPage) -> Vec<(HostPage, u16)> {
        if let Some(times) = self.dropped.get_mut(&page) {
            *times = times.saturating_add(1);
        }
        self.units.take(page)
    }

    /// Forgets everything; no unit runs.
    pub(super) fn clear(&mut self) {
        self.heat.clear();
        self.dropped.clear();
        self.units = Units::default();
        // With its memory, no matter in what state the host left that.
        let failed = self.compiler.as_mut().and_then(|compiler| compiler.clear().err());
        if let Some(error) = failed {
            self.compiler = None;
            self.failure = Some(error);
        }
    }

    /// Whether units may have lost the right to be executed: everything has to be cleared before an engine goes on.
    pub(super) fn has_failed(&self) -> bool {
        self.compiler.as_ref().is_some_and(|compiler| compiler.failure().is_some())
    }

    /// How many units of host code were made so far.
    pub(super) fn made(&self) -> u64 {
        self.made
    }

    /// Why the compiler is gone, if the host is to blame; said once.
    pub(super) fn take_failure(&mut self) -> Option<CodeMemoryError> {
        self.failure.take()
    }

    /// Where compiled code lies: see [`planted`](crate::planted).
    #[cfg(feature = "planted")]
    pub(super) fn planted_memory(&mut self) -> Option<&mut crate::engine::compiled::CodeMemory> {
        self.ask_for_compiler();
        self.compiler.as_mut().map(|compiler| compiler.memory())
    }

    fn ask_for_compiler(&mut self) {
        if !self.asked {
            self.asked = true;
            self.compiler = Compiler::new().map(Box::new);
        }
    }

    /// A hart is at the place, after `instructions` in one piece, while no engine runs.
    pub(super) fn sample<B: Bus>(
        &mut self,
        code: &mut Translations,
        (jumps, place): (&Jumps, Place),
        instructions: u32,
        hotness: Hotness,
    ) -> AfterSample {
        let Place { page, offset, .. } = place;
        self.all = hotness.0 == 0;
        if self.all || instructions == 0 {
            return AfterSample::GoOn;
        }
        self.sampled += u64::from(instructions);
        let dropped = self.dropped.get(&page).copied().unwrap_or(0).min(MOST_DOUBLINGS);
        let step = u64::from(hotness.0) << dropped;
        if self.heat.len() == MOST_SAMPLED {
            self.heat.clear();
        }
        let heat = self.heat.entry((page, offset)).or_default();
        let before = std::mem::replace(heat, *heat + u64::from(instructions));
        // Whether it is hot is asked once in a number of instructions.
        if before / step == *heat / step {
            return AfterSample::GoOn;
        }
        if self.compiler.as_ref().is_some_and(|compiler| !compiler.has_room()) {
            return AfterSample::Clear;
        }
        self.compile::<B>(code, Some(jumps), place);
        if self.has_failed() { AfterSample::Clear } else { AfterSample::GoOn }
    }

    /// Makes a unit of the block at `place` and of what belongs to it, if it is translated, not yet compiled, and worth it. Without the jump cache, it stays
    /// in its page.
    pub(super) fn compile<B: Bus>(&mut self, code: &mut Translations, jumps: Option<&Jumps>, place: Place) {
        self.ask_for_compiler();
        if self.made == MOST_UNITS {
            return;
        }
        let Some(mut compiler) = self.compiler.take() else { return };
        let links = if self.all { Links::All } else { Links::Taken };
        let region = Growth { code, jumps: jumps.filter(|_| B::FETCHES), links, heat: &self.heat }.from(place);
        if let Some(region) = region
            && (self.all || self.pays(&region))
        {
            self.spent += region.ops as u64 * COST_OF_OP;
            self.make_unit::<B>(&mut compiler, code, &region.blocks);
        }
        self.compiler = Some(compiler);
    }

    fn make_unit<B: Bus>(&mut self, compiler: &mut Compiler, code: &mut Translations, region: &[Block]) {
        let number_of_unit = self.made as u32;
        let mark = code.mark();
        let mut blocks = Vec::with_capacity(region.len());
        for (number, old) in region.iter().enumerate() {
            let entry = code.mark();
            push_entry::<B>(code, (number_of_unit << 8 | number as u32) as i32, old.offset);
            block::translate::<B>(code, old.page, old.offset);
            copy_slots(code, old.slot, entry + ENTRY_SLOTS);
            blocks.push(Block { slot: entry + ENTRY_SLOTS, ..*old });
        }
        let Some(unit) = compiler.unit::<B>(code, number_of_unit, &blocks) else {
            code.release(mark);
            return;
        };
        let reserve = u16::try_from(reserve(code, &blocks)).expect("32 blocks of at most 64 instructions");
        for (old, new) in region.iter().zip(&blocks) {
            let entry = new.slot - ENTRY_SLOTS;
            code.set_block(old.page, old.offset, entry);
            code.ops[entry].op.rs2 = reserve;
            code.ops[entry + 1].link = Link { cost: unit as u64, target: std::ptr::null_mut() };
            // A link to the old block leads to the new one, also past its gate.
            let gated = code.side[old.slot].opcode == Opcode::FloatGate;
            for slot in old.slot..=old.slot + usize::from(gated) {
                let (handler, imm) = (threaded::handler::<B>(Opcode::Moved), (entry - slot) as i32);
                code.ops[slot].op = MicroOp { handler, imm, rd: SINK, rs1: 0, rs2: 0 };
                code.side[slot].opcode = Opcode::Moved;
            }
        }
        for block in region {
            self.heat.remove(&(block.page, block.offset));
            self.dropped.entry(block.page).or_insert(0);
        }
        self.units.add(region);
        self.made += 1;
    }
}

/// Appends what enters block `number` of a unit.
fn push_entry<B: Bus>(code: &mut Translations, number: i32, offset: u16) {
    let side = Side { opcode: Opcode::Compiled, offset, instructions: 0, stores: 0, names: RegisterSet::default() };
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
