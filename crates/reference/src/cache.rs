//! One set with LRU replacement: a list of ways, each with the time of its last use.

/// A set of a fixed number of ways.
#[derive(Clone, Debug)]
pub(crate) struct Set<T> {
    ways: Vec<Option<(T, u64)>>,
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
        if let Some((_, used)) = &mut self.ways[way] {
            *used = time;
        }
    }

    /// Puts a thing in: over the same thing, else into the first empty way, else over the least recently used one.
    pub(crate) fn fill(&mut self, thing: T, time: u64, same: impl Fn(&T) -> bool) -> usize {
        let empty = || self.ways.iter().position(Option::is_none);
        let way = self.find(same).or_else(empty).unwrap_or_else(|| self.least_recently_used());
        self.ways[way] = Some((thing, time));
        way
    }

    fn least_recently_used(&self) -> usize {
        let used = |way: usize| self.ways[way].as_ref().map(|(_, used)| used);
        let mut oldest = 0;
        for way in 1..self.ways.len() {
            if used(way) < used(oldest) {
                oldest = way;
            }
        }
        oldest
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
