//! What the engines reach beside the hart: the bus, and translated code.

use super::exchange::Exchange;
use crate::{
    Bus,
    bus::{CacheLines, CodeView, DataView, Sites},
    code::{
        jumps::{Jump, Jumps},
        translations::{Side, Translations},
    },
    csr::InPlace,
    hart::Hart,
    host_page::HostPage,
    leave::Leave,
    microop::{Link, MicroOp, accumulator},
    ops::Opcode,
    report::{DataPlace, Outstanding, Report, Reports, Serialize},
};
use std::mem::offset_of;
use types::Access;

/// How an engine goes on after a CSR access in place.
pub(crate) enum AfterCsr {
    /// With the next micro-op.
    Next,
    /// With the next micro-op, and another view: loads and stores translate otherwise now.
    View(DataView),
}

/// What changes translated code while an engine executes it. It is behind an indirect call, which is nothing beside what it does.
pub(crate) trait CodeSource {
    /// The first micro-op of the block at `offset` of `page`, translated now if need be; `None` where there is no room.
    fn find(&mut self, page: HostPage, offset: u16) -> Option<*mut MicroOp>;

    /// A page that holds translated code since lately, until all have been named.
    fn take_code_page(&mut self) -> Option<HostPage>;

    /// Makes every block of a page stale.
    fn drop_page(&mut self, page: HostPage);

    /// A jump led there.
    fn remember_jump(&mut self, jump: Jump);

    /// The block of the micro-op, its first behind its gate, is executed, and has no host code.
    fn executes(&mut self, op: *mut MicroOp);
}

/// Translated code, as an engine gets it. The pointers lead into one cache, which no other code uses meanwhile.
pub(crate) struct CodeParts<'c> {
    pub(crate) source: *mut (dyn CodeSource + 'c),
    pub(crate) translations: *const Translations,
    pub(crate) jumps: *const Jumps,
}

/// A load, store or atomic operation that has hit.
#[derive(Clone, Copy)]
pub(crate) struct DataUse {
    /// The guest's address.
    pub(crate) address: u64,
    /// The byte there, in the host.
    pub(crate) at: *const u8,
    /// How its line is used.
    pub(crate) access: Access,
}

/// What the engines reach beside the hart.
pub(crate) struct Environment<'c, B: Bus> {
    bus: *mut B,
    code: CodeParts<'c>,
    /// The cache's byte map of frames that hold code, biased by the host's page numbers.
    code_map: *const u8,
    pub(crate) code_view: CodeView,
    /// Where the time of fetches is kept ([`Bus::fetch_clock`]).
    pub(super) fetch_clock: *mut u64,
    /// Where the predicted slots of accesses and of fetches lie, by page ([`PageSlots::address`](crate::code::page_slots::PageSlots::address)).
    page_slots: usize,
    fetch_slots: usize,
    /// What compiled code and the functions that it calls tell each other.
    pub(crate) exchange: Exchange,
    pub(super) lines: B::Lines,
    /// As the latest report said; at first, whatever may be.
    pub(super) outstanding: Outstanding,
}

impl<'c, B: Bus> Environment<'c, B> {
    /// Where the address of the byte map lies, in bytes, for baseline code; those of the predicted slots; the code view; and the address of the clock of fetches.
    pub(crate) const CODE_MAP: usize = offset_of!(Self, code_map);
    pub(crate) const PAGE_SLOTS: usize = offset_of!(Self, page_slots);
    pub(crate) const FETCH_SLOTS: usize = offset_of!(Self, fetch_slots);
    pub(crate) const CODE_VIEW: usize = offset_of!(Self, code_view);
    pub(crate) const FETCH_CLOCK: usize = offset_of!(Self, fetch_clock);

    /// For the blocks of `code`, made for this bus.
    ///
    /// # Safety
    /// The parts of the code, and the bus, are used by no other code as long as the environment is.
    pub(crate) unsafe fn new(bus: &mut B, code: CodeParts<'c>) -> Self {
        let (code_view, lines) = (bus.code_view(), bus.lines());
        let fetch_clock = if B::FETCHES { bus.fetch_clock() } else { std::ptr::null_mut() };
        // SAFETY: by the contract.
        let translations = unsafe { &*code.translations };
        Self {
            bus,
            code_map: translations.biased_map(),
            page_slots: translations.page_slots().address(),
            fetch_slots: translations.fetch_slots().address(),
            code,
            code_view,
            fetch_clock,
            exchange: Exchange::new(),
            lines,
            outstanding: Outstanding::ANYTHING,
        }
    }

    #[inline(always)]
    pub(crate) fn bus(&mut self) -> &mut B {
        // SAFETY: made from an exclusive reference that outlives the environment and is used nowhere else meanwhile.
        unsafe { &mut *self.bus }
    }

    fn source(&mut self) -> &mut (dyn CodeSource + 'c) {
        // SAFETY: by the contract of `new`; references made of the other parts have ended.
        unsafe { &mut *self.code.source }
    }

    #[inline(always)]
    fn translations(&self) -> &Translations {
        // SAFETY: by the contract of `new`; a reference made of the source has ended.
        unsafe { &*self.code.translations }
    }

    /// Tells the bus, if it has to know, that what follows is of the instruction of the micro-op at `op`, which is in the hart's page.
    #[inline(always)]
    pub(crate) fn locate(&mut self, hart: &Hart, op: *const MicroOp, acc: u64) {
        match B::SITES {
            Sites::Unneeded => {}
            Sites::Needed => {
                let side = self.side(op);
                let pc = hart.page.wrapping_add(u64::from(side.offset));
                let retired = hart.retired_before_block(acc) + u64::from(side.instructions);
                self.bus().at(pc, retired);
            }
        }
    }

    #[inline(always)]
    fn jumps(&self) -> &Jumps {
        // SAFETY: as for the translations.
        unsafe { &*self.code.jumps }
    }

    /// The load, store or atomic operation at `op` has hit the byte at `at`: it uses the line there. No register has changed yet.
    ///
    /// # Safety
    /// `at` is what this bus said, and `op` of a live block.
    #[inline(always)]
    pub(crate) unsafe fn use_data_line(
        &mut self,
        hart: &Hart,
        op: *const MicroOp,
        acc: u64,
        at: *const u8,
        access: Access,
    ) {
        // SAFETY: by the contract.
        unsafe { self.use_line_of(hart, op, acc, DataUse { address: (*op).address(hart), at, access }) }
    }

    /// As [`Self::use_data_line`], of an access to an address that is known.
    ///
    /// # Safety
    /// As for [`Self::use_data_line`].
    #[inline(always)]
    pub(crate) unsafe fn use_line_of(&mut self, hart: &Hart, op: *const MicroOp, acc: u64, used: DataUse) {
        // SAFETY: by the contract.
        unsafe {
            match B::REPORTS {
                Reports::None => self.use_line(used),
                Reports::Instructions => match self.data_place(used.at) {
                    DataPlace::LatestLine(_) if !self.watches() => {}
                    place => self.report_data(hart, op, acc, used.address, place),
                },
            }
        }
    }

    /// An access of a bus without reports uses its line, unless that was used last in its set.
    ///
    /// # Safety
    /// The byte is what this bus said.
    #[inline(always)]
    pub(crate) unsafe fn use_line(&mut self, used: DataUse) {
        // SAFETY: by the contract.
        match unsafe { self.data_place(used.at) } {
            DataPlace::LatestLine(_) => {}
            DataPlace::Line(_) | DataPlace::Completed => self.bus().use_line(used.at, used.access),
        }
    }

    /// Where an access has found the byte at `at`.
    ///
    /// # Safety
    /// The byte is what this bus said.
    #[inline(always)]
    pub(crate) unsafe fn data_place(&self, at: *const u8) -> DataPlace {
        // SAFETY: by the contract; the lines are of the bus, for this run.
        let latest = unsafe { self.lines.data_is_latest(at) };
        if latest { DataPlace::LatestLine(at) } else { DataPlace::Line(at) }
    }

    /// The hart goes on to the line of instructions at `offset` of its page.
    #[inline(always)]
    pub(crate) fn fetch_line(&mut self, hart: &Hart, op: *const MicroOp, acc: u64, offset: i32) {
        let at = hart.host_page.start().wrapping_add(offset as usize);
        // SAFETY: the page is one of the bus's memory; the lines are of the bus, for this run.
        if unsafe { self.lines.code_is_latest(at) } {
            return;
        }
        match B::REPORTS {
            Reports::None => self.bus().use_line(at, Access::Execute),
            Reports::Instructions => self.report_at(hart, op, acc, Report::FetchLine(at)),
        }
    }

    /// Where an access to `address` was found last, or one to another page that shares its place.
    #[inline(always)]
    pub(crate) fn slot_of_page(&self, address: u64) -> u16 {
        self.translations().page_slots().get(address)
    }

    /// The miss path has found an access to `address` at the predicted slot.
    #[inline(always)]
    pub(crate) fn found(&mut self, address: u64, predicted: u16) {
        self.translations().page_slots().set(address, predicted);
        if B::ENTRY.is_some_and(|layout| layout.plain_stores.is_some()) {
            let view = self.bus().data_view();
            // SAFETY: the predicted slot was handed out by this bus, and the page is one of its memory.
            unsafe { B::allow_plain_stores(view, predicted, |at| !self.holds_code(at)) };
        }
    }

    /// Tells the bus which pages hold translated code since lately.
    fn tell_of_code(&mut self) {
        while let Some(page) = self.source().take_code_page() {
            self.bus().code_appears(page);
        }
    }

    /// The block at `offset` of `page`, translated now if need be; `None` where there is no room.
    fn find(&mut self, page: HostPage, offset: u16) -> Option<*mut MicroOp> {
        let found = self.source().find(page, offset);
        self.tell_of_code();
        found
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

    /// Drops the translations of the page of a byte that was written to.
    #[cold]
    #[inline(never)]
    pub(crate) fn code_written(&mut self, at: *const u8) {
        self.drop_page(HostPage::containing(at));
    }

    /// A block is executed that has no host code. The micro-op is its first behind its gate. (Out of line, so that its handler calls nothing by an address
    /// in memory.)
    #[cold]
    #[inline(never)]
    pub(super) fn executes(&mut self, op: *mut MicroOp) {
        self.source().executes(op);
    }

    /// Drops the translations of a page that was written to.
    pub(crate) fn drop_page(&mut self, page: HostPage) {
        self.source().drop_page(page);
    }

    /// Goes to `target` through the jump cache, or by [looking it up](Self::look_up); `None` leaves.
    ///
    /// The fetch TLB is looked up here, and only here and in the run loop: that is every change of page and every indirect jump, and
    /// looking up the page used last changes no replacement order.
    #[inline(always)]
    pub(crate) fn jump(&mut self, hart: &mut Hart, acc: u64, target: u64) -> Option<*mut MicroOp> {
        let jump = self.jumps().get(target);
        let (view, predicted) = (self.code_view, self.translations().fetch_slots().get(target));
        // SAFETY: the predicted slot was handed out by this bus, and the view is of the current context.
        if jump.target == target && unsafe { self.bus().fetch_hit(view, predicted, target, jump.page) } {
            hart.page = target & !0xfff;
            hart.host_page = jump.page;
            Some(jump.op)
        } else {
            self.look_up(hart, acc, target)
        }
    }

    /// Goes to `target`, which the jump cache does not know or no longer leads to. Where the bus has to know of each instruction that is fetched, or there is no room for
    /// another block, the run loop does it: `None` leaves with [`Leave::Lookup`], or with what the fetch raises.
    #[cold]
    #[inline(never)]
    pub(crate) fn look_up(&mut self, hart: &mut Hart, acc: u64, target: u64) -> Option<*mut MicroOp> {
        hart.pc = target;
        hart.leave = Leave::Lookup;
        if B::SITES == Sites::Needed || B::REPORTS == Reports::Instructions {
            return None;
        }
        self.bus().set_stamp(accumulator::stamp(acc));
        let fetched = match self.bus().fetch(target) {
            Ok(fetched) => fetched,
            Err(stop) => {
                hart.leave = Leave::Fetch(stop);
                return None;
            }
        };
        self.translations().fetch_slots().set(target, fetched.predicted);
        let known = self.jumps().get(target);
        let op = if known.target == target && known.page == fetched.page {
            known.op
        } else {
            let op = self.find(fetched.page, (target & 0xfff) as u16)?;
            self.source().remember_jump(Jump { target, page: fetched.page, op });
            op
        };
        hart.page = target & !0xfff;
        hart.host_page = fetched.page;
        Some(op)
    }

    /// What is known of a micro-op of a live block beside it.
    #[inline(always)]
    pub(super) fn side(&self, op: *const MicroOp) -> Side {
        self.translations().side_of(op as usize)
    }

    /// Where the instruction of a micro-op of a live block is in its page, and how many of the block are before it.
    pub(crate) fn position(&self, op: *const MicroOp) -> (u16, u8) {
        let side = self.side(op);
        (side.offset, side.instructions)
    }

    /// The opcode of a micro-op of a live block.
    #[inline(always)]
    pub(crate) fn opcode(&self, op: *const MicroOp) -> Opcode {
        self.translations().side_of(op as usize).opcode
    }

    /// Executes a CSR access in place; `None` leaves it to the run loop, and nothing of it has happened yet.
    #[inline(never)]
    pub(crate) fn access_csr(&mut self, hart: &mut Hart, op: *const MicroOp, acc: u64) -> Option<AfterCsr> {
        let side = self.translations().side_of(op as usize);
        let retired = hart.retired_before_block(acc) + u64::from(side.instructions);
        // SAFETY: the micro-op is one of a live block.
        let bits = unsafe { (*op).imm } as u32;
        let done = hart.access_csr_in_place(bits, self.bus(), retired)?;
        self.serialize(hart, op, acc, Serialize::Csr);
        match done {
            InPlace::Plain => Some(AfterCsr::Next),
            InPlace::Context => {
                let context = hart.context();
                self.locate(hart, op, acc);
                self.bus().set_context(&context);
                self.code_view = self.bus().code_view();
                Some(AfterCsr::View(self.bus().data_view()))
            }
        }
    }

    /// What the resolver behind a link does: finds, and links, the target `delta` bytes from the start of the page.
    #[cold]
    pub(crate) fn resolve(&mut self, hart: &mut Hart, acc: u64, stub: *mut MicroOp) -> Option<*mut MicroOp> {
        // SAFETY: the resolver is executed only in the slot behind its link.
        let (delta, from_float, link) = unsafe { ((*stub).imm, (*stub).rd != 0, &mut *stub.sub(1).cast::<Link>()) };
        if let Ok(offset @ 0..=0xfff) = u16::try_from(delta)
            && let Some(target) = self.find(hart.host_page, offset)
        {
            link.target = self.translations().past_gate(target, from_float);
            return Some(link.target);
        }
        self.jump(hart, acc, hart.page.wrapping_add(delta as i64 as u64))
    }
}
