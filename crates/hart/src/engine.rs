//! The engines that execute micro-ops, and what they share.
//!
//! Protocol: [`Hart::run`] enters an engine at a block's first micro-op with an accumulator. The engine runs from block to
//! block through links and the jump cache until it leaves: [`Hart::leave`](crate::hart::Hart) says why, and `at` or `pc` where. On a leave
//! with `at`, the instructions of the block before `at` are not yet accounted for; on one with `pc`, all are.

pub(crate) mod compiled;
pub(crate) mod matching;
pub(crate) mod threaded;

use crate::{
    Bus, CodeCache, Trap,
    bus::{CacheLines, CodeWindow, DataWindow},
    code::HostPage,
    csr::InPlace,
    hart::Hart,
    microop::{Link, MicroOp},
};
use types::Access;

/// Which engine executes micro-ops.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Engine {
    /// Each handler jumps to the next one's. Needs an optimised build, in which such calls become jumps; a build with debug
    /// assertions uses the other engine instead.
    #[default]
    Threaded,
    /// A `match` over the same micro-ops: slower, and the oracle of the others.
    Matching,
    /// The threaded engine, for which hot blocks are compiled to code of the host. Where the host is no x86-64 or the bus has no
    /// [layout](crate::Bus::ENTRY) for it, nothing is compiled.
    Compiled(Hotness),
}

/// When a block is compiled: once about so many instructions were sampled where it begins. 0 compiles every block when it is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hotness(pub u32);

impl Hotness {
    /// Compiling a unit takes the time of some 100 000 instructions, and saves half of the time of what it executes from then on.
    pub const USUAL: Self = Self(200_000);
    /// Every block is compiled.
    pub const ALL: Self = Self(0);
}

/// Why the engine was left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Leave {
    /// With `pc`: the budget is used up.
    Budget,
    /// With `pc`: the next block is not known, or not known to be still there.
    Lookup,
    /// With `at`: the instruction trapped.
    Trap(Trap),
    /// With `at`: the run loop executes the instruction, and nothing of it has happened yet.
    Step,
    /// With `at`: the hart leaves [`Hart::run`], and goes on with the instruction when it runs again.
    Again,
}

/// How an engine goes on after a CSR access in place.
pub(crate) enum AfterCsr {
    /// With the next micro-op.
    Next,
    /// With the next micro-op, and another window: loads and stores translate otherwise now.
    Window(DataWindow),
}

/// What the engines reach beside the hart.
pub(crate) struct Environment<B: Bus> {
    bus: *mut B,
    code: *mut CodeCache<B>,
    /// The cache's byte map of frames that hold code, biased by the host's page numbers.
    code_map: *const u8,
    pub(crate) code_window: CodeWindow,
    /// Where the latest load or store that missed was found: the next one is often off the same base.
    pub(crate) latest: u16,
    /// What compiled code and the functions that it calls tell each other.
    pub(crate) exchange: compiled::Exchange,
    lines: B::Lines,
}

impl<B: Bus> Environment<B> {
    pub(crate) fn new(bus: &mut B, code: &mut CodeCache<B>) -> Self {
        let (code_window, lines) = (bus.code_window(), bus.lines());
        Self {
            bus,
            code_map: code.biased_map(),
            code,
            code_window,
            latest: 0,
            exchange: compiled::Exchange::new(),
            lines,
        }
    }

    #[inline(always)]
    pub(crate) fn bus(&mut self) -> &mut B {
        // SAFETY: made from an exclusive reference that outlives the environment and is used nowhere else meanwhile.
        unsafe { &mut *self.bus }
    }

    #[inline(always)]
    pub(crate) fn code(&mut self) -> &mut CodeCache<B> {
        // SAFETY: as for the bus.
        unsafe { &mut *self.code }
    }

    /// A load or store has hit the byte at `at`: it uses the line there.
    ///
    /// # Safety
    /// `at` is what this bus said.
    #[inline(always)]
    pub(crate) unsafe fn use_data_line(&mut self, at: *const u8, access: Access) {
        // SAFETY: by the contract; the lines are of the bus, for this run.
        if !unsafe { self.lines.data_is_latest(at) } {
            self.bus().use_line(at, access);
        }
    }

    /// The hart goes on to the line of instructions at `offset` of its page.
    #[inline(always)]
    pub(crate) fn fetch_line(&mut self, hart: &Hart, offset: i32) {
        let at = hart.host_page.start().wrapping_add(offset as usize);
        // SAFETY: the page is one of the bus's memory; the lines are of the bus, for this run.
        if !unsafe { self.lines.code_is_latest(at) } {
            self.bus().use_line(at, Access::Execute);
        }
    }

    /// Whether the page of a byte just written holds translated code.
    ///
    /// # Safety
    /// `at` lies in the memory that the code cache was made for.
    #[inline(always)]
    pub(crate) unsafe fn holds_code(&self, at: *const u8) -> bool {
        // SAFETY: the map has a byte for every page of that memory.
        unsafe { *self.code_map.wrapping_add(at as usize >> 12) != 0 }
    }

    /// Drops the translations of a page that was written to.
    #[cold]
    #[inline(never)]
    pub(crate) fn code_written(&mut self, at: *const u8) {
        self.code().drop_page(HostPage::containing(at));
    }

    /// Goes to `target` through the jump cache; `None` leaves with [`Leave::Lookup`].
    ///
    /// The fetch TLB is looked up here, and only here and in the run loop: that is every change of page and every indirect jump, and
    /// looking up the page used last changes no replacement order.
    #[inline(always)]
    pub(crate) fn jump(&mut self, hart: &mut Hart, target: u64) -> Option<*mut MicroOp> {
        let jump = self.code().jump(target);
        let window = self.code_window;
        // SAFETY: the site was handed out by this bus, and the window is of the current context.
        if jump.target == target && unsafe { self.bus().fetch_hit(window, jump.site, target, jump.page) } {
            hart.page = target & !0xfff;
            hart.host_page = jump.page;
            Some(jump.op)
        } else {
            hart.pc = target;
            hart.leave = Leave::Lookup;
            None
        }
    }

    /// Executes a CSR access in place; `None` leaves it to the run loop, and nothing of it has happened yet.
    #[inline(never)]
    pub(crate) fn access_csr(&mut self, hart: &mut Hart, op: *const MicroOp, acc: u64) -> Option<AfterCsr> {
        let side = self.code().side_of(op as usize);
        let retired = hart.retired_before_block(acc) + u64::from(side.instructions);
        // SAFETY: the micro-op is one of a live block.
        let bits = unsafe { (*op).imm } as u32;
        match hart.access_csr_in_place(bits, self.bus(), retired)? {
            InPlace::Plain => Some(AfterCsr::Next),
            InPlace::Context => {
                let context = hart.context();
                self.bus().set_context(&context);
                self.code_window = self.bus().code_window();
                Some(AfterCsr::Window(self.bus().data_window()))
            }
        }
    }

    /// What the resolver behind a link does: finds, and links, the target `delta` bytes from the start of the page.
    #[cold]
    pub(crate) fn resolve(&mut self, hart: &mut Hart, stub: *mut MicroOp) -> Option<*mut MicroOp> {
        // SAFETY: the resolver is executed only in the slot behind its link.
        let (delta, from_float, link) = unsafe { ((*stub).imm, (*stub).rd != 0, &mut *stub.sub(1).cast::<Link>()) };
        if let Ok(offset @ 0..=0xfff) = u16::try_from(delta)
            && let Some(target) = self.code().find(hart.host_page, offset)
        {
            link.target = self.code().past_gate(target, from_float);
            return Some(link.target);
        }
        self.jump(hart, hart.page.wrapping_add(delta as i64 as u64))
    }
}
