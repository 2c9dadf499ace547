//! The general path of an access: L1 by set, segments, L2, outer levels, walk, fill.

use super::{Missed, Mmu, hit};
use crate::events::{Observer, Source, TlbLevel};
use crate::fault::{AccessCause, Cause, Fault, NestedFault, Purpose};
use crate::memory::TableMemory;
use crate::mmu::Hit;
use crate::raw::prefetch;
use crate::refill::Begun;
use crate::stage::{SecondStage, StageKind, StageVisitor};
use crate::tlb::tag_array::{BasePage, Miss, region};
use crate::tlb::{Filled, Request, Translation};
use crate::translate::Progress;
use crate::walk::Ports;
use crate::walkers::{Asked, Unwatched};
use types::{Access, Gpa, Gva, PageSize};

/// Where a walk begins: where the guest's segment leads, and how far the walk has come.
#[derive(Clone, Copy)]
struct WalkFrom {
    direct: Option<Gpa>,
    progress: Progress,
}

/// A walk on the general path: one function for each kind of second stage, in which all of a walk is.
struct GeneralWalk<'a, O, M, const SEGMENTS: bool> {
    mmu: &'a mut Mmu<O>,
    memory: &'a mut M,
    request: (Gva, Access, u64),
    from: WalkFrom,
    missed: Missed,
}

impl<O: Observer, M: TableMemory, const SEGMENTS: bool> StageVisitor for GeneralWalk<'_, O, M, SEGMENTS> {
    type Output = Result<usize, Fault>;

    #[inline(always)]
    fn visit<K: StageKind>(self, kind: K) -> Result<usize, Fault> {
        let Self { mmu, memory, request, from, missed } = self;
        mmu.walk_through::<M, K, SEGMENTS>(memory, kind, request, from, missed)
    }
}

impl<O: Observer> Mmu<O> {
    /// An access of which nothing is done yet.
    #[inline(never)]
    pub(super) fn access_from_start<M: TableMemory>(
        &mut self,
        memory: &mut M,
        second: impl Fn() -> SecondStage,
        (gva, access): (Gva, Access),
        stamp: u64,
    ) -> Result<Hit, Fault> {
        self.check_address(&second, gva, access)?;
        let stamp = self.timed(access, stamp);
        let (l1, misses) = match access {
            Access::Read | Access::Write => (&mut self.l1d, &mut self.statistics.l1d_misses),
            Access::Execute => (&mut self.l1i, &mut self.statistics.l1i_misses),
        };
        let request = Request { gva, access, query: self.context.query(access), stamp };
        match l1.find(gva, request.query) {
            Ok(slot) => Ok(hit(slot, gva, &l1.touch(slot, request))),
            Err(miss) => {
                *misses += 1;
                self.tell_miss(TlbLevel::first(access), (gva, access));
                if self.walkers.segments.are_off() {
                    self.miss::<M, false>(memory, second, (gva, access, stamp), miss)
                } else {
                    self.miss::<M, true>(memory, second, (gva, access, stamp), miss)
                }
            }
        }
    }

    /// As [`Self::access_from_walk`], of a walk that has not begun: no progress has to pass through memory.
    #[inline(never)]
    pub(super) fn access_from_miss<M: TableMemory>(
        &mut self,
        memory: &mut M,
        second: impl Fn() -> SecondStage,
        (gva, access): (Gva, Access),
        stamp: u64,
    ) -> Result<Hit, Fault> {
        self.continue_walk(memory, second(), (gva, access, stamp), Progress::Nowhere)
    }

    /// An access that no TLB answers, and whose walk has come as far as `progress` says. There are no segments.
    #[inline(never)]
    pub(super) fn access_from_walk<M: TableMemory>(
        &mut self,
        memory: &mut M,
        second: impl Fn() -> SecondStage,
        (gva, access): (Gva, Access),
        stamp: u64,
        progress: Progress,
    ) -> Result<Hit, Fault> {
        self.continue_walk(memory, second(), (gva, access, stamp), progress)
    }

    /// The rest of such an access, as a part of the caller.
    #[inline(always)]
    fn continue_walk<M: TableMemory>(
        &mut self,
        memory: &mut M,
        second: SecondStage,
        (gva, access, stamp): (Gva, Access, u64),
        progress: Progress,
    ) -> Result<Hit, Fault> {
        let stamp = self.timed(access, stamp);
        let missed = Missed { l1: Miss::ABSENT, l2: Miss::ABSENT };
        self.walk::<M, false>(memory, second, (gva, access, stamp), WalkFrom { direct: None, progress }, missed)
    }

    /// The time of an access: fetches are timed here.
    #[inline(always)]
    fn timed(&mut self, access: Access, stamp: u64) -> u64 {
        if access == Access::Execute { self.fetch_stamp() } else { stamp }
    }

    /// What no L1 entry answers: segments, L2, outer levels, walk, fill. `miss` is how the L1 missed.
    #[inline(never)]
    fn miss<M: TableMemory, const SEGMENTS: bool>(
        &mut self,
        memory: &mut M,
        second: impl Fn() -> SecondStage,
        request: (Gva, Access, u64),
        miss: Miss,
    ) -> Result<Hit, Fault> {
        let Self { context, l2, walkers, statistics, .. } = self;
        let (gva, access, _) = request;
        let mut direct = None;
        if SEGMENTS {
            direct = walkers.guest_segment(statistics, context, gva, access);
            let both = direct.and_then(|gpa| walkers.both_segments(memory, &second(), context, gpa));
            if let Some(translation) = both {
                statistics.segment_hits += 1;
                let hit = self.fill_l1(request, miss, &translation).hit(gva);
                self.tell_l1_fill((gva, access), &hit, Source::Segments);
                return Ok(hit);
            }
        }
        let query = context.query(access);
        match l2.find(gva.0, |entry| entry.answers(query)) {
            Ok((way, &translation)) => {
                statistics.l2_hits += 1;
                prefetch(translation.host.wrapping_add(gva.offset(translation.size()) as usize));
                l2.used(way);
                let hit = self.fill_l1(request, miss, &translation).hit(gva);
                self.tell_l1_fill((gva, access), &hit, Source::L2);
                Ok(hit)
            }
            Err(l2) => {
                self.tell_miss(TlbLevel::L2, (gva, access));
                let missed = Missed { l1: miss, l2 };
                if !self.outer.is_empty()
                    && let Some(slot) = self.ask_outer(memory, request, missed)
                {
                    return Ok(self.filled(slot, (gva, access), Source::Outer));
                }
                let from = WalkFrom { direct, progress: Progress::Nowhere };
                self.walk::<M, SEGMENTS>(memory, second(), request, from, missed)
            }
        }
    }

    /// What no TLB level answers.
    #[inline(always)]
    fn walk<M: TableMemory, const SEGMENTS: bool>(
        &mut self,
        memory: &mut M,
        second: SecondStage,
        request: (Gva, Access, u64),
        from: WalkFrom,
        missed: Missed,
    ) -> Result<Hit, Fault> {
        let (gva, access, _) = request;
        let slot = second.visit(GeneralWalk::<O, M, SEGMENTS> { mmu: self, memory, request, from, missed })?;
        Ok(self.filled(slot, (gva, access), Source::Walk))
    }

    /// What a slot of the L1 says that was filled.
    #[inline(always)]
    fn filled(&mut self, slot: usize, (gva, access): (Gva, Access), source: Source) -> Hit {
        let l1 = if access == Access::Execute { &self.l1i } else { &self.l1d };
        let hit = hit(slot, gva, l1.entry(slot));
        self.tell_l1_fill((gva, access), &hit, source);
        hit
    }

    /// Returns the slot in which the L1 keeps what the walk has found. (A [`Hit`] would be written in pieces and read as a whole: see
    /// [`Translation::words`].)
    #[inline(never)]
    fn walk_through<M: TableMemory, K: StageKind, const SEGMENTS: bool>(
        &mut self,
        memory: &mut M,
        kind: K,
        request: (Gva, Access, u64),
        from: WalkFrom,
        missed: Missed,
    ) -> Result<usize, Fault> {
        let Self { context, walkers, statistics, .. } = self;
        let (gva, access, stamp) = request;
        let WalkFrom { direct, progress } = from;
        let begun = O::OBSERVES.then(|| Begun::of(statistics));
        let asked = Asked::new(context, gva, access, if SEGMENTS { direct } else { None });
        let mut ports = Ports { memory, statistics };
        let walked = walkers.walk::<M, K, Unwatched, SEGMENTS>(&mut ports, kind, asked, progress, &Unwatched);
        if let Some(begun) = begun {
            self.tell_walk(&begun, (gva, access), walked.as_ref().err().copied());
        }
        let walked = walked?;
        if O::OBSERVES {
            return Ok(self.fill_levels(request, missed, &walked, Source::Walk));
        }
        let Self { context, l1i, l1d, l2, outer, .. } = self;
        let region = region(gva.0);
        let absent = (missed.l1 == Miss::ABSENT) & (missed.l2 == Miss::ABSENT);
        let base = (walked.size() == PageSize::Size4K) & (walked.host != 0);
        let l1 = if access == Access::Execute { l1i } else { l1d };
        if absent & base & l1.has_base_alone(region) & l2.has_base_alone(region) & outer.is_empty() {
            let request = Request { gva, access, query: context.query(access), stamp };
            let page = BasePage::new(gva.0);
            l2.fill_base(page, &walked);
            return Ok(match access {
                Access::Execute => l1.fill_base::<true>(page, request, &walked),
                Access::Read | Access::Write => l1.fill_base::<false>(page, request, &walked),
            });
        }
        Ok(self.fill_all(request, missed, walked.words()))
    }

    /// Fills all levels, whatever they hold. It takes the translation in [words](Translation::words).
    #[inline(never)]
    fn fill_all(&mut self, request: (Gva, Access, u64), missed: Missed, walked: [u64; 4]) -> usize {
        self.fill_levels(request, missed, &Translation::of_words(walked), Source::Walk)
    }

    /// Faults that need no lookup: addresses that no table translates.
    #[inline(always)]
    fn check_address(&self, second: &impl Fn() -> SecondStage, gva: Gva, access: Access) -> Result<(), Fault> {
        if !self.context.is_canonical(gva) {
            return Err(Fault::Page(Cause::NotCanonical));
        }
        if self.context.spaces.local.is_bare() {
            check_bare(&second(), Gpa(gva.0), access)?;
        }
        Ok(())
    }
}

impl Filled {
    /// What the L1 says of a byte of the page that it keeps now.
    #[inline(always)]
    fn hit(&self, gva: Gva) -> Hit {
        hit(self.slot, gva, &self.kept)
    }
}

/// Whether the second stage takes an address that no first stage bounds.
fn check_bare(second: &SecondStage, gpa: Gpa, access: Access) -> Result<(), Fault> {
    match second {
        // Physical addresses have 56 bits.
        SecondStage::Constant { .. } if gpa.0 >> 56 != 0 => Err(Fault::Access(AccessCause::TooWide)),
        SecondStage::Nested { mode, .. } | SecondStage::Agile { mode, .. } if gpa.0 >> mode.address_bits() != 0 => {
            Err(Fault::Nested(NestedFault { gpa, access, purpose: Purpose::Data, cause: Cause::TooWide }))
        }
        SecondStage::Constant { .. } | SecondStage::Nested { .. } | SecondStage::Agile { .. } => Ok(()),
        // Each lookup compares bounds that no TLB entry exceeds.
        SecondStage::Flat { .. } | SecondStage::Reserved { .. } | SecondStage::Other(_) => Ok(()),
    }
}
