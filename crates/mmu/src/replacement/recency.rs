//! The order in which the ways of each set were last used, exactly.
//!
//! Where no set has more than 32 ways, each way has a rank, 0 for the most recently used one; the ranks of a set are one vector, so that a
//! use moves all of them at once. In larger sets the slots form a ring in the order of their last use, which takes a fixed number of steps
//! whatever the ways.

use super::policy::Shape;
use crate::raw::lanes::{self, BYTES, Bytes, LANES};
use crate::tlb::way::Way;

/// The order of use of all ways, by set.
#[derive(Clone, Debug)]
pub(crate) enum Recency {
    /// By the first group of each set.
    Ranks(Box<[Ranks]>),
    Rings(Rings),
}

impl Recency {
    /// Of unused sets.
    pub(crate) fn new(mut arrays: impl Iterator<Item = Shape> + Clone) -> Self {
        if arrays.clone().any(|array| array.ways > BYTES) {
            return Self::Rings(Rings::new(arrays));
        }
        let groups = |array: Shape| core::iter::repeat_n(Ranks::new(array.ways), array.sets * Self::groups(array.ways));
        Self::Ranks(arrays.by_ref().flat_map(groups).collect())
    }

    /// Groups that a set of this many ways takes.
    pub(crate) const fn groups(ways: usize) -> usize {
        ways.div_ceil(LANES)
    }

    /// Makes a way the most recently used one of its set.
    #[inline(always)]
    pub(crate) fn used(&mut self, way: Way) {
        match self {
            Self::Ranks(ranks) => {
                let ranks = &mut ranks[way.set];
                ranks.used(ranks.0.0[way.way() % BYTES]);
            }
            Self::Rings(rings) => rings.used(way),
        }
    }

    /// The least recently used way of a set of this many, which becomes the most recently used one if `taken` says so of it; and whether it did.
    #[inline(always)]
    pub(crate) fn replace(&mut self, set: usize, ways: usize, taken: impl FnOnce(Way) -> bool) -> (Way, bool) {
        match self {
            Self::Ranks(ranks) => {
                let ranks = &mut ranks[set];
                let way = Way::new(set, ranks.earliest(ways));
                let taken = taken(way);
                if taken {
                    ranks.used(ways as i8 - 1);
                }
                (way, taken)
            }
            Self::Rings(rings) => {
                let way = Way::new(set, rings.earliest(set));
                let taken = taken(way);
                if taken {
                    rings.used(way);
                }
                (way, taken)
            }
        }
    }

    /// The least recently used way of a set.
    pub(crate) fn earliest(&self, set: usize) -> usize {
        match self {
            Self::Ranks(ranks) => ranks[set].latest_rank(),
            Self::Rings(rings) => rings.earliest(set),
        }
    }

    /// How many ways of the same set were used after `way`.
    pub(crate) fn age(&self, way: Way) -> usize {
        match self {
            Self::Ranks(ranks) => ranks[way.set].0.0[way.way() % BYTES].cast_unsigned().into(),
            Self::Rings(rings) => rings.age(way),
        }
    }

    /// Makes a way that is empty now the least recently used one of its set.
    pub(crate) fn emptied(&mut self, way: &Way) {
        match self {
            Self::Ranks(ranks) => ranks[way.set].emptied(way.way()),
            Self::Rings(rings) => rings.emptied(way),
        }
    }
}

/// The ranks of a set's ways.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ranks(Bytes);

impl Ranks {
    /// What is beyond the ways has this rank, and keeps it.
    const PADDING: i8 = i8::MAX;

    fn new(ways: usize) -> Self {
        Self(Bytes(core::array::from_fn(|way| if way < ways { way as i8 } else { Self::PADDING })))
    }

    /// Makes the way of that rank the most recently used one.
    #[inline(always)]
    fn used(&mut self, rank: i8) {
        lanes::rotate_ranks(&mut self.0, rank);
    }

    /// The way of the last rank among this many.
    #[inline(always)]
    fn earliest(&self, ways: usize) -> usize {
        lanes::matching_bytes(&self.0, ways as i8 - 1).trailing_zeros() as usize
    }

    /// The way of the last rank, whatever their number.
    fn latest_rank(&self) -> usize {
        let ranks = self.0.0.iter().enumerate().filter(|&(_, &rank)| rank != Self::PADDING);
        ranks.max_by_key(|&(_, &rank)| rank).map_or(0, |(way, _)| way)
    }

    fn emptied(&mut self, way: usize) {
        let rank = self.0.0[way];
        let mut last = rank;
        for other in self.0.0.iter_mut().filter(|other| (rank..Self::PADDING).contains(*other)) {
            last = last.max(*other);
            *other -= 1;
        }
        self.0.0[way] = last;
    }
}

/// The slots before and behind one in its set's ring.
#[derive(Clone, Copy, Debug, Default)]
struct Neighbours {
    /// The one used next after it; of the latest one, the earliest.
    later: u32,
    /// The one used last before it; of the earliest one, the latest.
    earlier: u32,
}

/// The rings of all sets.
#[derive(Clone, Debug)]
pub(crate) struct Rings {
    /// By slot.
    neighbours: Box<[Neighbours]>,
    /// The most recently used slot of each set, by its first group.
    latest: Box<[u32]>,
}

impl Rings {
    fn new(arrays: impl Iterator<Item = Shape>) -> Self {
        let (mut neighbours, mut latest) = (Vec::new(), Vec::new());
        for Shape { sets, ways } in arrays {
            for _ in 0..sets {
                let first = neighbours.len();
                let at = |way: usize| (first + way % ways) as u32;
                let ring = |way: usize| Neighbours { later: at(way + ways - 1), earlier: at(way + 1) };
                latest.extend(core::iter::repeat_n(first as u32, ways.div_ceil(LANES)));
                neighbours.extend((0..ways).map(ring));
                neighbours.resize(first + ways.next_multiple_of(LANES), Neighbours::default());
            }
        }
        Self { neighbours: neighbours.into(), latest: latest.into() }
    }

    fn earliest(&self, set: usize) -> usize {
        self.neighbours[self.latest[set] as usize].later as usize - set * LANES
    }

    fn age(&self, way: Way) -> usize {
        let latest = self.latest[way.set];
        let earlier = |&slot: &u32| Some(self.neighbours[slot as usize].earlier);
        core::iter::successors(Some(latest), earlier).position(|slot| slot as usize == way.slot).unwrap_or_default()
    }

    #[inline(never)]
    fn used(&mut self, way: Way) {
        let slot = way.slot as u32;
        let before = core::mem::replace(&mut self.latest[way.set], slot);
        // Behind the latest one is the earliest: for that, the ring need only be turned.
        if before != slot && self.at(before).later != slot {
            self.insert(slot, before);
        }
    }

    fn emptied(&mut self, way: &Way) {
        let slot = way.slot as u32;
        let latest = self.latest[way.set];
        if slot == latest {
            self.latest[way.set] = self.at(slot).earlier;
        } else if self.at(latest).later != slot {
            self.insert(slot, latest);
        }
    }

    fn at(&mut self, slot: u32) -> &mut Neighbours {
        &mut self.neighbours[slot as usize]
    }

    /// Takes a slot out of its ring, and puts it between the latest one and the earliest.
    fn insert(&mut self, slot: u32, latest: u32) {
        let Neighbours { later, earlier } = *self.at(slot);
        self.at(later).earlier = earlier;
        self.at(earlier).later = later;
        let earliest = self.at(latest).later;
        *self.at(slot) = Neighbours { later: earliest, earlier: latest };
        self.at(latest).later = slot;
        self.at(earliest).earlier = slot;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranks and a ring keep the same order, through uses and removals.
    #[test]
    fn ranks_and_rings_agree() {
        for ways in [1, 2, 4, 12, 31, 32] {
            let shape = core::iter::once(Shape { sets: 2, ways });
            let mut ranks = Recency::new(shape.clone());
            let mut rings = Recency::Rings(Rings::new(shape));
            let sets = [0, Recency::groups(ways)];
            let mut seed = 1u64;
            for step in 0..2000 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let set = sets[(seed >> 40) as usize % 2];
                let way = Way::new(set, (seed >> 33) as usize % ways);
                let taken = (2..8).contains(&(seed >> 60));
                let [one, two] = [&mut ranks, &mut rings].map(|order| order.replace(set, ways, |_| taken));
                assert_eq!((one.0.slot, one.1), (two.0.slot, taken), "{ways} ways, step {step}");
                match seed >> 60 {
                    0 | 1 => [&mut ranks, &mut rings].map(|order| order.emptied(&way)),
                    2..8 => [(); 2],
                    _ => [&mut ranks, &mut rings].map(|order| order.used(way)),
                };
                assert_eq!(ranks.age(way), rings.age(way), "{ways} ways, step {step}");
                assert_eq!(ranks.earliest(set), rings.earliest(set), "{ways} ways, step {step}");
            }
        }
    }
}
