//! Units of more than one page: a unit goes as a whole where one of its pages is dropped.

use crate::engine::compiled::Block;
use crate::host_page::HostPage;
use std::collections::HashMap;

/// The blocks of the units of more than one page.
#[derive(Default)]
pub(super) struct Units {
    blocks: Vec<Vec<(HostPage, u16)>>,
    /// The units of a page, by number.
    of_page: HashMap<HostPage, Vec<usize>>,
}

impl Units {
    /// A unit was made of these blocks.
    pub(super) fn add(&mut self, region: &[Block]) {
        let first = region[0].page;
        if region.iter().all(|block| block.page == first) {
            return;
        }
        let number = self.blocks.len();
        self.blocks.push(region.iter().map(|block| (block.page, block.offset)).collect());
        for block in region {
            let units = self.of_page.entry(block.page).or_default();
            if units.last() != Some(&number) {
                units.push(number);
            }
        }
    }

    /// Forgets the units of a page; their blocks in other pages.
    pub(super) fn take(&mut self, page: HostPage) -> Vec<(HostPage, u16)> {
        let units = self.of_page.remove(&page).unwrap_or_default();
        let blocks = units.into_iter().flat_map(|unit| std::mem::take(&mut self.blocks[unit]));
        blocks.filter(|(other, _)| *other != page).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(page: usize, offset: u16) -> Block {
        Block { page: HostPage::of_number(page), offset, slot: 0, heat: 0, is_compiled: false }
    }

    #[test]
    fn a_page_takes_its_units_along_and_no_others() {
        let mut units = Units::default();
        units.add(&[block(1, 0), block(2, 4), block(1, 8)]);
        units.add(&[block(3, 0), block(3, 2)]);
        units.add(&[block(2, 6), block(3, 6)]);
        let page = HostPage::of_number;
        assert_eq!(units.take(page(3)), [(page(2), 6)]);
        assert_eq!(units.take(page(1)), [(page(2), 4)]);
        assert_eq!(units.take(page(2)), [], "both are gone");
    }
}
