//! What every template is built from: the registers that hold guest registers, ways out of the code, and links.

use super::calls::{Calls, Hit, Misses, Routine};
use super::guest::Held;
use super::host::{ACC, Code, Condition, HART, Host, Jump, OP, Register, add, at, field, jump};
use crate::{
    Bus, EntryLayout,
    code::translations::Translations,
    engine::{access_group::AccessGroup, environment::Environment, threaded},
    hart::{Hart, SINK},
    microop::{Handler, Link, MicroOp},
    ops::Opcode,
};
use cranelift_assembler_x64::{Amode, inst};
use std::mem::offset_of;

/// Bytes between micro-ops.
const SLOT: i32 = size_of::<MicroOp>() as i32;

/// What the templates need to know of a bus.
#[derive(Clone, Copy)]
pub(crate) struct BusLayout {
    handler: fn(Opcode) -> Handler,
    pub(super) entry: EntryLayout,
    /// Where an environment has the byte map of pages with translated code.
    pub(super) code_map: usize,
    /// Where it has the address of the predicted slots of accesses.
    pub(super) page_slots: usize,
    /// How jumps find their targets; `None` where only handlers do.
    pub(super) fetches: Option<FetchLayout>,
}

/// Where an environment has what the fetch TLB is searched with.
#[derive(Clone, Copy)]
pub(super) struct FetchLayout {
    /// The view.
    pub(super) view: usize,
    /// The address of the clock of fetches.
    pub(super) clock: usize,
    /// The address of the predicted slots of fetches.
    pub(super) slots: usize,
}

impl BusLayout {
    /// The usual handler of an operation.
    pub(super) fn handler_of(&self, opcode: Opcode) -> Handler {
        (self.handler)(opcode)
    }

    /// `None` where there is no baseline code: for a bus that does not say how it translates, or another host.
    pub(crate) fn of<B: Bus>() -> Option<Self> {
        let entry =
            B::ENTRY.filter(|_| cfg!(all(target_arch = "x86_64", target_os = "linux", target_feature = "bmi2")))?;
        let fetches = FetchLayout {
            view: Environment::<B>::CODE_VIEW,
            clock: Environment::<B>::FETCH_CLOCK,
            slots: Environment::<B>::FETCH_SLOTS,
        };
        Some(Self {
            handler: threaded::handler::<B>,
            entry,
            code_map: Environment::<B>::CODE_MAP,
            page_slots: Environment::<B>::PAGE_SLOTS,
            fetches: B::FETCHES.then_some(fetches),
        })
    }
}

/// Code that is made, and what is to be done with it.
#[derive(Default)]
pub(super) struct Output {
    pub(super) code: Code,
    /// The slots of micro-ops whose handlers lead into it, and to where.
    pub(super) entries: Vec<(usize, usize)>,
    /// Whether accesses call what is long, so that there is less code.
    pub(super) is_compact: bool,
    /// What it calls or jumps to.
    pub(super) calls: Calls,
}

/// The page of the micro-op's access is not where it was found last; if it is found elsewhere, it goes on at `again`.
pub(super) struct Missed {
    pub(super) from: Misses,
    pub(super) slot: usize,
    pub(super) again: usize,
    /// It is a store, which may only not be plain.
    pub(super) watched: Option<Watched>,
}

/// A store that may hit though it is not plain, or a group of accesses: it goes on at `on`.
#[derive(Clone, Copy)]
pub(super) struct Watched {
    pub(super) hit: Hit,
    pub(super) to_last: i32,
    pub(super) on: usize,
}

/// Code that is rarely executed.
pub(super) enum Rare {
    /// An access.
    Missed(Missed),
    /// The micro-op, whose link is taken, is a branch.
    Taken { from: Jump, slot: usize },
    /// The micro-op has paid for the block, and its handler executes it from the beginning: the budget does not suffice, or where it leads is not known.
    TakeBack { from: Jump, slot: usize },
    /// A handler goes on with the micro-op: back to `to`, with what is needed at the place.
    Resume { slot: usize, to: usize, place: usize },
}

/// What is known of a block whose code is made.
#[derive(Default)]
pub(super) struct Block {
    /// The slot whose micro-op [`OP`] points at.
    pub(super) base: usize,
    pub(super) held: Held,
    /// The group of accesses that has begun and not ended.
    pub(super) group: Option<AccessGroup>,
    /// Places so far at which code may be entered again behind an access.
    pub(super) places: usize,
    pub(super) rare: Vec<Rare>,
    /// Whether the result of the micro-op is overwritten by the next one, and no code can be left between them.
    pub(super) is_overwritten: bool,
}

/// What makes the code of a block.
pub(super) struct Templates<'t> {
    pub(super) output: &'t mut Output,
    pub(super) translations: &'t Translations,
    pub(super) bus: &'t BusLayout,
    pub(super) block: Block,
}

impl Templates<'_> {
    /// The handler of the micro-op leads here, where nothing is held.
    pub(super) fn enter(&mut self, slot: usize) {
        self.block.held.clear();
        self.output.entries.push((slot, self.output.code.len()));
        let distance = self.distance(slot);
        add(&mut self.output.code, OP, -distance);
    }

    /// Takes the link behind the micro-op, as it has been resolved; where the budget is used up, its handler does.
    pub(super) fn follow_link(&mut self, slot: usize) {
        let spent = self.pay(slot);
        let target = self.of_link(slot, offset_of!(Link, target));
        let code = &mut self.output.code;
        inst::movq_rm::<Host>::new(OP, target).encode(code);
        inst::jmpq_m::<Host>::new(field(OP, offset_of!(MicroOp, handler))).encode(code);
        self.block.rare.push(Rare::TakeBack { from: spent, slot });
    }

    /// Pays for the block up to the micro-op, from the budget. The jump is taken where that is used up.
    pub(super) fn pay(&mut self, slot: usize) -> Jump {
        let cost = self.of_link(slot, offset_of!(Link, cost));
        let code = &mut self.output.code;
        inst::addq_rm::<Host>::new(ACC, cost).encode(code);
        jump(code, Condition::Negative)
    }

    /// Takes back what was paid, and leaves the micro-op to its handler.
    pub(super) fn take_back(&mut self, slot: usize) {
        let cost = self.of_link(slot, offset_of!(Link, cost));
        inst::subq_rm::<Host>::new(ACC, cost).encode(&mut self.output.code);
        self.hand_over(slot);
    }

    /// Where a field of the link behind the micro-op is.
    fn of_link(&self, slot: usize, field: usize) -> Amode<Register> {
        at(OP, self.distance(slot) + SLOT + field as i32)
    }

    /// The usual handler executes the micro-op.
    pub(super) fn hand_over(&mut self, slot: usize) {
        let (opcode, distance) = (self.translations.slot(slot).0, self.distance(slot));
        let Output { code, calls, .. } = &mut *self.output;
        add(code, OP, distance);
        calls.push((Routine::Handler(opcode), jump(code, Condition::Always)));
    }

    /// Bytes from where [`OP`] points to the micro-op in a slot.
    pub(super) fn distance(&self, slot: usize) -> i32 {
        (slot - self.block.base) as i32 * SLOT
    }

    /// A host register with the value of a guest register.
    pub(super) fn read(&mut self, guest: u8) -> Register {
        self.block.held.read(guest, self.block.places).unwrap_or_else(|| {
            let register = self.block.held.hold(guest, self.block.places);
            inst::movq_rm::<Host>::new(register, of_guest(guest)).encode(&mut self.output.code);
            register
        })
    }

    /// A host register for the next value of a guest register. The two that were used last keep theirs.
    pub(super) fn write(&mut self, guest: u8) -> Register {
        self.block.held.hold(guest, self.block.places)
    }

    /// The host register has the next value of the guest register.
    pub(super) fn written(&mut self, guest: u8, register: Register) {
        if self.block.is_overwritten {
            return;
        }
        inst::movq_mr::<Host>::new(of_guest(guest), register).encode(&mut self.output.code);
    }

    /// An offset is added to the address of the page that is executed.
    pub(super) fn address_in_page(&mut self, op: &MicroOp, offset: i32) {
        if op.rd == SINK {
            return;
        }
        let to = self.write(op.rd);
        inst::movq_rm::<Host>::new(to, field(HART, offset_of!(Hart, page))).encode(&mut self.output.code);
        add(&mut self.output.code, to, offset);
        self.written(op.rd, to);
    }
}

/// Where the hart has a guest register.
pub(super) fn of_guest(guest: u8) -> Amode<Register> {
    field(HART, Hart::X + usize::from(guest) * 8)
}
