//! Pages by how recently they were used, and how many others were used since.
//!
//! The distance of a use is how many other pages have been used since the latest use of its page (Mattson et al. 1970). A tree of sums over the times of
//! latest uses answers that in logarithmic time (Bennett and Kruskal 1975; the tree is Fenwick's, 1994).

use std::collections::HashMap;
use std::hash::Hash;

/// Slots of a stack that has no pages yet.
const FEWEST_SLOTS: usize = 1 << 10;

/// Pages by how recently they were used.
#[derive(Debug)]
pub(super) struct Stack<P> {
    /// By page: the slot of its latest use.
    latest: HashMap<P, usize>,
    /// By slot: the page whose latest use it is.
    slots: Vec<Option<P>>,
    /// Sums over slots that have a page.
    tree: Vec<u32>,
    /// The next slot.
    next: usize,
    /// The most pages.
    most: usize,
    forgotten: u64,
}

impl<P: Copy + Eq + Hash> Stack<P> {
    /// None yet, and at the most `most`. Beyond that, the one whose latest use is longest ago is forgotten.
    pub(super) fn new(most: usize) -> Self {
        let slots = FEWEST_SLOTS;
        Self {
            latest: HashMap::new(),
            slots: vec![None; slots],
            tree: vec![0; slots + 1],
            next: 0,
            most: most.max(1),
            forgotten: 0,
        }
    }

    /// A page is used: its distance; `None` of the first use.
    pub(super) fn touch(&mut self, page: P) -> Option<u64> {
        if self.next == self.slots.len() {
            self.renumber();
        }
        let distance = self.latest.get(&page).copied().map(|slot| {
            let distance = self.latest.len() as u64 - u64::from(self.up_to(slot));
            self.slots[slot] = None;
            self.change(slot, u32::wrapping_sub, 1);
            distance
        });
        if distance.is_none() && self.latest.len() >= self.most {
            self.forget_one();
        }
        self.latest.insert(page, self.next);
        self.slots[self.next] = Some(page);
        self.change(self.next, u32::wrapping_add, 1);
        self.next += 1;
        distance
    }

    /// Pages that were forgotten: a later use of one counts as the first.
    pub(super) const fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Pages whose latest use is at `slot` or before.
    fn up_to(&self, slot: usize) -> u32 {
        let (mut index, mut sum) = (slot + 1, 0);
        while index > 0 {
            sum += self.tree[index];
            index &= index - 1;
        }
        sum
    }

    fn change(&mut self, slot: usize, by: fn(u32, u32) -> u32, count: u32) {
        let mut index = slot + 1;
        while index < self.tree.len() {
            self.tree[index] = by(self.tree[index], count);
            index += index & index.wrapping_neg();
        }
    }

    /// Forgets the page whose latest use is longest ago.
    #[cold]
    fn forget_one(&mut self) {
        // The first slot with a page is the first whose sum is one.
        let (mut index, mut bit) = (0, self.slots.len().next_power_of_two());
        while bit > 0 {
            if index + bit < self.tree.len() && self.tree[index + bit] == 0 {
                index += bit;
            }
            bit >>= 1;
        }
        if let Some(page) = self.slots[index].take() {
            self.latest.remove(&page);
            self.change(index, u32::wrapping_sub, 1);
            self.forgotten += 1;
        }
    }

    /// Gives the pages the first slots, in the same order, and as many slots more as there are pages.
    #[cold]
    fn renumber(&mut self) {
        let pages: Vec<P> = self.slots.iter().filter_map(|page| *page).collect();
        let slots = (2 * pages.len()).max(FEWEST_SLOTS);
        self.next = pages.len();
        for (slot, page) in pages.iter().enumerate() {
            self.latest.insert(*page, slot);
        }
        self.slots = pages.into_iter().map(Some).chain(std::iter::repeat(None)).take(slots).collect();
        self.tree = vec![0; slots + 1];
        for index in 1..=slots {
            self.tree[index] += u32::from(self.slots[index - 1].is_some());
            let parent = index + (index & index.wrapping_neg());
            if parent <= slots {
                self.tree[parent] += self.tree[index];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition: the place in a list of pages, the latest first.
    #[derive(Default)]
    struct Naive(Vec<u16>);

    impl Naive {
        fn touch(&mut self, page: u16, most: usize) -> Option<u64> {
            let found = self.0.iter().position(|other| *other == page);
            if let Some(place) = found {
                self.0.remove(place);
            }
            self.0.insert(0, page);
            self.0.truncate(most);
            found.map(|place| place as u64)
        }
    }

    fn agrees(pages: &[u16], most: usize) {
        let (mut stack, mut naive) = (Stack::new(most), Naive::default());
        for (number, &page) in pages.iter().enumerate() {
            assert_eq!(stack.touch(page), naive.touch(page, most), "use {number}, of page {page}");
        }
    }

    proptest! {
        #[test]
        fn distances_are_those_of_a_list(pages in prop::collection::vec(0u16..300, 0..6000), most in 1usize..400) {
            agrees(&pages, most);
        }

        #[test]
        fn many_pages_are_renumbered(pages in prop::collection::vec(0u16..3000, 4000..9000)) {
            agrees(&pages, usize::MAX);
        }
    }

    #[test]
    fn distances_are_those_of_the_example() {
        let mut stack = Stack::new(10);
        let distances: Vec<_> = ['a', 'b', 'c', 'b', 'b', 'a', 'c'].into_iter().map(|page| stack.touch(page)).collect();
        assert_eq!(distances, [None, None, None, Some(1), Some(0), Some(2), Some(2)]);
    }

    #[test]
    fn what_is_forgotten_is_counted() {
        let mut stack = Stack::new(2);
        assert_eq!(['a', 'b', 'c', 'a'].map(|page| stack.touch(page)), [None; 4]);
        assert_eq!(stack.forgotten(), 2);
    }
}
