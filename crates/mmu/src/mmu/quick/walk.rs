//! The usual case of a walk: plain entries of base pages, each through a second stage that finds what is usual, too.

use super::SIZE;
use crate::context::Context;
use crate::directory::{BasePage, Miss};
use crate::memory::TableMemory;
use crate::pte::Pte;
use crate::raw::prefetch;
use crate::rights::{Demand, Masks, Rights};
use crate::space::{Space, Spaces};
use crate::stage::{FlatTable, NestedTlb, base_page};
use crate::statistics::MmuStatistics;
use crate::tlb::Translation;
use crate::translate::{GuestMapping, Next, Progress};
use crate::walk::Geometry;
use crate::walk_cache::{Low, Start, WalkCache};
use core::ops::Range;
use types::{Access, Gpa, Gva, Hpa};

/// A walk, and what it is made on.
pub(super) struct Walk<'a, M> {
    pub(super) memory: &'a mut M,
    pub(super) statistics: &'a mut MmuStatistics,
    pub(super) context: &'a Context,
    pub(super) cache: &'a mut WalkCache,
    pub(super) gva: Gva,
    pub(super) access: Access,
}

impl<M: TableMemory> Walk<'_, M> {
    /// Walks the guest's tables through a second stage, or as far as that is usual.
    #[inline(always)]
    pub(super) fn through<S: Usual>(self, mut stage: S) -> Result<Translation, Progress> {
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
        let begun = statistics.mark();
        while next.level != 0 {
            let Start { level, table, global } = next;
            let Some((tree, _)) = context.tables() else { unreachable!("there is a level") };
            let at = Gpa(table + tree.slot(gva.0, level as u32));
            let read = |memory: &mut M, at: Hpa| memory.read(at).map(Pte).filter(|pte| pte.is_plain_pointer());
            let Some((pte, _)) = stage.step(memory, statistics, at, Access::Read, read) else {
                return Err(Progress::At { begun, next: Next::Table(next) });
            };
            statistics.guest_refs += 1;
            next = Start { level: level - 1, table: pte.address(), global: global | pte.is_global() };
            cache.fill(context.spaces, gva.0, level as u32, next.table, next.global);
        }
        let at = Gpa(next.table + Geometry::slot_below_root(gva.0, 0));
        let demand = &context.query(access).of_leaf;
        let read = |memory: &mut M, at: Hpa| memory.read(at).map(Pte).filter(|pte| demand.is_plain_leaf(*pte));
        let Some((pte, _)) = stage.step(memory, statistics, at, Access::Read, read) else {
            return Err(Progress::At { begun, next: Next::Table(next) });
        };
        statistics.guest_refs += 1;
        let space = context.spaces.of(next.global | pte.is_global());
        let leaf = GuestMapping { page: Gpa(pte.address()), size: SIZE, rights: pte.rights(), space };
        let gpa = Gpa(leaf.page.0 | gva.offset(SIZE));
        let find = |memory: &mut M, at: Hpa| Some((at.page(SIZE), memory.base_page(at.page(SIZE))?));
        let Some(((hpa, host), rights)) = stage.step(memory, statistics, gpa, access, find) else {
            return Err(Progress::At { begun, next: Next::Page(leaf) });
        };
        let host = host.expose_provenance();
        prefetch(host + gva.offset(SIZE) as usize);
        statistics.take_maxima(begun);
        Ok(Translation { hpa, gpa: leaf.page, host, space: leaf.space, rights: leaf.rights.and(rights), size: SIZE })
    }
}

/// The second stage in the usual case.
pub(super) trait Usual {
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

/// No second stage, or reserved memory.
pub(super) struct Constant {
    pub(super) ram: Range<Gpa>,
    pub(super) offset: u64,
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

/// A second stage with tables, of base pages, and with a nested TLB.
pub(super) struct Tabled<'a, T> {
    pub(super) tables: T,
    pub(super) space: Space,
    pub(super) tlb: &'a mut NestedTlb,
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
    ) -> Option<(R, Rights)> {
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
                return Some((found, rights));
            }
            Err(Miss::ABSENT) => {}
            Err(_) => return None,
        }
        let (leaf, way) = tables.leaf(memory, gpa, &Demand::of_second_stage(access))?;
        let found = then(memory, Hpa(leaf.address() | offset))?;
        statistics.nested_tlb_misses += 1;
        statistics.host_refs += tables.record(statistics, gpa, &way);
        let rights = leaf.second_stage_rights();
        tlb.fill_base(page, *space, Hpa(leaf.address()), rights);
        Some((found, rights))
    }
}

/// The tables of a second stage in the usual case.
pub(super) trait Tables {
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
pub(super) struct Nested<'a> {
    pub(super) geometry: Geometry,
    pub(super) spaces: Spaces,
    pub(super) cache: &'a mut WalkCache,
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
            let at = Hpa(table + Geometry::slot_below_root(gpa.0, 1));
            table = memory.read(at).map(Pte).filter(|pte| pte.is_plain_pointer())?.address();
        }
        let at = Hpa(table + Geometry::slot_below_root(gpa.0, 0));
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
