//! The map from virtual to physical pages of a run that is traced.

use machine::{GuestPage, GuestTables};
use std::collections::HashSet;
use traces::{Page, PageMap};
use types::{Gva, TranslationContext};

/// Bits of an address within a page of 4K.
const SMALL: u32 = 12;

/// What the pages of a trace have come to.
#[derive(Clone, Debug, Default)]
pub struct Pages {
    /// Each page with the physical page that it had first.
    pub map: PageMap,
    /// Pages that lead elsewhere in another address space, or in tables that were changed while they were not in use.
    pub elsewhere: u64,
    /// Pages of 4K of which the tables had no entry when they were looked at, by root table and number.
    pub gone: HashSet<(u64, u64)>,
    /// Pages of 4K that have been looked at, by root table and number.
    seen: HashSet<(u64, u64)>,
    /// The latest one that was fetched from, and the latest one that was loaded from or stored to.
    latest: [Option<(u64, u64)>; 2],
}

/// What an access is to the pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Use {
    Fetch,
    Data,
}

impl Pages {
    /// So many bytes of an address are used in a context.
    pub(crate) fn touch(
        &mut self,
        (address, bytes): (u64, u64),
        kind: Use,
        context: &TranslationContext,
        tables: &GuestTables<'_>,
    ) {
        let last = address.wrapping_add(bytes.max(1) - 1);
        for number in [address >> SMALL, last >> SMALL] {
            let page = (context.root.0, number);
            if self.latest[kind as usize] == Some(page) {
                continue;
            }
            self.latest[kind as usize] = Some(page);
            if self.seen.contains(&page) {
                continue;
            }
            let Some(GuestPage { gva, gpa, size }) = tables.page_of(context, Gva(number << SMALL)) else {
                self.gone.insert(page);
                continue;
            };
            self.gone.remove(&page);
            self.seen.insert(page);
            let page = Page { virtual_address: gva.0, physical_address: gpa.0, bytes: size.bytes() };
            self.elsewhere += u64::from(self.map.insert(page).is_err());
        }
    }
}
