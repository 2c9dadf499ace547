//! The usual case of a miss, in one straight line.
//!
//! Where base pages alone are kept, nothing but paging translates, and the entries of the tables are plain, an access that misses takes the
//! steps of `mmu.rs`, `translate.rs` and `walk.rs` here, with nothing asked that is known: L1, L2, the guest's walk cache, each entry of the
//! guest's tables through the second stage, the page through the second stage, both fills. A step is looked at first and recorded only when
//! all of it is usual. Where it is not, the general steps go on from there, as if they had made those before: [`Progress`] says where. So
//! nothing is decided here, and what is simulated does not depend on which of the two made a step.

use super::Mmu;
use crate::context::Context;
use crate::directory::{BasePage, Miss, region};
use crate::memory::TableMemory;
use crate::pte::Pte;
use crate::raw::prefetch;
use crate::refill::Refill;
use crate::rights::{Demand, Masks, Rights};
use crate::space::Spaces;
use crate::stage::{NestedTlb, SecondStage, base_page};
use crate::statistics::MmuStatistics;
use crate::tlb::{Made, Translation};
use crate::translate::{GuestMapping, Next, Progress, Walkers};
use crate::walk::Geometry;
use crate::walk_cache::{Start, WalkCache};
use core::ops::Range;
use types::{Access, Gpa, Gva, Hpa, PageSize};

const SIZE: PageSize = PageSize::Size4K;

/// What answers an access to memory.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// As [`Hit::site`](crate::Hit::site).
    pub site: u16,
    /// The byte in this process.
    pub host: *mut u8,
}

impl Mmu {
    /// The usual case of [`Self::access_by`]. With `None` the access is unfinished, and [`Self::unusual_access`] with the same arguments has
    /// to come next.
    #[inline(always)]
    pub fn usual_access<M: TableMemory>(
        &mut self,
        memory: &mut M,
        second: impl Fn() -> SecondStage,
        gva: Gva,
        access: Access,
        stamp: u64,
    ) -> Option<Site> {
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
    ) -> Option<Site> {
        let Self { context, l1i, l1d, l2, walkers, statistics, plain, fetches, unfinished, .. } = self;
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
        let offset = gva.offset(SIZE) as usize;
        let site = |slot: usize, page: usize| Site {
            site: slot as u16,
            host: core::ptr::with_exposed_provenance_mut(page + offset),
        };
        match l1.find_base(page, query) {
            Ok(slot) if l1.entry(slot).host != 0 => {
                let host = l1.entry(slot).host;
                l1.touch(slot, made);
                if FETCH {
                    *fetches = stamp;
                }
                return Some(site(slot, host));
            }
            Err(Miss::ABSENT) => {}
            Ok(_) | Err(_) => return None,
        }
        match l2.find_base(page, |entry| entry.answers(query)) {
            Ok((way, translation)) if translation.host != 0 => {
                prefetch(translation.host + offset);
                *l1_misses += 1;
                statistics.l2_hits += 1;
                if FETCH {
                    *fetches = stamp;
                }
                let translation = *translation;
                l2.used(way);
                return Some(site(l1.fill_base(page, made, &translation), translation.host));
            }
            Err(Miss::ABSENT) => {}
            Ok(_) | Err(_) => return None,
        }
        *l1_misses += 1;
        let Walkers { guest_cache, host_cache, nested_tlb, refill, .. } = walkers;
        let walk = Walk { memory, statistics, context, cache: guest_cache, gva, access };
        let walked = match second() {
            SecondStage::Constant { ram, offset } if M::TRACELESS & (*refill == Refill::Hardware) => {
                walk.through(Constant { ram, offset })
            }
            SecondStage::Nested { mode, .. }
                if M::TRACELESS
                    && let Some(tlb) = nested_tlb =>
            {
                let geometry = Geometry::of_second_stage(mode);
                let spaces = Spaces::of_guest_physical(context.vmid);
                walk.through(Nested { geometry, spaces, cache: host_cache, tlb })
            }
            _ => Err(Progress::Nowhere),
        };
        match walked {
            Ok(translation) => {
                if FETCH {
                    *fetches = stamp;
                }
                l2.fill_base(page, &translation);
                Some(site(l1.fill_base(page, made, &translation), translation.host))
            }
            Err(progress) => {
                *unfinished = Some(progress);
                None
            }
        }
    }
}

/// A walk, and what it is made on.
struct Walk<'a, M> {
    memory: &'a mut M,
    statistics: &'a mut MmuStatistics,
    context: &'a Context,
    cache: &'a mut WalkCache,
    gva: Gva,
    access: Access,
}

impl<M: TableMemory> Walk<'_, M> {
    /// Walks the guest's tables through a second stage, or as far as that is usual.
    #[inline(always)]
    fn through<S: Usual>(self, mut stage: S) -> Result<Translation, Progress> {
        let Self { memory, statistics, context, cache, gva, access } = self;
        let Some((tree, root)) = context.tables() else { return Err(Progress::Nowhere) };
        let demand = context.query(access).of_leaf;
        statistics.l2_misses += 1;
        statistics.walks += 1;
        let refs = statistics.refs();
        let root = || Start { level: tree.root_level.into(), table: root, global: false };
        let mut next = cache.begin(context.spaces, gva.0, root, |level| {
            statistics.guest_cache_hits[level as usize - 1] += 1;
        });
        while next.level != 0 {
            let Start { level, table, global } = next;
            let at = Gpa(table + tree.slot(gva.0, level as u32));
            let read = |memory: &mut M, at: Hpa| memory.read(at).map(Pte).filter(|pte| pte.is_plain_pointer());
            let Some((pte, _)) = stage.step(memory, statistics, at, Access::Read, read) else {
                return Err(Progress::At { refs, next: Next::Table(next) });
            };
            statistics.guest_refs += 1;
            next = Start { level: level - 1, table: pte.address(), global: global | pte.is_global() };
            cache.fill(context.spaces, gva.0, level as u32, next.table, next.global);
        }
        let at = Gpa(next.table + Geometry::last_slot(gva.0));
        let read = |memory: &mut M, at: Hpa| memory.read(at).map(Pte).filter(|pte| demand.is_plain_leaf(*pte));
        let Some((pte, _)) = stage.step(memory, statistics, at, Access::Read, read) else {
            return Err(Progress::At { refs, next: Next::Table(next) });
        };
        statistics.guest_refs += 1;
        let space = context.spaces.of(next.global | pte.is_global());
        let leaf = GuestMapping { page: Gpa(pte.address()), size: SIZE, rights: pte.rights(), space };
        let gpa = Gpa(leaf.page.0 | gva.offset(SIZE));
        let find = |memory: &mut M, at: Hpa| Some((at.page(SIZE), memory.base_page(at.page(SIZE))?));
        let Some(((hpa, host), rights)) = stage.step(memory, statistics, gpa, access, find) else {
            return Err(Progress::At { refs, next: Next::Page(leaf) });
        };
        let host = host.expose_provenance();
        prefetch(host + gva.offset(SIZE) as usize);
        statistics.max_refs = statistics.max_refs.max(statistics.refs() - refs);
        Ok(Translation { hpa, gpa: leaf.page, host, space: leaf.space, rights: leaf.rights.and(rights), size: SIZE })
    }
}

/// The second stage in the usual case.
trait Usual {
    /// Translates an address for an access and does `then` where it leads. The translation is recorded only if that has a result, which comes
    /// back with what the stage leaves of the first one's rights.
    fn step<M: TableMemory, R>(
        &mut self,
        memory: &mut M,
        statistics: &mut MmuStatistics,
        gpa: Gpa,
        access: Access,
        then: impl FnOnce(&mut M, Hpa) -> Option<R>,
    ) -> Option<(R, Rights)>;
}

/// No second stage.
struct Constant {
    ram: Range<Gpa>,
    offset: u64,
}

impl Usual for Constant {
    #[inline(always)]
    fn step<M: TableMemory, R>(
        &mut self,
        memory: &mut M,
        _: &mut MmuStatistics,
        gpa: Gpa,
        _: Access,
        then: impl FnOnce(&mut M, Hpa) -> Option<R>,
    ) -> Option<(R, Rights)> {
        Some((then(memory, base_page(&self.ram, self.offset, gpa)?)?, Rights::ALL))
    }
}

/// Nested tables of base pages, with a nested TLB.
struct Nested<'a> {
    geometry: Geometry,
    spaces: Spaces,
    cache: &'a mut WalkCache,
    tlb: &'a mut NestedTlb,
}

impl Usual for Nested<'_> {
    #[inline(always)]
    fn step<M: TableMemory, R>(
        &mut self,
        memory: &mut M,
        statistics: &mut MmuStatistics,
        gpa: Gpa,
        access: Access,
        then: impl FnOnce(&mut M, Hpa) -> Option<R>,
    ) -> Option<(R, Rights)> {
        let Self { geometry, spaces, cache, tlb } = self;
        if gpa.0 >> geometry.address_bits != 0 {
            return None;
        }
        let page = BasePage::new(gpa.0);
        let (space, offset) = (spaces.local, gpa.offset(SIZE));
        match tlb.look(page, gpa, space, Masks::of_second_stage(access))? {
            Ok((way, entry)) => {
                let found = then(memory, Hpa(entry.page.0 | offset))?;
                let rights = entry.rights;
                statistics.nested_tlb_hits += 1;
                tlb.used(way);
                return Some((found, rights));
            }
            Err(Miss::ABSENT) => {}
            Err(_) => return None,
        }
        let known = cache.look(*spaces, gpa.0)?;
        let mut table = known.table();
        if known.level() == 2 {
            let at = Hpa(table + Geometry::slot_before(gpa.0));
            table = memory.read(at).map(Pte).filter(|pte| pte.is_plain_pointer())?.address();
        }
        let demand = Demand::of_second_stage(access);
        let at = Hpa(table + Geometry::last_slot(gpa.0));
        let leaf = memory.read(at).map(Pte).filter(|pte| demand.is_plain_leaf(*pte))?;
        let found = then(memory, Hpa(leaf.address() | offset))?;
        statistics.nested_tlb_misses += 1;
        statistics.host_cache_hits[known.level() as usize - 1] += 1;
        statistics.host_refs += u64::from(known.level());
        cache.take(*spaces, gpa.0, &known);
        if known.level() == 2 {
            cache.fill(*spaces, gpa.0, 1, table, false);
        }
        let rights = leaf.second_stage_rights();
        tlb.fill_base(page, space, Hpa(leaf.address()), rights);
        Some((found, rights))
    }
}
