//! Which accesses of a unit keep the entry that they hit last in a register.
//!
//! The micro-op knows it as well, but the way from there to the entry is several instructions, which every hit waits for, and a mispredicted branch on what
//! is loaded waits for the hit. The unit finds the entry when it is entered and again after a miss, so that this is worth it in loops.

use super::{
    near::Near,
    part::{Block, compiled_part, is_link},
};
use crate::{code::translations::Translations, engine::access_group::is_access};

/// The most accesses whose entries are kept: more would take the registers of the guest.
const MOST_KEPT: usize = 6;

/// The slots of the accesses, those of the hottest blocks first.
pub(super) fn kept(code: &Translations, blocks: &[Block]) -> Vec<usize> {
    let in_loop = in_loops(&blocks.iter().map(|block| successors(code, blocks, block)).collect::<Vec<_>>());
    let mut looping: Vec<&Block> =
        blocks.iter().enumerate().filter(|(number, _)| in_loop >> number & 1 != 0).map(|(_, block)| block).collect();
    looping.sort_by_key(|block| std::cmp::Reverse(block.heat));
    let accesses = looping.into_iter().flat_map(|block| {
        let near = Near::of(compiled_part(code, block.slot));
        let own = move |slot: &usize| !near.follows(*slot);
        compiled_part(code, block.slot).filter(|(_, opcode, _)| is_access(*opcode)).map(|(slot, ..)| slot).filter(own)
    });
    accesses.take(MOST_KEPT).collect()
}

/// The blocks, a bit each, that links of `block` lead to.
fn successors(code: &Translations, blocks: &[Block], block: &Block) -> u64 {
    let links = compiled_part(code, block.slot).filter(|(_, opcode, _)| is_link(*opcode));
    let targets = links.map(|(slot, ..)| code.link(slot).1);
    targets
        .flat_map(|target| blocks.iter().position(|to| to.page == block.page && i32::from(to.offset) == target))
        .fold(0, |set, number| set | 1 << number)
}

/// Those, of at most 64 numbers, from which their successors lead back to them.
fn in_loops(successors: &[u64]) -> u64 {
    let mut reached = successors.to_vec();
    for through in 0..reached.len() {
        let further = reached[through];
        for set in &mut reached {
            if *set >> through & 1 != 0 {
                *set |= further;
            }
        }
    }
    reached.iter().enumerate().fold(0, |all, (number, set)| all | set & 1 << number)
}

#[cfg(test)]
mod tests {
    use super::in_loops;

    #[test]
    fn a_block_is_in_a_loop_if_it_comes_back_to_itself() {
        // 0 goes to 1 and 3, 1 to 2, 2 to 1, 3 to 3, 4 to 0.
        assert_eq!(in_loops(&[0b1010, 0b100, 0b10, 0b1000, 0b1]), 0b1110);
        assert_eq!(in_loops(&[0b10, 0b100, 0]), 0);
        assert_eq!(in_loops(&[0b10, 0b100, 0b1]), 0b111);
    }
}
