//! Page-walk cache of one dimension: non-leaf PTEs by address prefix, one LRU array per table level.

use crate::config::TlbArray;
use crate::config::WalkCacheSizes;
use crate::directory::Miss;
use crate::lru::Lru;
use crate::space::{Space, Spaces};
use types::PageSize;

/// Where a walk may begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Start {
    /// Level of the table to read first.
    pub(crate) level: u32,
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
    array: Lru<Pointer>,
    /// How the latest search of the array ended that found nothing.
    miss: Miss,
    latest: Option<Latest>,
}

/// The latest entry that was used, while no other is: whoever asks for the same gets it again, without a search, and as it is the most
/// recently used one already, no order changes.
#[derive(Clone, Copy, Debug)]
struct Latest {
    /// The address, without the bits that one PTE of the level spans.
    prefix: u64,
    /// Where it was asked for.
    spaces: Spaces,
    pointer: Pointer,
}

impl Level {
    /// The PTE for an address, which is now the most recently used one.
    #[inline(always)]
    fn find(&mut self, spaces: Spaces, address: u64, level: u32) -> Option<Pointer> {
        let prefix = address >> PageSize::of_level(level).shift();
        if let Some(latest) = &self.latest
            && latest.prefix == prefix
            && latest.spaces == spaces
        {
            return Some(latest.pointer);
        }
        self.search(spaces, address, prefix)
    }

    #[inline(always)]
    fn search(&mut self, spaces: Spaces, address: u64, prefix: u64) -> Option<Pointer> {
        match self.array.find_in_only(address, |pointer| spaces.contain(pointer.space)) {
            Ok((way, &pointer)) => {
                self.array.used(way);
                self.latest = Some(Latest { prefix, spaces, pointer });
                Some(pointer)
            }
            Err(miss) => {
                self.miss = miss;
                None
            }
        }
    }
}

/// The page-walk cache of one dimension.
#[derive(Clone, Debug)]
pub(crate) struct WalkCache {
    /// Index l − 1 holds PTEs read at level l.
    levels: [Option<Level>; 4],
}

impl WalkCache {
    /// A cache of no entries at all. Unlike [`Self::new`] it costs nothing to make: the monitor walks without one, at each of its faults.
    pub(crate) const OFF: Self = Self { levels: [const { None }; 4] };

    /// An empty cache.
    pub(crate) fn new(sizes: WalkCacheSizes) -> Self {
        Self {
            levels: core::array::from_fn(|index| {
                // An entry stands for what one PTE of its level maps: a page of that size, for the directory.
                let span = PageSize::of_level(index as u32 + 1);
                (sizes.0[index] > 0).then(|| Level {
                    array: Lru::new(&[TlbArray::new(&[span], 1, sizes.0[index])]),
                    miss: Miss::ABSENT,
                    latest: None,
                })
            }),
        }
    }

    /// The deepest table below a root table at `root_level` that is known for `address`; its entry is the most recently
    /// used one of its level. A level that is not asked, or does not answer, keeps its order.
    #[inline(always)]
    pub(crate) fn deepest(&mut self, spaces: Spaces, address: u64, root_level: u32) -> Option<Start> {
        for level in 1..=root_level {
            let Some(cached) = &mut self.levels[level as usize - 1] else { continue };
            if let Some(pointer) = cached.find(spaces, address, level) {
                return Some(Start { level: level - 1, table: pointer.table, global: pointer.space != spaces.local });
            }
        }
        None
    }

    /// Keeps a non-leaf PTE read at `level` on the way to `address`, for which [`Self::deepest`] was asked when the walk began, and did not
    /// find it at this level. `global` is G of it or of one above it.
    #[inline(always)]
    pub(crate) fn fill(&mut self, spaces: Spaces, address: u64, level: u32, table: u64, global: bool) {
        let Some(cached) = &mut self.levels[level as usize - 1] else { return };
        let pointer = Pointer { space: spaces.of(global), table };
        let span = PageSize::of_level(level);
        cached.array.fill(address, span, cached.miss, |_| pointer, |other| other.space == pointer.space);
        // Nothing else there answers, or the walk would have begun there.
        cached.latest = Some(Latest { prefix: address >> span.shift(), spaces, pointer });
    }

    /// Drops the entries of the spaces that `drops` names.
    pub(crate) fn remove(&mut self, drops: impl Fn(Space) -> bool) {
        for level in self.levels.iter_mut().flatten() {
            level.array.remove(|pointer| drops(pointer.space));
            level.latest = None;
        }
    }
}
