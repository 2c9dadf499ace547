//! LRU stacks (Mattson et al., "Evaluation techniques for storage hierarchies", 1970): one for each set of an array, for any number of ways.
//!
//! A set with n ways holds what is at the first n places of its stack. So the place of a page tells for each number of ways whether an access
//! hits, and one pass counts for all of them.
//!
//! **Fences.** A page that a fence removes leaves a hole at its place: each set that held it has an empty way. A page that is inserted moves the
//! others down to the first hole, which is gone then: sets that reach it had an empty way to fill, and replace nothing. A page that is used leaves a
//! hole at its own place, if there is one above it: sets that reach its place held it, and fill no empty way. An empty stack has holes alone.

/// Places that are compared at once.
const LANES: usize = 8;
/// A hole. No page has this identifier.
const HOLE: u32 = 0;
/// What is behind the last place. No page has this identifier.
const PADDING: u32 = u32::MAX;

/// The stacks of all sets of an array.
#[derive(Clone, Debug)]
pub(crate) struct Stacks {
    /// Sets − 1.
    mask: u64,
    /// Places that are kept.
    ways: usize,
    /// Places of a set in memory.
    stride: usize,
    /// Identifiers of pages, set by set, the latest page of each first.
    places: Box<[u32]>,
}

impl Stacks {
    /// Empty stacks of `sets`, a power of two, for up to `ways`.
    pub(crate) fn new(sets: u32, ways: u32) -> Self {
        let ways = ways as usize;
        let stride = ways.next_multiple_of(LANES);
        let set = (0..stride).map(|place| if place < ways { HOLE } else { PADDING });
        let places = core::iter::repeat_n(set, sets as usize).flatten().collect();
        Self { mask: u64::from(sets) - 1, ways, stride, places }
    }

    /// The places of the set of the page with that number.
    #[inline(always)]
    fn set(&mut self, number: u64) -> &mut [u32] {
        let first = (number & self.mask) as usize * self.stride;
        &mut self.places[first..][..self.stride]
    }

    /// The page with that number and identifier is used, and inserted if it is absent. Its place before: an access misses with as many ways or
    /// fewer. It is `usize::MAX` if the page is absent.
    #[inline(always)]
    pub(crate) fn used(&mut self, number: u64, page: u32) -> usize {
        let ways = self.ways;
        let set = self.set(number);
        if set[0] == page {
            return 0;
        }
        let (mut hole, mut found) = (usize::MAX, usize::MAX);
        for (group, places) in set.as_chunks::<LANES>().0.iter().enumerate() {
            let here = matching(places, page);
            if hole == usize::MAX {
                let holes = matching(places, HOLE);
                if holes != 0 {
                    hole = group * LANES + holes.trailing_zeros() as usize;
                }
            }
            if here != 0 {
                found = group * LANES + here.trailing_zeros() as usize;
                break;
            }
        }
        let last = found.min(hole).min(ways - 1);
        if last < LANES {
            let mut above = page;
            for place in &mut set[..=last] {
                above = core::mem::replace(place, above);
            }
        } else {
            set.copy_within(..last, 1);
            set[0] = page;
        }
        if hole < found && found != usize::MAX {
            set[found] = HOLE;
        }
        found
    }

    /// Removes the page with that number and identifier, if it is there.
    pub(crate) fn remove(&mut self, number: u64, page: u32) {
        for place in self.set(number).iter_mut().filter(|place| **place == page) {
            *place = HOLE;
        }
    }

    /// Removes the pages that `drops` names by their identifiers.
    pub(crate) fn remove_where(&mut self, drops: impl Fn(u32) -> bool) {
        for place in &mut self.places {
            if *place != HOLE && *place != PADDING && drops(*place) {
                *place = HOLE;
            }
        }
    }
}

/// A bit for each of the places that holds `page`, from the lowest on.
#[inline(always)]
fn matching(places: &[u32; LANES], page: u32) -> u32 {
    let mut mask = 0;
    for (lane, &place) in places.iter().enumerate() {
        mask |= u32::from(place == page) << lane;
    }
    mask
}

#[cfg(test)]
mod tests {
    use super::*;
    use testing::{Random, seed};

    /// A set of so many ways: the pages that it holds, the latest first.
    struct Set {
        ways: usize,
        pages: Vec<u32>,
    }

    impl Set {
        /// Whether it hits.
        fn used(&mut self, page: u32) -> bool {
            let before = self.pages.iter().position(|&other| other == page);
            if let Some(at) = before {
                self.pages.remove(at);
            }
            self.pages.insert(0, page);
            self.pages.truncate(self.ways);
            before.is_some()
        }
    }

    /// A stack of each depth against a set of each number of ways, through uses and removals.
    #[test]
    fn a_stack_is_a_set_of_every_number_of_ways() {
        let seed = seed("STACK_SEED");
        let mut random = Random::new(seed);
        for episode in 0..200 {
            let most = random.pick(&[1_u32, 3, 8, 9, 24]);
            let pages = random.pick(&[1, 2, 5, 30_u64]);
            let removals = random.pick(&[2, 5, 50, 1000]);
            let mut stack = Stacks::new(1, most);
            let mut sets: Vec<Set> = (1..=most as usize).map(|ways| Set { ways, pages: Vec::new() }).collect();
            for step in 0..500 {
                let page = 1 + random.below(pages) as u32;
                if random.one_in(removals) {
                    if random.one_in(8) {
                        stack.remove_where(|other| other % 2 == page % 2);
                        sets.iter_mut().for_each(|set| set.pages.retain(|other| other % 2 != page % 2));
                    } else {
                        stack.remove(0, page);
                        sets.iter_mut().for_each(|set| set.pages.retain(|other| *other != page));
                    }
                    continue;
                }
                let place = stack.used(0, page);
                for set in &mut sets {
                    let hits = set.used(page);
                    assert_eq!(place < set.ways, hits, "STACK_SEED={seed}: {episode}, {step}: {} ways", set.ways);
                }
            }
        }
    }

    /// Of n pages in a cycle, fewer ways than n never hit, and n or more always do.
    #[test]
    fn a_cycle_hits_if_all_of_it_fits() {
        for pages in [1, 2, 7, 8, 9, 20] {
            let mut stack = Stacks::new(1, 20);
            for round in 0..3 {
                for page in 1..=pages {
                    let place = stack.used(0, page);
                    assert_eq!(place, if round == 0 { usize::MAX } else { pages as usize - 1 });
                }
            }
        }
    }
}
