//! A host memory of any size: only the words that were written exist. Pointers into it are numbers that are compared,
//! never followed.

use core::ops::Range;
use core::ptr;
use mmu::{HostPage, TableMemory};
use reference::Ground;
use std::collections::HashMap;
use types::{Hpa, PageSize};

/// What `HostPage::Ram` adds to an hPA.
pub const POINTERS: usize = 0x0100_0000_0000_0000;

#[derive(Clone, Debug)]
pub struct HostMemory {
    pub ram: Range<u64>,
    words: HashMap<u64, u64>,
    /// What walkers wrote.
    pub updates: Vec<(u64, u64)>,
}

impl HostMemory {
    pub fn new(ram: Range<u64>) -> Self {
        Self { ram, words: HashMap::new(), updates: Vec::new() }
    }

    /// Nothing is written outside memory.
    pub fn write(&mut self, at: u64, word: u64) {
        assert!(at.is_multiple_of(8), "{at:#x}");
        if self.ram.contains(&at) {
            self.words.insert(at, word);
        }
    }

    pub fn peek(&self, at: u64) -> u64 {
        self.words.get(&at).copied().unwrap_or(0)
    }

    fn load(&self, at: Hpa) -> Option<u64> {
        assert!(at.0.is_multiple_of(8));
        self.ram.contains(&at.0).then(|| self.peek(at.0))
    }

    fn exchange(&mut self, at: Hpa, old: u64, new: u64) -> Option<u64> {
        let found = self.load(at)?;
        if found == old {
            self.words.insert(at.0, new);
            self.updates.push((at.0, new));
        }
        Some(found)
    }

    fn stands(&self, page: Hpa, size: PageSize) -> Ground {
        assert!(page.is_aligned(size.bytes()));
        let (start, end) = (u128::from(page.0), u128::from(page.0) + u128::from(size.bytes()));
        let ram = u128::from(self.ram.start)..u128::from(self.ram.end);
        if ram.start <= start && end <= ram.end {
            Ground::Memory
        } else if end <= ram.start || ram.end <= start {
            Ground::Device
        } else {
            Ground::Mixed
        }
    }
}

impl TableMemory for HostMemory {
    const TRACELESS: bool = true;

    fn read(&mut self, at: Hpa) -> Option<u64> {
        self.load(at)
    }

    fn compare_exchange(&mut self, at: Hpa, old: u64, new: u64) -> Option<u64> {
        self.exchange(at, old, new)
    }

    fn host_page(&self, page: Hpa, size: PageSize) -> HostPage {
        match self.stands(page, size) {
            Ground::Memory => HostPage::Ram(ptr::without_provenance_mut(POINTERS + page.0 as usize)),
            Ground::Device => HostPage::Device,
            Ground::Mixed => HostPage::Mixed,
        }
    }
}

impl reference::Memory for HostMemory {
    fn read(&mut self, at: Hpa) -> Option<u64> {
        self.load(at)
    }

    fn compare_exchange(&mut self, at: Hpa, old: u64, new: u64) -> Option<u64> {
        self.exchange(at, old, new)
    }

    fn ground(&self, page: Hpa, size: PageSize) -> Ground {
        self.stands(page, size)
    }
}
