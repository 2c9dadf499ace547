//! The guest table pages of a VM whose guest tables are write-protected: what is derived from which.

use std::collections::BTreeMap;
use types::{Gpa, Gva};

/// Where a guest table page stands in a walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Derived {
    /// The shadow table with what is derived from it.
    pub(super) table: usize,
    /// The first address that it translates; 0 of a root.
    pub(super) base: Gva,
    /// Its level.
    pub(super) level: u32,
}

#[derive(Debug, Default)]
pub(super) struct GuestTable {
    pub(super) derived: Vec<Derived>,
    /// Stores since a walk read it last.
    pub(super) stores: u32,
}

/// The guest table pages of one VM.
#[derive(Debug, Default)]
pub(super) struct GuestTables {
    /// By page number.
    pub(super) pages: BTreeMap<u64, GuestTable>,
    /// By shadow table, first address and level: the page number.
    pub(super) places: BTreeMap<(usize, u64, u32), u64>,
    /// Whether something was dropped that TLBs may have, for a store that no processor made.
    pub(super) dropped: bool,
}

impl GuestTables {
    pub(super) fn contains(&self, gpa: Gpa) -> bool {
        self.pages.contains_key(&gpa.number())
    }

    /// Notes a place of the page at `gpa`; returns whether it is a guest table page only now.
    pub(super) fn add(&mut self, gpa: Gpa, derived: Derived) -> bool {
        let number = gpa.number();
        let place = (derived.table, derived.base.0, derived.level);
        if let Some(other) = self.places.insert(place, number).filter(|&other| other != number) {
            self.forget(other, derived);
        }
        let mut new = false;
        let page = self.pages.entry(number).or_insert_with(|| {
            new = true;
            GuestTable::default()
        });
        page.stores = 0;
        if !page.derived.contains(&derived) {
            page.derived.push(derived);
        }
        new
    }

    /// Forgets one place of page `number`; returns whether it was the last.
    pub(super) fn forget(&mut self, number: u64, derived: Derived) -> bool {
        let Some(page) = self.pages.get_mut(&number) else { return false };
        page.derived.retain(|&other| other != derived);
        let last = page.derived.is_empty();
        if last {
            self.pages.remove(&number);
        }
        last
    }

    /// Forgets every place of `table` from `first` to `last` below `level`; returns how many pages are guest table pages no more.
    pub(super) fn forget_below(&mut self, table: usize, first: u64, last: u64, level: u32) -> u64 {
        let range = (table, first, 0)..=(table, last, u32::MAX);
        let below: Vec<_> = self
            .places
            .range(range)
            .filter(|((_, _, at), _)| *at < level)
            .map(|(&place, &page)| (place, page))
            .collect();
        let mut pages = 0;
        for ((table, base, level), number) in below {
            self.places.remove(&(table, base, level));
            pages += u64::from(self.forget(number, Derived { table, base: Gva(base), level }));
        }
        pages
    }
}
