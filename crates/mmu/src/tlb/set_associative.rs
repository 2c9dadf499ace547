//! Set-associative arrays with a replacement policy: the L2 TLB, the nested TLB and each level of a walk cache.
//!
//! Where every array of a level is LRU, the order of last use is kept here and inlined. Empty slots are then the least recently used ones of their
//! set. Else each array has its own policy, which is called out of line. Of several empty slots the first in the set is taken.

use crate::config::TlbArray;
use crate::replacement::{ByArray, Recency};
use crate::tlb::tag_array::{BasePage, Miss, TagArray};
use crate::tlb::way::Way;
use types::PageSize;

/// Arrays whose slots are replaced by a policy.
#[derive(Clone, Debug)]
pub(crate) struct SetAssociative<P> {
    tag_array: TagArray<P>,
    order: Order,
}

/// What chooses the slots that are replaced.
#[derive(Clone, Debug)]
enum Order {
    /// Every array is LRU: a hit or a fill is a use.
    Lru(Recency),
    /// Some array has another policy.
    ByArray(Box<ByArray>),
}

impl Order {
    fn new(arrays: &[TlbArray]) -> Self {
        if arrays.iter().all(|array| array.replacement.is_lru()) {
            return Self::Lru(Recency::new(arrays.iter().map(TlbArray::shape)));
        }
        Self::ByArray(Box::new(ByArray::new(arrays.iter().map(|array| (array.shape(), array.replacement)))))
    }

    /// A page that is held was used.
    #[inline(always)]
    fn used(&mut self, way: Way) {
        match self {
            Self::Lru(recency) => recency.used(way),
            Self::ByArray(policies) => touch(policies, way),
        }
    }

    /// A way is empty now.
    fn emptied(&mut self, way: &Way) {
        match self {
            Self::Lru(recency) => recency.emptied(way),
            Self::ByArray(policies) => policies.invalidate(way),
        }
    }
}

#[cold]
#[inline(never)]
fn touch(policies: &mut ByArray, way: Way) {
    policies.touch(way);
}

/// The way of a set where a page is inserted that the set does not hold.
#[cold]
#[inline(never)]
fn replace_by<P: Copy + Default>(policies: &mut ByArray, tag_array: &TagArray<P>, set: usize, ways: usize) -> Way {
    let way = tag_array.find_empty(set, ways).unwrap_or_else(|| policies.victim(set));
    policies.insert(way);
    way
}

impl<P: Copy + Default> SetAssociative<P> {
    /// Empty arrays. The configuration was checked before.
    pub(crate) fn new(arrays: &[TlbArray]) -> Self {
        Self { tag_array: TagArray::new(arrays), order: Order::new(arrays) }
    }

    /// The first page of `address` that `accept` takes, and where it is; its use is not recorded yet.
    #[inline(always)]
    pub(crate) fn find(&self, address: u64, accept: impl Fn(&P) -> bool) -> Result<(Way, &P), Miss> {
        let way = self.tag_array.find(address, accept).way()?;
        Ok((way, self.tag_array.payload(way.slot)))
    }

    /// What [`Self::find`] gives, where the arrays are one set of pages of 2^`shift` bytes.
    #[inline(always)]
    pub(crate) fn find_in_only(
        &self,
        address: u64,
        shift: u32,
        accept: impl Fn(&P) -> bool,
    ) -> Result<(Way, &P), Miss> {
        self.tag_array.find_in_only(address, shift, accept)
    }

    /// Looks at the first slot alone whose tag matches, as [`TagArray::probe_in_only`] does.
    #[inline(always)]
    pub(crate) fn probe_in_only(
        &self,
        address: u64,
        shift: u32,
        accept: impl Fn(&P) -> bool,
    ) -> Result<(Way, &P), Miss> {
        self.tag_array.probe_in_only(address, shift, accept)
    }

    /// As [`Self::fill`], of a page that is absent, where the arrays are one set of this many ways of pages of 2^`shift` bytes.
    #[inline(always)]
    pub(crate) fn fill_in_only(&mut self, address: u64, shift: u32, ways: usize, payload: &P) -> Way {
        let way = self.replace(0, ways);
        self.tag_array.put_in_only(way, address, shift, payload);
        way
    }

    /// What is kept in a slot.
    #[inline(always)]
    pub(crate) fn payload(&self, slot: usize) -> &P {
        self.tag_array.payload(slot)
    }

    /// Whether in a region there are base pages and nothing else.
    #[inline(always)]
    pub(crate) fn has_base_alone(&self, region: usize) -> bool {
        self.tag_array.has_base_alone(region)
    }

    /// Looks at the first slot alone whose tag matches, as [`TagArray::probe_base`] does.
    #[inline(always)]
    pub(crate) fn probe_base(&self, page: BasePage, accept: impl Fn(&P) -> bool) -> Result<(Way, &P), Miss> {
        self.tag_array.probe_base(page, accept)
    }

    /// As [`Self::fill`], of a base page of such a region that is absent.
    #[inline(always)]
    pub(crate) fn fill_base(&mut self, page: BasePage, payload: &P) {
        let way = self.replace(self.tag_array.base_set(page), self.tag_array.base_ways());
        self.tag_array.put_base(way, page, payload);
    }

    /// Records a use of what was found there.
    #[inline(always)]
    pub(crate) fn used(&mut self, way: Way) {
        self.order.used(way);
    }

    /// Keeps a page of `size`, or the largest piece around `address` that an array takes, in the place of the same page
    /// (one whose payload `same` takes), in an empty slot or in that of a victim. `piece` makes the payload for the size that
    /// is kept; `miss` is how the address was not found just before. Returns the page that gave way: its first byte, and its payload.
    #[inline(always)]
    pub(crate) fn fill(
        &mut self,
        address: u64,
        size: PageSize,
        miss: Miss,
        piece: impl FnOnce(PageSize) -> P,
        same: impl Fn(&P) -> bool,
    ) -> Option<(u64, P)> {
        let &place = self.tag_array.home(size)?;
        let (way, evicted) = match self.tag_array.same(size, address, miss, same) {
            Some(way) => {
                self.order.used(way);
                (way, None)
            }
            None => {
                let way = self.replace(place.set(address), place.ways as usize);
                (way, self.tag_array.occupant(way.slot))
            }
        };
        self.tag_array.put(way, place, address, &piece(place.size));
        evicted
    }

    /// The size at which a page of `size` is kept.
    pub(crate) fn kept_size(&self, size: PageSize) -> Option<PageSize> {
        self.tag_array.home(size).map(|place| place.size)
    }

    /// The way of a set where a page is inserted that the set does not hold.
    #[inline(always)]
    fn replace(&mut self, set: usize, ways: usize) -> Way {
        let Self { tag_array, order } = self;
        let recency = match order {
            Order::Lru(recency) => recency,
            Order::ByArray(policies) => return replace_by(policies, tag_array, set, ways),
        };
        let (earliest, full) = recency.replace(set, ways, |way| !tag_array.is_empty(way.slot));
        if full {
            return earliest;
        }
        let way = tag_array.first_empty(set, ways);
        recency.used(way);
        way
    }

    /// What is held: the first byte of each page, and its payload, from the least to the most recently used way of the sets. Of ways of
    /// the same age, which are in different sets, the first in the arrays comes first. Where a policy is not LRU the order of last use is not
    /// known, and all ways have the same age.
    pub(crate) fn pages_by_age(&self) -> Vec<(u64, P)> {
        let age = |way| match &self.order {
            Order::Lru(recency) => recency.age(way),
            Order::ByArray(_) => 0,
        };
        let mut pages: Vec<_> = self.tag_array.held().map(|(way, page, payload)| (age(way), page, *payload)).collect();
        pages.sort_by_key(|&(age, ..)| core::cmp::Reverse(age));
        pages.into_iter().map(|(_, page, payload)| (page, payload)).collect()
    }

    /// Drops the pages whose payload `drops` names.
    pub(crate) fn remove(&mut self, drops: impl Fn(&P) -> bool) {
        let Self { tag_array, order } = self;
        tag_array.remove(drops, |way| order.emptied(way));
    }

    /// Drops the pages of `address` whose payload `drops` names.
    pub(crate) fn remove_page(&mut self, address: u64, drops: impl Fn(&P) -> bool) {
        let Self { tag_array, order } = self;
        tag_array.remove_page(address, drops, |way| order.emptied(way));
    }
}
