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

/// The page-walk cache of one dimension.
#[derive(Debug)]
pub(crate) struct WalkCache {
    /// Index l − 1 holds PTEs read at level l.
    levels: [Option<Lru<Pointer>>; 4],
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
                (sizes.0[index] > 0).then(|| Lru::new(&[TlbArray::new(&[span], 1, sizes.0[index])]))
            }),
        }
    }

    /// The deepest table below a root table at `root_level` that is known for `address`; its entry is the most recently
    /// used one of its level. A level that is not asked, or does not answer, keeps its order.
    #[inline(always)]
    pub(crate) fn deepest(&mut self, spaces: Spaces, address: u64, root_level: u32) -> Option<Start> {
        for level in 1..=root_level {
            let Some(array) = &mut self.levels[level as usize - 1] else { continue };
            if let Ok(pointer) = array.touch(address, |pointer| spaces.contain(pointer.space)) {
                return Some(Start { level: level - 1, table: pointer.table, global: pointer.space != spaces.local });
            }
        }
        None
    }

    /// Keeps a non-leaf PTE read at `level` on the way to `address`. `global` is G of it or of one above it.
    pub(crate) fn fill(&mut self, spaces: Spaces, address: u64, level: u32, table: u64, global: bool) {
        let Some(array) = &mut self.levels[level as usize - 1] else { return };
        let space = spaces.of(global);
        let span = PageSize::of_level(level);
        array.fill(address, span, Miss::Refused, |_| Pointer { space, table }, |other| other.space == space);
    }

    /// Drops the entries of the spaces that `drops` names.
    pub(crate) fn remove(&mut self, drops: impl Fn(Space) -> bool) {
        for array in self.levels.iter_mut().flatten() {
            array.remove(|pointer| drops(pointer.space));
        }
    }
}
