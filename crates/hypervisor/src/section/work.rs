//! What sections cost the hypervisor: execution steps of each kind of work, an instruction each, all assumed. A host model gives the cost of a step.
//!
//! | work | steps | why |
//! |---|---|---|
//! | a request: create, map, unmap, delete | 512 | dispatch, checks and look-ups |
//! | an entry of a table, written or cleared | 4 | compose, store, advance, compare |
//! | a link | 16 | the same, and to find either table |
//! | a page or a table cleared | 576 | 512 stores of eight bytes, and a loop around eight of them |
//! | a flush of one VM from every processor | 2048 | an interrupt to each processor, and the wait for its answer |

use crate::table::TableWork;
use core::ops::AddAssign;

const REQUEST: u64 = 512;
const ENTRY: u64 = 4;
const LINK: u64 = 16;
const CLEAR: u64 = 576;
const FLUSH: u64 = 2048;

/// The hypervisor's work for sections, counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SectionWork {
    /// Requests.
    pub requests: u64,
    /// Edits of tables.
    pub tables: TableWork,
    /// Pages cleared, those for tables left out.
    pub cleared: u64,
    /// Flushes of one VM.
    pub flushes: u64,
}

impl SectionWork {
    /// Steps of all of it.
    #[must_use]
    pub const fn steps(&self) -> u64 {
        let TableWork { entries, tables, links } = self.tables;
        self.requests * REQUEST
            + entries * ENTRY
            + (links + tables) * LINK
            + (tables + self.cleared) * CLEAR
            + self.flushes * FLUSH
    }
}

impl AddAssign for SectionWork {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.tables += other.tables;
        self.cleared += other.cleared;
        self.flushes += other.flushes;
    }
}
