//! The guest table pages of a VM whose guest tables are write-protected: what is derived from which.

use super::agile::AgileConfig;
use std::collections::BTreeMap;
use types::{Gpa, Gva};

/// This many stores to a guest table page, with no walk reading it in between, and it is none any more.
const FLOOD: u32 = 3;

/// Where a guest table page is in a walk.
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
    /// Stores since a walk read it last, or in the interval.
    pub(super) stores: u32,
    /// The interval of the latest store.
    interval: u64,
}

/// After how many stores a page stops being a guest table page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum StoreLimit {
    /// After this many with no walk reading it in between: it is no table any more.
    BetweenWalks(u32),
    /// After this many in an interval: it is nested.
    PerInterval(u32),
}

impl Default for StoreLimit {
    fn default() -> Self {
        Self::BetweenWalks(FLOOD)
    }
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
    store_limit: StoreLimit,
    /// The interval that is under way.
    interval: u64,
    /// Pages that are guest table pages no more, and that the nested table still refuses stores to: only where that is walked by hardware.
    released: Vec<u64>,
}

impl GuestTables {
    pub(super) fn new(agile: Option<&AgileConfig>) -> Self {
        let store_limit = agile.map_or_else(StoreLimit::default, |agile| StoreLimit::PerInterval(agile.threshold));
        Self { store_limit, ..Self::default() }
    }

    /// Stores are counted from now on.
    pub(super) const fn begin_interval(&mut self) {
        self.interval += 1;
    }

    /// Pages that have become ordinary ones since the last call.
    pub(super) fn take_released(&mut self) -> Vec<u64> {
        let mut released = core::mem::take(&mut self.released);
        released.retain(|number| !self.pages.contains_key(number));
        released
    }

    /// Where guest table pages are.
    pub(super) fn gpas(&self) -> impl Iterator<Item = Gpa> {
        self.pages.keys().map(|number| Gpa(number << 12))
    }

    /// Counts a store to a page; whether that is the limit. `None` of a page that is no guest table page.
    pub(super) fn count_store(&mut self, number: u64) -> Option<bool> {
        let Self { pages, store_limit, interval, .. } = self;
        let page = pages.get_mut(&number)?;
        Some(match *store_limit {
            StoreLimit::BetweenWalks(limit) => {
                page.stores += 1;
                page.stores >= limit
            }
            StoreLimit::PerInterval(limit) => {
                page.stores = if page.interval == *interval { page.stores + 1 } else { 1 };
                page.interval = *interval;
                page.stores >= limit
            }
        })
    }

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
        if matches!(self.store_limit, StoreLimit::BetweenWalks(_)) {
            page.stores = 0;
        }
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
            if matches!(self.store_limit, StoreLimit::PerInterval(_)) {
                self.released.push(number);
            }
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
