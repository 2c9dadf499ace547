//! Which blocks are hot, and what is compiled with them.
//!
//! Where execution is when a budget ends is a sample of where it spends its time, so that the hit path counts nothing. When
//! enough was sampled at a block, it becomes a unit of host code together with the blocks of its region (`region.rs`). Those blocks are
//! translated once more, behind a micro-op that enters the unit; of the old ones the first micro-op leads to the new (`unit.rs`). Another thread of the
//! host compiles the unit meanwhile (`waiting.rs`).

use super::heat::Heat;
use super::jumps::Jumps;
use super::place::Place;
use super::region::{Growth, Links, Region};
use super::translations::Translations;
use super::unit::Unit;
use super::units::Units;
use super::waiting::Waiting;
use crate::{
    Bus, Hotness,
    engine::{code_memory::CodeMemoryError, compiled::Compiler},
    host_page::HostPage,
};
use std::collections::HashMap;

/// How often dropping a page doubles the hotness that its next unit takes.
const MOST_DOUBLINGS: u32 = 12;

/// The most units that a code cache makes: so many numbers fit beside that of a block. Compiling them takes hours.
const MOST_UNITS: u64 = 1 << 23;

/// What compiling one micro-op takes, in instructions that an interpreter could have executed meanwhile: some 20 microseconds.
const COST_OF_OP: u64 = 10_000;

/// Compiling takes at most one in so many instructions that were sampled, beside a first amount: where other machines use the host's processors, its thread
/// takes the time of theirs.
const SHARE: u64 = 20;
const FIRST: u64 = 4_000_000;

/// A unit is installed so many times the instructions of its cost after it was begun. A host may take several times as long as [`COST_OF_OP`] says.
const PACE: u64 = 2;

/// Where blocks have baseline code, a unit has to be so many times as hot: it saves a part of what it would save against an interpreter, and compiling
/// takes the time of a processor that others may need (docs/performance.md has what other values give).
const WORTH_OVER_BASELINE: u64 = 64;

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
    /// Those that are being compiled.
    waiting: Waiting,
    /// Whether `compiler` is what it will be.
    asked: bool,
    /// Why the compiler is gone, if the host is to blame.
    failure: Option<CodeMemoryError>,
    /// Compile every block when it is found.
    all: bool,
    /// Whether blocks have baseline code.
    follows_baseline: bool,
    /// Units begun so far, and those installed.
    begun: u64,
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
    /// Whether blocks have baseline code: a unit is worth less then.
    pub(super) fn set_follows_baseline(&mut self, follows: bool) {
        self.follows_baseline = follows;
    }

    pub(super) fn compiles_all(&self) -> bool {
        self.all
    }

    /// Whether a unit of `region` is due: at its blocks that are in no unit as many instructions were sampled as compiling costs, so that what is
    /// lost by waiting is at most what is lost by compiling in vain, or [so many times](WORTH_OVER_BASELINE) as many; and compiling keeps to its share of the time.
    fn pays(&self, region: &Region) -> bool {
        let cost = |ops: usize| ops as u64 * COST_OF_OP;
        let worth = if self.follows_baseline { WORTH_OVER_BASELINE } else { 1 };
        let new = region.blocks.iter().filter(|block| !block.is_compiled);
        let heat: u64 = new.map(|block| self.heat.at(block.page, block.offset)).sum();
        heat >= cost(region.new_ops) * worth && self.spent + cost(region.ops) <= FIRST + self.sampled / SHARE
    }

    /// The blocks of a page were dropped. Those of other pages in the same units have to be as well.
    pub(super) fn page_dropped(&mut self, page: HostPage) -> Vec<(HostPage, u16)> {
        if let Some(times) = self.dropped.get_mut(&page) {
            *times = times.saturating_add(1);
        }
        self.waiting.cancel(page);
        self.units.take(page)
    }

    /// Forgets everything; no unit runs.
    pub(super) fn clear(&mut self) {
        self.heat.clear();
        self.dropped.clear();
        self.units = Units::default();
        self.waiting.cancel_all();
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
    pub(super) fn planted_memory(&mut self) -> Option<&mut crate::engine::code_memory::CodeMemory> {
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
        self.install_due::<B>(code);
        if self.has_failed() {
            return AfterSample::Clear;
        }
        let dropped = self.dropped.get(&page).copied().unwrap_or(0).min(MOST_DOUBLINGS);
        let step = u64::from(hotness.0) << dropped;
        let [before, heat] = self.heat.add(page, offset, u64::from(instructions));
        // Whether it is hot is asked once in a number of instructions.
        if before / step == heat / step {
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
        if self.begun == MOST_UNITS || !self.waiting.has_room() {
            return;
        }
        let Some(mut compiler) = self.compiler.take() else { return };
        let links = if self.all { Links::All } else { Links::Taken };
        let jumps = jumps.filter(|_| B::FETCHES);
        let region = Growth { code, jumps, links, heat: &self.heat, waiting: &self.waiting }.from(place);
        if let Some(region) = region
            && (self.all || self.pays(&region))
        {
            self.begin::<B>(&mut compiler, code, region);
        }
        self.compiler = Some(compiler);
    }

    /// Begins the unit of a region. It is compiled at once if every block is, or if the host has no thread for it.
    fn begin<B: Bus>(&mut self, compiler: &mut Compiler, code: &mut Translations, region: Region) {
        let cost = region.ops as u64 * COST_OF_OP;
        self.spent += cost;
        for block in &region.blocks {
            self.heat.forget(block.page, block.offset);
            self.dropped.entry(block.page).or_insert(0);
        }
        let unit = Unit::translate::<B>(code, self.begun as u32, region.blocks);
        self.begun += 1;
        let Some(function) = compiler.unit::<B>(code, unit.number, &unit.blocks) else { return };
        let refused = if self.all { Err(function) } else { compiler.begin(function) };
        match refused {
            Ok(()) => self.waiting.add(unit, self.sampled, cost * PACE),
            Err(function) => {
                if let Some(address) = compiler.compile(function) {
                    self.install::<B>(code, &unit, address);
                }
            }
        }
    }

    /// Installs the units that are to be by now.
    fn install_due<B: Bus>(&mut self, code: &mut Translations) {
        while let Some(due) = self.waiting.take_due(self.sampled) {
            let Some(compiler) = &mut self.compiler else { return };
            match due.unit {
                None => compiler.discard(),
                Some(unit) => {
                    if let Some(address) = compiler.take() {
                        self.install::<B>(code, &unit, address);
                    }
                }
            }
        }
    }

    fn install<B: Bus>(&mut self, code: &mut Translations, unit: &Unit, address: usize) {
        unit.install::<B>(code, address);
        self.units.add(&unit.region);
        self.made += 1;
    }
}
