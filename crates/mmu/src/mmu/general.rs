//! The general path of an access: L1 by set, segments, L2, walk, fill.

use super::{Mmu, hit};
use crate::directory::{BasePage, Miss, region};
use crate::fault::{AccessCause, Cause, Fault, NestedFault, Purpose};
use crate::memory::TableMemory;
use crate::mmu::Hit;
use crate::raw::prefetch;
use crate::stage::{SecondStage, StageKind, StageVisitor};
use crate::tlb::{L1, Made, Translation};
use crate::translate::Progress;
use crate::walk::Ports;
use crate::walkers::{Asked, Unwatched};
use types::{Access, Gpa, Gva, PageSize};

/// How the levels have missed.
#[derive(Clone, Copy)]
struct Missed {
    l1: Miss,
    l2: Miss,
}

/// Where a walk begins: where the guest's segment leads, and how far the walk has come.
#[derive(Clone, Copy)]
struct WalkFrom {
    direct: Option<Gpa>,
    progress: Progress,
}

/// A walk on the general path: one function for each kind of second stage, in which all of a walk is.
struct GeneralWalk<'a, M, const SEGMENTS: bool> {
    mmu: &'a mut Mmu,
    memory: &'a mut M,
    made: (Gva, Access, u64),
    from: WalkFrom,
    missed: Missed,
}

impl<M: TableMemory, const SEGMENTS: bool> StageVisitor for GeneralWalk<'_, M, SEGMENTS> {
    type Output = Result<usize, Fault>;

    #[inline(always)]
    fn visit<K: StageKind>(self, kind: K) -> Result<usize, Fault> {
        let Self { mmu, memory, made, from, missed } = self;
        mmu.walk_through::<M, K, SEGMENTS>(memory, kind, made, from, missed)
    }
}

impl Mmu {
    /// An access of which nothing is done yet.
    #[inline(never)]
    pub(super) fn access_from_start<M: TableMemory>(
        &mut self,
        memory: &mut M,
        second: impl Fn() -> SecondStage,
        made: (Gva, Access, u64),
    ) -> Result<Hit, Fault> {
        let (gva, access, stamp) = made;
        self.check_address(&second, gva, access)?;
        let stamp = self.timed(access, stamp);
        let (l1, misses) = match access {
            Access::Read | Access::Write => (&mut self.l1d, &mut self.statistics.l1d_misses),
            Access::Execute => (&mut self.l1i, &mut self.statistics.l1i_misses),
        };
        let made = Made { gva, access, query: self.context.query(access), stamp };
        match l1.find(gva, made.query) {
            Ok(slot) => Ok(hit(slot, gva, &l1.touch(slot, made))),
            Err(miss) => {
                *misses += 1;
                if self.walkers.segments.are_off() {
                    self.miss::<M, false>(memory, second, (gva, access, stamp), miss)
                } else {
                    self.miss::<M, true>(memory, second, (gva, access, stamp), miss)
                }
            }
        }
    }

    /// An access that no TLB answers, and whose walk has come as far as `progress` says. There are no segments.
    #[inline(never)]
    pub(super) fn access_from_walk<M: TableMemory>(
        &mut self,
        memory: &mut M,
        second: impl Fn() -> SecondStage,
        (gva, access, stamp): (Gva, Access, u64),
        progress: Progress,
    ) -> Result<Hit, Fault> {
        let stamp = self.timed(access, stamp);
        let nowhere = Missed { l1: Miss::ABSENT, l2: Miss::ABSENT };
        self.walk::<M, false>(memory, second(), (gva, access, stamp), WalkFrom { direct: None, progress }, nowhere)
    }

    /// The time of an access: fetches are timed here.
    #[inline(always)]
    fn timed(&mut self, access: Access, stamp: u64) -> u64 {
        if access == Access::Execute { self.fetch_stamp() } else { stamp }
    }

    /// What no L1 entry answers: segments, L2, walk, fill. `miss` is how the L1 missed.
    #[inline(never)]
    fn miss<M: TableMemory, const SEGMENTS: bool>(
        &mut self,
        memory: &mut M,
        second: impl Fn() -> SecondStage,
        (gva, access, stamp): (Gva, Access, u64),
        miss: Miss,
    ) -> Result<Hit, Fault> {
        let Self { context, l1i, l1d, l2, walkers, statistics, .. } = self;
        let l1 = if access == Access::Execute { l1i } else { l1d };
        let made = Made { gva, access, query: context.query(access), stamp };
        let fill = Fill { l1, made, miss };
        let mut direct = None;
        if SEGMENTS {
            direct = walkers.guest_segment(statistics, context, gva, access);
            let both = direct.and_then(|gpa| walkers.both_segments(memory, &second(), context, gpa));
            if let Some(translation) = both {
                statistics.segment_hits += 1;
                return Ok(fill.l1(&translation));
            }
        }
        match l2.find(gva.0, |entry| entry.answers(made.query)) {
            Ok((way, &translation)) => {
                statistics.l2_hits += 1;
                prefetch(translation.host.wrapping_add(gva.offset(translation.size) as usize));
                l2.used(way);
                let hit = fill.l1(&translation);
                self.classify((gva, access), &hit, true);
                Ok(hit)
            }
            Err(l2) => {
                let from = WalkFrom { direct, progress: Progress::Nowhere };
                self.walk::<M, SEGMENTS>(memory, second(), (gva, access, stamp), from, Missed { l1: miss, l2 })
            }
        }
    }

    /// What neither TLB level answers.
    #[inline(always)]
    fn walk<M: TableMemory, const SEGMENTS: bool>(
        &mut self,
        memory: &mut M,
        second: SecondStage,
        made: (Gva, Access, u64),
        from: WalkFrom,
        missed: Missed,
    ) -> Result<Hit, Fault> {
        let (gva, access, _) = made;
        let slot = second.visit(GeneralWalk::<M, SEGMENTS> { mmu: self, memory, made, from, missed })?;
        let l1 = if access == Access::Execute { &self.l1i } else { &self.l1d };
        let hit = hit(slot, gva, l1.entry(slot));
        self.classify((gva, access), &hit, false);
        Ok(hit)
    }

    /// Returns the slot in which the L1 keeps what the walk has found. (A [`Hit`] would be written in pieces and read as a whole: see
    /// [`Translation::words`].)
    #[inline(never)]
    fn walk_through<M: TableMemory, K: StageKind, const SEGMENTS: bool>(
        &mut self,
        memory: &mut M,
        kind: K,
        made: (Gva, Access, u64),
        from: WalkFrom,
        missed: Missed,
    ) -> Result<usize, Fault> {
        let Self { context, l1i, l1d, l2, walkers, statistics, .. } = self;
        let (gva, access, stamp) = made;
        let WalkFrom { direct, progress } = from;
        let asked = Asked::new(context, gva, access, if SEGMENTS { direct } else { None });
        let mut ports = Ports { memory, statistics };
        let walked = walkers.walk::<M, K, Unwatched, SEGMENTS>(&mut ports, kind, asked, progress, &Unwatched)?;
        let region = region(gva.0);
        let absent = (missed.l1 == Miss::ABSENT) & (missed.l2 == Miss::ABSENT);
        let base = (walked.size == PageSize::Size4K) & (walked.host != 0);
        let l1 = if access == Access::Execute { l1i } else { l1d };
        if absent & base & l1.has_base_alone(region) & l2.has_base_alone(region) {
            let made = Made { gva, access, query: context.query(access), stamp };
            let page = BasePage::new(gva.0);
            l2.fill_base(page, &walked);
            return Ok(match access {
                Access::Execute => l1.fill_base::<true>(page, made, &walked),
                Access::Read | Access::Write => l1.fill_base::<false>(page, made, &walked),
            });
        }
        Ok(self.fill_both(made, missed, walked.words()))
    }

    /// Fills both levels, whatever they hold. It takes the translation in [words](Translation::words).
    #[inline(never)]
    fn fill_both(&mut self, (gva, access, stamp): (Gva, Access, u64), missed: Missed, walked: [u64; 4]) -> usize {
        let walked = Translation::of_words(walked);
        let l1 = if access == Access::Execute { &mut self.l1i } else { &mut self.l1d };
        self.l2.keep(gva, missed.l2, &walked);
        l1.fill(Made { gva, access, query: self.context.query(access), stamp }, missed.l1, &walked).0
    }

    #[inline(always)]
    fn classify(&mut self, made: (Gva, Access), hit: &Hit, l2_hit: bool) {
        if let Some(classifier) = &self.classifier {
            classifier.count(&mut self.statistics, &self.context, made, hit.gpa, l2_hit);
        }
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

/// A fill of the L1, after a miss.
struct Fill<'a> {
    l1: &'a mut L1,
    made: Made<'a>,
    miss: Miss,
}

impl Fill<'_> {
    #[inline(always)]
    fn l1(self, translation: &Translation) -> Hit {
        let (slot, kept) = self.l1.fill(self.made, self.miss, translation);
        hit(slot, self.made.gva, &kept)
    }
}

/// Whether the second stage takes an address that no first stage bounds.
fn check_bare(second: &SecondStage, gpa: Gpa, access: Access) -> Result<(), Fault> {
    match second {
        // Physical addresses have 56 bits.
        SecondStage::Constant { .. } if gpa.0 >> 56 != 0 => Err(Fault::Access(AccessCause::TooWide)),
        SecondStage::Nested { mode, .. } if gpa.0 >> mode.address_bits() != 0 => {
            Err(Fault::Nested(NestedFault { gpa, access, purpose: Purpose::Data, cause: Cause::TooWide }))
        }
        SecondStage::Constant { .. } | SecondStage::Nested { .. } => Ok(()),
        // Each lookup compares bounds that no TLB entry exceeds.
        SecondStage::Flat { .. } | SecondStage::Reserved { .. } => Ok(()),
    }
}
