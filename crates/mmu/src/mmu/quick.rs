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
use crate::space::{Space, Spaces};
use crate::stage::{FlatTable, NestedTlb, SecondStage, base_page};
use crate::statistics::MmuStatistics;
use crate::tlb::{Made, Translation};
use crate::translate::{GuestMapping, Next, Progress, Walkers};
use crate::walk::Geometry;
use crate::walk_cache::{Low, Start, WalkCache};
use core::ops::Range;
use types::{Access, Gpa, Gva, Hpa, PageSize};

const SIZE: PageSize = PageSize::Size4K;

impl Mmu {
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
        let Some(low) = cache.glance(context.spaces, gva.0) else { return Err(Progress::Nowhere) };
        let mut next = match (low.level(), context.tables()) {
            (1 | 2, _) => {
                statistics.guest_cache_hits[low.level() as usize - 1] += 1;
                low.start(context.spaces)
            }
            (_, Some((tree, root))) if tree.root_level == 2 => Start { level: 2, table: root, global: false },
            _ => return Err(Progress::Nowhere),
        };
        cache.take(context.spaces, gva.0, &low);
        statistics.l2_misses += 1;
        statistics.walks += 1;
        let mut refs = 1;
        while next.level != 0 {
            let Start { level, table, global } = next;
            let Some((tree, _)) = context.tables() else { unreachable!("there is a level") };
            let at = Gpa(table + tree.slot(gva.0, level as u32));
            let read = |memory: &mut M, at: Hpa| memory.read(at).map(Pte).filter(|pte| pte.is_plain_pointer());
            let Some((pte, _, host_refs)) = stage.step(memory, statistics, at, Access::Read, read) else {
                let refs = statistics.refs() + 1 - refs;
                return Err(Progress::At { refs, next: Next::Table(next) });
            };
            statistics.guest_refs += 1;
            refs += 1 + host_refs;
            next = Start { level: level - 1, table: pte.address(), global: global | pte.is_global() };
            cache.fill(context.spaces, gva.0, level as u32, next.table, next.global);
        }
        let at = Gpa(next.table + Geometry::last_slot(gva.0));
        let demand = &context.query(access).of_leaf;
        let read = |memory: &mut M, at: Hpa| memory.read(at).map(Pte).filter(|pte| demand.is_plain_leaf(*pte));
        let Some((pte, _, host_refs)) = stage.step(memory, statistics, at, Access::Read, read) else {
            let refs = statistics.refs() + 1 - refs;
            return Err(Progress::At { refs, next: Next::Table(next) });
        };
        statistics.guest_refs += 1;
        refs += host_refs;
        let space = context.spaces.of(next.global | pte.is_global());
        let leaf = GuestMapping { page: Gpa(pte.address()), size: SIZE, rights: pte.rights(), space };
        let gpa = Gpa(leaf.page.0 | gva.offset(SIZE));
        let find = |memory: &mut M, at: Hpa| Some((at.page(SIZE), memory.base_page(at.page(SIZE))?));
        let Some(((hpa, host), rights, host_refs)) = stage.step(memory, statistics, gpa, access, find) else {
            let refs = statistics.refs() - refs;
            return Err(Progress::At { refs, next: Next::Page(leaf) });
        };
        refs += host_refs;
        let host = host.expose_provenance();
        prefetch(host + gva.offset(SIZE) as usize);
        if refs > statistics.max_refs {
            statistics.max_refs = refs;
        }
        Ok(Translation { hpa, gpa: leaf.page, host, space: leaf.space, rights: leaf.rights.and(rights), size: SIZE })
    }
}

/// The second stage in the usual case.
trait Usual {
    /// Translates an address for an access and does `then` where it leads. The translation is recorded only if that has a result, which comes
    /// back with what the stage leaves of the first one's rights, and how many of its entries were read.
    fn step<M: TableMemory, R>(
        &mut self,
        memory: &mut M,
        statistics: &mut MmuStatistics,
        gpa: Gpa,
        access: Access,
        then: impl FnOnce(&mut M, Hpa) -> Option<R>,
    ) -> Option<(R, Rights, u64)>;
}

/// No second stage, or reserved memory.
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
    ) -> Option<(R, Rights, u64)> {
        Some((then(memory, base_page(&self.ram, self.offset, gpa)?)?, Rights::ALL, 0))
    }
}

/// A second stage with tables, of base pages, and with a nested TLB.
struct Tabled<'a, T> {
    tables: T,
    space: Space,
    tlb: &'a mut NestedTlb,
}

impl<T: Tables> Usual for Tabled<'_, T> {
    #[inline(always)]
    fn step<M: TableMemory, R>(
        &mut self,
        memory: &mut M,
        statistics: &mut MmuStatistics,
        gpa: Gpa,
        access: Access,
        then: impl FnOnce(&mut M, Hpa) -> Option<R>,
    ) -> Option<(R, Rights, u64)> {
        let Self { tables, space, tlb } = self;
        if !tables.reach(gpa) {
            return None;
        }
        let page = BasePage::new(gpa.0);
        let offset = gpa.offset(SIZE);
        match tlb.glance(page, gpa, *space, Masks::of_second_stage(access))? {
            Ok((way, entry)) => {
                let found = then(memory, Hpa(entry.page.0 | offset))?;
                let rights = entry.rights;
                statistics.nested_tlb_hits += 1;
                tlb.used(way);
                return Some((found, rights, 0));
            }
            Err(Miss::ABSENT) => {}
            Err(_) => return None,
        }
        let (leaf, way) = tables.leaf(memory, gpa, &Demand::of_second_stage(access))?;
        let found = then(memory, Hpa(leaf.address() | offset))?;
        statistics.nested_tlb_misses += 1;
        let refs = tables.record(statistics, gpa, &way);
        statistics.host_refs += refs;
        let rights = leaf.second_stage_rights();
        tlb.fill_base(page, *space, Hpa(leaf.address()), rights);
        Some((found, rights, refs))
    }
}

/// The tables of a second stage in the usual case.
trait Tables {
    /// How a leaf was found.
    type Way;

    /// Whether they may have a leaf for an address.
    fn reach(&self, gpa: Gpa) -> bool;

    /// The leaf of an address that they reach, if it is plain; nothing is recorded yet.
    fn leaf<M: TableMemory>(&self, memory: &mut M, gpa: Gpa, demand: &Demand) -> Option<(Pte, Self::Way)>;

    /// Records how a leaf was found. Returns how many entries were read.
    fn record(&mut self, statistics: &mut MmuStatistics, gpa: Gpa, way: &Self::Way) -> u64;
}

/// Nested tables, with their walk cache.
struct Nested<'a> {
    geometry: Geometry,
    spaces: Spaces,
    cache: &'a mut WalkCache,
}

impl Tables for Nested<'_> {
    /// What the walk cache knew, and the table of the last level.
    type Way = (Low, u64);

    #[inline(always)]
    fn reach(&self, gpa: Gpa) -> bool {
        gpa.0 >> self.geometry.address_bits == 0
    }

    /// Where the walk cache knows one of the two lowest levels.
    #[inline(always)]
    fn leaf<M: TableMemory>(&self, memory: &mut M, gpa: Gpa, demand: &Demand) -> Option<(Pte, Self::Way)> {
        let low = self.cache.glance(self.spaces, gpa.0).filter(|low| low.level() != 0)?;
        let mut table = low.table();
        if low.level() == 2 {
            let at = Hpa(table + Geometry::slot_before(gpa.0));
            table = memory.read(at).map(Pte).filter(|pte| pte.is_plain_pointer())?.address();
        }
        let at = Hpa(table + Geometry::last_slot(gpa.0));
        let leaf = memory.read(at).map(Pte).filter(|pte| demand.is_plain_leaf(*pte))?;
        Some((leaf, (low, table)))
    }

    #[inline(always)]
    fn record(&mut self, statistics: &mut MmuStatistics, gpa: Gpa, (low, table): &Self::Way) -> u64 {
        let Self { spaces, cache, .. } = self;
        statistics.host_cache_hits[low.level() as usize - 1] += 1;
        cache.take(*spaces, gpa.0, low);
        if low.level() == 2 {
            cache.fill(*spaces, gpa.0, 1, *table, false);
        }
        low.level().into()
    }
}

impl Tables for FlatTable {
    type Way = ();

    #[inline(always)]
    fn reach(&self, gpa: Gpa) -> bool {
        self.slot(gpa).is_ok()
    }

    #[inline(always)]
    fn leaf<M: TableMemory>(&self, memory: &mut M, gpa: Gpa, demand: &Demand) -> Option<(Pte, ())> {
        let leaf = memory.read(self.slot(gpa).ok()?).map(Pte).filter(|pte| demand.is_plain_leaf(*pte))?;
        Some((leaf, ()))
    }

    #[inline(always)]
    fn record(&mut self, _: &mut MmuStatistics, _: Gpa, (): &()) -> u64 {
        1
    }
}
