//! Units that are compiled beside the guest, until they are installed.
//!
//! When that is depends on the guest's instructions alone: as if units were compiled one after the other at a fixed speed. If the host is slower, the
//! guest waits. So a run is the same each time, to the unit.

use super::unit::Unit;
use crate::host_page::HostPage;
use std::collections::{HashSet, VecDeque};

/// The most units that wait: further ones would be installed too late to be those that are hot.
const MOST: usize = 16;

/// A unit, and after how many instructions sampled it is installed. `None` if a page of it was dropped: its code is of no use.
pub(super) struct Due {
    at: u64,
    pub(super) unit: Option<Unit>,
}

/// Units in the order in which they are compiled.
#[derive(Default)]
pub(super) struct Waiting {
    units: VecDeque<Due>,
    blocks: HashSet<(HostPage, u16)>,
}

impl Waiting {
    /// Whether one more unit may wait.
    pub(super) fn has_room(&self) -> bool {
        self.units.len() < MOST
    }

    /// Whether a block belongs to a unit that waits.
    pub(super) fn holds(&self, page: HostPage, offset: u16) -> bool {
        self.blocks.contains(&(page, offset))
    }

    /// A unit that takes `cost` instructions to compile waits from the moment on at which `now` were sampled.
    pub(super) fn add(&mut self, unit: Unit, now: u64, cost: u64) {
        let begin = self.units.back().map_or(now, |last| last.at.max(now));
        self.blocks.extend(unit.region.iter().map(|block| (block.page, block.offset)));
        self.units.push_back(Due { at: begin + cost, unit: Some(unit) });
    }

    /// The oldest unit, if it is to be installed by now.
    pub(super) fn take_due(&mut self, now: u64) -> Option<Due> {
        let due = self.units.pop_front_if(|due| due.at <= now)?;
        if let Some(unit) = &due.unit {
            Self::forget(&mut self.blocks, unit);
        }
        Some(due)
    }

    /// Units with blocks of a page will not be installed.
    pub(super) fn cancel(&mut self, page: HostPage) {
        for due in &mut self.units {
            if let Some(unit) = due.unit.take_if(|unit| unit.region.iter().any(|block| block.page == page)) {
                Self::forget(&mut self.blocks, &unit);
            }
        }
    }

    /// No unit will be installed.
    pub(super) fn cancel_all(&mut self) {
        self.units.iter_mut().for_each(|due| due.unit = None);
        self.blocks.clear();
    }

    fn forget(blocks: &mut HashSet<(HostPage, u16)>, unit: &Unit) {
        for block in &unit.region {
            blocks.remove(&(block.page, block.offset));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::compiled::Block;

    fn unit(number: u32, places: &[(usize, u16)]) -> Unit {
        let block = |&(page, offset): &(usize, u16)| Block {
            page: HostPage::of_number(page),
            offset,
            slot: 0,
            heat: 0,
            is_compiled: false,
        };
        let region: Vec<Block> = places.iter().map(block).collect();
        Unit { number, blocks: region.clone(), region }
    }

    fn taken(waiting: &mut Waiting, now: u64) -> Option<Option<u32>> {
        waiting.take_due(now).map(|due| due.unit.map(|unit| unit.number))
    }

    #[test]
    fn units_are_due_one_after_the_other() {
        let mut waiting = Waiting::default();
        waiting.add(unit(0, &[(1, 0)]), 100, 50);
        waiting.add(unit(1, &[(1, 8)]), 120, 10);
        assert_eq!(taken(&mut waiting, 149), None);
        assert_eq!(taken(&mut waiting, 155), Some(Some(0)));
        assert_eq!(taken(&mut waiting, 159), None);
        assert_eq!(taken(&mut waiting, 160), Some(Some(1)));
        waiting.add(unit(2, &[(1, 16)]), 300, 10);
        assert_eq!(taken(&mut waiting, 309), None, "nothing was before it");
    }

    #[test]
    fn a_page_cancels_its_units_and_no_others() {
        let mut waiting = Waiting::default();
        waiting.add(unit(0, &[(1, 0), (2, 4)]), 0, 1);
        waiting.add(unit(1, &[(3, 4)]), 0, 1);
        waiting.cancel(HostPage::of_number(2));
        assert!(!waiting.holds(HostPage::of_number(1), 0) && waiting.holds(HostPage::of_number(3), 4));
        assert_eq!([taken(&mut waiting, 2), taken(&mut waiting, 2)], [Some(None), Some(Some(1))]);
        assert!(!waiting.holds(HostPage::of_number(3), 4));
        waiting.add(unit(2, &[(3, 4)]), 0, 1);
        waiting.cancel_all();
        assert!(!waiting.holds(HostPage::of_number(3), 4));
        assert_eq!(taken(&mut waiting, 2), Some(None));
    }

    #[test]
    fn only_so_many_wait() {
        let mut waiting = Waiting::default();
        for number in 0..MOST {
            assert!(waiting.has_room());
            waiting.add(unit(number as u32, &[(1, 2 * number as u16)]), 0, 1);
        }
        assert!(!waiting.has_room());
    }
}
