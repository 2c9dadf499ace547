//! One set: a list of ways, each with what the replacement policy notes of it.

use crate::replacement::{Chooser, Notes};

/// A set of a fixed number of ways.
#[derive(Clone, Debug)]
pub(crate) struct Set<T> {
    ways: Vec<Option<(T, Notes)>>,
}

impl<T: Copy> Set<T> {
    /// Empty ways.
    pub(crate) fn new(ways: usize) -> Self {
        Self { ways: vec![None; ways] }
    }

    /// Whether it has no ways at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.ways.is_empty()
    }

    /// What is in each way.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        self.ways.iter().enumerate().filter_map(|(way, slot)| slot.as_ref().map(|(thing, _)| (way, thing)))
    }

    /// The first way that holds what is looked for.
    pub(crate) fn find(&self, wanted: impl Fn(&T) -> bool) -> Option<usize> {
        self.iter().find(|(_, thing)| wanted(thing)).map(|(way, _)| way)
    }

    /// What a way holds.
    pub(crate) fn get(&self, way: usize) -> Option<&T> {
        self.ways[way].as_ref().map(|(thing, _)| thing)
    }

    /// Records a use.
    pub(crate) fn use_way(&mut self, way: usize, time: u64) {
        if let Some((_, notes)) = &mut self.ways[way] {
            notes.use_now(time);
        }
    }

    /// Puts a thing in: over the same thing, which is a use of it, else into the first empty way, else over the one that is chosen.
    /// `number` is that of the set.
    pub(crate) fn fill(
        &mut self,
        thing: T,
        time: u64,
        same: impl Fn(&T) -> bool,
        number: u64,
        chooser: &mut Chooser,
    ) -> usize {
        if let Some(way) = self.find(same) {
            self.use_way(way, time);
            self.ways[way] = self.ways[way].as_ref().map(|&(_, notes)| (thing, notes));
            return way;
        }
        let empty = self.ways.iter().position(Option::is_none);
        let way =
            empty.unwrap_or_else(|| chooser.choose(self.ways.iter_mut().flatten().map(|(_, notes)| notes).collect()));
        self.ways[way] = Some((thing, Notes::new(time, chooser.prediction_of_new(number))));
        way
    }

    /// Empties the ways that hold what is named.
    pub(crate) fn remove(&mut self, named: impl Fn(&T) -> bool) {
        for slot in &mut self.ways {
            if let Some((thing, _)) = slot
                && named(thing)
            {
                *slot = None;
            }
        }
    }
}
