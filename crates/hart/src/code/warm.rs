//! Which blocks are warm, and the baseline code that they get.
//!
//! The first micro-op of a block counts its executions in a small table, where blocks that share an entry share the count: it is a hint. A block that was
//! executed often enough is due. What is due gets its code in one go, while no engine runs, because memory that can be executed has to be made writable for
//! it, and executable again.

use super::hot::AfterSample;
use super::translations::Translations;
use crate::{
    Bus, Hotness,
    engine::{
        baseline::{Batch, BusLayout, Routines},
        code_memory::{CodeMemory, CodeMemoryError},
        threaded,
    },
    microop::MicroOp,
    ops::Opcode,
};

/// Executions that make a block warm. With more, a program with much code executes much of it in handlers; with fewer, code is made that is hardly executed.
const WARM: u8 = 4;

/// Blocks that get their code in one go, since the memory changes from executable to writable and back for each.
const BATCH: usize = 16;

/// Entries of the table, a power of two.
const COUNTS: usize = 1 << 12;

/// Blocks that are due wait for so many instructions at most, if they are few.
const PATIENCE: u64 = 1 << 20;

/// Bytes of code behind which it is made compact: a program with more of it than the host's nearer caches hold gains more by less code than it loses by calls.
/// `python3` has as much, and `gcc` three times as much.
const COMPACT_FROM: usize = 16 << 20;

/// The state of the baseline tier.
#[derive(Default)]
pub(super) struct Warm {
    memory: Option<CodeMemory>,
    /// The code that blocks share, in the same memory.
    routines: Routines,
    /// Whether `memory` is what it will be.
    asked: bool,
    /// Why the memory is gone, if the host is to blame.
    failure: Option<CodeMemoryError>,
    /// Executions counted, by a part of the micro-op's slot; empty until something is.
    counts: Vec<u8>,
    /// Executions that make a block warm.
    threshold: u8,
    /// The slots of blocks that are warm and have no code yet.
    due: Vec<usize>,
    /// Instructions sampled since the latest batch.
    waited: u64,
    /// Blocks that were given code so far.
    made: u64,
}

impl Warm {
    /// The micro-op, the first of a block behind its gate, is executed.
    pub(super) fn count<B: Bus>(&mut self, code: &mut Translations, op: *const MicroOp) {
        let slot = code.slot_of(op);
        self.counts.resize(COUNTS, 0);
        let count = &mut self.counts[slot % COUNTS];
        *count += 1;
        if *count >= self.threshold {
            *count = 0;
            self.due.push(slot);
            let opcode = code.slot(slot).0;
            // The last micro-op of a block is no pair's first.
            let next = (slot + 1 < code.mark()).then(|| code.slot(slot + 1).0);
            let pair = next.and_then(|next| threaded::pair::<B>(opcode, next));
            code.ops[slot].op.handler = pair.unwrap_or_else(|| threaded::handler::<B>(opcode));
        }
    }

    /// A block was translated, from `slot` on. If one execution makes a block warm, it gets its code at once: code calls nothing, so that an engine that runs
    /// is not in it.
    pub(super) fn found<B: Bus>(&mut self, code: &mut Translations, slot: usize) -> AfterSample {
        if self.threshold != 1 || self.memory.is_none() {
            return AfterSample::GoOn;
        }
        let block = code.at(slot);
        self.count::<B>(code, code.past_gate(block, true));
        BusLayout::of::<B>().map_or(AfterSample::GoOn, |layout| self.make(code, &layout))
    }

    /// So many more instructions were executed, and no engine runs: makes the code that is due, if there is enough of it. Where caches are modelled, there is
    /// none.
    pub(super) fn sample<B: Bus>(
        &mut self,
        code: &mut Translations,
        instructions: u32,
        hotness: Hotness,
        models: bool,
    ) -> AfterSample {
        self.threshold = u8::try_from(hotness.0).unwrap_or(WARM).clamp(1, WARM);
        if !self.asked {
            self.asked = true;
            // Where every block is compiled, none gets further code.
            let layout = BusLayout::of::<B>().filter(|_| hotness != Hotness::ALL && !models);
            self.memory = layout.and_then(|_| CodeMemory::new());
            code.counts_executions = self.memory.is_some();
        }
        self.waited += u64::from(instructions);
        let batch = if self.threshold == 1 { 1 } else { BATCH };
        let is_time = self.due.len() >= batch || self.waited >= PATIENCE;
        if self.due.is_empty() || !is_time {
            return AfterSample::GoOn;
        }
        self.waited = 0;
        match BusLayout::of::<B>() {
            Some(layout) => self.make(code, &layout),
            None => AfterSample::GoOn,
        }
    }

    /// Makes the code that is due.
    fn make(&mut self, code: &mut Translations, layout: &BusLayout) -> AfterSample {
        let Some(memory) = &mut self.memory else { return AfterSample::GoOn };
        let mut batch = Batch::new(memory.used() >= COMPACT_FROM);
        let mut made = 0;
        for slot in self.due.drain(..) {
            // Its page may have been written to meanwhile, or the block have become part of a unit.
            if !matches!(code.slot(slot).0, Opcode::Stale | Opcode::Moved) {
                made += u64::from(batch.add(code, layout, slot));
            }
        }
        if made == 0 {
            return AfterSample::GoOn;
        }
        // Without room, or without the right to execute it, everything begins again.
        let address = memory.next();
        let bytes = batch.finish(code, layout, &mut self.routines, address);
        if memory.append(bytes) != Some(address) {
            return AfterSample::Clear;
        }
        for (slot, handler) in batch.handlers(address) {
            code.ops[slot].op.handler = handler;
        }
        self.made += made;
        AfterSample::GoOn
    }

    /// Whether warm blocks are given code.
    pub(super) fn is_on(&self) -> bool {
        self.memory.is_some()
    }

    /// How many blocks were given code so far.
    pub(super) fn made(&self) -> u64 {
        self.made
    }

    /// Forgets all code, none of which runs.
    pub(super) fn clear(&mut self) {
        self.due.clear();
        self.routines.clear();
        let Some(memory) = &mut self.memory else { return };
        self.failure = memory.failure();
        memory.clear();
        if self.failure.is_some() {
            self.memory = None;
        }
    }

    /// Why the memory is gone, if the host is to blame; said once.
    pub(super) fn take_failure(&mut self) -> Option<CodeMemoryError> {
        self.failure.take()
    }
}
