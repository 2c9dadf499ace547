//! Host memory as the table walker sees it.

use memory::HostMemory;
use mmu::{HostPage, TableMemory};
use types::{Hpa, PageSize};

/// The walker's view of the host's memory.
pub(crate) struct Tables<'m>(pub(crate) &'m HostMemory);

impl TableMemory for Tables<'_> {
    #[inline]
    fn read(&mut self, at: Hpa) -> Option<u64> {
        self.0.read(at).ok()
    }

    fn compare_exchange(&mut self, at: Hpa, old: u64, new: u64) -> Option<u64> {
        // Harts take turns on one host thread, so that nothing comes between.
        let found: u64 = self.0.read(at).ok()?;
        if found == old {
            self.0.write(at, new).ok()?;
        }
        Some(found)
    }

    #[inline]
    fn host_page(&self, page: Hpa, size: PageSize) -> HostPage {
        let last = page.wrapping_add(size.bytes() - 1);
        match (self.0.pointer(page), self.0.pointer(last)) {
            (Some(start), Some(_)) => HostPage::Ram(start.as_ptr()),
            // Memory is one range: a page with neither end in it may still hold all of it.
            (None, None) if page >= self.0.end() || last < memory::HOST_BASE => HostPage::Device,
            _ => HostPage::Mixed,
        }
    }

    fn is_watched(&self, _: Hpa, _: PageSize) -> bool {
        // Stores to translated code are noticed by the hart, byte by byte of its own map.
        false
    }
}
