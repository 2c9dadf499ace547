//! What a replacement policy is: the state of an array, and what is known of the policy.

use core::fmt;

/// The sets and ways of an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Sets.
    pub sets: usize,
    /// Ways of each set.
    pub ways: usize,
}

impl Shape {
    /// The number of a way among those of all sets.
    pub(crate) const fn slot(self, set: usize, way: usize) -> usize {
        set * self.ways + way
    }

    /// The numbers of a set's ways.
    pub(crate) const fn slots(self, set: usize) -> core::ops::Range<usize> {
        self.slot(set, 0)..self.slot(set, self.ways)
    }
}

/// The replacement state of one array. Sets and ways are counted from 0.
pub trait Replacement: CloneBoxed + fmt::Debug + Send {
    /// A lookup hits the page in a way.
    fn touch(&mut self, set: usize, way: usize);

    /// A page that the set did not hold is put into a way. What was in it before has left.
    fn insert(&mut self, set: usize, way: usize);

    /// The way whose page makes room. All ways of the set hold pages, and the next page is inserted into that way.
    fn victim(&mut self, set: usize) -> usize;

    /// A fence removes the page in a way. The way is empty until the next page of the set is inserted there, and no victim is chosen before:
    /// a policy that chooses by uses and insertions alone has nothing to do.
    fn invalidate(&mut self, set: usize, way: usize);
}

/// What makes a boxed policy cloneable; every policy that is `Clone` has it.
pub trait CloneBoxed {
    /// A copy with the same state.
    fn clone_boxed(&self) -> Box<dyn Replacement>;
}

impl<R: Replacement + Clone + 'static> CloneBoxed for R {
    fn clone_boxed(&self) -> Box<dyn Replacement> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Replacement> {
    fn clone(&self) -> Self {
        (**self).clone_boxed()
    }
}

/// What is known of a policy.
#[derive(Debug)]
pub struct PolicyFacts {
    /// Its name in configurations.
    pub name: &'static str,
    /// What it does, in a few words.
    pub summary: &'static str,
    /// Whether a seed may follow the name, as in `random:7`.
    pub seeded: bool,
    /// Why a first-level TLB cannot have it. (The hit path of an L1 leaves the time of the last hit in each entry, and reports nothing else.)
    pub refused_at_l1: Option<&'static str>,
    /// Bits of state that hardware keeps of a set with so many ways.
    pub state_bits: fn(ways: u32) -> u64,
    /// Makes the state of an array whose ways are all empty. Only a policy that is `seeded` looks at the seed.
    pub build: fn(shape: Shape, seed: u64) -> Box<dyn Replacement>,
}
