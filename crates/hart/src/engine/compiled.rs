//! Hot blocks as code of the host: a tier above the other engines, entered from either.
//!
//! A *unit* is one function of the host for one or more blocks of a page, a region whose links stay inside where they can. Each of its blocks
//! begins with a micro-op [`Compiled`](crate::ops::Opcode::Compiled), which calls the unit ([`enter`]); it is followed by the block's usual
//! micro-ops. Compiled code does hits, arithmetic and jumps within the region; at all else it returns the micro-op that an interpreter goes on at,
//! with registers and accumulator as one would have them there. So each instruction has the effects that the interpreters give it,
//! in the same order, and a run is left at the same instructions.
//!
//! JUSTIFICATION for unsafe: compiled code is called by address, and calls the functions below with raw pointers. It passes on what it
//! was entered with.

mod atomic;
mod background;
mod called;
mod emit;
mod float;
mod host;
mod integer;
mod loops;
mod memory;
mod models;
mod near;
mod part;

pub(crate) use host::Compiler;
pub(crate) use part::{Block, calls, compiled_part, is_link, reserve, returns};

use super::environment::{DataUse, Environment};
use super::exchange::Left;
use crate::{
    Bus, CacheLines, Loaded, Stop, Stored,
    bus::DataView,
    hart::Hart,
    leave::Leave,
    microop::{ENTRY_SLOTS, Link, MicroOp, accumulator},
    ops::{
        Opcode,
        atomic::Cell,
        float as floating,
        memory::{After, leave_with},
        operations,
    },
};
use types::Access;

/// A unit. `entry` is the number of the block to begin with.
type Unit = unsafe extern "C" fn(*mut Hart, acc: u64, view: DataView, environment: *mut (), entry: u64) -> Left;

/// What compiled code calls: a micro-op's operation at `address`, as far as it has one. The answer is in the [`Exchange`](super::exchange::Exchange).
pub(super) type Call = unsafe extern "C" fn(*mut Hart, *mut MicroOp, acc: u64, environment: *mut (), address: u64);

/// Executes from the block at `op` on, whose micro-op `Compiled` it is.
///
/// # Safety
/// As for the handlers.
#[inline(always)]
pub(super) unsafe fn enter<B: Bus>(
    hart: *mut Hart,
    op: *mut MicroOp,
    acc: u64,
    view: DataView,
    environment: *mut (),
) -> Left {
    // SAFETY: as for the handlers; the slot behind holds the address of a unit that was made for this bus, and which is not freed before its
    // blocks are. The block's usual micro-ops follow.
    unsafe {
        if accumulator::budget(acc) < i32::from((*op).rs2) {
            return Left { acc, next: op.add(ENTRY_SLOTS) };
        }
        let unit = std::mem::transmute::<usize, Unit>((*op.add(1).cast::<Link>()).cost as usize);
        (*environment.cast::<Environment<B>>()).exchange.view = view;
        let mut left = unit(hart, acc, view, environment, u64::from((*op).imm as u8));
        if left.next.is_null() && (*hart).leave == Leave::Lookup {
            // Here and not in the unit, to which nothing returns meanwhile: a lookup may add further code.
            let found = (*environment.cast::<Environment<B>>()).look_up(&mut *hart, left.acc, (*hart).pc);
            left.next = found.unwrap_or(std::ptr::null_mut());
        }
        debug_assert!(left.next.is_null() || !accumulator::spent(left.acc));
        left
    }
}

/// A load that missed where it hit last: finds where it hits, and uses the line there, or loads. `SEARCHED`: compiled code has looked where its page was
/// found last.
///
/// # Safety
/// As for the handlers.
pub(super) unsafe extern "C" fn load_miss<T: Cell, B: Bus, const SEARCHED: bool>(
    hart: *mut Hart,
    op: *mut MicroOp,
    acc: u64,
    environment: *mut (),
    address: u64,
) {
    // SAFETY: as for the handlers; nothing else refers to the micro-op meanwhile.
    unsafe {
        let (environment, stamp) = (&mut *environment.cast::<Environment<B>>(), accumulator::stamp(acc));
        let view = environment.exchange.view;
        if !SEARCHED {
            let predicted = environment.slot_of_page(address);
            if let Some(at) = B::read_hit(view, predicted, address, T::WIDTH, stamp) {
                (*op).rs2 = predicted;
                environment.use_line_of(&*hart, op, acc, DataUse { address, at, access: Access::Read });
                return environment.exchange.hit(at);
            }
        }
        loop {
            environment.locate(&*hart, op, acc);
            match environment.bus().load_miss(address, T::WIDTH, &mut (*op).rs2, stamp) {
                Ok(Loaded::Retry) => {
                    let predicted = (*op).rs2;
                    environment.found(address, predicted);
                    environment.watch();
                    if let Some(at) = B::read_hit(view, predicted, address, T::WIDTH, stamp) {
                        environment.use_line_of(&*hart, op, acc, DataUse { address, at, access: Access::Read });
                        return environment.exchange.hit(at);
                    }
                }
                Ok(Loaded::Value(value)) => {
                    environment.completed(&*hart, op, acc, address);
                    environment.exchange.value = value;
                    let at = &raw const environment.exchange.value;
                    return environment.exchange.hit(at.cast());
                }
                Err(stop) => return stopped::<B>(&mut *hart, op, acc, environment, stop),
            }
        }
    }
}

/// A store, of the value in the exchange, that missed where it hit last: finds where it hits, or stores. Where lines are modelled, it uses that of a hit.
/// `SEARCHED` as for [`load_miss`].
///
/// # Safety
/// As for the handlers.
pub(super) unsafe extern "C" fn store_miss<T: Cell, B: Bus, const SEARCHED: bool>(
    hart: *mut Hart,
    op: *mut MicroOp,
    acc: u64,
    environment: *mut (),
    address: u64,
) {
    // SAFETY: as for the handlers; nothing else refers to the micro-op meanwhile, and a store is never the last of its block.
    unsafe {
        let (environment, stamp) = (&mut *environment.cast::<Environment<B>>(), accumulator::stamp(acc));
        let view = environment.exchange.view;
        let value = environment.exchange.value & (u64::MAX >> (64 - 8 * T::WIDTH.bytes()));
        if !SEARCHED {
            let predicted = environment.slot_of_page(address);
            if let Some(at) = B::write_hit(view, predicted, address, T::WIDTH, stamp) {
                (*op).rs2 = predicted;
                return store_hit(&*hart, op, acc, environment, DataUse { address, at, access: Access::Write });
            }
        }
        loop {
            environment.locate(&*hart, op, acc);
            match environment.bus().store_miss(address, T::WIDTH, value, &mut (*op).rs2, stamp) {
                Ok(Stored::Retry) => {
                    let predicted = (*op).rs2;
                    environment.found(address, predicted);
                    environment.watch();
                    if let Some(at) = B::write_hit(view, predicted, address, T::WIDTH, stamp) {
                        return store_hit(&*hart, op, acc, environment, DataUse { address, at, access: Access::Write });
                    }
                }
                Ok(Stored::Done(pages)) => {
                    environment.completed(&*hart, op, acc, address);
                    pages.into_iter().flatten().for_each(|page| environment.drop_page(page));
                    return environment.exchange.leave(acc.wrapping_add(accumulator::ACCESS), op.add(1));
                }
                Ok(Stored::DoneAndLeave) => {
                    (*hart).leave = Leave::Again;
                    (*hart).at = op.add(1) as usize;
                    return environment.exchange.leave(acc.wrapping_add(accumulator::ACCESS), std::ptr::null_mut());
                }
                Err(stop) => return stopped::<B>(&mut *hart, op, acc, environment, stop),
            }
        }
    }
}

/// A store hits: compiled code makes it, unless its page holds translated code. Then an interpreter makes it, and uses its line.
///
/// # Safety
/// As for the handlers; the byte is what this bus said.
#[inline(always)]
unsafe fn store_hit<B: Bus>(hart: &Hart, op: *mut MicroOp, acc: u64, environment: &mut Environment<B>, used: DataUse) {
    // SAFETY: by the contract.
    unsafe {
        if environment.holds_code(used.at) {
            return environment.exchange.leave(acc, op);
        }
        if B::Lines::STATE.is_some() {
            environment.use_line_of(hart, op, acc, used);
        }
        environment.exchange.hit(used.at);
    }
}

/// A jump to `address` is left to the run loop, which finds the block there.
///
/// # Safety
/// As for the handlers.
pub(super) unsafe extern "C" fn look_up<B: Bus>(
    hart: *mut Hart,
    _: *mut MicroOp,
    acc: u64,
    environment: *mut (),
    address: u64,
) {
    // SAFETY: as for the handlers.
    unsafe {
        ((*hart).pc, (*hart).leave) = (address, Leave::Lookup);
        (*environment.cast::<Environment<B>>()).exchange.leave(acc, std::ptr::null_mut());
    }
}

/// The access at `op` did not come to its end.
#[cold]
fn stopped<B: Bus>(hart: &mut Hart, op: *mut MicroOp, acc: u64, environment: &mut Environment<B>, stop: Stop) {
    let after = leave_with(hart, op, stop);
    debug_assert!(matches!(after, After::Leave));
    environment.exchange.leave(acc, std::ptr::null_mut());
}

macro_rules! define_float_calls {
    (
        immediate $imm:tt register $reg:tt load $load:tt store $store:tt float_load $fload:tt float_store $fstore:tt branch $branch:tt
        load_reserved $lr:tt store_conditional $sc:tt atomic $amo:tt
        float { $($float:ident: $float_f:ident),* $(,)? }
        single $single:tt
    ) => {
        /// Floating-point operations on the hart's registers in memory.
        #[allow(non_snake_case, reason = "named after the opcode")]
        mod float_calls {
            use super::*;
            // SAFETY (all): compiled code calls with an exclusive hart and a micro-op of a live block.
            $(#[allow(clippy::undocumented_unsafe_blocks, reason = "above")]
            pub(super) unsafe extern "C" fn $float(hart: *mut Hart, op: *mut MicroOp, _: u64, _: *mut (), _: u64) {
                unsafe { floating::$float_f(&mut *hart, &*op) }
            })*
        }

        /// What executes a floating-point operation on the hart's registers in memory.
        ///
        /// # Panics
        /// If it is none.
        fn float_call(opcode: Opcode) -> Call {
            match opcode {
                $(Opcode::$float => float_calls::$float,)*
                _ => unreachable!("{opcode:?} is no floating-point operation"),
            }
        }
    };
}
operations!(define_float_calls);
