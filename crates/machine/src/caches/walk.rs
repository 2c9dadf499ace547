//! The host's memory as a table walker reads it through the caches.

use super::Caches;
use hypervisor::WalkMemory;
use memory::{HOST_BASE, HostMemory};
use mmu::{HostPage, TableMemory};
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
        let mut entry = [None];
        self.read_together(&[at], &mut entry);
        entry[0]
    }

    #[inline]
    fn read_together(&mut self, at: &[Hpa], found: &mut [Option<u64>]) {
        WalkMemory::new(self.memory).read_together(at, found);
        let read = at.iter().zip(found).filter(|(_, entry)| entry.is_some());
        self.caches.use_table_lines(self.processor, read.map(|(at, _)| at.0 - HOST_BASE.0));
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
