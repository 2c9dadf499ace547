//! Maple trees (Linux `include/linux/maple_tree.h`): what a tree has for an index. A process's areas are in one, by address.

use crate::memory::{KernelMemory, pointer};

/// What a pointer to a node has in its low bits (`MAPLE_NODE_MASK`), and its type among them.
const NODE_MASK: u64 = 255;
const TYPE_SHIFT: u32 = 3;
const TYPE_MASK: u64 = 0xf;
const LEAF: u64 = 1;
const RANGE: u64 = 2;
const RANGE_WITH_GAPS: u64 = 3;
/// No tree is deeper: each level has at least a few nodes of 256 bytes.
const DEEPEST: usize = 24;

/// Where a kind of node has what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeLayout {
    /// The first of the highest indices of its parts.
    pub(crate) pivots: u64,
    /// The first of its parts.
    pub(crate) slots: u64,
    /// How many parts it has; one more than pivots.
    pub(crate) count: u64,
}

/// The kinds of nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MapleLayout {
    /// `struct maple_range_64`, of leaves as well.
    pub(crate) range: NodeLayout,
    /// `struct maple_arange_64`.
    pub(crate) range_with_gaps: NodeLayout,
}

/// What the tree with this root has at `index`.
pub(crate) fn find(memory: &impl KernelMemory, layout: &MapleLayout, root: u64, index: u64) -> Option<u64> {
    let mut entry = root;
    // A tree whose root is no node has one entry, of index 0.
    if entry & 3 != 2 || entry <= 4096 {
        return None;
    }
    for _ in 0..DEEPEST {
        let (node, kind) = (entry & !NODE_MASK, entry >> TYPE_SHIFT & TYPE_MASK);
        let parts = match kind {
            LEAF | RANGE => layout.range,
            RANGE_WITH_GAPS => layout.range_with_gaps,
            _ => return None,
        };
        let slot = part(memory, parts, node, index)?;
        entry = pointer(memory, node.wrapping_add(parts.slots + 8 * slot))?;
        if kind == LEAF {
            // Low bits are set in what is no pointer: a place that is kept free.
            return (entry != 0 && entry & 3 == 0).then_some(entry);
        }
        if entry == 0 {
            return None;
        }
    }
    None
}

/// The number of the part of a node that has `index`. A pivot of zero behind the first ends a node that is not full.
fn part(memory: &impl KernelMemory, parts: NodeLayout, node: u64, index: u64) -> Option<u64> {
    for slot in 0..parts.count - 1 {
        let pivot = pointer(memory, node.wrapping_add(parts.pivots + 8 * slot))?;
        if index <= pivot || (pivot == 0 && slot > 0) {
            return Some(slot);
        }
    }
    Some(parts.count - 1)
}
