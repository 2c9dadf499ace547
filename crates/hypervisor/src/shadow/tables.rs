//! The shadow tables of one VM: found by address space, made up to a limit, and the least recently used stolen.

use super::Tables;
use crate::table::{Leaf, ShadowFormat, ShadowShape};
use memory::{Host, HostMemory, OutOfFrames};
use types::{Asid, Gpa, Gva, Hpa, PageSize, PagingMode, TranslationContext};

/// An address space of the guest, as a table is found by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Key {
    pub(super) mode: PagingMode,
    pub(super) root: Gpa,
    pub(super) asid: Asid,
}

impl Key {
    pub(super) const fn of(context: &TranslationContext) -> Self {
        Self { mode: context.mode, root: context.root, asid: context.asid }
    }

    pub(super) const fn is_bare(&self) -> bool {
        matches!(self.mode, PagingMode::Bare)
    }
}

/// One shadow table and what is known of it.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) shape: Box<dyn ShadowShape>,
    /// Whose it is; `None` of the table for addresses that the guest does not translate, and of one that has no owner yet.
    pub(super) key: Option<Key>,
    /// S: whether a switch has selected it since it was last invalidated in full. Only then can an entry be valid.
    pub(super) selected: bool,
    /// When it was last switched to, in switches.
    pub(super) used: u64,
}

/// Number of the table that maps guest physical addresses, for harts whose guest does not translate.
pub(super) const BARE: usize = 0;

/// All tables of a VM. The first is [`BARE`]; with [`Tables::Single`] number 1 + h is that of hart h.
#[derive(Debug)]
pub(super) struct TableSet {
    pub(super) list: Vec<Table>,
    limit: usize,
    switches: u64,
    pub(super) format: &'static dyn ShadowFormat,
}

/// How a table was come by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Come {
    Found,
    Created,
    /// It is another address space's, and to be invalidated.
    Stolen,
}

impl TableSet {
    /// Tables for a guest with memory up to `end` and this many harts.
    pub(super) fn new(
        host: &mut Host,
        end: Gpa,
        tables: Tables,
        harts: usize,
        format: &'static dyn ShadowFormat,
    ) -> Result<Self, OutOfFrames> {
        // Sv39 sign-extends, so that only its lower half maps what an address says.
        let bare = if end.0 <= 1 << 38 { PagingMode::Sv39 } else { PagingMode::Sv48 };
        let mut set = Self { list: Vec::new(), limit: 1, switches: 0, format };
        set.add(host, bare)?;
        match tables {
            Tables::Multiple(count) => set.limit = 1 + count,
            Tables::Single => {
                set.limit = 1 + harts;
                for _ in 0..harts {
                    set.add(host, PagingMode::Sv39)?;
                }
            }
        }
        Ok(set)
    }

    fn add(&mut self, host: &mut Host, mode: PagingMode) -> Result<usize, OutOfFrames> {
        let shape = self.format.table(&host.memory, &mut host.frames, mode)?;
        self.list.push(Table { shape, key: None, selected: false, used: 0 });
        Ok(self.list.len() - 1)
    }

    /// The table of `key`, or one that may become it: a new one, or the least recently used of those that no hart is `using`.
    pub(super) fn find(
        &mut self,
        host: &mut Host,
        key: Key,
        using: impl Fn(usize) -> bool,
    ) -> Result<(usize, Come), OutOfFrames> {
        if let Some(found) = self.list.iter().position(|table| table.key == Some(key)) {
            return Ok((found, Come::Found));
        }
        if self.list.len() < self.limit {
            return Ok((self.add(host, key.mode)?, Come::Created));
        }
        let candidates = (0..self.list.len()).filter(|&table| table != BARE && !using(table));
        let oldest = candidates.min_by_key(|&table| self.list[table].used);
        // There are at least as many tables as harts, and the hart that switches uses none.
        Ok((oldest.unwrap_or(1), Come::Stolen))
    }

    /// Notes that a hart switches to `table`.
    pub(super) fn select(&mut self, table: usize) {
        self.switches += 1;
        let used = self.switches;
        let table = &mut self.list[table];
        (table.used, table.selected) = (used, true);
    }

    /// Whether another address space has the same ASID as that of `table`.
    pub(super) fn shares_asid(&self, table: usize) -> bool {
        let asid = self.list[table].key.map(|key| key.asid);
        let same = |other: &Table| other.key.is_some_and(|key| Some(key.asid) == asid);
        asid.is_some() && self.list.iter().enumerate().any(|(other, found)| other != table && same(found))
    }

    /// How many tables address spaces may have by now.
    pub(super) fn count(&self) -> usize {
        self.list.len() - 1
    }

    /// Frames that hold tables.
    pub(super) fn frames(&self) -> u64 {
        self.list.iter().map(|table| table.shape.frames()).sum()
    }

    /// What `table` maps at `gva`, if that is the byte at `hpa` or its page.
    pub(super) fn mapping(&self, memory: &HostMemory, table: u32, gva: Gva, hpa: Hpa) -> Option<Leaf> {
        let leaf = self.list.get(table as usize)?.shape.lookup(memory, gva)?;
        let page = Hpa(leaf.page.0 | gva.offset(leaf.size)).page(PageSize::Size4K);
        let within = hpa.page(leaf.size) == leaf.page;
        (page == hpa.page(PageSize::Size4K) || (within && leaf.size > PageSize::Size4K)).then_some(leaf)
    }
}
