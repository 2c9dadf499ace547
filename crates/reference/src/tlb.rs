//! A TLB level of any geometry.

use crate::cache::Set;
use crate::replacement::{Chooser, Policy};
use types::{Asid, Gpa, Hpa, PageSize, Vmid};

/// Whose entry it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    /// An address space's.
    Asid(Asid),
    /// Every address space's.
    Global,
    /// Without an ASID: made without first-stage translation.
    Bare,
}

/// A cached translation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    /// The virtual machine.
    pub(crate) vmid: Vmid,
    /// The address space in it.
    pub(crate) owner: Owner,
    /// Start of the virtual page (for the nested TLB, of the guest physical one).
    pub(crate) page: u64,
    /// Its size.
    pub(crate) size: PageSize,
    /// Where it is in guest physical memory.
    pub(crate) gpa: Gpa,
    /// Where it is in the host.
    pub(crate) hpa: Hpa,
    /// Whether it is memory.
    pub(crate) memory: bool,
    /// The first stage's leaf; `None` without first stage.
    pub(crate) first: Option<u64>,
    /// The second stage's leaf; `None` without second stage.
    pub(crate) second: Option<u64>,
}

impl Entry {
    /// Whether an address is in its page.
    pub(crate) fn holds(&self, address: u64) -> bool {
        address / self.size.bytes() == self.page / self.size.bytes()
    }

    /// The part of it around `address`, of a smaller size.
    pub(crate) fn cut(&self, address: u64, size: PageSize) -> Self {
        let page = address / size.bytes() * size.bytes();
        let skipped = page - self.page;
        Self { page, size, gpa: Gpa(self.gpa.0 + skipped), hpa: Hpa(self.hpa.0 + skipped), ..*self }
    }
}

/// Geometry of an array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Array {
    /// Sizes that it takes.
    pub sizes: Vec<PageSize>,
    /// Sets.
    pub sets: u64,
    /// Ways.
    pub ways: usize,
    /// Which way of a full set gives way.
    pub policy: Policy,
}

/// Where an entry is: array, set, way.
pub type Position = (usize, usize, usize);

/// A level: some arrays.
#[derive(Clone, Debug)]
pub(crate) struct Tlb {
    arrays: Vec<(Array, Vec<Set<Entry>>)>,
    /// Of each array.
    choosers: Vec<Chooser>,
}

impl Tlb {
    /// Empty arrays.
    pub(crate) fn new(arrays: &[Array]) -> Self {
        let build = |array: &Array| (array.clone(), vec![Set::new(array.ways); array.sets as usize]);
        let choosers = arrays.iter().map(|array| Chooser::new(array.policy, array.sets)).collect();
        Self { arrays: arrays.iter().map(build).collect(), choosers }
    }

    fn set_of(array: &Array, address: u64, size: PageSize) -> usize {
        (address / size.bytes() % array.sets) as usize
    }

    /// The first entry for `address` that is accepted: arrays in order, sizes ascending, ways in order.
    pub(crate) fn find(&self, address: u64, accepted: impl Fn(&Entry) -> bool) -> Option<(Position, Entry)> {
        for (number, (array, sets)) in self.arrays.iter().enumerate() {
            for size in PageSize::ALL.into_iter().filter(|size| array.sizes.contains(size)) {
                let set = Self::set_of(array, address, size);
                let page = address / size.bytes() * size.bytes();
                let wanted = |entry: &Entry| entry.size == size && entry.page == page && accepted(entry);
                if let Some(way) = sets[set].find(wanted) {
                    return Some(((number, set, way), *sets[set].get(way)?));
                }
            }
        }
        None
    }

    /// What is at a position.
    pub(crate) fn get(&self, (array, set, way): Position) -> Option<Entry> {
        self.arrays[array].1[set].get(way).copied()
    }

    /// Records a use.
    pub(crate) fn use_at(&mut self, (array, set, way): Position, time: u64) {
        self.arrays[array].1[set].use_way(way, time);
    }

    /// Keeps an entry at the largest size that is taken and not above its own.
    pub(crate) fn fill(&mut self, address: u64, entry: &Entry, time: u64) -> Option<(Position, Entry)> {
        let takes = |size: PageSize| self.arrays.iter().position(|(array, _)| array.sizes.contains(&size));
        let size =
            PageSize::ALL.into_iter().rev().filter(|&size| size <= entry.size).find(|&size| takes(size).is_some())?;
        let number = takes(size)?;
        let entry = entry.cut(address, size);
        let (array, sets) = &mut self.arrays[number];
        let set = Self::set_of(array, address, size);
        let same = |other: &Entry| {
            (other.vmid, other.owner, other.page, other.size) == (entry.vmid, entry.owner, entry.page, entry.size)
        };
        let way = sets[set].fill(entry, time, same, set as u64, &mut self.choosers[number]);
        Some(((number, set, way), entry))
    }

    /// Removes what is named.
    pub(crate) fn remove(&mut self, named: impl Fn(&Entry) -> bool) {
        for (_, sets) in &mut self.arrays {
            sets.iter_mut().for_each(|set| set.remove(&named));
        }
    }
}
