//! A walk, reference by reference: what a person looks at, where statistics count.
//!
//! A recorded walk is the walk that a miss would make, by the same walker over the same stages; only that what it reads is noted on the way,
//! and that it changes nothing: it works on copies of the walk caches and of the nested TLB, and writes no A or D bit.

use crate::context::Context;
use crate::events::Observer;
use crate::fault::{Cause, Fault};
use crate::memory::{HostPage, TableMemory};
use crate::mmu::Mmu;
use crate::segment::{Segment, Segments};
use crate::stage::{SecondStage, StageKind, StageVisitor, TableFormat};
use crate::statistics::MmuStatistics;
use crate::tlb::Translation;
use crate::translate::Progress;
use crate::walk::{GuestAddress, Map, Mapping, Policy, Ports, Request};
use crate::walkers::{Asked, Walkers, Watcher};
use core::cell::RefCell;
use types::{Access, Gpa, Gva, Hpa, PageSize, TranslationContext, Vmid};

/// What a walk finds in walk caches and nested TLB.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memo {
    /// Nothing: every level is read.
    Empty,
    /// What earlier walks left there.
    AsItIs,
}

/// Which walk is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WalkRequest {
    /// The context that the load is made in, whatever context the MMU is in.
    pub context: TranslationContext,
    /// The VM that it is made by.
    pub vmid: Vmid,
    /// The address.
    pub gva: Gva,
    /// What the walk finds in walk caches and nested TLB.
    pub memo: Memo,
}

/// An entry of a table that was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reference {
    /// Level of the table; the last one is 0. Of a table without levels it is 0.
    pub level: u32,
    /// Where the entry is.
    pub at: Hpa,
    /// What it is.
    pub entry: u64,
}

/// What translated a guest physical address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// No second stage, or reserved memory: a constant was added.
    Constant,
    /// The hypervisor's segment.
    Segment,
    /// The nested TLB.
    NestedTlb,
    /// Tables, read from the root; or below the entry of this level, which the walk cache had.
    Tables {
        /// Level of the entry that was cached.
        cached: Option<u32>,
    },
}

/// A guest physical address on the way: of an entry of the guest's tables, or of the page in the end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WalkStep {
    /// The address.
    pub gpa: Gpa,
    /// What translated it.
    pub answer: Answer,
    /// Entries of the second stage's tables that were read for it.
    pub references: Vec<Reference>,
    /// Where it led.
    pub hpa: Hpa,
    /// The entry of the guest's table that was then read there; `None` for the page.
    pub entry: Option<Reference>,
}

/// A walk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WalkRecord {
    /// The address that was translated.
    pub gva: Gva,
    /// Levels of the guest's tables; 0 without translation.
    pub guest_levels: u32,
    /// Levels of the second stage's tables: 0 where there are none, 1 of a flat one.
    pub host_levels: u32,
    /// The guest's segment, where it took the place of the guest's tables.
    pub guest_segment: Option<Segment>,
    /// The hypervisor's segment, if the processor has one and it is on.
    pub hypervisor_segment: Option<Segment>,
    /// Level of the guest's entry that the walk cache had, below which the walk began.
    pub guest_cached: Option<u32>,
    /// Its steps; none where both segments answered, or the guest's on a native machine.
    pub steps: Vec<WalkStep>,
    /// The byte's guest physical address.
    pub gpa: Gpa,
    /// The byte's host physical address.
    pub hpa: Hpa,
    /// Size of the page that a TLB would keep.
    pub page: PageSize,
}

impl WalkRecord {
    /// Entries of tables that were read, in both dimensions.
    #[must_use]
    pub fn references(&self) -> usize {
        self.steps.iter().map(|step| step.references.len() + usize::from(step.entry.is_some())).sum()
    }
}

impl<O: Observer> Mmu<O> {
    /// The walk that a load from `gva` would make in the current context if no TLB answered, with what `memo` says. Nothing changes.
    ///
    /// # Errors
    /// The fault that the load would cause.
    pub fn record_walk(
        &self,
        memory: &mut impl TableMemory,
        second: &SecondStage,
        gva: Gva,
        memo: Memo,
    ) -> Result<WalkRecord, Fault> {
        let Context { translation: context, vmid, .. } = *self.context();
        self.record_walk_of(memory, (second, &self.walkers().segments), &WalkRequest { context, vmid, gva, memo })
    }

    /// The walk that a load from `gva` would make in the current context with the privilege, SUM and MXR of another one. Nothing changes.
    ///
    /// # Errors
    /// The fault that the load would cause.
    pub fn record_walk_as(
        &self,
        memory: &mut impl TableMemory,
        second: &SecondStage,
        (gva, memo): (Gva, Memo),
        privileged_as: &TranslationContext,
    ) -> Result<WalkRecord, Fault> {
        let Context { translation, vmid, .. } = *self.context();
        let TranslationContext { privilege, sum, mxr, .. } = *privileged_as;
        let context = TranslationContext { privilege, sum, mxr, ..translation };
        self.record_walk_of(memory, (second, &self.walkers().segments), &WalkRequest { context, vmid, gva, memo })
    }

    /// The walk that a load would make, as `request` says, with segment registers that hold `segments`. Nothing changes.
    ///
    /// # Errors
    /// The fault that the load would cause.
    pub fn record_walk_of(
        &self,
        memory: &mut impl TableMemory,
        (second, segments): (&SecondStage, &Segments),
        request: &WalkRequest,
    ) -> Result<WalkRecord, Fault> {
        const ACCESS: Access = Access::Read;
        let WalkRequest { gva, memo, .. } = *request;
        let context = &Context::new(&request.context, request.vmid);
        let mut walkers = self.walkers().clone();
        walkers.segments.clone_from(segments);
        if !context.is_canonical(gva) {
            return Err(Fault::Page(Cause::NotCanonical));
        }
        if memo == Memo::Empty {
            walkers.forget();
        }
        let mut statistics = MmuStatistics::default();
        let log = RefCell::new(Log::default());
        let mut memory = RecordedMemory { inner: memory, log: &log };
        let direct = walkers.guest_segment(&mut statistics, context, gva, ACCESS);
        let both = direct.and_then(|gpa| walkers.both_segments(&memory, second, context, gpa));
        let host_levels = second.clone().visit(Levels(walkers.format.as_ref().map(|hardware| &*hardware.format)));
        let translation = match both {
            Some(translation) => translation,
            None => {
                let asked = Asked::new(context, gva, ACCESS, direct);
                let ports = Ports { memory: &mut memory, statistics: &mut statistics };
                let watcher = Recorded { levels: host_levels, log: &log };
                second.clone().visit(Recording { walkers: &mut walkers, ports, asked, watcher })?
            }
        };
        let (guest, hypervisor) = (walkers.segments.guest.segment, walkers.segments.hypervisor.segment);
        let offset = gva.offset(translation.size());
        let mut record = WalkRecord {
            gva,
            guest_levels: context.translation.mode.levels(),
            host_levels,
            guest_segment: direct.map(|_| guest),
            hypervisor_segment: (!hypervisor.range().is_empty()).then_some(hypervisor),
            guest_cached: cached(&statistics.guest_cache_hits),
            steps: log.into_inner().steps,
            gpa: Gpa(translation.gpa.0 | offset),
            hpa: Hpa(translation.hpa.0 | offset),
            page: translation.size(),
        };
        if both.is_none() {
            record.complete(&hypervisor);
        }
        Ok(record)
    }

    /// Start and size of the pages that the L1D holds for loads of the current context, in the order of their addresses.
    #[must_use]
    pub fn data_pages(&self) -> Vec<(Gva, PageSize)> {
        let query = self.context().query(Access::Read);
        let mut pages: Vec<_> = self.l1d().pages().filter(|(_, entry)| entry.answers(query)).collect();
        pages.sort_unstable_by_key(|(gva, _)| *gva);
        pages.into_iter().map(|(gva, entry)| (gva, entry.size())).collect()
    }
}

/// Asks for the levels of a second stage's tables.
struct Levels<'f>(Option<&'f dyn TableFormat>);

impl StageVisitor for Levels<'_> {
    type Output = u32;

    fn visit<K: StageKind>(self, kind: K) -> u32 {
        kind.levels(self.0)
    }
}

/// Walks, and has it recorded.
struct Recording<'a, 'm, 'l, M> {
    walkers: &'a mut Walkers,
    ports: Ports<'m, M>,
    asked: Asked<'a>,
    watcher: Recorded<'l>,
}

impl<M: TableMemory> StageVisitor for Recording<'_, '_, '_, M> {
    type Output = Result<Translation, Fault>;

    fn visit<K: StageKind>(self, kind: K) -> Result<Translation, Fault> {
        let Self { walkers, mut ports, asked, watcher } = self;
        walkers.walk::<M, K, _, true>(&mut ports, kind, asked, Progress::Nowhere, &watcher)
    }
}

/// The level of the non-leaf entry that a walk cache had, from counts of one walk.
fn cached(hits: &[u64; 4]) -> Option<u32> {
    hits.iter().position(|&hits| hits > 0).map(|index| index as u32 + 1)
}

impl WalkRecord {
    /// Adds what the walk did without the stage below the hypervisor's segment, and the levels of the guest's entries.
    fn complete(&mut self, hypervisor: &Segment) {
        let in_segment = |hpa: Hpa| Gpa(hpa.0.wrapping_sub(hypervisor.offset()));
        for step in self.steps.iter_mut().filter(|step| step.answer == Answer::Segment) {
            step.gpa = in_segment(step.hpa);
        }
        if self.steps.last().is_none_or(|last| last.entry.is_some()) {
            let (gpa, hpa) = (self.gpa, self.hpa);
            self.steps.push(WalkStep { gpa, answer: Answer::Segment, references: Vec::new(), hpa, entry: None });
        }
        let first = self.guest_cached.unwrap_or(self.guest_levels);
        let entries = self.steps.iter_mut().filter_map(|step| step.entry.as_mut());
        for (level, entry) in (0..first).rev().zip(entries) {
            entry.level = level;
        }
    }
}

/// What has been noted.
#[derive(Default)]
struct Log {
    steps: Vec<WalkStep>,
    /// Entries that the translation under way has read; `None` while there is none.
    translating: Option<Vec<(Hpa, u64)>>,
}

impl Log {
    /// The translation under way has led to a mapping, through tables of this many levels, below the entry of the level that was cached.
    fn note(&mut self, gpa: Gpa, mapping: &Mapping<Hpa>, levels: u32, cached: Option<u32>) {
        let read = self.translating.take().unwrap_or_default();
        let answer = match (levels, read.is_empty()) {
            (0, _) => Answer::Constant,
            (_, true) => Answer::NestedTlb,
            (_, false) => Answer::Tables { cached },
        };
        // A leaf may be at any level: the first entry's is known.
        let first = cached.unwrap_or(levels);
        let references = (0..first).rev().zip(read).map(|(level, (at, entry))| Reference { level, at, entry });
        let (references, hpa) = (references.collect(), mapping.target(gpa));
        self.steps.push(WalkStep { gpa, answer, references, hpa, entry: None });
    }
}

/// The host's memory, which notes what is read and stays as it is.
struct RecordedMemory<'l, M> {
    inner: &'l mut M,
    log: &'l RefCell<Log>,
}

impl<M: TableMemory> TableMemory for RecordedMemory<'_, M> {
    fn read(&mut self, at: Hpa) -> Option<u64> {
        let entry = self.inner.read(at)?;
        let mut log = self.log.borrow_mut();
        if let Some(read) = &mut log.translating {
            read.push((at, entry));
            return Some(entry);
        }
        // An entry of the guest's tables; its level is known in the end.
        let reference = Some(Reference { level: 0, at, entry });
        match log.steps.last_mut() {
            Some(step) if step.entry.is_none() => step.entry = reference,
            // The stage did not translate its address.
            _ => {
                let (gpa, references) = (Gpa(0), Vec::new());
                log.steps.push(WalkStep { gpa, answer: Answer::Segment, references, hpa: at, entry: reference });
            }
        }
        Some(entry)
    }

    fn compare_exchange(&mut self, _: Hpa, old: u64, _: u64) -> Option<u64> {
        Some(old)
    }

    fn host_page(&self, page: Hpa, size: PageSize) -> HostPage {
        self.inner.host_page(page, size)
    }
}

/// A second stage that records each request and its answer.
pub(crate) struct RecordedStage<'l, S> {
    inner: S,
    /// Levels of its tables.
    levels: u32,
    log: &'l RefCell<Log>,
}

impl<S: Map<In: GuestAddress, Out = Hpa>> Map for RecordedStage<'_, S> {
    type In = S::In;
    type Out = Hpa;

    const TRACELESS: bool = false;

    fn reach<P: Policy, M: TableMemory, R>(
        &mut self,
        ports: &mut Ports<'_, M>,
        request: Request<S::In>,
        then: impl FnOnce(&mut Ports<'_, M>, &Mapping<Hpa>) -> Result<R, P::Stop>,
    ) -> Result<R, P::Stop> {
        let Self { inner, levels, log } = self;
        let before = *ports.statistics;
        log.borrow_mut().translating = Some(Vec::new());
        let reached = inner.reach::<P, M, R>(ports, request, |ports, mapping| {
            let cached = cached(&ports.statistics.since(&before).host_cache_hits);
            // A host physical address is used as it is.
            let levels = if request.address.gpa().is_some() { *levels } else { 0 };
            log.borrow_mut().note(request.address.kept(), mapping, levels, cached);
            then(ports, mapping)
        });
        // A translation that was refused is no step.
        log.borrow_mut().translating = None;
        reached
    }

    fn reach_update<M: TableMemory>(&mut self, ports: &mut Ports<'_, M>, at: S::In) -> Result<Mapping<Hpa>, Fault> {
        // What is read again, to set a bit, is no step of the way.
        self.log.borrow_mut().translating = Some(Vec::new());
        let mapping = self.inner.reach_update(ports, at);
        self.log.borrow_mut().translating = None;
        mapping
    }
}

/// Who records a walk.
struct Recorded<'l> {
    levels: u32,
    log: &'l RefCell<Log>,
}

impl<'l> Watcher for Recorded<'l> {
    type Over<S: Map<In: GuestAddress, Out = Hpa>> = RecordedStage<'l, S>;

    fn over<S: Map<In: GuestAddress, Out = Hpa>>(&self, inner: S) -> RecordedStage<'l, S> {
        RecordedStage { inner, levels: self.levels, log: self.log }
    }
}
