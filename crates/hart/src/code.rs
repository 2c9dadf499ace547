//! Translated code: blocks of micro-ops, where they came from, and how they are found, linked and dropped.
//!
//! Blocks are keyed by the host page and offset of their first instruction, so address spaces that share a page share its blocks.
//! They end at the page's end. *Dropping* a page (a store hit it) makes each of its blocks *stale*: its first micro-op
//! now leads back to the run loop, which translates again. Nothing is freed until the arena is full, when everything
//! goes at once; so a pointer to a micro-op stays good while an engine runs, because the arena is cleared only in the run loop.

mod block;
mod heat;
mod hot;
pub(crate) mod jumps;
pub mod models;
pub(crate) mod page_slots;
mod place;
mod region;
pub(crate) mod translations;
mod unit;
mod units;
mod waiting;
mod warm;

use crate::{
    Bus, CacheLines, Hotness, Isa,
    code::models::ModelLayout,
    decode::Instruction,
    engine::{
        code_memory::CodeMemoryError,
        environment::{CodeParts, CodeSource},
        threaded,
    },
    host_page::HostPage,
    microop::MicroOp,
    ops::Opcode,
    report::Reports,
};
use hot::{AfterSample, Hot};
use jumps::{Jump, Jumps};
use place::Place;
use std::marker::PhantomData;
use translations::{LEAST_LINE, MAX_BLOCK_SLOTS, Side, Translations};
use warm::Warm;

/// Translated blocks, for the harts of one machine: they must have the same [`Isa`], the same bus type and the same memory.
pub struct CodeCache<B: Bus> {
    translations: Translations,
    jumps: Jumps,
    hot: Hot,
    warm: Warm,
    bus: PhantomData<fn(&mut B)>,
}

// SAFETY: the pointers lead into the arena and the memory, both owned exclusively with the machine that owns the cache.
unsafe impl<B: Bus> Send for CodeCache<B> {}

impl<B: Bus> CodeCache<B> {
    /// A cache for code in the `bytes` of host memory from `memory` on, which stay mapped and readable as long as the cache is used.
    #[must_use]
    pub fn new(isa: Isa, memory: *const u8, bytes: usize) -> Self {
        let jumps = Jumps::new();
        Self {
            translations: Translations::new(isa, (memory, bytes), jumps.address()),
            jumps,
            hot: Hot::default(),
            warm: Warm::default(),
            bus: PhantomData,
        }
    }

    /// Makes code report to the bus ([`Bus::use_line`]) each line of `bytes` bytes that execution comes to. Within a line that it was in
    /// already it may report it again or not, which makes no difference to a cache.
    ///
    /// # Panics
    /// If a line is shorter than 16 bytes, longer than a page, or no power of two.
    #[must_use]
    pub fn with_fetch_lines(mut self, bytes: u32) -> Self {
        assert!(bytes.is_power_of_two() && (LEAST_LINE..=4096).contains(&bytes), "a line of {bytes} bytes");
        self.translations.fetch_line = bytes;
        self
    }

    /// As [`with_fetch_lines`](Self::with_fetch_lines), for a bus whose caches and predictor have this layout, so that code can be compiled. Their
    /// state is where [`CacheLines::STATE`] says.
    ///
    /// # Panics
    /// As [`with_fetch_lines`](Self::with_fetch_lines) does.
    #[must_use]
    pub fn with_models(mut self, fetch_line: u32, models: ModelLayout) -> Self {
        self.translations.models = Some(models);
        self.with_fetch_lines(fetch_line)
    }

    /// The extensions that code is translated for.
    #[must_use]
    pub fn isa(&self) -> &Isa {
        &self.translations.isa
    }

    /// How many units of host code were made so far: pieces that were hot together.
    #[must_use]
    pub fn units(&self) -> u64 {
        self.hot.made()
    }

    /// How many blocks were given baseline code so far.
    #[must_use]
    pub fn baseline_blocks(&self) -> u64 {
        self.warm.made()
    }

    /// Why nothing is compiled any more, if the host refused to let compiled code be executed; said once. The translations that are left are
    /// interpreted.
    pub fn take_failure(&mut self) -> Option<CodeMemoryError> {
        self.hot.take_failure().or_else(|| self.warm.take_failure())
    }

    /// Forgets translations of the pages that overlap `bytes` from `at` on: a writer that is no hart changed them.
    pub fn written(&mut self, at: *const u8, bytes: usize) {
        let first = at as usize >> 12;
        let last = (at as usize + bytes.max(1) - 1) >> 12;
        for page in (first..=last).map(HostPage::of_number) {
            if self.translations.holds(page) {
                self.drop_page(page);
            }
        }
    }

    /// What an engine needs of the cache, which no other code uses meanwhile.
    pub(crate) fn parts(&mut self) -> CodeParts<'_> {
        let cache: *mut Self = self;
        // SAFETY: the cache is there. The pointers come from one, so that none ends the others' right to be used.
        let (translations, jumps) = unsafe { (&raw const (*cache).translations, &raw const (*cache).jumps) };
        CodeParts { source: cache, translations, jumps }
    }

    fn make_stale(&mut self, slot: usize) {
        let Translations { ops, side, .. } = &mut self.translations;
        side[slot].opcode = Opcode::Stale;
        let imm = i32::from(side[slot].offset);
        ops[slot].op = MicroOp { handler: threaded::handler::<B>(Opcode::Stale), imm, rd: 0, rs1: 0, rs2: 0 };
    }

    /// A fetch from `address` was found at the predicted slot.
    pub(crate) fn found(&self, address: u64, predicted: u16) {
        self.translations.fetch_slots().set(address, predicted);
    }

    /// Forgets everything. Only for the run loop, while no engine runs.
    pub(crate) fn clear(&mut self) {
        self.translations.clear();
        self.jumps.clear();
        self.hot.clear();
        self.warm.clear();
        self.translations.counts_executions = self.warm.is_on();
    }

    /// The hart is at `pc`, in `page` of the host, after `instructions` in one piece. For the run loop, while no engine runs.
    pub(crate) fn sample(&mut self, page: HostPage, pc: u64, instructions: u32, hotness: Hotness) {
        let models = self.translations.fetch_line != 0 || B::REPORTS == Reports::Instructions;
        let known = self.translations.models.is_some() && B::Lines::STATE.is_some();
        if B::ENTRY.is_none() || (models && !known) {
            return;
        }
        if self.warm.sample::<B>(&mut self.translations, instructions, hotness, models) == AfterSample::Clear {
            self.clear();
        }
        self.hot.set_follows_baseline(self.warm.is_on());
        let place = Place { page, address: Some(pc & !0xfff), offset: (pc & 0xfff) as u16 };
        let made = self.hot.made();
        match self.hot.sample::<B>(&mut self.translations, (&self.jumps, place), instructions, hotness) {
            AfterSample::GoOn if self.hot.made() == made => {}
            // Jumps lead to the unit from now on, rather than to what leads to it.
            AfterSample::GoOn => self.jumps.lead_to(|op| self.translations.moved(op)),
            AfterSample::Clear => self.clear(),
        }
    }

    /// How full the arena is, for [`release`](Self::release).
    pub(crate) fn mark(&self) -> usize {
        self.translations.mark()
    }

    /// A block of the one `instruction`, found at `offset` of its page, that ends at its budget: the caller executes it with a budget
    /// of 0 and then [releases](Self::release) it. It has no gate, and it may straddle two pages.
    pub(crate) fn scratch(&mut self, instruction: &Instruction, offset: u16) -> *mut MicroOp {
        let slot = self.translations.mark();
        block::translate_one::<B>(&mut self.translations, instruction, offset);
        self.translations.at(slot)
    }

    /// Frees what was appended since `mark`.
    pub(crate) fn release(&mut self, mark: usize) {
        self.translations.release(mark);
    }

    /// What is known beside the micro-op at an address.
    pub(crate) fn side_of(&self, op: usize) -> Side {
        self.translations.side_of(op)
    }

    /// Where compiled code lies: see [`planted`](crate::planted).
    #[cfg(feature = "planted")]
    pub(crate) fn planted_memory(&mut self) -> Option<&mut crate::engine::code_memory::CodeMemory> {
        self.hot.planted_memory()
    }
}

impl<B: Bus> CodeSource for CodeCache<B> {
    fn find(&mut self, page: HostPage, offset: u16) -> Option<*mut MicroOp> {
        if let Some(slot) = self.translations.block_at(page, offset) {
            return Some(self.translations.at(slot));
        }
        if !self.translations.has_room(MAX_BLOCK_SLOTS) {
            return None;
        }
        let slot = self.translations.mark();
        block::translate::<B>(&mut self.translations, page, offset);
        self.translations.set_block(page, offset, slot);
        if self.warm.found::<B>(&mut self.translations, slot) == AfterSample::Clear {
            // As where the arena is full: the run loop clears it.
            return None;
        }
        if self.hot.compiles_all() {
            self.hot.compile::<B>(&mut self.translations, None, Place { page, address: None, offset });
            if self.hot.has_failed() {
                // As where the arena is full: the run loop clears it.
                return None;
            }
        }
        self.translations.block_at(page, offset).map(|slot| self.translations.at(slot))
    }

    fn take_code_page(&mut self) -> Option<HostPage> {
        self.translations.take_code_page()
    }

    fn drop_page(&mut self, page: HostPage) {
        let Some(blocks) = self.translations.take_page(page) else { return };
        for (other, offset) in self.hot.page_dropped(page) {
            if let Some(slot) = self.translations.take_block(other, offset) {
                self.make_stale(slot);
            }
        }
        for index in blocks.slots() {
            if self.translations.side[index].opcode == Opcode::FloatGate {
                // Links from other blocks of the page may pass the gate.
                self.make_stale(index + 1);
            }
            self.make_stale(index);
        }
    }

    fn remember_jump(&mut self, jump: Jump) {
        self.jumps.remember(jump);
    }

    fn executes(&mut self, op: *mut MicroOp) {
        self.warm.count::<B>(&mut self.translations, op);
    }
}
