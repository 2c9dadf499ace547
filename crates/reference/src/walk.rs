//! The walk, by recursion (section 12.3.2).

use crate::Fault;
use crate::pte::{Cause, Demand, Leaf, Step, global, interpret, marked, missing, permit};

/// Where the entries of a tree are.
pub(crate) trait Tables {
    /// Reads an entry.
    fn read(&mut self, at: u64) -> Result<u64, Fault>;
    /// Sets A and D of the entry that was read last.
    fn update(&mut self, at: u64, old: u64, new: u64) -> Result<bool, Fault>;
}

/// A tree of tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tree {
    /// Levels.
    pub(crate) levels: u32,
    /// Whether the root has 2048 entries.
    pub(crate) wide_root: bool,
    /// The hardware sets A and D.
    pub(crate) svadu: bool,
    /// Pages of the groups that leaves may be of.
    pub(crate) groups: &'static [u64],
}

/// A pointer that the walk followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Visit {
    /// Level of the table that it was read from.
    pub(crate) level: u32,
    /// The table that it points to.
    pub(crate) table: u64,
    /// Whether it, or one before it, is global.
    pub(crate) global: bool,
}

/// What a walk finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mapping {
    /// The leaf, with A and D as they are now.
    pub(crate) leaf: Leaf,
    /// Where its entry is.
    pub(crate) at: u64,
    /// Whether the entry, or one before it, is global.
    pub(crate) global: bool,
}

/// A walk under way.
pub(crate) struct Walk<'a> {
    pub(crate) tree: Tree,
    pub(crate) tables: &'a mut dyn Tables,
    /// The fault of a cause that the tables give.
    pub(crate) refuse: &'a dyn Fn(Cause) -> Fault,
    pub(crate) address: u64,
    pub(crate) demand: Demand,
    /// The pointers followed so far.
    pub(crate) visits: Vec<Visit>,
}

impl Walk<'_> {
    /// Walks from `table` of `level` to the leaf.
    pub(crate) fn descend(&mut self, level: u32, table: u64, global_above: bool) -> Result<Mapping, Fault> {
        let entries = if self.tree.wide_root && level == self.tree.levels - 1 { 2048 } else { 512 };
        let index = self.address / 4096 / 512u64.pow(level) % entries;
        let at = table + index * 8;
        let pte = self.tables.read(at)?;
        let step = interpret(pte, level, self.tree.groups).map_err(self.refuse)?;
        let global = global_above || global(pte);
        match step {
            Step::Descend(next) => {
                self.visits.push(Visit { level, table: next, global });
                self.descend(level - 1, next, global)
            }
            Step::Stop(leaf) => match self.settle(leaf, at)? {
                Some(leaf) => Ok(Mapping { leaf, at, global }),
                // The entry changed: from step 2 again.
                None => self.descend(level, table, global_above),
            },
        }
    }

    /// Steps 6 to 9 at a leaf; `None` if it changed meanwhile.
    pub(crate) fn settle(&mut self, leaf: Leaf, at: u64) -> Result<Option<Leaf>, Fault> {
        permit(leaf.pte, self.demand).map_err(self.refuse)?;
        match missing(leaf.pte, self.demand.access) {
            None => Ok(Some(leaf)),
            Some(cause) if !self.tree.svadu => Err((self.refuse)(cause)),
            Some(_) => {
                let pte = marked(leaf.pte, self.demand.access);
                let updated = self.tables.update(at, leaf.pte, pte)?;
                Ok(updated.then_some(Leaf { pte, ..leaf }))
            }
        }
    }
}
