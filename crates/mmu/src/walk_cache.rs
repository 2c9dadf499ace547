//! Page-walk cache of one dimension: non-leaf PTEs by address prefix, one LRU array per table level.

use crate::config::TlbArray;
use crate::config::WalkCacheSizes;
use crate::space::{Space, Spaces};
use crate::tlb::set_associative::SetAssociative;
use crate::tlb::tag_array::Miss;
use crate::tlb::way::Way;
use types::{PageSize, Vmid};

/// Where a walk may begin. (Of more than two words, so that it does not pass through functions as two packed ones.)
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Start {
    /// Level of the table to read first.
    pub(crate) level: u64,
    /// Its address.
    pub(crate) table: u64,
    /// Whether a PTE above it had G set.
    pub(crate) global: bool,
}

/// What a non-leaf PTE says.
#[derive(Clone, Copy, Debug, Default)]
struct Pointer {
    space: Space,
    table: u64,
}

/// The PTEs of one level.
#[derive(Clone, Debug)]
struct Level {
    array: SetAssociative<Pointer>,
    ways: usize,
    /// How the latest search of the array ended that found nothing.
    miss: Miss,
    latest: Latest,
}

/// The latest entry that was used, while no other is: a walk that begins with the same prefix gets it again, without a search, and as it is the most
/// recently used one already, no order changes.
#[derive(Clone, Copy, Debug)]
struct Latest {
    /// The address, without the bits that one PTE of the level spans.
    prefix: u64,
    /// The address space where it was looked up; the global one follows from it.
    local: Space,
    slot: u32,
}

impl Latest {
    /// No address has that prefix.
    const NONE: Self = Self { prefix: u64::MAX, local: Space::bare(Vmid(0)), slot: 0 };
}

/// An entry of a level that answers, and whose use is not recorded yet.
#[derive(Clone, Copy)]
struct Known {
    slot: usize,
    pointer: Pointer,
    /// Whether it is another one than the latest.
    other: bool,
}

/// By how much an address is shifted to leave the bits that one PTE of a level does not span.
#[inline(always)]
const fn span(level: u32) -> u32 {
    PageSize::Size4K.shift() + 9 * level
}

impl Known {
    /// Where a walk of the level's address begins with it.
    #[inline(always)]
    fn start(&self, spaces: Spaces, level: u32) -> Start {
        Start { level: u64::from(level) - 1, table: self.pointer.table, global: self.pointer.space != spaces.local }
    }
}

impl Level {
    /// The PTE for an address.
    #[inline(always)]
    fn look(&self, spaces: Spaces, address: u64, level: u32) -> Result<Known, Miss> {
        match self.probe(spaces, address, level) {
            Err(Miss::REFUSED) => {
                let accept = |pointer: &Pointer| spaces.contain(pointer.space);
                let (way, &pointer) = self.array.find_in_only(address, span(level), accept)?;
                Ok(Known { slot: way.slot, pointer, other: true })
            }
            outcome => outcome,
        }
    }

    /// As [`Self::look`], at a [probe](SetAssociative::probe_in_only).
    #[inline(always)]
    fn probe(&self, spaces: Spaces, address: u64, level: u32) -> Result<Known, Miss> {
        let Latest { prefix, local, slot } = self.latest;
        if (prefix == address >> span(level)) & (local == spaces.local) {
            let slot = slot as usize;
            return Ok(Known { slot, pointer: *self.array.payload(slot), other: false });
        }
        let accept = |pointer: &Pointer| spaces.contain(pointer.space);
        let (way, &pointer) = self.array.probe_in_only(address, span(level), accept)?;
        Ok(Known { slot: way.slot, pointer, other: true })
    }

    /// What was looked up is now the most recently used one.
    #[inline(always)]
    fn take(&mut self, spaces: Spaces, address: u64, level: u32, known: &Known) {
        if known.other {
            self.array.used(Way::new(0, known.slot));
            self.latest = Latest { prefix: address >> span(level), local: spaces.local, slot: known.slot as u32 };
        }
    }

    /// Keeps a PTE where the search just before ended with `miss`.
    #[inline(always)]
    fn fill(&mut self, spaces: Spaces, address: u64, level: u32, pointer: &Pointer, miss: Miss) {
        let slot = if miss == Miss::ABSENT {
            self.array.fill_in_only(address, span(level), self.ways, pointer).slot
        } else {
            self.fill_again(address, level, pointer)
        };
        // Nothing else there answers, or the walk would have begun there.
        self.latest = Latest { prefix: address >> span(level), local: spaces.local, slot: slot as u32 };
    }

    /// Fills the entry of an address where there may be one already.
    #[cold]
    #[inline(never)]
    fn fill_again(&mut self, address: u64, level: u32, pointer: &Pointer) -> usize {
        let same = |other: &Pointer| other.space == pointer.space;
        let _evicted = self.array.fill(address, PageSize::of_level(level), Miss::REFUSED, |_| *pointer, same);
        self.array.find_in_only(address, span(level), same).map_or(0, |(way, _)| way.slot)
    }
}

/// What [`WalkCache::probe`] finds.
#[derive(Clone, Copy)]
pub(crate) struct Low {
    known: Known,
    level: u32,
}

impl Low {
    const NOTHING: Self = Self {
        known: Known { slot: 0, pointer: Pointer { space: Latest::NONE.local, table: 0 }, other: false },
        level: 0,
    };

    /// Level of the PTE; 0 of none.
    #[inline(always)]
    pub(crate) const fn level(&self) -> u32 {
        self.level
    }

    /// Where a walk begins with it.
    #[inline(always)]
    pub(crate) fn start(&self, spaces: Spaces) -> Start {
        self.known.start(spaces, self.level)
    }
}

/// The page-walk cache of one dimension.
#[derive(Clone, Debug)]
pub(crate) struct WalkCache {
    /// Index l − 1 holds PTEs read at level l.
    levels: [Option<Level>; 4],
}

impl WalkCache {
    /// How many levels [`Self::probe`] looks at.
    pub(crate) const LOW_LEVELS: u64 = 2;

    /// A cache of no entries at all. Unlike [`Self::new`] it costs nothing to make: the hypervisor walks without one, at each of its faults.
    pub(crate) const OFF: Self = Self { levels: [const { None }; 4] };

    /// An empty cache.
    pub(crate) fn new(sizes: WalkCacheSizes) -> Self {
        Self {
            levels: core::array::from_fn(|index| {
                // An entry covers what one PTE of its level maps: a page of that size, for the tag array.
                let span = PageSize::of_level(index as u32 + 1);
                (sizes.0[index] > 0).then(|| Level {
                    array: SetAssociative::new(&[TlbArray::new(&[span], 1, sizes.0[index])]),
                    ways: sizes.0[index] as usize,
                    miss: Miss::ABSENT,
                    latest: Latest::NONE,
                })
            }),
        }
    }

    /// Where a walk of `address` begins: at the deepest table below the root table that is known, or there. The entry that knows it is the
    /// most recently used one of its level, and `skipped` is told the level; a level that is not asked, or does not answer, keeps its order.
    #[inline(always)]
    pub(crate) fn begin(
        &mut self,
        spaces: Spaces,
        address: u64,
        root: impl FnOnce() -> Start,
        skipped: impl FnOnce(u32),
    ) -> Start {
        // No tree has fewer levels.
        if let Some(start) = self.begin_at(spaces, address, 1) {
            skipped(1);
            return start;
        }
        if let Some(start) = self.begin_at(spaces, address, 2) {
            skipped(2);
            return start;
        }
        let root = root();
        if root.level > 2
            && let Some(start) = self.begin_above(spaces, address, root.level as u32)
        {
            skipped(start.level as u32 + 1);
            return start;
        }
        root
    }

    /// As [`Self::begin`], where the lower levels did not answer.
    #[inline(never)]
    fn begin_above(&mut self, spaces: Spaces, address: u64, root_level: u32) -> Option<Start> {
        (3..=root_level).find_map(|level| self.begin_at(spaces, address, level))
    }

    /// Where a walk begins with the entry of a level.
    #[inline(always)]
    fn begin_at(&mut self, spaces: Spaces, address: u64, level: u32) -> Option<Start> {
        let cached = self.levels[level as usize - 1].as_mut()?;
        match cached.look(spaces, address, level) {
            Ok(known) => {
                cached.take(spaces, address, level, &known);
                Some(known.start(spaces, level))
            }
            Err(miss) => {
                cached.miss = miss;
                None
            }
        }
    }

    /// What [`Self::begin`] would find in the two lowest levels, or that it finds nothing there. The use is not recorded yet. `None`: the fast
    /// probe cannot decide, and the caller takes the full search.
    #[inline(always)]
    pub(crate) fn probe(&self, spaces: Spaces, address: u64) -> Option<Low> {
        if let Some(cached) = &self.levels[0] {
            match cached.probe(spaces, address, 1) {
                Ok(known) => return Some(Low { known, level: 1 }),
                Err(Miss::ABSENT) => {}
                Err(_) => return None,
            }
        }
        if let Some(cached) = &self.levels[1] {
            match cached.probe(spaces, address, 2) {
                Ok(known) => return Some(Low { known, level: 2 }),
                Err(Miss::ABSENT) => {}
                Err(_) => return None,
            }
        }
        Some(Low::NOTHING)
    }

    /// Records the use of what [`Self::probe`] has found.
    #[inline(always)]
    pub(crate) fn take(&mut self, spaces: Spaces, address: u64, low: &Low) {
        let Low { known, level } = low;
        if *level == 1 {
            if let Some(cached) = &mut self.levels[0] {
                cached.take(spaces, address, 1, known);
            }
            return;
        }
        if let Some(cached) = &mut self.levels[0] {
            cached.miss = Miss::ABSENT;
        }
        if let Some(cached) = &mut self.levels[1] {
            match level {
                2 => cached.take(spaces, address, 2, known),
                _ => cached.miss = Miss::ABSENT,
            }
        }
    }

    /// Keeps a non-leaf PTE read at `level` on the way to `address`, for which [`Self::begin`] was asked when the walk began, and did not
    /// find it at this level. `global` is G of it or of one above it.
    #[inline(always)]
    pub(crate) fn fill(&mut self, spaces: Spaces, address: u64, level: u32, table: u64, global: bool) {
        let Some(cached) = &mut self.levels[level as usize - 1] else { return };
        let miss = cached.miss;
        cached.fill(spaces, address, level, &Pointer { space: spaces.of(global), table }, miss);
    }

    /// Drops the entries of the spaces that `drops` names.
    pub(crate) fn remove(&mut self, drops: impl Fn(Space) -> bool) {
        for level in self.levels.iter_mut().flatten() {
            level.array.remove(|pointer| drops(pointer.space));
            level.latest = Latest::NONE;
        }
    }
}
