//! The page-walk cache of tables in a format of a scheme's own: entries of upper levels, by where they are. (Radix tables have theirs by address
//! prefix, `walk_cache.rs`; a format need not have prefixes.)

use crate::config::WalkCacheSizes;
use types::{Hpa, Vmid};

/// One kept entry.
#[derive(Clone, Copy, Debug)]
struct Kept {
    vmid: Vmid,
    at: Hpa,
    entry: u64,
}

/// Fully associative for each level, least recently used first.
#[derive(Clone, Debug)]
pub(crate) struct EntryCache {
    sizes: WalkCacheSizes,
    levels: [Vec<Kept>; 4],
}

impl EntryCache {
    /// With as many entries as the second stage's page-walk cache has.
    pub(crate) const fn new(sizes: WalkCacheSizes) -> Self {
        Self { sizes, levels: [const { Vec::new() }; 4] }
    }

    /// The entry of `level`, from 1 on, at `at`, if it is kept.
    pub(crate) fn look_up(&mut self, vmid: Vmid, level: u32, at: Hpa) -> Option<u64> {
        let kept = self.levels.get_mut(level.checked_sub(1)? as usize)?;
        let index = kept.iter().position(|kept| kept.vmid == vmid && kept.at == at)?;
        kept[index..].rotate_left(1);
        kept.last().map(|kept| kept.entry)
    }

    /// Keeps an entry that was read. One that is zero leads nowhere, and is not kept.
    pub(crate) fn keep(&mut self, vmid: Vmid, level: u32, at: Hpa, entry: u64) {
        let Some(index) = level.checked_sub(1).map(|index| index as usize) else { return };
        let (Some(kept), Some(&size)) = (self.levels.get_mut(index), self.sizes.0.get(index)) else { return };
        if entry == 0 || size == 0 {
            return;
        }
        if kept.len() == size as usize {
            kept.remove(0);
        }
        kept.push(Kept { vmid, at, entry });
    }

    /// Drops the entries of a VM; of every one where none is named.
    pub(crate) fn remove(&mut self, vmid: Option<Vmid>) {
        for kept in &mut self.levels {
            kept.retain(|kept| vmid.is_some_and(|vmid| vmid != kept.vmid));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_entry_of_a_level_makes_room() {
        let mut cache = EntryCache::new(WalkCacheSizes([2, 1, 0, 0]));
        let vmid = Vmid(1);
        for at in [8, 16] {
            cache.keep(vmid, 1, Hpa(at), at + 1);
        }
        assert_eq!(cache.look_up(vmid, 1, Hpa(8)), Some(9));
        cache.keep(vmid, 1, Hpa(24), 25);
        assert_eq!([8, 16, 24].map(|at| cache.look_up(vmid, 1, Hpa(at))), [Some(9), None, Some(25)]);
        assert_eq!(cache.look_up(Vmid(2), 1, Hpa(8)), None, "another VM's");
        assert_eq!(cache.look_up(vmid, 2, Hpa(8)), None, "another level's");
        cache.keep(vmid, 3, Hpa(8), 9);
        cache.keep(vmid, 2, Hpa(8), 0);
        assert_eq!([0, 2, 3, 5].map(|level| cache.look_up(vmid, level, Hpa(8))), [None; 4]);
    }

    #[test]
    fn a_fence_drops_the_entries_of_its_vm() {
        let mut cache = EntryCache::new(WalkCacheSizes::ON);
        let all = |cache: &mut EntryCache| [1, 2].map(|vmid| cache.look_up(Vmid(vmid), 1, Hpa(8)).is_some());
        [1, 2].into_iter().for_each(|vmid| cache.keep(Vmid(vmid), 1, Hpa(8), 9));
        cache.remove(Some(Vmid(1)));
        assert_eq!(all(&mut cache), [false, true]);
        cache.remove(None);
        assert_eq!(all(&mut cache), [false, false]);
    }
}
