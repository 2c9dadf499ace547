//! Where instructions were sampled.

use crate::host_page::HostPage;
use std::collections::{BTreeMap, HashMap};

/// Blocks whose samples are kept; when there are more, counting starts again.
const MOST_BLOCKS: usize = 1 << 16;

/// Instructions sampled, by the page and the offset of the block. A page has few such blocks, so that all of them are found without a look at the others.
#[derive(Debug, Default)]
pub(super) struct Heat {
    pages: HashMap<HostPage, BTreeMap<u16, u64>>,
    blocks: usize,
}

impl Heat {
    /// So many more instructions were sampled at a block: how many there were before, and are now.
    pub(super) fn add(&mut self, page: HostPage, offset: u16, instructions: u64) -> [u64; 2] {
        if self.blocks == MOST_BLOCKS {
            self.clear();
        }
        let blocks = self.pages.entry(page).or_default();
        let known = blocks.len();
        let heat = blocks.entry(offset).or_default();
        let before = *heat;
        *heat += instructions;
        let after = *heat;
        self.blocks += blocks.len() - known;
        [before, after]
    }

    /// Those sampled at a block.
    pub(super) fn at(&self, page: HostPage, offset: u16) -> u64 {
        self.pages.get(&page).and_then(|blocks| blocks.get(&offset)).copied().unwrap_or(0)
    }

    /// The offsets of a page at which there are any, ascending.
    pub(super) fn offsets(&self, page: HostPage) -> impl Iterator<Item = u16> {
        self.pages.get(&page).into_iter().flat_map(|blocks| blocks.keys().copied())
    }

    /// Counting starts again at a block.
    pub(super) fn forget(&mut self, page: HostPage, offset: u16) {
        let Some(blocks) = self.pages.get_mut(&page) else { return };
        self.blocks -= usize::from(blocks.remove(&offset).is_some());
        if blocks.is_empty() {
            self.pages.remove(&page);
        }
    }

    /// Counting starts again everywhere.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_kept_by_block() {
        let (mut heat, one, other) = (Heat::default(), HostPage::of_number(1), HostPage::of_number(2));
        assert_eq!([heat.add(one, 6, 10), heat.add(one, 2, 5), heat.add(one, 6, 1)], [[0, 10], [0, 5], [10, 11]]);
        heat.add(other, 6, 3);
        assert_eq!((heat.at(one, 6), heat.at(other, 2), heat.blocks), (11, 0, 3));
        assert!(heat.offsets(one).eq([2, 6]));
        heat.forget(one, 6);
        heat.forget(one, 8);
        heat.forget(other, 6);
        assert_eq!((heat.at(one, 6), heat.blocks, heat.pages.len()), (0, 1, 1));
    }
}
