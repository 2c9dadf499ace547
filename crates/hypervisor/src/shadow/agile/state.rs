//! What agile paging knows of a guest.

use super::config::AgileConfig;
use super::nested_page::NestedPage;
use super::root_cache::{Root, RootCache};
use crate::shadow::guest_tables::Derived;
use crate::vm::VmMemory;
use std::collections::BTreeMap;
use types::{Hpa, SecondStageMode};

/// What agile paging knows of a guest.
#[derive(Debug)]
pub(in crate::shadow) struct Agile {
    pub(super) config: AgileConfig,
    /// The nested table: its shape and its root.
    pub(super) nested_table: (SecondStageMode, Hpa),
    /// Pages of the guest's tables that are nested, by page number.
    pub(super) nested: BTreeMap<u64, NestedPage>,
    /// Where walks begin, by shadow table.
    pub(super) roots: Vec<Root>,
    /// The harts' root caches.
    pub(super) caches: Vec<RootCache>,
    /// The interval that is under way.
    pub(super) interval: u64,
}

impl Agile {
    /// Nothing is nested. `None` for a VM that has no nested table.
    pub(in crate::shadow) fn new(config: AgileConfig, vm: &VmMemory, harts: usize) -> Option<Self> {
        let caches = vec![RootCache::new(config.root_cache); harts];
        let (roots, nested) = (Vec::new(), BTreeMap::new());
        Some(Self { config, nested_table: vm.nested_table()?, nested, roots, caches, interval: 0 })
    }

    /// Notes that an entry at `place` leads to nested page `number`.
    pub(super) fn note_place(&mut self, number: u64, place: Derived) {
        if let Some(page) = self.nested.get_mut(&number)
            && !page.places.contains(&place)
        {
            page.places.push(place);
        }
    }
}
