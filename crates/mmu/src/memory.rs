//! What the MMU needs of the host's memory.

use types::{Hpa, PageSize};

/// What is at a page of host physical addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostPage {
    /// Memory in all of the page, contiguous from the pointer to its first byte.
    Ram(*mut u8),
    /// Memory nowhere in the page.
    Device,
    /// Both. The page is kept in smaller pieces, as x86 does where memory types differ within a page.
    Mixed,
}

/// The host's memory, as a table walker sees it.
pub trait TableMemory {
    /// Whether a read leaves no trace: then one may be made and, if it is found to be of no use, be made again later.
    const TRACELESS: bool = false;

    /// The little-endian double word at `at`, a multiple of 8; `None` outside memory.
    fn read(&mut self, at: Hpa) -> Option<u64>;

    /// The double words at several addresses, which are read at once: one step of a walk. Where time is modelled, the step takes as long as its
    /// longest reference. `found` is as long as `at`.
    #[inline]
    fn read_together(&mut self, at: &[Hpa], found: &mut [Option<u64>]) {
        for (at, found) in at.iter().zip(found) {
            *found = self.read(*at);
        }
    }

    /// Stores `new` at `at`, a multiple of 8, if `old` is there, in one atomic step. Returns what was there, or `None`
    /// outside memory.
    fn compare_exchange(&mut self, at: Hpa, old: u64, new: u64) -> Option<u64>;

    /// What is at the page of `size` that starts at `page`. Memory comes in whole 4K pages: at 4K the answer is
    /// not `Mixed`. A pointer stays good until a fence has removed the page's translations.
    fn host_page(&self, page: Hpa, size: PageSize) -> HostPage;

    /// The pointer to a 4K page that is memory; `None` where it is not.
    #[inline(always)]
    fn base_page(&self, page: Hpa) -> Option<*mut u8> {
        match self.host_page(page, PageSize::Size4K) {
            HostPage::Ram(pointer) => Some(pointer),
            HostPage::Device | HostPage::Mixed => None,
        }
    }
}
