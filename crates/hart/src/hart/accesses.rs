//! Which pages a hart accesses, in order: all of them, and not only the misses.
//!
//! A hart that keeps them is executed by the matching engine, which looks at each micro-op before it executes it. An access is kept once it has been
//! made: one that traps, or that the bus asks for again, is none yet. So there are as many as the hart counts loads and stores.

use types::{Asid, Gpa, Gva, PagingMode};

/// A page of 4 KiB and how often in a row it was accessed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageUse {
    /// The page. Of an access to two pages it is the first.
    pub page: Gva,
    /// The paging mode at the time.
    pub mode: PagingMode,
    /// The root table.
    pub root: Gpa,
    /// The address space.
    pub asid: Asid,
    /// Loads, stores and atomic operations.
    pub count: u64,
}

/// What is kept of a hart's accesses.
#[derive(Clone, Debug, Default)]
pub(crate) struct AccessLog {
    uses: Vec<PageUse>,
    /// An access that has begun, and the time before it: the accumulator's stamp counts accesses.
    begun: Option<(u32, PageUse)>,
}

impl AccessLog {
    /// By now as many accesses have been made as `stamp` says.
    #[inline]
    pub(crate) fn settle(&mut self, stamp: u32) {
        let Some((before, access)) = self.begun.take() else { return };
        if stamp == before {
            return;
        }
        match self.uses.last_mut() {
            Some(latest) if (PageUse { count: 1, ..*latest }) == access => latest.count += 1,
            _ => self.uses.push(access),
        }
    }

    /// An access begins.
    #[inline]
    pub(crate) fn begin(&mut self, stamp: u32, access: PageUse) {
        self.begun = Some((stamp, access));
    }

    /// What has been kept so far.
    pub(crate) fn take(&mut self) -> Vec<PageUse> {
        std::mem::take(&mut self.uses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(page: u64) -> PageUse {
        PageUse { page: Gva(page), mode: PagingMode::Sv39, root: Gpa(0x8000_0000), asid: Asid(1), count: 1 }
    }

    #[test]
    fn only_what_has_been_made_is_kept() {
        let mut log = AccessLog::default();
        log.begin(7, at(0x1000));
        log.settle(7);
        assert_eq!(log.take(), [], "it trapped, or is to be made again");
        log.begin(7, at(0x1000));
        log.settle(8);
        log.begin(8, at(0x1000));
        log.settle(9);
        log.begin(9, at(0x2000));
        log.settle(10);
        log.settle(11);
        assert_eq!(log.take(), [PageUse { count: 2, ..at(0x1000) }, at(0x2000)]);
        assert_eq!(log.take(), []);
    }
}
