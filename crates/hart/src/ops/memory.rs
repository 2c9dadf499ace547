//! Loads, stores and atomics: the hit path that both interpreters inline, and the miss path that both call.

use super::atomic::Cell;
use crate::{
    Bus, Loaded, Reached, Stop, Stored, Trap,
    bus::DataView,
    engine::environment::{DataUse, Environment},
    hart::Hart,
    leave::Leave,
    microop::{MicroOp, accumulator},
    trap::Exception,
};
use types::Access;

/// What follows a miss.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    /// Execute the micro-op again: it hits.
    Retry,
    /// The access is complete.
    Done,
    /// The hart leaves the engine at the micro-op.
    Leave,
    /// The access is complete, and the hart leaves the engine behind it.
    DoneAndLeave,
}

/// The value a load hits, if it hits; then its line is used.
///
/// # Safety
/// `op` is a load of a live block and `view` of the current context.
#[inline(always)]
pub(crate) unsafe fn load_hit<T: Cell, B: Bus>(
    hart: &Hart,
    op: *const MicroOp,
    acc: u64,
    view: DataView,
    environment: &mut Environment<B>,
) -> Option<T> {
    // SAFETY: by the contract; a hit is a pointer to `T::WIDTH` readable bytes.
    unsafe {
        let at = B::read_hit(view, (*op).rs2, (*op).address(hart), T::WIDTH, accumulator::stamp(acc))?;
        environment.use_data_line(hart, op, acc, at, Access::Read);
        Some(at.cast::<T>().read_unaligned())
    }
}

/// Whether a store hit; if so, it is done, but for [`Environment::holds_code`] and its line, [`Environment::use_data_line`], which are the
/// caller's, with the pointer.
///
/// # Safety
/// `op` is a store of a live block and `view` of the current context.
#[inline(always)]
pub(crate) unsafe fn store_hit<T: Cell, B: Bus>(
    hart: &Hart,
    value: u64,
    op: *const MicroOp,
    acc: u64,
    view: DataView,
) -> Option<*mut u8> {
    // SAFETY: by the contract; a hit is a pointer to `T::WIDTH` writable bytes.
    unsafe {
        let at = B::write_hit(view, (*op).rs2, (*op).address(hart), T::WIDTH, accumulator::stamp(acc))?;
        at.cast::<T>().write_unaligned(T::of(value));
        Some(at)
    }
}

/// Whether a load that missed the entry it hit last hits the one where its page was found last; then that is the micro-op's from now on, and it is to be
/// executed again.
///
/// # Safety
/// As for [`load_hit`].
#[inline(always)]
pub(crate) unsafe fn load_hits_page_slot<T: Cell, B: Bus>(
    hart: &Hart,
    op: *mut MicroOp,
    acc: u64,
    view: DataView,
    environment: &Environment<B>,
) -> bool {
    // SAFETY: by the contract; predicted slots were handed out by this bus.
    unsafe {
        let address = (*op).address(hart);
        let predicted = environment.slot_of_page(address);
        let hits = B::read_hit(view, predicted, address, T::WIDTH, accumulator::stamp(acc)).is_some();
        if hits {
            (*op).rs2 = predicted;
        }
        hits
    }
}

/// Whether a store that missed the entry it hit last hits the one where its page was found last; then that is the micro-op's from now on, and it is to be
/// executed again.
///
/// # Safety
/// As for [`store_hit`].
#[inline(always)]
pub(crate) unsafe fn store_hits_page_slot<T: Cell, B: Bus>(
    hart: &Hart,
    op: *mut MicroOp,
    acc: u64,
    view: DataView,
    environment: &Environment<B>,
) -> bool {
    // SAFETY: by the contract; predicted slots were handed out by this bus.
    unsafe {
        let address = (*op).address(hart);
        let predicted = environment.slot_of_page(address);
        let hits = B::write_hit(view, predicted, address, T::WIDTH, accumulator::stamp(acc)).is_some();
        if hits {
            (*op).rs2 = predicted;
        }
        hits
    }
}

/// The miss path of a load; a value that the bus loaded itself goes through `deliver`. The bus is inlined here, because a program that misses often
/// spends its time there. It has locals whose addresses it passes on: a handler with such locals in it could not end in a jump, so this is not inlined
/// into handlers.
///
/// # Safety
/// `op` is a load of a live block.
#[inline(never)]
pub(crate) unsafe fn load_miss<T: Cell, B: Bus>(
    hart: &mut Hart,
    op: *mut MicroOp,
    acc: u64,
    environment: &mut Environment<B>,
    deliver: impl FnOnce(&mut Hart, &MicroOp, T),
) -> After {
    // SAFETY: by the contract; nothing else refers to the micro-op meanwhile.
    let (address, op) = unsafe { ((*op).address(hart), &mut *op) };
    environment.locate(hart, op, acc);
    match environment.bus().load_miss(address, T::WIDTH, &mut op.rs2, accumulator::stamp(acc)) {
        Ok(Loaded::Retry) => {
            environment.found(address, op.rs2);
            environment.watch();
            After::Retry
        }
        Ok(Loaded::Value(value)) => {
            // SAFETY: by the contract.
            unsafe { environment.completed(hart, op, acc, address) };
            deliver(hart, op, T::of(value));
            After::Done
        }
        Err(stop) => leave_with(hart, op, stop),
    }
}

/// The miss path of a store, which is not inlined for the same reason.
///
/// # Safety
/// `op` is a store of a live block.
#[inline(never)]
pub(crate) unsafe fn store_miss<T: Cell, B: Bus>(
    hart: &mut Hart,
    value: u64,
    op: *mut MicroOp,
    acc: u64,
    environment: &mut Environment<B>,
) -> After {
    // SAFETY: by the contract; nothing else refers to the micro-op meanwhile.
    let (address, op) = unsafe { ((*op).address(hart), &mut *op) };
    // Of a narrow store the bus sees the bytes that go to memory and nothing above them.
    let value = value & (u64::MAX >> (64 - 8 * T::WIDTH.bytes()));
    environment.locate(hart, op, acc);
    match environment.bus().store_miss(address, T::WIDTH, value, &mut op.rs2, accumulator::stamp(acc)) {
        Ok(Stored::Retry) => {
            environment.found(address, op.rs2);
            environment.watch();
            After::Retry
        }
        Ok(Stored::Done(pages)) => {
            // SAFETY: by the contract.
            unsafe { environment.completed(hart, op, acc, address) };
            for page in pages.into_iter().flatten() {
                environment.drop_page(page);
            }
            After::Done
        }
        Ok(Stored::DoneAndLeave) => {
            hart.leave = Leave::Again;
            // A store is never the last micro-op of its block.
            hart.at = (&raw const *op).wrapping_add(1) as usize;
            After::DoneAndLeave
        }
        Err(stop) => leave_with(hart, op, stop),
    }
}

/// What an atomic micro-op does to memory and register.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Atomic {
    Reserve,
    Conditional,
    Modify,
}

/// An atomic micro-op's operation: its kind, and for [`Atomic::Modify`] what becomes of the bytes.
#[derive(Clone, Copy)]
pub(crate) struct AtomicOperation<T> {
    pub(crate) kind: Atomic,
    /// From what is in memory and the operand.
    pub(crate) modify: fn(T, T) -> T,
}

/// Where an atomic micro-op finds its bytes, if it hits. One that is not aligned does not.
///
/// # Safety
/// `op` is an atomic micro-op of a live block and `view` of the current context.
#[inline(always)]
pub(crate) unsafe fn atomic_reaches<T: Cell, B: Bus>(
    (op, address): (*const MicroOp, u64),
    acc: u64,
    view: DataView,
    kind: Atomic,
) -> Option<*mut u8> {
    if address & (T::WIDTH.bytes() - 1) != 0 {
        return None;
    }
    // SAFETY: by the contract.
    unsafe {
        let (predicted, stamp) = ((*op).rs2, accumulator::stamp(acc));
        match kind {
            Atomic::Reserve => B::read_hit(view, predicted, address, T::WIDTH, stamp).map(<*const u8>::cast_mut),
            Atomic::Conditional | Atomic::Modify => B::write_hit(view, predicted, address, T::WIDTH, stamp),
        }
    }
}

/// Executes LR, SC or an AMO on a hit; `None` on a miss.
///
/// A hart's reservation is the host address it loaded from. It ends when another hart runs (which may store there), so that between LR and
/// SC no other hart can have written; the hart's own stores may leave it, as the specification allows.
///
/// # Safety
/// `op` is an atomic micro-op of a live block and `view` of the current context.
#[inline(always)]
pub(crate) unsafe fn atomic_hit<T: Cell, B: Bus>(
    hart: &mut Hart,
    op: *mut MicroOp,
    acc: u64,
    view: DataView,
    environment: &mut Environment<B>,
    operation: AtomicOperation<T>,
) -> Option<()> {
    // SAFETY: by the contract; a hit is a pointer to `T::WIDTH` bytes, readable for LR and writable for the others.
    unsafe {
        let address = hart.register((*op).rs1);
        let at = atomic_reaches::<T, B>((op, address), acc, view, operation.kind)?;
        let access = if operation.kind == Atomic::Reserve { Access::Read } else { Access::Write };
        environment.use_line_of(hart, op, acc, DataUse { address, at, access });
        atomic_at(hart, op, at, environment, operation);
    }
    Some(())
}

/// Executes LR, SC or an AMO on the bytes at `at`.
///
/// # Safety
/// `op` is an atomic micro-op of a live block, and at `at` are `T::WIDTH` bytes: readable for LR, writable for the others.
#[inline(always)]
unsafe fn atomic_at<T: Cell, B: Bus>(
    hart: &mut Hart,
    op: *const MicroOp,
    at: *mut u8,
    environment: &mut Environment<B>,
    operation: AtomicOperation<T>,
) {
    // SAFETY: by the contract.
    unsafe {
        let AtomicOperation { kind, modify } = operation;
        let (rd, cell) = ((*op).rd, at.cast::<T>());
        if kind == Atomic::Reserve {
            hart.reservation = Some(at as usize);
            hart.set_register(rd, cell.read_unaligned().sign_extended());
            return;
        }
        let operand = T::of(hart.register((*op).imm as u8));
        if kind == Atomic::Conditional {
            let holds = hart.reservation.take() == Some(at as usize);
            if holds {
                cell.write_unaligned(operand);
            }
            hart.set_register(rd, u64::from(!holds));
        } else {
            let old = cell.read_unaligned();
            cell.write_unaligned(modify(old, operand));
            hart.set_register(rd, old.sign_extended());
        }
        if environment.holds_code(at) {
            environment.code_written(at);
        }
    }
}

/// The miss path of LR, SC and AMOs.
///
/// # Safety
/// `op` is an atomic micro-op of a live block.
#[cold]
pub(crate) unsafe fn atomic_miss<T: Cell, B: Bus>(
    hart: &mut Hart,
    op: *mut MicroOp,
    acc: u64,
    environment: &mut Environment<B>,
    operation: AtomicOperation<T>,
) -> After {
    // SAFETY: by the contract; nothing else refers to the micro-op meanwhile.
    let op = unsafe { &mut *op };
    let address = hart.register(op.rs1);
    let (access, misaligned) = match operation.kind {
        Atomic::Reserve => (Access::Read, Exception::LoadMisaligned),
        Atomic::Conditional | Atomic::Modify => (Access::Write, Exception::StoreMisaligned),
    };
    if address & (T::WIDTH.bytes() - 1) != 0 {
        return leave_with(hart, op, Trap { cause: misaligned, value: address }.into());
    }
    environment.locate(hart, op, acc);
    match environment.bus().atomic_miss(address, T::WIDTH, access, &mut op.rs2, accumulator::stamp(acc)) {
        Ok(Reached::Retry) => {
            environment.found(address, op.rs2);
            environment.watch();
            After::Retry
        }
        Ok(Reached::Once(at)) => {
            // SAFETY: by the contract.
            unsafe { environment.completed(hart, op, acc, address) };
            // SAFETY: by the contract, and the bus's.
            unsafe { atomic_at::<T, B>(hart, op, at, environment, operation) };
            After::Done
        }
        Err(stop) => leave_with(hart, op, stop),
    }
}

/// Leaves the engine at `op`, which did not come to its end.
#[cold]
#[inline(never)]
pub(crate) fn leave_with(hart: &mut Hart, op: *const MicroOp, stop: Stop) -> After {
    hart.leave = match stop {
        Stop::Trap(trap) => Leave::Trap(trap),
        Stop::Leave => Leave::Again,
    };
    hart.at = op as usize;
    After::Leave
}
