//! What it takes to edit tables.

use core::ops::AddAssign;

/// Edits of tables, counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TableWork {
    /// Entries of pages, written or cleared.
    pub entries: u64,
    /// Tables cleared for use.
    pub tables: u64,
    /// Entries that lead to tables, written or cleared, but for those of [`tables`](Self::tables).
    pub links: u64,
}

impl AddAssign for TableWork {
    fn add_assign(&mut self, other: Self) {
        self.entries += other.entries;
        self.tables += other.tables;
        self.links += other.links;
    }
}
