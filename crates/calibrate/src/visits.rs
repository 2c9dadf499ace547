//! The orders in which chases visit memory.

use crate::pages::BASE;
use crate::random::Random;
use crate::raw::{Chain, Mapping};

/// Lines of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lines {
    /// Bytes of memory.
    pub(crate) size: u64,
    /// Bytes of a line.
    pub(crate) line: usize,
}

/// The order of the lines of a page, or of the pages of a huge page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    Ascending,
    Random,
}

/// Memory that is visited before the next one, in random order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Window {
    /// Base pages of it.
    pub(crate) pages: u64,
    /// Lines from one that is visited to the next.
    pub(crate) every: usize,
}

impl Window {
    /// Pages enough that no prefetcher follows all of them (Intel's follow 32 by the Intel 64 and IA-32 Architectures Optimization Reference Manual, "Data
    /// Prefetching", and 64 to 128 where this was tried), and few enough for any second-level TLB. Of two neighbouring lines one is left out,
    /// because some processors fetch a line's neighbour with it.
    pub(crate) const UNFORESEEN: Self = Self { pages: 256, every: 2 };
    /// The same for many chases at the same time, each of which has its own window.
    pub(crate) const OF_MANY: Self = Self { pages: 16, every: 2 };
    /// All lines, of pages few enough for any first-level TLB.
    pub(crate) const DENSE: Self = Self { pages: 32, every: 1 };

    const fn bytes(self) -> usize {
        self.pages as usize * BASE
    }
}

impl Lines {
    /// Window by window. Where lines are left out, as many sets are, so that a cache is full with as many bytes of memory as it has.
    pub(crate) fn by_window(self, memory: &mut Mapping, window: Window) -> Chain<'_> {
        let apart = window.every * self.line;
        let mut random = Random::new(self.size);
        let size = self.size as usize;
        let mut order = Vec::with_capacity(size / apart);
        for place in random.order(size.div_ceil(window.bytes())) {
            let first = place as usize * window.bytes();
            let count = window.bytes().min(size - first) / apart;
            order.extend(random.order(count).into_iter().map(|index| first + index as usize * apart));
        }
        Chain::link(memory, order.into_iter())
    }

    /// All lines of a page before those of the next; pages in random order.
    pub(crate) fn by_page(self, memory: &mut Mapping, within: Order) -> Chain<'_> {
        let mut random = Random::new(self.size);
        let per_page = BASE / self.line;
        let mut order = Vec::with_capacity(self.size as usize / self.line);
        for page in random.order(self.size as usize / BASE) {
            let first = page as usize * BASE;
            match within {
                Order::Ascending => order.extend((0..per_page).map(|index| first + index * self.line)),
                Order::Random => {
                    order.extend(random.order(per_page).into_iter().map(|index| first + index as usize * self.line));
                }
            }
        }
        Chain::link(memory, order.into_iter())
    }
}

/// Lines at a distance from each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Spaced {
    /// How many.
    pub(crate) count: u64,
    /// Bytes from one to the next, but for which line of a page it is: a page, or more.
    pub(crate) apart: usize,
    /// Bytes of a line.
    pub(crate) line: usize,
}

impl Spaced {
    /// In random order. Lines that are a page apart, or more, fall into the sets of caches as evenly as neighbouring lines do.
    pub(crate) fn chain(self, memory: &mut Mapping) -> Chain<'_> {
        self.linked(memory, |index| self.offset(index))
    }

    /// In random order, all of them the same line of their page, so that they share a set of a cache.
    pub(crate) fn in_cache_set(self, memory: &mut Mapping) -> Chain<'_> {
        self.linked(memory, |index| index * self.apart)
    }

    /// In random order, each another line of its page: pages share a set of a TLB, and their lines do not share one of a cache.
    pub(crate) fn in_tlb_set(self, memory: &mut Mapping) -> Chain<'_> {
        self.linked(memory, |index| index * self.apart + index * self.line % BASE)
    }

    fn linked(self, memory: &mut Mapping, offset: impl Fn(usize) -> usize) -> Chain<'_> {
        let order = Random::new(self.count).order(self.count as usize);
        Chain::link(memory, order.into_iter().map(|index| offset(index as usize)))
    }

    fn offset(self, index: usize) -> usize {
        let per_page = BASE / self.line;
        // A line's number in its page, and, in a huge page, which of its base pages it lies in.
        let within = (index + index / per_page) % per_page * self.line;
        index * self.apart + index * BASE % self.apart + within
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::{HUGE, Pages, address_space, memory};
    use std::collections::BTreeMap;

    /// The offsets that a chain comes through from its first slot on, once round.
    fn lap(memory: &mut Mapping, link: impl for<'m> FnOnce(&'m mut Mapping) -> Chain<'m>) -> Vec<usize> {
        let _ = link(memory);
        let start = memory.addresses().start;
        let mut offsets = vec![0];
        loop {
            let at = memory.words()[offsets[offsets.len() - 1] / 8] as usize - start;
            if at == 0 {
                return offsets;
            }
            offsets.push(at);
        }
    }

    #[test]
    fn a_page_comes_at_a_time_with_each_of_its_lines() {
        let lines = Lines { size: 3 * BASE as u64, line: 64 };
        let mut memory = memory(3 * BASE, Pages::Base).unwrap();
        for within in [Order::Ascending, Order::Random] {
            let mut offsets = lap(&mut memory, |memory| lines.by_page(memory, within));
            let mut pages: Vec<usize> = offsets.iter().map(|offset| offset / BASE).collect();
            pages.dedup();
            // The lap begins and ends in the first page.
            assert!((3..=4).contains(&pages.len()), "{pages:?}");
            offsets.sort_unstable();
            assert!(offsets.into_iter().eq((0..192).map(|line| line * 64)), "{within:?}");
        }
    }

    #[test]
    fn a_window_comes_at_a_time_with_every_second_line() {
        let window = Window { pages: 4, every: 2 };
        let size = 9 * BASE;
        let mut memory = memory(size, Pages::Base).unwrap();
        let lines = Lines { size: size as u64, line: 64 };
        let mut offsets = lap(&mut memory, |memory| lines.by_window(memory, window));
        let mut windows: Vec<usize> = offsets.iter().map(|offset| offset / window.bytes()).collect();
        windows.dedup();
        assert!((3..=4).contains(&windows.len()), "{windows:?}");
        offsets.sort_unstable();
        assert!(offsets.into_iter().eq((0..size / 128).map(|line| line * 128)));
    }

    /// Lines that fell into few sets would measure caches.
    #[test]
    fn spaced_lines_fall_evenly_into_sets() {
        for apart in [BASE, HUGE] {
            let spaced = Spaced { count: 4096, apart, line: 64 };
            let sets = |sets: usize| {
                let mut count = BTreeMap::<usize, usize>::new();
                (0..4096).for_each(|index| *count.entry(spaced.offset(index) / 64 % sets).or_default() += 1);
                count
            };
            // A first level of 64 sets, and a second of 2048.
            assert!(sets(64).values().all(|&count| count == 64) && sets(64).len() == 64, "{apart}");
            assert!(sets(2048).values().all(|&count| count == 2) && sets(2048).len() == 2048, "{apart}");
        }
        let spaced = Spaced { count: 64, apart: HUGE, line: 64 };
        let mut memory = address_space(64 * HUGE, Pages::Base).unwrap();
        let offsets = lap(&mut memory, |memory| spaced.chain(memory));
        let mut pages: Vec<usize> = offsets.iter().map(|offset| offset / HUGE).collect();
        pages.sort_unstable();
        assert!(pages.into_iter().eq(0..64), "each huge page has one line");
    }
}
