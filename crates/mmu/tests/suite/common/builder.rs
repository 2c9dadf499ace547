//! Page tables as an operating system would write them.

use super::memory::HostMemory;
use types::PageSize;

pub const V: u64 = 1;
pub const R: u64 = 1 << 1;
pub const W: u64 = 1 << 2;
pub const X: u64 = 1 << 3;
pub const U: u64 = 1 << 4;
pub const G: u64 = 1 << 5;
pub const A: u64 = 1 << 6;
pub const D: u64 = 1 << 7;
pub const N: u64 = 1 << 63;

/// A PTE: the page or table at `address`, with flags.
pub fn pte(address: u64, flags: u64) -> u64 {
    (address >> 12) << 10 | flags | V
}

/// The PTE of a leaf that is one of a group.
pub fn group(page: u64, size: PageSize, flags: u64) -> u64 {
    pte(page | (size.bytes() / 2), flags | N)
}

/// The level whose leaf has that size, and the PTE of such a leaf at `page`.
pub fn leaf(page: u64, size: PageSize, flags: u64) -> (u32, u64) {
    match size {
        PageSize::Size4K => (0, pte(page, flags)),
        PageSize::Size32K | PageSize::Size64K | PageSize::Size256K => (0, group(page, size, flags)),
        PageSize::Size2M => (1, pte(page, flags)),
        PageSize::Size1G => (2, pte(page, flags)),
        PageSize::Size512G => (3, pte(page, flags)),
        PageSize::Size256T => (4, pte(page, flags)),
    }
}

/// The entries of a flat table that map the page around `address`, and where they are: one for a leaf of level 0, and 512 marked ones
/// for a larger one. Those that the table does not have are left out.
pub fn flat(table: u64, first: u64, entries: u64, address: u64, (level, leaf): (u32, u64)) -> Vec<(u64, u64)> {
    let pages = if level == 0 { 1 } else { 512 };
    let frame = (address >> 12) / pages * pages;
    let pte = if level == 0 { leaf } else { leaf | N | 0x100 << 10 };
    (frame..frame + pages)
        .filter_map(|frame| frame.checked_sub(first >> 12))
        .filter(|&index| index < entries)
        .map(|index| (table + index * 8, pte))
        .collect()
}

/// Shape of a tree.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub levels: u32,
    pub wide_root: bool,
}

/// A tree of tables.
#[derive(Clone, Copy, Debug)]
pub struct Tree {
    pub shape: Shape,
    /// Its tables are at hPA = their address + this.
    pub offset: u64,
    pub root: u64,
}

/// Address of the PTE for `address` in a table of `level`.
pub fn slot(shape: Shape, table: u64, level: u32, address: u64) -> u64 {
    let entries = if shape.wide_root && level + 1 == shape.levels { 2048 } else { 512 };
    table + (address >> (12 + 9 * level)) % entries * 8
}

/// Writes the path to a leaf at `level`, with tables from `new_table` where there are none (it returns the pointer),
/// and all PTEs of a group.
pub fn map_page(
    memory: &mut HostMemory,
    tree: Tree,
    address: u64,
    (leaf_level, leaf): (u32, u64),
    mut new_table: impl FnMut() -> u64,
) {
    let Tree { shape, offset, root } = tree;
    let mut table = root;
    for level in (leaf_level + 1..shape.levels).rev() {
        let at = slot(shape, table, level, address).wrapping_add(offset);
        let old = memory.peek(at);
        let is_pointer = old & (V | R | W | X | U | A | D) == V && old >> 54 == 0;
        table = if is_pointer {
            (old >> 10) << 12
        } else {
            let pointer = new_table();
            memory.write(at, pointer);
            (pointer >> 10) << 12
        };
    }
    if leaf_level >= shape.levels {
        return;
    }
    let pieces = if leaf & N != 0 { 2 << (leaf >> 10).trailing_zeros() } else { 1 };
    for piece in 0..pieces {
        let address = if pieces == 1 { address } else { address & !(pieces * 4096 - 1) | piece << 12 };
        memory.write(slot(shape, table, leaf_level, address).wrapping_add(offset), leaf);
    }
}
