//! What the prefetchers of a core have around them: the caches, and where the guest's pages are.

use crate::caches::Caches;
use timing::{Level, Line, PrefetchLines};
use types::Gva;

/// Where pages of virtual addresses are.
pub(crate) trait GuestPages {
    /// The first byte, in the process, of the page of 4K that `page` is mapped to for loads of the current hart; `None` if there is none. Nothing changes.
    fn find(&self, page: Gva) -> Option<*const u8>;
}

/// The caches as the prefetchers of one pCPU have them, and the pages of its guest.
pub(crate) struct PrefetchPort<'c, P> {
    pub(crate) caches: &'c mut Caches,
    pub(crate) pcpu: usize,
    pub(crate) pages: P,
}

impl<P: GuestPages> PrefetchLines for PrefetchPort<'_, P> {
    fn prefetch(&mut self, line: Line, into: Level) -> Level {
        self.caches.prefetch(self.pcpu, line, into)
    }

    fn page(&mut self, page: Gva) -> Option<Line> {
        Some(self.caches.line_at(self.pages.find(page)?))
    }
}
