//! The arena that translated blocks lie in, and how they are found.

use crate::{
    Isa,
    code::{models::ModelLayout, page_slots::PageSlots},
    engine::operands::Written,
    host_page::HostPage,
    microop::{Link, MicroOp},
    ops::Opcode,
    report::RegisterSet,
};
use std::cell::Cell;

/// Micro-ops that the arena holds before it is cleared: 16 bytes each, and 8 beside. A compiler's code takes two and a half million. Only what is used
/// takes memory of the host.
const ARENA: usize = 1 << 22;

/// Room kept free behind the blocks for a scratch block.
const SCRATCH: usize = 8;

/// The most slots one block takes: a gate, 64 instructions of up to three slots, the lines that they lie in, and the end.
pub(super) const MAX_BLOCK_SLOTS: usize = 1 + 64 * 3 + 64 * 4 / LEAST_LINE as usize + 1 + 3;

/// The shortest line of instructions, in bytes.
pub(super) const LEAST_LINE: u32 = 16;

/// What is known of a slot of the arena beside the micro-op.
#[derive(Clone, Copy)]
pub(crate) struct Side {
    pub(crate) opcode: Opcode,
    /// Of the instruction in its page, in bytes.
    pub(crate) offset: u16,
    /// Instructions of the block before it.
    pub(crate) instructions: u8,
    /// Stores of the block before it.
    pub(crate) stores: u8,
    /// Registers that it reads or writes, for buses that want [reports](crate::report).
    pub(crate) names: RegisterSet,
    /// Which of them it writes.
    pub(crate) written: Written,
}

/// A slot of the arena: a micro-op, or the link behind one that may leave its block.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) union Slot {
    pub(super) op: MicroOp,
    pub(super) link: Link,
}

/// The blocks of one page: for each even offset the slot of the block that starts there, or [`NO_BLOCK`].
pub(super) struct PageBlocks {
    starts: Box<[u32; 2048]>,
}

const NO_BLOCK: u32 = u32::MAX;

impl PageBlocks {
    /// The slots of its blocks.
    pub(super) fn slots(&self) -> impl Iterator<Item = usize> {
        self.starts.iter().filter(|slot| **slot != NO_BLOCK).map(|slot| *slot as usize)
    }
}

/// Translated blocks of all pages.
pub(crate) struct Translations {
    pub(super) isa: Isa,
    /// Bytes of a line of instructions; 0 where the bus does not count lines.
    pub(super) fetch_line: u32,
    /// The models that the bus has, for compiled code.
    pub(super) models: Option<ModelLayout>,
    /// Whether the first micro-op of a block behind its gate counts how often it is executed, until it is warm.
    pub(super) counts_executions: bool,
    /// Never grows beyond its capacity: micro-ops do not move.
    pub(super) ops: Vec<Slot>,
    pub(super) side: Vec<Side>,
    /// The blocks of each page of the memory.
    pages: Box<[Option<PageBlocks>]>,
    page_slots: PageSlots,
    fetch_slots: PageSlots,
    /// Where the jump cache lies.
    jumps: usize,
    /// One byte for each page of the memory: whether it holds translated code. Engines read it by an address while translations change.
    map: Box<[Cell<u8>]>,
    /// Pages that hold translated code, of which the bus has not been told.
    code_pages: Vec<HostPage>,
    first_page: usize,
}

impl Translations {
    /// None yet, of code in the `bytes` of host memory from `memory` on, for the jump cache at the address `jumps`.
    pub(super) fn new(isa: Isa, (memory, bytes): (*const u8, usize), jumps: usize) -> Self {
        let pages = (bytes >> 12) + 2;
        Self {
            isa,
            fetch_line: 0,
            models: None,
            counts_executions: false,
            ops: Vec::with_capacity(ARENA),
            side: Vec::with_capacity(ARENA),
            pages: (0..pages).map(|_| None).collect(),
            page_slots: PageSlots::new(),
            fetch_slots: PageSlots::new(),
            jumps,
            map: vec![Cell::new(0); pages].into_boxed_slice(),
            code_pages: Vec::new(),
            first_page: memory as usize >> 12,
        }
    }

    /// The byte map, biased so that the page number of a host address indexes it.
    pub(crate) fn biased_map(&self) -> *const u8 {
        self.map.as_ptr().cast::<u8>().wrapping_sub(self.first_page)
    }

    /// Where the jump cache lies, for compiled code.
    pub(crate) fn jumps(&self) -> usize {
        self.jumps
    }

    /// What the micro-op at `op`, the first of a block, leads to if the block has moved; else itself.
    pub(super) fn moved(&self, op: *mut MicroOp) -> *mut MicroOp {
        match self.side_of(op as usize).opcode {
            // SAFETY: the micro-op is one of a live block, or of one that was.
            Opcode::Moved => op.wrapping_offset(unsafe { (*op).imm } as isize),
            _ => op,
        }
    }

    /// The block at `offset` of `page` begins nowhere any more.
    pub(super) fn take_block(&mut self, page: HostPage, offset: u16) -> Option<usize> {
        let start = &mut self.pages[self.index(page)].as_mut()?.starts[usize::from(offset >> 1)];
        let slot = std::mem::replace(start, NO_BLOCK);
        (slot != NO_BLOCK).then_some(slot as usize)
    }

    /// Where accesses to pages were found last.
    #[inline(always)]
    pub(crate) fn page_slots(&self) -> &PageSlots {
        &self.page_slots
    }

    /// Where fetches from a page were found last.
    pub(crate) fn fetch_slots(&self) -> &PageSlots {
        &self.fetch_slots
    }

    /// Where what is known of a page is.
    fn index(&self, page: HostPage) -> usize {
        page.number() - self.first_page
    }

    /// Whether the page holds translated code.
    pub(super) fn holds(&self, page: HostPage) -> bool {
        self.map[self.index(page)].get() != 0
    }

    /// A page that holds translated code since lately, until all have been named.
    pub(super) fn take_code_page(&mut self) -> Option<HostPage> {
        self.code_pages.pop()
    }

    /// Forgets where the blocks of a page begin; they are what is returned.
    pub(super) fn take_page(&mut self, page: HostPage) -> Option<PageBlocks> {
        let index = self.index(page);
        self.map[index].set(0);
        self.pages[index].take()
    }

    /// The block at `slot` is that at `offset` of `page` from now on.
    pub(super) fn set_block(&mut self, page: HostPage, offset: u16, slot: usize) {
        let index = self.index(page);
        if self.map[index].replace(1) == 0 {
            self.code_pages.push(page);
        }
        let blocks = self.pages[index].get_or_insert_with(|| PageBlocks { starts: Box::new([NO_BLOCK; 2048]) });
        blocks.starts[usize::from(offset >> 1)] = slot as u32;
    }

    /// The slot of the block at `offset` of `page`, if it is translated.
    pub(super) fn block_at(&self, page: HostPage, offset: u16) -> Option<usize> {
        let slot = self.pages[self.index(page)].as_ref()?.starts[usize::from(offset >> 1)];
        (slot != NO_BLOCK).then_some(slot as usize)
    }

    /// Whether there is room for `slots` more, beside a scratch block.
    pub(super) fn has_room(&self, slots: usize) -> bool {
        self.ops.len() + slots + SCRATCH <= ARENA
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.ops.clear();
        self.side.clear();
        self.pages.fill_with(|| None);
        self.map.iter().for_each(|byte| byte.set(0));
    }

    /// The models that the bus has, as compiled code knows them.
    pub(crate) fn models(&self) -> Option<&ModelLayout> {
        self.models.as_ref()
    }

    /// How full the arena is, for [`release`](Self::release).
    pub(super) fn mark(&self) -> usize {
        self.ops.len()
    }

    /// Frees what was appended since `mark`.
    pub(super) fn release(&mut self, mark: usize) {
        self.ops.truncate(mark);
        self.side.truncate(mark);
    }

    /// Where a link into the block at `target` may enter it: past its floating-point gate if the source has passed one.
    pub(crate) fn past_gate(&self, target: *mut MicroOp, from_float: bool) -> *mut MicroOp {
        let gated = self.side_of(target as usize).opcode == Opcode::FloatGate;
        if from_float && gated { target.wrapping_add(1) } else { target }
    }

    /// What is known beside the micro-op at an address, which is one of a live block.
    pub(crate) fn side_of(&self, op: usize) -> Side {
        self.side[self.slot_of(op as *const MicroOp)]
    }

    /// The slot of a micro-op.
    pub(super) fn slot_of(&self, op: *const MicroOp) -> usize {
        (op as usize - self.ops.as_ptr() as usize) / size_of::<Slot>()
    }

    pub(super) fn at(&mut self, slot: usize) -> *mut MicroOp {
        // SAFETY: the slot is in the arena.
        unsafe { self.ops.as_mut_ptr().add(slot).cast() }
    }

    pub(super) fn push(&mut self, slot: Slot, side: Side) {
        assert!(self.ops.len() < ARENA, "the caller made room");
        self.ops.push(slot);
        self.side.push(side);
    }

    /// The micro-op in a slot that is one.
    pub(crate) fn slot(&self, slot: usize) -> (Opcode, &MicroOp) {
        // SAFETY: a slot's bytes are those of a micro-op wherever the caller comes from the micro-op before.
        (self.side[slot].opcode, unsafe { &self.ops[slot].op })
    }

    /// Where the instruction of a slot is in its page, and how many of its block are before it.
    pub(crate) fn place(&self, slot: usize) -> (u16, u8) {
        (self.side[slot].offset, self.side[slot].instructions)
    }

    /// The link behind the micro-op in a slot, its target's offset in the page, and whether it comes from a block that has passed its floating-point
    /// gate.
    pub(crate) fn link(&self, slot: usize) -> (Link, i32, bool) {
        // SAFETY: a link and its resolver follow every micro-op that takes one.
        let (link, resolver) = unsafe { (self.ops[slot + 1].link, self.ops[slot + 2].op) };
        (link, resolver.imm, resolver.rd != 0)
    }

    /// Where a slot lies.
    pub(crate) fn address(&self, slot: usize) -> usize {
        self.ops.as_ptr() as usize + slot * size_of::<Slot>()
    }
}
