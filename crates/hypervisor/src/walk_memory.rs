//! The host's memory as a table walker reads it.

use core::ptr::NonNull;
use memory::HostMemory;
use mmu::{HostPage, TableMemory};
use types::{Hpa, PageSize};

/// Host memory, as the MMU takes it for one access.
#[derive(Clone, Copy, Debug)]
pub struct WalkMemory<'m> {
    memory: &'m HostMemory,
    latest: Hpa,
}

impl<'m> WalkMemory<'m> {
    /// The memory, of which nothing was read yet.
    #[inline(always)]
    #[must_use]
    pub const fn new(memory: &'m HostMemory) -> Self {
        // No memory is there.
        Self { memory, latest: Hpa(0) }
    }

    /// Where in the process the entry is that was read last, if any was.
    #[inline(always)]
    #[must_use]
    pub fn latest(&self) -> Option<*const u8> {
        self.memory.pointer(self.latest).map(|entry| entry.as_ptr().cast_const())
    }
}

impl TableMemory for WalkMemory<'_> {
    const TRACELESS: bool = true;

    #[inline(always)]
    fn read(&mut self, at: Hpa) -> Option<u64> {
        self.latest = at;
        self.memory.read(at).ok()
    }

    #[inline]
    fn compare_exchange(&mut self, at: Hpa, old: u64, new: u64) -> Option<u64> {
        // One thread runs all pCPUs of a machine, so nothing comes between the read and the write.
        let found = self.memory.read(at).ok()?;
        if found == old {
            self.memory.write(at, new).ok()?;
        }
        Some(found)
    }

    #[inline]
    fn host_page(&self, page: Hpa, size: PageSize) -> HostPage {
        let (start, end) = (memory::HOST_BASE, self.memory.end());
        let page_end = page.checked_add(size.bytes());
        if page >= start
            && page_end.is_some_and(|page_end| page_end <= end)
            && let Some(pointer) = self.memory.pointer(page)
        {
            HostPage::Ram(pointer.as_ptr())
        } else if page_end.is_none_or(|page_end| page_end > start) && page < end {
            HostPage::Mixed
        } else {
            HostPage::Device
        }
    }

    /// Memory comes in whole pages.
    #[inline(always)]
    fn base_page(&self, page: Hpa) -> Option<*mut u8> {
        self.memory.pointer(page).map(NonNull::as_ptr)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memory::{HOST_BASE, HostPages};

    #[test]
    fn exchanges_only_what_it_expects() {
        let memory = HostMemory::new(4096, HostPages::Base).unwrap();
        let mut walk = WalkMemory::new(&memory);
        memory.write(HOST_BASE, 5_u64).unwrap();
        assert_eq!(walk.compare_exchange(HOST_BASE, 4, 9), Some(5));
        assert_eq!(walk.compare_exchange(HOST_BASE, 5, 9), Some(5));
        assert_eq!(walk.read(HOST_BASE), Some(9));
        assert_eq!(walk.read(Hpa(0)), None);
        assert_eq!(walk.compare_exchange(memory.end(), 0, 1), None);
    }

    #[test]
    fn tells_memory_from_devices() {
        let memory = HostMemory::new(3 << 20, HostPages::Base).unwrap();
        let walk = WalkMemory::new(&memory);
        let start = memory.pointer(HOST_BASE).unwrap().as_ptr();
        let at = |offset: u64| HOST_BASE.wrapping_add(offset);
        assert_eq!(walk.host_page(at(0), PageSize::Size2M), HostPage::Ram(start));
        assert_eq!(walk.host_page(at(2 << 20), PageSize::Size2M), HostPage::Mixed);
        assert_eq!(walk.host_page(Hpa(0), PageSize::Size512G), HostPage::Mixed);
        assert_eq!(walk.host_page(Hpa(0), PageSize::Size1G), HostPage::Device);
        assert_eq!(walk.host_page(Hpa(HOST_BASE.0 - (2 << 20)), PageSize::Size2M), HostPage::Device);
        assert_eq!(walk.host_page(memory.end(), PageSize::Size4K), HostPage::Device);
        assert_eq!(walk.host_page(Hpa(!0xfff), PageSize::Size4K), HostPage::Device);
    }
}
