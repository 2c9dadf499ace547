//! Many systems, to which one stream of accesses is done.
//!
//! ```text
//! data, fetches ─► L1 stacks ─► each distinct L1 misses on its own ─► L2 stacks of that L1 ─► page-walk cache of each system
//! ```

use crate::counts::Counts;
use crate::level::{Level, SIZES, Used, home};
use crate::names::Space;
use crate::obstacle::Obstacle;
use crate::pages::{Faulting, Found, Pages};
use crate::tables::Tables;
use crate::walks::Walks;
use core::ops::Range;
use mmu::{Groups, MmuConfig, Refill, ReplacementPolicy, TlbArray};
use types::{Access, Asid, Gpa, Gva, PageSize, TranslationContext};

/// Systems that share both L1 TLBs.
#[derive(Debug)]
struct Front {
    l1d: usize,
    l1i: usize,
    l2: Level,
    /// By the configuration of the L2.
    systems: Vec<Vec<usize>>,
}

/// Where a system is.
#[derive(Clone, Copy, Debug)]
struct Seat {
    front: usize,
    l2: usize,
}

/// The systems of a pass.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) pages: Pages,
    data: Level,
    fetches: Level,
    fronts: Vec<Front>,
    /// Fronts by the configuration of the L1D, and by that of the L1I.
    of_data: Vec<Vec<usize>>,
    of_fetches: Vec<Vec<usize>>,
    walks: Vec<Walks>,
    seats: Vec<Seat>,
    /// Sizes that a system answers twice: see [`conflicts`].
    conflicts: Vec<u8>,
}

/// The sizes of translations that a guest of such a machine can have.
fn sizes(config: &MmuConfig) -> impl Iterator<Item = PageSize> {
    let groups = Groups::of_svnapot(config.svnapot);
    PageSize::ALL.into_iter().filter(move |&size| groups.occurs(size))
}

/// Whether a pass counts for such an MMU: one with LRU and a walker.
#[must_use]
pub fn takes(config: &MmuConfig) -> bool {
    let levels = [&config.l1d, &config.l1i, &config.l2];
    let lru = levels.iter().all(|level| level.iter().all(|array| array.replacement == ReplacementPolicy::LRU));
    let kept = levels.iter().all(|level| {
        sizes(config).all(|size| match home(level, size) {
            Some((_, kept)) => kept == size || kept == PageSize::Size4K || kept >= PageSize::Size2M,
            None => true,
        })
    });
    let cached = config.walk_caches.guest.0.into_iter().all(|entries| entries < Walks::MOST_ENTRIES);
    lru && kept && cached && config.refill == Refill::Hardware
}

/// Sizes of pages, a bit each, of which the L2 keeps smaller pieces than an L1: the L1 gets a page from a walk and pieces of it from the L2, and
/// both answer.
fn conflicts(config: &MmuConfig) -> u8 {
    let kept = |level: &[TlbArray], size| home(level, size).map(|(_, kept)| kept);
    let differ = PageSize::ALL.into_iter().filter(|&size| {
        let l2 = kept(&config.l2, size);
        l2.is_some() && (kept(&config.l1d, size) > l2 || kept(&config.l1i, size) > l2)
    });
    differ.map(|size| 1 << size as u8).sum()
}

/// The distinct ones of a list, and which of them each is.
fn distinct<'a, T: PartialEq + ?Sized>(all: impl Iterator<Item = &'a T>) -> (Vec<&'a T>, Vec<usize>) {
    let mut found: Vec<&T> = Vec::new();
    let numbers = all.map(|one| {
        found.iter().position(|other| *other == one).unwrap_or_else(|| {
            found.push(one);
            found.len() - 1
        })
    });
    let numbers = numbers.collect();
    (found, numbers)
}

/// For each of `count` configurations, the fronts that have it.
fn fronts_of(fronts: &[Front], count: usize, of: impl Fn(&Front) -> usize) -> Vec<Vec<usize>> {
    let with = |configuration| (0..fronts.len()).filter(|&front| of(&fronts[front]) == configuration).collect();
    (0..count).map(with).collect()
}

impl Batch {
    /// Of machines with that memory.
    pub(crate) fn new(systems: &[MmuConfig], ram: Range<Gpa>) -> Self {
        let (data, of_data) = distinct(systems.iter().map(|system| &system.l1d[..]));
        let (fetches, of_fetches) = distinct(systems.iter().map(|system| &system.l1i[..]));
        let pairs: Vec<(usize, usize)> = of_data.iter().copied().zip(of_fetches.iter().copied()).collect();
        let (own, of_pair) = distinct(pairs.iter());
        let mut seats = vec![Seat { front: 0, l2: 0 }; systems.len()];
        let mut fronts = Vec::new();
        for (front, &&(l1d, l1i)) in own.iter().enumerate() {
            let members: Vec<usize> = (0..systems.len()).filter(|&system| of_pair[system] == front).collect();
            let (configurations, of_l2) = distinct(members.iter().map(|&system| &systems[system].l2[..]));
            let mut of_configuration = vec![Vec::new(); configurations.len()];
            for (&system, &l2) in members.iter().zip(&of_l2) {
                of_configuration[l2].push(system);
                seats[system] = Seat { front, l2 };
            }
            fronts.push(Front { l1d, l1i, l2: Level::new(&configurations), systems: of_configuration });
        }
        let mut fractured = [false; SIZES];
        for system in systems {
            for size in sizes(system) {
                let pieces = |level: &Vec<TlbArray>| home(level, size).is_some_and(|(_, kept)| kept != size);
                fractured[size as usize] |= [&system.l1d, &system.l1i, &system.l2].into_iter().any(pieces);
            }
        }
        let groups = systems.first().map_or(Groups::None, |system| Groups::of_svnapot(system.svnapot));
        Self {
            pages: Pages::new(Tables::new(ram.start.0..ram.end.0, groups), fractured),
            of_data: fronts_of(&fronts, data.len(), |front| front.l1d),
            of_fetches: fronts_of(&fronts, fetches.len(), |front| front.l1i),
            data: Level::new(&data),
            fetches: Level::new(&fetches),
            fronts,
            walks: systems.iter().map(|system| Walks::new(system.walk_caches.guest)).collect(),
            seats,
            conflicts: systems.iter().map(conflicts).collect(),
        }
    }

    /// An access that is made.
    #[inline(always)]
    pub(crate) fn access(&mut self, access: Access, gva: u64) -> Result<(), Obstacle> {
        let found = self.pages.find(gva, access)?;
        self.used(access, gva, &found);
        Ok(())
    }

    #[inline(always)]
    fn used(&mut self, access: Access, gva: u64, found: &Found) {
        let Self { data, fetches, fronts, of_data, of_fetches, walks, .. } = self;
        let (l1, fronts_of) = if access == Access::Execute { (fetches, of_fetches) } else { (data, of_data) };
        let Found { size, pages, path, refused } = found;
        let used = Used { gva, size: *size, pages };
        l1.used(used, *refused, |l1| {
            for &front in &fronts_of[l1] {
                let Front { l2, systems, .. } = &mut fronts[front];
                l2.used(used, *refused, |l2| systems[l2].iter().for_each(|&system| walks[system].walk(path)));
            }
        });
    }

    /// An access that faults.
    pub(crate) fn fault(&mut self, access: Access, gva: u64) -> Result<(), Obstacle> {
        match self.pages.find_faulting(gva, access)? {
            Faulting::Unseen => {}
            Faulting::Found(found) => self.used(access, gva, &found),
            Faulting::Walk(path) => {
                let l1 = if access == Access::Execute { &mut self.fetches } else { &mut self.data };
                l1.refused();
                self.fronts.iter_mut().for_each(|front| front.l2.refused());
                self.walks.iter_mut().for_each(|walks| walks.walk(&path));
            }
        }
        Ok(())
    }

    /// The guest translates in another context.
    pub(crate) fn enter(&mut self, context: &TranslationContext) {
        self.pages.enter(context);
    }

    /// `sfence.vma`.
    pub(crate) fn fence(&mut self, gva: Option<Gva>, asid: Option<Asid>) {
        let Self { pages, data, fetches, fronts, walks, .. } = self;
        let mut levels: Vec<&mut Level> = [data, fetches].into_iter().collect();
        levels.extend(fronts.iter_mut().map(|front| &mut front.l2));
        let all = pages.fence(gva, asid, |size, page| {
            let gva = gva.map_or(0, |gva| gva.0);
            levels.iter_mut().for_each(|level| level.remove(gva, size, page));
        });
        let Some(spaces) = all else { return };
        let names = &pages.names;
        let drops = |space: Space| spaces.contains(&space);
        levels.iter_mut().for_each(|level| level.remove_where(|page| drops(names.space_of_page(page))));
        walks.iter_mut().for_each(|walks| {
            walks.remove_where(|level, pointer| drops(names.space_of_pointer(level, pointer)));
        });
    }

    /// What is counted of each system.
    pub(crate) fn counts(&self) -> Vec<Counts> {
        let counts = self.seats.iter().zip(&self.walks).map(|(seat, walks)| {
            let front = &self.fronts[seat.front];
            Counts {
                l1d_misses: self.data.misses[front.l1d],
                l1i_misses: self.fetches.misses[front.l1i],
                walks: front.l2.misses[seat.l2],
                guest_refs: walks.refs,
                guest_cache_hits: walks.hits,
                max_refs: walks.max_refs,
            }
        });
        counts.collect()
    }

    /// Begins the maxima again.
    pub(crate) fn restart_maxima(&mut self) {
        self.walks.iter_mut().for_each(|walks| walks.max_refs = 0);
    }

    /// Whether a system had two entries for one address at any time.
    pub(crate) fn has_conflict(&self, system: usize) -> bool {
        self.conflicts[system] & self.pages.seen() != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An array of 64K pages would hold a page of 256K in pieces. A guest has pages of 64K with Svnapot alone, and none of 32K or 256K.
    #[test]
    fn only_pages_that_a_guest_can_have_are_an_obstacle() {
        use PageSize::{Size2M, Size4K, Size32K, Size64K, Size256K};
        let takes = |sizes: &[PageSize], svnapot| {
            let l1d = vec![TlbArray::new(sizes, 16, 4)];
            takes(&MmuConfig { l1d, svnapot, ..MmuConfig::default() })
        };
        for svnapot in [false, true] {
            assert!(takes(&[Size4K, Size64K, Size2M], svnapot));
            assert!(!takes(&[Size4K, Size256K], svnapot), "pieces of 256K of a page of 2M");
        }
        assert_eq!([false, true].map(|svnapot| takes(&[Size4K, Size32K, Size2M], svnapot)), [true, false]);
    }
}
