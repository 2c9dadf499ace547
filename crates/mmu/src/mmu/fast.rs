//! The fast path of a miss, in one straight line.
//!
//! Where base pages alone are kept, nothing but paging translates, and the entries of the tables are plain, an access that misses goes through
//! L1, L2, the walk and both fills here, with nothing asked that is known. The walk is the walker's own, under the policy
//! [`FastPath`]: a step is looked at first and recorded only when all of it is common. Where it is not, the access is
//! [unfinished](UnfinishedAccess), and the general path goes on from there as if it had made the steps before.

use super::{Hit, Mmu};
use crate::context::Context;
use crate::events::{NoObserver, Observer};
use crate::fault::Fault;
use crate::memory::TableMemory;
use crate::raw::prefetch;
use crate::refill::Refill;
use crate::stage::{SecondStage, StageKind, StageVisitor};
use crate::statistics::MmuStatistics;
use crate::tlb::Request;
use crate::tlb::tag_array::{BasePage, Miss, region};
use crate::translate::{FirstStage, Progress, Stopped};
use crate::walk::{FastPath, Ports};
use crate::walkers::{Asked, Prepared};
use types::{Access, Gva, PageSize};

/// Of the only pages that the fast path takes.
const SIZE: PageSize = PageSize::Size4K;

/// How far an access has come.
#[derive(Clone, Copy, Debug)]
enum AccessProgress {
    /// Nothing is done.
    Nowhere,
    /// Both TLB levels have missed, which is counted, and the walk has come so far.
    Walk(Progress),
}

/// An access that the fast path has left. It holds the MMU, so that nothing comes between.
#[must_use = "the access is not made until it is finished"]
#[derive(Debug)]
pub struct UnfinishedAccess<'m, O = NoObserver> {
    mmu: &'m mut Mmu<O>,
    request: (Gva, Access, u64),
    progress: AccessProgress,
}

impl<O: Observer> UnfinishedAccess<'_, O> {
    /// Makes the rest of the access on the general path.
    ///
    /// # Errors
    /// As [`Mmu::access`].
    #[inline(always)]
    pub fn finish<M: TableMemory>(self, memory: &mut M, second: impl Fn() -> SecondStage) -> Result<Hit, Fault> {
        let Self { mmu, request: (gva, access, stamp), progress } = self;
        match progress {
            AccessProgress::Nowhere => mmu.access_from_start(memory, second, (gva, access), stamp),
            AccessProgress::Walk(Progress::Nowhere) => mmu.access_from_miss(memory, second, (gva, access), stamp),
            AccessProgress::Walk(progress) => mmu.access_from_walk(memory, second, (gva, access), stamp, progress),
        }
    }

    /// What the MMU has counted so far.
    #[must_use]
    pub const fn statistics(&self) -> &MmuStatistics {
        self.mmu.statistics()
    }
}

/// A walk on the fast path: one function for each kind of second stage.
struct FastWalk<'a, O, M, const FETCH: bool> {
    mmu: &'a mut Mmu<O>,
    memory: &'a mut M,
    request: (Gva, Access, u64),
}

impl<O: Observer, M: TableMemory, const FETCH: bool> StageVisitor for FastWalk<'_, O, M, FETCH> {
    type Output = Result<usize, Progress>;

    #[inline(always)]
    fn visit<K: StageKind>(self, kind: K) -> Result<usize, Progress> {
        let Self { mmu, memory, request } = self;
        if !K::has_fast_path(mmu.walkers.nested_tlb.as_ref()) {
            return Err(Progress::Nowhere);
        }
        let (gva, access, stamp) = request;
        mmu.walk_fast::<M, K, FETCH>(memory, kind, gva, access, stamp)
    }
}

impl<O: Observer> Mmu<O> {
    /// The fast path of [`Self::access_by`]: the [slot](crate::Hit::slot) that answers, whose page is memory, or the unfinished access.
    ///
    /// # Errors
    /// None: an unfinished access may well end in a hit.
    #[inline(always)]
    pub fn fast_access<M: TableMemory>(
        &mut self,
        memory: &mut M,
        second: impl Fn() -> SecondStage,
        gva: Gva,
        access: Access,
        stamp: u64,
    ) -> Result<usize, UnfinishedAccess<'_, O>> {
        let request = (gva, access, stamp);
        let reached = if access == Access::Execute {
            self.reach_fast::<M, true>(memory, second, request)
        } else {
            self.reach_fast::<M, false>(memory, second, request)
        };
        reached.map_err(|progress| UnfinishedAccess { mmu: self, request, progress })
    }

    #[inline(always)]
    fn reach_fast<M: TableMemory, const FETCH: bool>(
        &mut self,
        memory: &mut M,
        second: impl Fn() -> SecondStage,
        (gva, access, stamp): (Gva, Access, u64),
    ) -> Result<usize, AccessProgress> {
        let Self { context, l1i, l1d, l2, walkers, statistics, plain, fetches, .. } = self;
        let (l1, l1_misses, stamp) = if FETCH {
            (l1i, &mut statistics.l1i_misses, *fetches + 1)
        } else {
            (l1d, &mut statistics.l1d_misses, stamp)
        };
        let region = region(gva.0);
        let base_alone = l1.has_base_alone(region) & l2.has_base_alone(region);
        if !(base_alone & *plain & context.is_canonical(gva) & !context.spaces.local.is_bare()) {
            return Err(AccessProgress::Nowhere);
        }
        let page = BasePage::new(gva.0);
        let query = context.query(access);
        let request = Request { gva, access, query, stamp };
        match l1.probe_base(page, query) {
            Ok((slot, entry)) if entry.host != 0 => {
                l1.touch(slot, request);
                if FETCH {
                    *fetches = stamp;
                }
                return Ok(slot);
            }
            Err(Miss::ABSENT) => {}
            Ok(_) | Err(_) => return Err(AccessProgress::Nowhere),
        }
        match l2.probe_base(page, |entry| entry.answers(query)) {
            Ok((way, translation)) if translation.host != 0 => {
                prefetch(translation.host + gva.offset(SIZE) as usize);
                *l1_misses += 1;
                statistics.l2_hits += 1;
                if FETCH {
                    *fetches = stamp;
                }
                let slot = l1.fill_base::<FETCH>(page, request, translation);
                l2.used(way);
                return Ok(slot);
            }
            Err(Miss::ABSENT) => {}
            Ok(_) | Err(_) => return Err(AccessProgress::Nowhere),
        }
        *l1_misses += 1;
        let walked = if M::TRACELESS & (walkers.refill == Refill::Hardware) {
            second().visit(FastWalk::<O, M, FETCH> { mmu: self, memory, request: (gva, access, stamp) })
        } else {
            Err(Progress::Nowhere)
        };
        walked.map_err(AccessProgress::Walk)
    }

    /// What neither TLB level has: the walk, and both fills.
    #[inline(never)]
    fn walk_fast<M: TableMemory, K: StageKind, const FETCH: bool>(
        &mut self,
        memory: &mut M,
        kind: K,
        gva: Gva,
        access: Access,
        stamp: u64,
    ) -> Result<usize, Progress> {
        let Self { context, l1i, l1d, l2, walkers, statistics, fetches, .. } = self;
        let asked = Asked { context, gva, access, first: FirstStage::Tables };
        let Prepared { walk, stage, .. } = walkers.prepare(kind, asked);
        let walked = walk.advance::<FastPath, M, _>(&mut Ports { memory, statistics }, stage, Progress::Nowhere);
        let translation = walked.map_err(|Stopped { progress, .. }| progress)?;
        let l1 = if FETCH { l1i } else { l1d };
        if FETCH {
            *fetches = stamp;
        }
        let page = BasePage::new(gva.0);
        let request = Request { gva, access, query: Context::query(context, access), stamp };
        let slot = l1.fill_base::<FETCH>(page, request, &translation);
        l2.fill_base(page, &translation);
        Ok(slot)
    }
}
