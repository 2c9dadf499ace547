//! The usual case of a miss, in one straight line.
//!
//! Where base pages alone are kept, nothing but paging translates, and the entries of the tables are plain, an access that misses takes the
//! steps of `mmu.rs`, `translate.rs` and `walk.rs` here, with nothing asked that is known: L1, L2, the guest's walk cache, each entry of the
//! guest's tables through the second stage, the page through the second stage, both fills. A step is looked at first and recorded only when
//! all of it is usual. Where it is not, the general steps go on from there, as if they had made those before: [`Progress`] says where. So
//! nothing is decided here, and what is simulated does not depend on which of the two made a step.

mod walk;

use super::Mmu;
use crate::directory::{BasePage, Miss, region};
use crate::events::Observer;
use crate::memory::TableMemory;
use crate::raw::prefetch;
use crate::refill::Refill;
use crate::space::{Space, Spaces};
use crate::stage::{FlatTable, SecondStage};
use crate::tlb::{Made, Translation};
use crate::translate::{Progress, Walkers};
use crate::walk::Geometry;
use types::{Access, Gva, PageSize};
use walk::{Constant, Nested, Tabled, Walk};

/// Of the only pages that are usual.
const SIZE: PageSize = PageSize::Size4K;

impl<O: Observer> Mmu<O> {
    /// The usual case of [`Self::access_by`]: the [site](crate::Hit::site) that answers, whose page is memory. With `None` the access is
    /// unfinished, and [`Self::unusual_access`] with the same arguments has to come next.
    #[inline(always)]
    pub fn usual_access<M: TableMemory>(
        &mut self,
        memory: &mut M,
        second: impl Fn() -> SecondStage,
        gva: Gva,
        access: Access,
        stamp: u64,
    ) -> Option<usize> {
        if access == Access::Execute {
            self.usual::<M, true>(memory, second, gva, access, stamp)
        } else {
            self.usual::<M, false>(memory, second, gva, access, stamp)
        }
    }

    #[inline(always)]
    fn usual<M: TableMemory, const FETCH: bool>(
        &mut self,
        memory: &mut M,
        second: impl Fn() -> SecondStage,
        gva: Gva,
        access: Access,
        stamp: u64,
    ) -> Option<usize> {
        let Self { context, l1i, l1d, l2, walkers, statistics, plain, fetches, .. } = self;
        let (l1, l1_misses, stamp) = if FETCH {
            (l1i, &mut statistics.l1i_misses, *fetches + 1)
        } else {
            (l1d, &mut statistics.l1d_misses, stamp)
        };
        let region = region(gva.0);
        let base_alone = l1.has_base_alone(region) & l2.has_base_alone(region);
        if !(base_alone & *plain & context.is_canonical(gva) & !context.spaces.local.is_bare()) {
            return None;
        }
        let page = BasePage::new(gva.0);
        let query = context.query(access);
        let made = Made { gva, access, query, stamp };
        match l1.glance_base(page, query) {
            Ok((slot, entry)) if entry.host != 0 => {
                l1.touch(slot, made);
                if FETCH {
                    *fetches = stamp;
                }
                return Some(slot);
            }
            Err(Miss::ABSENT) => {}
            Ok(_) | Err(_) => return None,
        }
        match l2.glance_base(page, |entry| entry.answers(query)) {
            Ok((way, translation)) if translation.host != 0 => {
                prefetch(translation.host + gva.offset(SIZE) as usize);
                *l1_misses += 1;
                statistics.l2_hits += 1;
                if FETCH {
                    *fetches = stamp;
                }
                let slot = l1.fill_base::<FETCH>(page, made, translation);
                l2.used(way);
                return Some(slot);
            }
            Err(Miss::ABSENT) => {}
            Ok(_) | Err(_) => return None,
        }
        *l1_misses += 1;
        if M::TRACELESS & (walkers.refill == Refill::Hardware) {
            // One function for each kind of second stage. Each asks for it again, which costs less than to hand it on.
            match second() {
                SecondStage::Constant { .. } | SecondStage::Reserved { .. } => {
                    return self.walk_constant::<M, FETCH>(memory, second, gva, access, stamp);
                }
                SecondStage::Nested { .. } if walkers.nested_tlb.is_some() => {
                    return self.walk_nested::<M, FETCH>(memory, second, gva, access, stamp);
                }
                SecondStage::Flat { .. } if walkers.nested_tlb.is_some() => {
                    return self.walk_flat::<M, FETCH>(memory, second, gva, access, stamp);
                }
                SecondStage::Nested { .. } | SecondStage::Flat { .. } => {}
            }
        }
        self.unfinished = Some(Progress::Nowhere);
        None
    }

    /// What neither TLB level has, where the second stage adds a constant.
    #[inline(never)]
    fn walk_constant<M: TableMemory, const FETCH: bool>(
        &mut self,
        memory: &mut M,
        second: impl Fn() -> SecondStage,
        gva: Gva,
        access: Access,
        stamp: u64,
    ) -> Option<usize> {
        let (SecondStage::Constant { ram, offset } | SecondStage::Reserved { ram, offset }) = second() else {
            unreachable!("the caller looked")
        };
        let Self { context, walkers, statistics, .. } = self;
        let walk = Walk { memory, statistics, context, cache: &mut walkers.guest_cache, gva, access };
        let walked = walk.through(Constant { ram, offset });
        self.keep_walked::<FETCH>(walked, gva, access, stamp)
    }

    /// The same through nested tables.
    #[inline(never)]
    fn walk_nested<M: TableMemory, const FETCH: bool>(
        &mut self,
        memory: &mut M,
        second: impl Fn() -> SecondStage,
        gva: Gva,
        access: Access,
        stamp: u64,
    ) -> Option<usize> {
        let Self { context, walkers, statistics, .. } = self;
        let Walkers { guest_cache, host_cache, nested_tlb: Some(tlb), .. } = walkers else {
            unreachable!("the caller looked")
        };
        let SecondStage::Nested { mode, .. } = second() else { unreachable!("the caller looked") };
        let spaces = Spaces::of_guest_physical(context.vmid);
        let tables = Nested { geometry: Geometry::of_second_stage(mode), spaces, cache: host_cache };
        let walk = Walk { memory, statistics, context, cache: guest_cache, gva, access };
        let walked = walk.through(Tabled { tables, space: spaces.local, tlb });
        self.keep_walked::<FETCH>(walked, gva, access, stamp)
    }

    /// The same through a flat table.
    #[inline(never)]
    fn walk_flat<M: TableMemory, const FETCH: bool>(
        &mut self,
        memory: &mut M,
        second: impl Fn() -> SecondStage,
        gva: Gva,
        access: Access,
        stamp: u64,
    ) -> Option<usize> {
        let Self { context, walkers, statistics, .. } = self;
        let Walkers { guest_cache, nested_tlb: Some(tlb), second_stage_ad, .. } = walkers else {
            unreachable!("the caller looked")
        };
        let SecondStage::Flat { table, first, entries } = second() else { unreachable!("the caller looked") };
        let tables = FlatTable { table, first, entries, ad: *second_stage_ad };
        let walk = Walk { memory, statistics, context, cache: guest_cache, gva, access };
        let walked = walk.through(Tabled { tables, space: Space::bare(context.vmid), tlb });
        self.keep_walked::<FETCH>(walked, gva, access, stamp)
    }

    /// Fills both levels with what a walk has found, or leaves it unfinished.
    #[inline(always)]
    fn keep_walked<const FETCH: bool>(
        &mut self,
        walked: Result<Translation, Progress>,
        gva: Gva,
        access: Access,
        stamp: u64,
    ) -> Option<usize> {
        let Self { context, l1i, l1d, l2, fetches, unfinished, .. } = self;
        let translation = match walked {
            Ok(translation) => translation,
            Err(progress) => {
                *unfinished = Some(progress);
                return None;
            }
        };
        let l1 = if FETCH { l1i } else { l1d };
        if FETCH {
            *fetches = stamp;
        }
        let page = BasePage::new(gva.0);
        let made = Made { gva, access, query: context.query(access), stamp };
        let slot = l1.fill_base::<FETCH>(page, made, &translation);
        l2.fill_base(page, &translation);
        Some(slot)
    }
}
