//! The policies of a level's arrays, asked by the numbers that a tag array gives to sets and slots.

use super::{Recency, Replacement, ReplacementPolicy, Shape};
use crate::tlb::way::Way;

/// The policy of each array of a level, in the order of the arrays.
#[derive(Clone, Debug)]
pub(crate) struct ByArray(Box<[OfArray]>);

#[derive(Clone, Debug)]
struct OfArray {
    /// Group of the level that is the array's first, and the one behind its last.
    first: usize,
    end: usize,
    /// Groups of a set.
    groups: usize,
    shape: Shape,
    policy: Box<dyn Replacement>,
}

impl ByArray {
    /// Of arrays whose ways are all empty; a tag array lays them out one behind the other.
    pub(crate) fn new(arrays: impl Iterator<Item = (Shape, ReplacementPolicy)>) -> Self {
        let mut first = 0;
        let of_array = |(shape, policy): (Shape, ReplacementPolicy)| {
            let groups = Recency::groups(shape.ways);
            let of_array =
                OfArray { first, end: first + shape.sets * groups, groups, shape, policy: policy.build(shape) };
            first = of_array.end;
            of_array
        };
        Self(arrays.map(of_array).collect())
    }

    /// The array of a set, given by its first group, and the number of the set in that array.
    fn of(&mut self, set: usize) -> (&mut OfArray, usize) {
        let of_array = self.0.iter_mut().find(|of_array| set < of_array.end).expect("the set is one of the level");
        let number = (set - of_array.first) / of_array.groups;
        (of_array, number)
    }

    /// Ways of a set.
    pub(crate) fn ways(&mut self, set: usize) -> usize {
        self.of(set).0.shape.ways
    }

    /// The first group of each set.
    pub(crate) fn sets(&self) -> impl Iterator<Item = usize> + use<> {
        let bounds: Vec<_> = self.0.iter().map(|it| (it.first, it.end, it.groups)).collect();
        bounds.into_iter().flat_map(|(first, end, groups)| (first..end).step_by(groups))
    }

    /// A lookup hits the page in a way: [`Replacement::touch`] of the array's policy.
    pub(crate) fn touch(&mut self, way: Way) {
        let (of_array, set) = self.of(way.set);
        of_array.policy.touch(set, way.way());
    }

    /// A page is put into a way: [`Replacement::insert`] of the array's policy.
    pub(crate) fn insert(&mut self, way: Way) {
        let (of_array, set) = self.of(way.set);
        of_array.policy.insert(set, way.way());
    }

    /// The way whose page makes room: [`Replacement::victim`] of the array's policy.
    pub(crate) fn victim(&mut self, set: usize) -> Way {
        let (of_array, number) = self.of(set);
        Way::new(set, of_array.policy.victim(number))
    }

    /// A fence removes the page in a way: [`Replacement::invalidate`] of the array's policy.
    pub(crate) fn invalidate(&mut self, way: &Way) {
        let (of_array, set) = self.of(way.set);
        of_array.policy.invalidate(set, way.way());
    }
}
