//! A page-walk cache of one dimension.

use crate::agile::found::Found;
use crate::cache::Set;
use crate::replacement::{Chooser, Policy};
use crate::tlb::Owner;
use types::Vmid;

/// A page-walk cache: per level a list of pointers by the address range they are for.
#[derive(Clone, Debug)]
pub(crate) struct WalkCache(Vec<Set<Pointer>>);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Pointer {
    pub(crate) vmid: Vmid,
    pub(crate) owner: Owner,
    /// Which of the ranges that one entry of this level spans.
    pub(crate) range: u64,
    pub(crate) table: u64,
    /// How the table was found, in a walk of agile paging.
    pub(crate) found: Option<Found>,
}

pub(crate) fn range_of(address: u64, level: u32) -> u64 {
    address / 4096 / 512u64.pow(level)
}

impl WalkCache {
    pub(crate) fn new(entries: [u32; 4]) -> Self {
        Self(entries.map(|entries| Set::new(entries as usize)).to_vec())
    }

    pub(crate) fn deepest(
        &mut self,
        levels: u32,
        address: u64,
        time: u64,
        seen: &dyn Fn(Vmid, Owner) -> bool,
    ) -> Option<(u32, Pointer)> {
        for level in 1..levels {
            let set = &mut self.0[level as usize - 1];
            let wanted = |it: &Pointer| it.range == range_of(address, level) && seen(it.vmid, it.owner);
            if let Some(way) = set.find(wanted) {
                set.use_way(way, time);
                let pointer = set.get(way)?;
                return Some((level, *pointer));
            }
        }
        None
    }

    pub(crate) fn fill(&mut self, level: u32, pointer: Pointer, time: u64) {
        let set = &mut self.0[level as usize - 1];
        if set.is_empty() {
            return;
        }
        let same = |it: &Pointer| (it.vmid, it.owner, it.range) == (pointer.vmid, pointer.owner, pointer.range);
        set.fill(pointer, time, same, 0, &mut Chooser::new(Policy::Lru, 1));
    }

    /// Removes the pointers that are named.
    pub(crate) fn remove(&mut self, named: impl Fn(&Pointer) -> bool) {
        for set in &mut self.0 {
            set.remove(&named);
        }
    }
}
