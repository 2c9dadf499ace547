//! Which page of which VM lies in each frame of the host, and the hand of the clock that goes over them.

use memory::{HOST_BASE, HostMemory};
use types::{Gpa, Hpa, PageSize};

const FRAME: u64 = PageSize::Size4K.bytes();

/// A page of a VM: the VM's number, and the page's. Ordered by VM, then by address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Page(u64);

impl Page {
    /// The widest guest physical addresses, those of Sv57x4, have 59 bits.
    const NUMBER_BITS: u32 = 47;

    /// The base page of VM number `vm`, at most 65534, that holds `gpa`.
    pub(super) const fn new(vm: usize, gpa: Gpa) -> Self {
        // One more, so that no page looks like none.
        Self((vm as u64 + 1) << Self::NUMBER_BITS | gpa.number())
    }

    /// The number of its VM.
    pub(super) const fn vm(self) -> usize {
        (self.0 >> Self::NUMBER_BITS) as usize - 1
    }

    /// Its first byte.
    pub(super) const fn gpa(self) -> Gpa {
        Gpa((self.0 & ((1 << Self::NUMBER_BITS) - 1)) * FRAME)
    }
}

/// The core map. A page larger than a frame is kept at its first frame.
#[derive(Debug)]
pub(super) struct CoreMap {
    /// 0 where no page begins: a map of which little is used costs little.
    pages: Vec<u64>,
    hand: usize,
}

impl CoreMap {
    /// A map of `memory` without pages; the hand is at its first frame.
    pub(super) fn new(memory: &HostMemory) -> Self {
        Self { pages: vec![0; (memory.len() / FRAME) as usize], hand: 0 }
    }

    /// Frames of the host.
    pub(super) fn frames(&self) -> usize {
        self.pages.len()
    }

    /// `page` lies from `frame` on.
    pub(super) fn insert(&mut self, frame: Hpa, page: Page) {
        self.pages[Self::index(frame)] = page.0;
    }

    /// What lay from `frame` on does no more.
    pub(super) fn remove(&mut self, frame: Hpa) {
        self.pages[Self::index(frame)] = 0;
    }

    /// Moves the hand past the next frame at which a page begins, and returns the page; `None` where there is none for `frames` frames
    /// to come, from which what was passed is subtracted.
    pub(super) fn advance(&mut self, frames: &mut usize) -> Option<Page> {
        while *frames > 0 {
            *frames -= 1;
            let page = self.pages[self.hand];
            self.hand = (self.hand + 1) % self.pages.len();
            if page != 0 {
                return Some(Page(page));
            }
        }
        None
    }

    /// Moves the hand to `frame`.
    pub(super) fn point_at(&mut self, frame: Hpa) {
        self.hand = Self::index(frame);
    }

    /// Pages of VM number `vm`, in the order of their frames.
    pub(super) fn pages_of(&self, vm: usize) -> Vec<Page> {
        self.pages.iter().filter(|&&page| page != 0).map(|&page| Page(page)).filter(|page| page.vm() == vm).collect()
    }

    fn index(frame: Hpa) -> usize {
        (frame.number() - HOST_BASE.number()) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memory::HostPages;

    #[test]
    fn pages_of_every_vm_read_back_in_order() {
        let highest = Gpa((1 << 59) - 1);
        for (vm, gpa) in [(0, Gpa(0)), (0, highest), (65534, highest)] {
            let page = Page::new(vm, gpa);
            assert_eq!((page.vm(), page.gpa()), (vm, gpa.page(PageSize::Size4K)));
            assert_ne!(page.0, 0);
        }
        assert!(Page::new(0, highest) < Page::new(1, Gpa(0)));
    }

    #[test]
    fn the_hand_goes_round() {
        let memory = HostMemory::new(8 * FRAME, HostPages::Base).unwrap();
        let mut map = CoreMap::new(&memory);
        let frame = |number: u64| HOST_BASE.wrapping_add(number * FRAME);
        let [a, b] = [1, 2].map(|page| Page::new(0, Gpa(page * FRAME)));
        map.insert(frame(2), a);
        map.insert(frame(6), b);
        let mut left = 100;
        let seen: Vec<_> = (0..3).map(|_| map.advance(&mut left).unwrap()).collect();
        assert_eq!((seen, left), (vec![a, b, a], 100 - 11));
        map.point_at(frame(2));
        assert_eq!(map.advance(&mut left), Some(a));
        map.remove(frame(2));
        map.remove(frame(6));
        assert_eq!((map.advance(&mut left), left), (None, 0));
    }
}
