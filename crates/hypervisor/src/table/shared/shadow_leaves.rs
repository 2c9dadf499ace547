//! Leaf tables of a section for shadow tables: one for each 2M of the section and each set of rights under which guests map it. Every shadow table
//! whose guest maps all of the 2M alike is linked to the same one, whatever VM and address space it is of.

use crate::table::entry::{Entry, LeafBits};
use crate::table::page_table::write;
use memory::HostMemory;
use std::collections::BTreeMap;
use types::{Hpa, PageSize};

/// A 2M piece of the section, by its number, and the bits of its entries.
type Key = (u64, u64);

#[derive(Debug, Default)]
pub(super) struct ShadowLeaves(BTreeMap<Key, (LeafBits, Hpa)>);

const fn piece(offset: u64) -> u64 {
    offset / PageSize::Size2M.bytes()
}

impl ShadowLeaves {
    pub(super) fn table(&self, offset: u64, bits: LeafBits) -> Option<Hpa> {
        self.0.get(&(piece(offset), bits.value())).map(|&(_, table)| table)
    }

    pub(super) fn insert(&mut self, offset: u64, bits: LeafBits, table: Hpa) {
        self.0.insert((piece(offset), bits.value()), (bits, table));
    }

    pub(super) fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// The page at `offset` is valid from now on, and lies at `page`: so it is in every table for it. Returns how many there are.
    pub(super) fn add(&self, memory: &HostMemory, offset: u64, page: Hpa) -> u64 {
        let number = piece(offset);
        let index = offset % PageSize::Size2M.bytes() / PageSize::Size4K.bytes();
        let tables = self.0.range((number, 0)..=(number, u64::MAX));
        tables.fold(0, |count, (_, &(bits, table))| {
            write(memory, Entry::place(table, index), Entry::leaf(page, bits));
            count + 1
        })
    }
}
