//! Which blocks are hot, and what is compiled with them.
//!
//! Where execution stands when a budget ends is a sample of where it spends its time, so that the hit path counts nothing. When
//! enough was sampled at a block, it becomes a unit of host code together with the blocks of its page that its taken links lead to. Those blocks are
//! translated once more, behind a micro-op that enters the unit; of the old ones the first micro-op leads to the new.

use super::{CodeCache, HostPage, MAX_BLOCK_SLOTS, SCRATCH, Side, Slot, block};
use crate::{
    Bus, Hotness,
    engine::{
        compiled::{Block, CodeMemoryError, Compiler, ends, executes, is_link, reserve, slots_of},
        threaded,
    },
    microop::{Link, MicroOp, SINK},
    ops::{Class, Opcode},
};
use std::collections::HashMap;

/// The most blocks of a unit, and the most micro-ops.
const MOST_BLOCKS: usize = 16;
const MOST_OPS: usize = 400;

/// Slots before a block that enter its unit: the micro-op, and the address of the unit.
const ENTRY_SLOTS: usize = 2;

/// How often dropping a page doubles the hotness that its next unit takes.
const MOST_DOUBLINGS: u32 = 12;

/// What compiling one micro-op takes, in instructions that an interpreter could have executed meanwhile: some 20 microseconds.
const COST_OF_OP: u64 = 10_000;

/// Compiling takes no more than one in so many instructions that were sampled, beside a first amount.
const SHARE: u64 = 50;
const FIRST: u64 = 4_000_000;

/// Blocks whose samples are kept; when there are more, counting begins anew.
const MOST_SAMPLED: usize = 1 << 16;

/// The state of the compiling tier.
#[derive(Default)]
pub(super) struct Hot {
    compiler: Option<Box<Compiler>>,
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
    heat: HashMap<(HostPage, u16), u64>,
    /// How often each page with units was dropped: the oftener, the hotter the next must be.
    dropped: HashMap<HostPage, u32>,
}

impl Hot {
    pub(super) fn compiles_all(&self) -> bool {
        self.all
    }

    /// Whether a unit of `ops` micro-ops is due: at its blocks as many instructions were sampled as compiling costs, so that what is
    /// lost by waiting is at most what is lost by compiling in vain; and compiling keeps to its share of the time.
    fn pays(&self, page: HostPage, region: &[Block], ops: usize) -> bool {
        let cost = ops as u64 * COST_OF_OP;
        let heat = |block: &Block| self.heat.get(&(page, block.offset)).copied().unwrap_or(0);
        region.iter().map(heat).sum::<u64>() >= cost && self.spent + cost <= FIRST + self.sampled / SHARE
    }

    /// The blocks of a page were dropped.
    pub(super) fn page_dropped(&mut self, page: HostPage) {
        if let Some(times) = self.dropped.get_mut(&page) {
            *times = times.saturating_add(1);
        }
    }

    /// Forgets everything; no unit runs.
    pub(super) fn clear(&mut self) {
        self.heat.clear();
        self.dropped.clear();
        // With its memory, no matter in what state the host left that.
        let failed = self.compiler.as_mut().and_then(|compiler| compiler.clear().err());
        if let Some(error) = failed {
            self.compiler = None;
            self.failure = Some(error);
        }
    }

    /// Whether units may have lost the right to be executed: everything has to be [cleared](CodeCache::clear) before an engine goes on.
    pub(super) fn has_failed(&self) -> bool {
        self.compiler.as_ref().is_some_and(|compiler| compiler.failure().is_some())
    }
}

impl<B: Bus> CodeCache<B> {
    /// How many units of host code were made so far: pieces that were hot together.
    #[must_use]
    pub fn units(&self) -> u64 {
        self.hot.made
    }

    /// Where compiled code lies: see [`planted`](crate::planted).
    #[cfg(feature = "planted")]
    pub(crate) fn planted_memory(&mut self) -> Option<&mut crate::engine::compiled::CodeMemory> {
        if !self.hot.asked {
            self.hot.asked = true;
            self.hot.compiler = Compiler::new().map(Box::new);
        }
        self.hot.compiler.as_mut().map(|compiler| compiler.memory())
    }

    /// Why nothing is compiled any more, if the host refused to let compiled code be executed; said once. The translations that are left are
    /// interpreted.
    pub fn take_failure(&mut self) -> Option<CodeMemoryError> {
        self.hot.failure.take()
    }

    /// The hart stands at `offset` of `page`, after `instructions` in one piece. For the run loop, while no engine runs.
    pub(crate) fn sample(&mut self, page: HostPage, offset: u16, instructions: u32, hotness: Hotness) {
        if B::ENTRY.is_none() || self.fetch_line != 0 {
            return;
        }
        self.hot.all = hotness.0 == 0;
        if self.hot.all || instructions == 0 {
            return;
        }
        self.hot.sampled += u64::from(instructions);
        let dropped = self.hot.dropped.get(&page).copied().unwrap_or(0).min(MOST_DOUBLINGS);
        let step = u64::from(hotness.0) << dropped;
        if self.hot.heat.len() == MOST_SAMPLED {
            self.hot.heat.clear();
        }
        let heat = self.hot.heat.entry((page, offset)).or_default();
        let before = std::mem::replace(heat, *heat + u64::from(instructions));
        // Whether it is hot is asked once for each so many instructions.
        if before / step != *heat / step {
            if self.hot.compiler.as_ref().is_some_and(|compiler| !compiler.has_room()) {
                return self.clear();
            }
            self.compile(page, offset);
            if self.hot.has_failed() {
                self.clear();
            }
        }
    }

    /// Makes a unit of the block at `offset` of `page` and of what belongs to it, if it is translated, not yet compiled, and worth it.
    pub(super) fn compile(&mut self, page: HostPage, offset: u16) {
        if !self.hot.asked {
            self.hot.asked = true;
            self.hot.compiler = Compiler::new().map(Box::new);
        }
        let Some(mut compiler) = self.hot.compiler.take() else { return };
        let (region, ops) = self.region(page, offset);
        if !region.is_empty() && (self.hot.all || self.hot.pays(page, &region, ops)) {
            self.hot.spent += ops as u64 * COST_OF_OP;
            self.make_unit(&mut compiler, page, &region);
        }
        self.hot.compiler = Some(compiler);
    }

    fn make_unit(&mut self, compiler: &mut Compiler, page: HostPage, region: &[Block]) {
        let mark = self.mark();
        let mut blocks = Vec::with_capacity(region.len());
        for (number, old) in region.iter().enumerate() {
            let entry = self.ops.len();
            self.push_entry(number, old.offset);
            block::translate(self, page, old.offset);
            self.copy_sites(old.slot, entry + ENTRY_SLOTS);
            blocks.push(Block { offset: old.offset, slot: entry + ENTRY_SLOTS });
        }
        let Some(unit) = compiler.unit(self, &blocks) else {
            self.release(mark);
            return;
        };
        let reserve = u16::try_from(reserve(self, &blocks)).expect("16 blocks of at most 64 instructions");
        let starts = &mut self.pages.get_mut(&page).expect("the page has these blocks").starts;
        for (old, new) in region.iter().zip(&blocks) {
            let entry = new.slot - ENTRY_SLOTS;
            starts[usize::from(old.offset >> 1)] = entry as u32;
            self.ops[entry].op.rs2 = reserve;
            self.ops[entry + 1].link = Link { cost: unit as u64, target: std::ptr::null_mut() };
            // Whoever has a link to the old block comes to the new one, also past its gate.
            let gated = self.side[old.slot].opcode == Opcode::FloatGate;
            for slot in old.slot..=old.slot + usize::from(gated) {
                let (handler, imm) = (threaded::handler::<B>(Opcode::Moved), (entry - slot) as i32);
                self.ops[slot].op = MicroOp { handler, imm, rd: SINK, rs1: 0, rs2: 0 };
                self.side[slot].opcode = Opcode::Moved;
            }
        }
        for block in region {
            self.hot.heat.remove(&(page, block.offset));
        }
        self.hot.dropped.entry(page).or_insert(0);
        self.hot.made += 1;
    }

    /// Appends what enters block `number` of a unit.
    fn push_entry(&mut self, number: usize, offset: u16) {
        let side = Side { opcode: Opcode::Compiled, offset, instructions: 0, stores: 0 };
        let handler = threaded::handler::<B>(Opcode::Compiled);
        self.push(Slot { op: MicroOp { handler, imm: number as i32, rd: SINK, rs1: 0, rs2: 0 } }, side);
        let link = Link { cost: 0, target: std::ptr::null_mut() };
        self.push(Slot { link }, Side { opcode: Opcode::Nop, ..side });
    }

    /// Copies what the loads and stores of a block know of where they hit last.
    fn copy_sites(&mut self, from: usize, to: usize) {
        for slot in 0..self.ops.len() - to {
            let class = self.side[to + slot].opcode.class();
            if matches!(class, Class::load | Class::store | Class::float_load | Class::float_store) {
                let site = self.slot(from + slot).1.rs2;
                self.ops[to + slot].op.rs2 = site;
            }
        }
    }

    /// The blocks to compile with the one at `offset`, itself first: those that its links have led to, and theirs in turn. None, where it is compiled
    /// already, or where nothing in it comes back to it: such a unit is entered too often for what it does. And how many micro-ops
    /// they have.
    fn region(&self, page: HostPage, offset: u16) -> (Vec<Block>, usize) {
        let mut region: Vec<Block> = Vec::new();
        let (mut ops, mut loops) = (0, false);
        let mut waiting = std::collections::VecDeque::from([offset]);
        while let Some(offset) = waiting.pop_front() {
            if region.iter().any(|block| block.offset == offset) {
                loops = true;
                continue;
            }
            let Some(slot) = self.block_at(page, offset) else { continue };
            if self.side[slot].opcode == Opcode::Compiled || region.len() == MOST_BLOCKS || ops > MOST_OPS {
                continue;
            }
            region.push(Block { offset, slot });
            ops += self.follow(slot, &mut waiting);
        }
        let room = self.ops.len() + region.len() * (MAX_BLOCK_SLOTS + ENTRY_SLOTS) + SCRATCH <= super::ARENA;
        if room && (loops || self.hot.all) { (region, ops) } else { (Vec::new(), 0) }
    }

    /// Appends where the links of the block at `slot` lead within its page, and returns how many micro-ops of it would be compiled.
    fn follow(&self, slot: usize, targets: &mut std::collections::VecDeque<u16>) -> usize {
        let mut ops = 0;
        for (slot, opcode, op) in self.compiled_part(slot) {
            ops += 1;
            if is_link(opcode) {
                let (link, delta, _) = self.link(slot);
                let taken = link.target as usize != self.address(slot + 2) || self.hot.all;
                if let Ok(offset @ 0..=0xfff) = u16::try_from(delta)
                    && taken
                {
                    targets.push_back(offset);
                }
            }
            if opcode == Opcode::Jal && op.rd != SINK && op.rs2 < 0x1000 {
                // A call: where it comes back to.
                targets.push_back(op.rs2);
            }
        }
        ops
    }

    /// The micro-ops of the block at `slot` that compiled code executes, with their slots.
    pub(crate) fn compiled_part(&self, slot: usize) -> impl Iterator<Item = (usize, Opcode, &MicroOp)> {
        let mut next = Some(slot);
        std::iter::from_fn(move || {
            let slot = next?;
            let (opcode, op) = self.slot(slot);
            next = (!ends(opcode)).then(|| slot + slots_of(opcode));
            executes(opcode).then_some((slot, opcode, op))
        })
    }

    /// The micro-op in a slot that is one.
    pub(crate) fn slot(&self, slot: usize) -> (Opcode, &MicroOp) {
        // SAFETY: a slot's bytes are those of a micro-op wherever the caller comes from the micro-op before.
        (self.side[slot].opcode, unsafe { &self.ops[slot].op })
    }

    /// The link behind the micro-op in a slot, its target's offset in the page, and whether it comes from a block that has passed its floating-point
    /// gate.
    pub(crate) fn link(&self, slot: usize) -> (Link, i32, bool) {
        // SAFETY: a link and its resolver follow every micro-op that takes one.
        let (link, resolver) = unsafe { (self.ops[slot + 1].link, self.ops[slot + 2].op) };
        (link, resolver.imm, resolver.rd != 0)
    }

    /// Where a slot lies.
    pub(crate) fn address(&self, slot: usize) -> usize {
        self.ops.as_ptr() as usize + slot * size_of::<Slot>()
    }
}
