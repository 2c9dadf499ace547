//! Which blocks are compiled together: a hot block, those that its links and calls have led to, and theirs in turn.

use super::heat::Heat;
use super::jumps::Jumps;
use super::place::Place;
use super::translations::{MAX_BLOCK_SLOTS, Translations};
use super::waiting::Waiting;
use crate::{
    engine::compiled::{Block, calls, compiled_part, is_link, returns},
    microop::ENTRY_SLOTS,
    ops::Opcode,
};
use std::collections::VecDeque;

/// The most blocks of a unit, and the most micro-ops.
const MOST_BLOCKS: usize = 32;
const MOST_OPS: usize = 600;

/// Which links of a block lead to what is compiled with it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    /// Those that have been taken.
    Taken,
    /// All.
    All,
}

/// Blocks to compile.
pub(super) struct Region {
    /// The first is the hot one.
    pub(super) blocks: Vec<Block>,
    /// How many micro-ops they have together.
    pub(super) ops: usize,
    /// How many those have that are in no unit so far.
    pub(super) new_ops: usize,
    /// Whether a block comes back to one of them, and whether there are more than a unit takes.
    loops: bool,
    is_full: bool,
}

/// What a region grows by.
pub(super) struct Growth<'a> {
    pub(super) code: &'a Translations,
    /// Without the jump cache, a region stays in its page.
    pub(super) jumps: Option<&'a Jumps>,
    pub(super) links: Links,
    pub(super) heat: &'a Heat,
    pub(super) waiting: &'a Waiting,
}

impl Growth<'_> {
    /// The region around the block at `place`. `None` where that is compiled already, where there is no room, or, unless [`Links::All`] are followed, where
    /// nothing comes back to a block of it: such a unit is entered too often for what it does.
    ///
    /// A function is mostly hotter than its caller, and compiled first. The unit of the caller takes its blocks over, as going from one unit to another takes as long
    /// as some ten instructions of the guest. But it takes none where it cannot have all: what was in one unit would be in two.
    pub(super) fn from(&self, place: Place) -> Option<Region> {
        let all = self.grow(place, self.links == Links::Taken);
        let region = if all.is_full { self.grow(place, false) } else { all };
        let room = self.code.has_room(region.blocks.len() * (MAX_BLOCK_SLOTS + ENTRY_SLOTS));
        (room && !region.blocks.is_empty() && (region.loops || self.links == Links::All)).then_some(region)
    }

    /// The region, with or without blocks that are in units.
    fn grow(&self, place: Place, takes_over: bool) -> Region {
        let mut region = Region { blocks: Vec::new(), ops: 0, new_ops: 0, loops: false, is_full: false };
        let mut waiting = VecDeque::from([place]);
        while let Some(place) = waiting.pop_front() {
            let Place { page, offset, .. } = place;
            if region.blocks.iter().any(|block| (block.page, block.offset) == (page, offset)) {
                region.loops = true;
                continue;
            }
            let Some(slot) = self.code.block_at(page, offset) else { continue };
            let is_compiled = self.code.side[slot].opcode == Opcode::Compiled;
            let is_taken = is_compiled && (!takes_over || region.blocks.is_empty());
            if is_taken || self.waiting.holds(page, offset) {
                continue;
            }
            if region.blocks.len() == MOST_BLOCKS || region.ops > MOST_OPS {
                region.is_full = true;
                continue;
            }
            let slot = if is_compiled { slot + ENTRY_SLOTS } else { slot };
            region.blocks.push(Block { page, offset, slot, heat: self.heat.at(page, offset), is_compiled });
            let (followed, targets) = self.follow(slot);
            region.ops += followed;
            region.new_ops += if is_compiled { 0 } else { followed };
            waiting.extend(targets.into_iter().filter_map(|delta| place.towards(self.code, self.jumps, delta)));
            if self.jumps_by_table(slot) {
                // Where such a jump leads is not known: to places of its page where time is spent.
                waiting.extend(self.sampled_places(place));
            }
        }
        region
    }

    /// The blocks of a page at which instructions were sampled, but for the one at `place`.
    fn sampled_places(&self, place: Place) -> impl Iterator<Item = Place> {
        let others = self.heat.offsets(place.page).filter(move |&offset| offset != place.offset);
        others.map(move |offset| Place { offset, ..place })
    }

    /// Whether the block at `slot` ends in a jump to a register that is no return: by a table, or to a function whose address is in a variable.
    fn jumps_by_table(&self, slot: usize) -> bool {
        compiled_part(self.code, slot).any(|(_, opcode, op)| opcode == Opcode::Jalr && !returns(op))
    }

    /// How many micro-ops of the block at `slot` would be compiled, and where its links and calls lead, in bytes from the start of its page.
    fn follow(&self, slot: usize) -> (usize, Vec<i32>) {
        let (mut ops, mut targets) = (0, Vec::new());
        for (slot, opcode, op) in compiled_part(self.code, slot) {
            ops += 1;
            if is_link(opcode) {
                let (link, delta, _) = self.code.link(slot);
                // Links to other pages lead nowhere by themselves.
                let leads = link.target as usize != self.code.address(slot + 2) || self.links == Links::All;
                if leads || !(0..0x1000).contains(&delta) {
                    targets.push(delta);
                }
            }
            if calls(opcode, op) {
                targets.push(i32::from(op.rs2));
            }
        }
        (ops, targets)
    }
}
