//! The host's memory as a table walker reads it through the caches.

use super::Caches;
use memory::{HOST_BASE, HostMemory};
use mmu::{HostPage, TableMemory};
use monitor::WalkMemory;
use types::{Hpa, PageSize};

/// Host memory behind the caches of one processor, for one access.
#[derive(Debug)]
pub(crate) struct CachedWalk<'m> {
    pub(crate) memory: &'m HostMemory,
    pub(crate) caches: &'m mut Caches,
    pub(crate) processor: usize,
}

impl TableMemory for CachedWalk<'_> {
    #[inline]
    fn read(&mut self, at: Hpa) -> Option<u64> {
        let [entry] = self.read_together([at]);
        entry
    }

    #[inline]
    fn read_together<const N: usize>(&mut self, at: [Hpa; N]) -> [Option<u64>; N] {
        let mut memory = WalkMemory::new(self.memory);
        let entries = at.map(|at| memory.read(at));
        let offsets: [Option<u64>; N] = core::array::from_fn(|index| entries[index].map(|_| at[index].0 - HOST_BASE.0));
        self.caches.use_table_lines(self.processor, offsets);
        entries
    }

    /// An update follows the read that has brought the line.
    #[inline]
    fn compare_exchange(&mut self, at: Hpa, old: u64, new: u64) -> Option<u64> {
        WalkMemory::new(self.memory).compare_exchange(at, old, new)
    }

    #[inline]
    fn host_page(&self, page: Hpa, size: PageSize) -> HostPage {
        WalkMemory::new(self.memory).host_page(page, size)
    }
}
