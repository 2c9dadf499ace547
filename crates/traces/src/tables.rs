//! A tree of page tables that is built.

use std::collections::BTreeMap;

/// Bits of an address within a page of 4K.
const SMALL: u32 = 12;
/// V: the entry leads to another table.
const BRANCH: u64 = 1;

/// A tree of tables. An entry that leads to a table has its number until the tables have their places.
pub(crate) struct Tree {
    levels: u32,
    tables: Vec<Box<[u64; 512]>>,
    /// The table of a level that has an address: by level, and the address without the bits that the table translates.
    found: BTreeMap<(u32, u64), usize>,
    /// Entries that lead to tables: table, index, and the number of the other.
    branches: Vec<(usize, usize, usize)>,
}

impl Tree {
    pub(crate) fn new(levels: u32) -> Self {
        Self { levels, tables: vec![Box::new([0; 512])], found: BTreeMap::new(), branches: Vec::new() }
    }

    /// The table of `level` with the page of that number, whose size has `shift` bits; it is made if need be.
    pub(crate) fn table(&mut self, page: u64, shift: u32, level: u32) -> usize {
        let address = page << shift;
        let mut table = 0;
        for above in (level + 1..self.levels).rev() {
            let below = above - 1;
            let key = (below, address >> (SMALL + 9 * (below + 1)));
            let index = (address >> (SMALL + 9 * above)) as usize % 512;
            table = match self.found.get(&key) {
                Some(&found) => found,
                None => {
                    let made = self.tables.len();
                    self.tables.push(Box::new([0; 512]));
                    self.found.insert(key, made);
                    self.branches.push((table, index, made));
                    made
                }
            };
        }
        table
    }

    /// Maps the page of that number, whose size has `shift` bits, by an entry of a table of `level`.
    pub(crate) fn map(&mut self, page: u64, shift: u32, level: u32, entry: u64) {
        let table = self.table(page, shift, level);
        let index = page as usize % 512;
        self.tables[table][index] = entry;
    }

    /// How many tables there are.
    pub(crate) fn len(&self) -> usize {
        self.tables.len()
    }

    /// The tables at their places, which begin at `first`.
    pub(crate) fn into_tables(mut self, first: u64) -> Vec<(u64, Box<[u64; 512]>)> {
        for &(table, index, other) in &self.branches {
            self.tables[table][index] = (first + other as u64 * 4096) >> 2 | BRANCH;
        }
        let number = |table: usize| (first >> SMALL) + table as u64;
        self.tables.into_iter().enumerate().map(|(table, words)| (number(table), words)).collect()
    }
}

/// Where a page leads, by tables alone; `from` is the root's address, and the number of levels.
#[cfg(test)]
pub(crate) fn walk(tables: &[(u64, Box<[u64; 512]>)], from: (u64, u32), page: u64) -> Option<u64> {
    let address = page << SMALL;
    let (root, levels) = from;
    let mut table = root >> SMALL;
    for level in (0..levels).rev() {
        let (_, words) = tables.iter().find(|(number, _)| *number == table)?;
        let entry = words[(address >> (SMALL + 9 * level)) as usize % 512];
        let at = entry >> 10 << SMALL;
        match entry & 0xf {
            0 => return None,
            1 => table = at >> SMALL,
            _ => return Some(at | address & ((1 << (SMALL + 9 * level)) - 1)),
        }
    }
    None
}
