//! Translated code: blocks of micro-ops, where they came from, and how they are found, linked and dropped.
//!
//! Blocks are keyed by the host page and offset of their first instruction, so address spaces that share a page share its blocks.
//! They end at the page's end. *Dropping* a page (a store hit it) makes each of its blocks *stale*: its first micro-op
//! now leads back to the run loop, which translates anew. Nothing is freed until the arena is full, when everything
//! goes at once; so a pointer to a micro-op stays good while an engine runs, because the arena is cleared only in the run loop.

mod block;
mod hot;

use crate::{
    Bus, Isa,
    decode::Instruction,
    engine::threaded,
    microop::{Link, MicroOp},
    ops::Opcode,
};
use std::collections::HashMap;

/// Micro-ops that the arena holds before it is cleared: 16 bytes each, and 8 beside.
const ARENA: usize = 1 << 20;

/// Room kept free behind the blocks for a scratch block.
const SCRATCH: usize = 8;

/// The most slots one block takes: a gate, 64 instructions of up to three slots, the lines that they lie in, and the end.
const MAX_BLOCK_SLOTS: usize = 1 + 64 * 3 + 64 * 4 / LEAST_LINE as usize + 1 + 3;

/// The shortest line of instructions, in bytes.
const LEAST_LINE: u32 = 16;

/// Entries of the jump cache, a power of two.
const JUMPS: usize = 1 << 12;

/// A 4 KiB page of the host's memory, by its address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct HostPage(usize);

impl HostPage {
    /// The page that contains a byte of host memory.
    #[inline]
    #[must_use]
    pub fn containing(at: *const u8) -> Self {
        Self(at as usize & !0xfff)
    }

    /// The page's first byte.
    #[inline]
    #[must_use]
    pub fn start(self) -> *const u8 {
        self.0 as *const u8
    }
}

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
}

/// An entry of the jump cache: where `target` led last time. Checked against the fetch TLB at each use.
#[derive(Clone, Copy)]
pub(crate) struct Jump {
    pub(crate) target: u64,
    pub(crate) page: HostPage,
    pub(crate) op: *mut MicroOp,
    pub(crate) site: u16,
}

const NO_JUMP: Jump = Jump { target: 1, page: HostPage(0), op: std::ptr::null_mut(), site: 0 };

/// A slot of the arena: a micro-op, or the link behind one that may leave its block.
#[derive(Clone, Copy)]
#[repr(C)]
union Slot {
    op: MicroOp,
    link: Link,
}

/// The blocks of one page: for each even offset the slot of the block that starts there, or [`NO_BLOCK`].
struct PageBlocks {
    starts: Box<[u32; 2048]>,
}

const NO_BLOCK: u32 = u32::MAX;

/// Translated blocks, for the harts of one machine: they must have the same [`Isa`], the same bus type and the same memory.
pub struct CodeCache<B: Bus> {
    isa: Isa,
    /// Bytes of a line of instructions; 0 where nobody asks.
    fetch_line: u32,
    /// Never grows beyond its capacity: micro-ops do not move.
    ops: Vec<Slot>,
    side: Vec<Side>,
    pages: HashMap<HostPage, PageBlocks>,
    jumps: Box<[Jump; JUMPS]>,
    /// One byte for each page of the memory: whether it holds translated code.
    map: Box<[u8]>,
    first_page: usize,
    hot: hot::Hot,
    bus: std::marker::PhantomData<fn(&mut B)>,
}

// SAFETY: the pointers lead into the arena and the memory, both owned exclusively with the machine that owns the cache.
unsafe impl<B: Bus> Send for CodeCache<B> {}

impl<B: Bus> CodeCache<B> {
    /// A cache for code in the `bytes` of host memory from `memory` on, which stay mapped and readable as long as the cache is used.
    #[must_use]
    pub fn new(isa: Isa, memory: *const u8, bytes: usize) -> Self {
        Self {
            isa,
            fetch_line: 0,
            ops: Vec::with_capacity(ARENA),
            side: Vec::with_capacity(ARENA),
            pages: HashMap::new(),
            jumps: Box::new([NO_JUMP; JUMPS]),
            map: vec![0; (bytes >> 12) + 2].into_boxed_slice(),
            first_page: memory as usize >> 12,
            hot: hot::Hot::default(),
            bus: std::marker::PhantomData,
        }
    }

    /// The same, whose code tells the bus ([`Bus::use_line`]) of each line of `bytes` bytes that execution comes to. Within a line that it was in
    /// already it may tell again or not, which is the same to a cache.
    ///
    /// # Panics
    /// If a line is shorter than 16 bytes, longer than a page, or no power of two.
    #[must_use]
    pub fn with_fetch_lines(self, bytes: u32) -> Self {
        assert!(bytes.is_power_of_two() && (LEAST_LINE..=4096).contains(&bytes), "a line of {bytes} bytes");
        Self { fetch_line: bytes, ..self }
    }

    /// The extensions that code is translated for.
    #[must_use]
    pub fn isa(&self) -> &Isa {
        &self.isa
    }

    /// Forgets translations of the pages that overlap `bytes` from `at` on: somebody other than a hart wrote there.
    pub fn written(&mut self, at: *const u8, bytes: usize) {
        let first = at as usize >> 12;
        let last = (at as usize + bytes.max(1) - 1) >> 12;
        for number in first..=last {
            if self.map[number - self.first_page] != 0 {
                self.drop_page(HostPage(number << 12));
            }
        }
    }

    /// The byte map, biased so that the page number of a host address indexes it.
    pub(crate) fn biased_map(&self) -> *const u8 {
        self.map.as_ptr().wrapping_sub(self.first_page)
    }

    #[inline(always)]
    pub(crate) fn jump(&self, target: u64) -> Jump {
        self.jumps[Self::jump_index(target)]
    }

    pub(crate) fn remember_jump(&mut self, jump: Jump) {
        self.jumps[Self::jump_index(jump.target)] = jump;
    }

    #[inline(always)]
    const fn jump_index(target: u64) -> usize {
        ((target >> 1) ^ (target >> 13)) as usize & (JUMPS - 1)
    }

    /// Makes every block of a page stale.
    pub(crate) fn drop_page(&mut self, page: HostPage) {
        self.map[(page.0 >> 12) - self.first_page] = 0;
        let Some(blocks) = self.pages.remove(&page) else { return };
        self.hot.page_dropped(page);
        for slot in blocks.starts.iter().filter(|slot| **slot != NO_BLOCK) {
            let index = *slot as usize;
            if self.side[index].opcode == Opcode::FloatGate {
                // Links from other blocks of the page may pass the gate.
                self.make_stale(index + 1);
            }
            self.make_stale(index);
        }
    }

    fn make_stale(&mut self, slot: usize) {
        self.side[slot].opcode = Opcode::Stale;
        let imm = i32::from(self.side[slot].offset);
        self.ops[slot].op = MicroOp { handler: threaded::handler::<B>(Opcode::Stale), imm, rd: 0, rs1: 0, rs2: 0 };
    }

    /// The first micro-op of the block at `offset` of `page`, translated now if need be; `None` where the arena is full.
    pub(crate) fn find(&mut self, page: HostPage, offset: u16) -> Option<*mut MicroOp> {
        if let Some(slot) = self.block_at(page, offset) {
            return Some(self.at(slot));
        }
        if self.ops.len() + MAX_BLOCK_SLOTS + SCRATCH > ARENA {
            return None;
        }
        let slot = self.ops.len();
        block::translate(self, page, offset);
        self.map[(page.0 >> 12) - self.first_page] = 1;
        let blocks = self.pages.entry(page).or_insert_with(|| PageBlocks { starts: Box::new([NO_BLOCK; 2048]) });
        blocks.starts[usize::from(offset >> 1)] = slot as u32;
        if self.hot.compiles_all() {
            self.compile(page, offset);
            if self.hot.has_failed() {
                // As where the arena is full: the run loop clears it.
                return None;
            }
        }
        self.block_at(page, offset).map(|slot| self.at(slot))
    }

    /// The slot of the block at `offset` of `page`, if it is translated.
    fn block_at(&self, page: HostPage, offset: u16) -> Option<usize> {
        let slot = self.pages.get(&page)?.starts[usize::from(offset >> 1)];
        (slot != NO_BLOCK).then_some(slot as usize)
    }

    /// Forgets everything. Only for the run loop, while no engine runs.
    pub(crate) fn clear(&mut self) {
        self.ops.clear();
        self.side.clear();
        self.pages.clear();
        self.jumps.fill(NO_JUMP);
        self.map.fill(0);
        self.hot.clear();
    }

    /// How full the arena is, for [`release`](Self::release).
    pub(crate) fn mark(&self) -> usize {
        self.ops.len()
    }

    /// A block of the one `instruction`, found at `offset` of its page, that ends at its budget: the caller executes it with a budget
    /// of 0 and then [releases](Self::release) it. No gate stands before it, and it may straddle two pages.
    pub(crate) fn scratch(&mut self, instruction: &Instruction, offset: u16) -> *mut MicroOp {
        let slot = self.ops.len();
        block::translate_one(self, instruction, offset);
        self.at(slot)
    }

    /// Frees what was appended since `mark`.
    pub(crate) fn release(&mut self, mark: usize) {
        self.ops.truncate(mark);
        self.side.truncate(mark);
    }

    /// Where a link into the block at `target` may enter it: past its floating-point gate if the source has passed one.
    pub(crate) fn past_gate(&self, target: *mut MicroOp, from_float: bool) -> *mut MicroOp {
        if from_float && self.opcode(target) == Opcode::FloatGate { target.wrapping_add(1) } else { target }
    }

    /// The opcode of a micro-op of a live block.
    pub(crate) fn opcode(&self, op: *const MicroOp) -> Opcode {
        self.side_of(op as usize).opcode
    }

    /// What is known beside the micro-op at an address.
    pub(crate) fn side_of(&self, op: usize) -> Side {
        self.side[(op - self.ops.as_ptr() as usize) / size_of::<Slot>()]
    }

    fn at(&mut self, slot: usize) -> *mut MicroOp {
        // SAFETY: the slot is in the arena.
        unsafe { self.ops.as_mut_ptr().add(slot).cast() }
    }

    fn push(&mut self, slot: Slot, side: Side) {
        assert!(self.ops.len() < ARENA, "the caller made room");
        self.ops.push(slot);
        self.side.push(side);
    }
}
