//! Threaded dispatch: every handler ends in a call of the next one's, which an optimised build turns into a jump.

#[macro_use]
mod shared;
mod entry;
mod pairs;
mod warming;

use super::{
    compiled,
    environment::{AfterCsr, Environment},
};
use crate::{
    Bus,
    bus::DataView,
    hart::Hart,
    leave::Leave,
    microop::{Handler, Link, MicroOp, accumulator},
    ops::{Opcode, alu, atomic, float, memory, operations},
    report::Serialize,
};
use memory::{After, Atomic, AtomicOperation};
use shared::{atomic_op, go_after, step, target_of, wrote_code};
use types::Access;

pub(crate) use entry::enter;
pub(crate) use pairs::pair;
pub(crate) use warming::warming;

/// Takes the link in the slot behind `$op`, which has one: accounts for the block so far, and leaves where the budget is used up.
macro_rules! take {
    ($hart:expr, $op:expr, $acc:expr, $view:expr, $env:expr, $target:expr) => {{
        let link = $op.add(1).cast::<Link>();
        let acc = $acc.wrapping_add((*link).cost);
        if accumulator::spent(acc) {
            (*$hart).pc = $target;
            (*$hart).leave = Leave::Budget;
            return acc;
        }
        go!($hart, (*link).target, acc, $view, $env)
    }};
}

macro_rules! handler {
    ($(#[$attribute:meta])* $name:ident, |$hart:ident, $op:ident, $acc:ident, $view:ident, $env:ident| $body:block) => {
        $(#[$attribute])*
        #[allow(
            non_snake_case,
            clippy::extra_unused_type_parameters,
            reason = "named after the opcode; one signature for all"
        )]
        pub(in crate::engine::threaded) unsafe extern "C" fn $name<B: Bus>(
            $hart: *mut Hart,
            $op: *mut MicroOp,
            $acc: u64,
            $view: DataView,
            $env: *mut (),
        ) -> u64 {
            $body
        }
    };
}

macro_rules! define_handlers {
    (
        immediate { $($imm:ident: $imm_f:ident),* $(,)? }
        register { $($reg:ident: $reg_f:ident),* $(,)? }
        load { $($load:ident: $load_t:ident),* $(,)? }
        store { $($store:ident: $store_t:ident),* $(,)? }
        float_load { $($fload:ident: $fload_t:ident),* $(,)? }
        float_store { $($fstore:ident: $fstore_t:ident),* $(,)? }
        branch { $($branch:ident: $branch_f:ident),* $(,)? }
        load_reserved { $($lr:ident: $lr_t:ident),* $(,)? }
        store_conditional { $($sc:ident: $sc_t:ident),* $(,)? }
        atomic { $($amo:ident: $amo_t:ident $amo_f:ident),* $(,)? }
        float { $($float:ident: $float_f:ident),* $(,)? }
        single { $($single:ident),* $(,)? }
    ) => {
        /// One handler for each opcode of the table.
        // SAFETY (all handlers): the run loop enters with an exclusive hart and environment, a block of this bus, and a view of the
        // current context; each handler passes them on unchanged.
        #[allow(clippy::undocumented_unsafe_blocks, reason = "one argument for all handlers, above")]
        mod handlers {
            use super::*;

            $(handler!($imm, |hart, op, acc, view, env| {
                unsafe {
                    (*env.cast::<Environment<B>>()).operation(&*hart, op, acc);
                    let value = alu::$imm_f((*hart).register((*op).rs1), (*op).imm as i64 as u64);
                    (*hart).set_register((*op).rd, value);
                    go!(hart, op.add(1), acc, view, env)
                }
            });)*

            $(handler!($reg, |hart, op, acc, view, env| {
                unsafe {
                    (*env.cast::<Environment<B>>()).operation(&*hart, op, acc);
                    let value = alu::$reg_f((*hart).register((*op).rs1), (*hart).register((*op).rs2 as u8));
                    (*hart).set_register((*op).rd, value);
                    go!(hart, op.add(1), acc, view, env)
                }
            });)*

            $(handler!($load, |hart, op, acc, view, env| {
                unsafe {
                    match memory::load_hit::<$load_t, B>(&*hart, op, acc, view, &mut *env.cast()) {
                        Some(value) => {
                            (*hart).set_register((*op).rd, atomic::Cell::extended(value));
                            go!(hart, op.add(1), acc.wrapping_add(accumulator::ACCESS), view, env)
                        }
                        None => return misses::$load::<B>(hart, op, acc, view, env),
                    }
                }
            });)*

            $(handler!($fload, |hart, op, acc, view, env| {
                unsafe {
                    match memory::load_hit::<$fload_t, B>(&*hart, op, acc, view, &mut *env.cast()) {
                        Some(value) => {
                            (*hart).f[(*op).rd as usize] = float::boxed(value);
                            go!(hart, op.add(1), acc.wrapping_add(accumulator::ACCESS), view, env)
                        }
                        None => return misses::$fload::<B>(hart, op, acc, view, env),
                    }
                }
            });)*

            $(handler!($store, |hart, op, acc, view, env| {
                unsafe {
                    let value = (*hart).register((*op).rd);
                    match memory::store_hit::<$store_t, B>(&*hart, value, op, acc, view) {
                        Some(at) if !(*env.cast::<Environment<B>>()).holds_code(at) => {
                            (*env.cast::<Environment<B>>()).use_data_line(&*hart, op, acc, at, Access::Write);
                            go!(hart, op.add(1), acc.wrapping_add(accumulator::ACCESS), view, env)
                        }
                        Some(at) => return wrote_code::<B>(hart, op, acc, view, env, at),
                        None => return misses::$store::<B>(hart, op, acc, view, env),
                    }
                }
            });)*

            $(handler!($fstore, |hart, op, acc, view, env| {
                unsafe {
                    let value = (*hart).f[(*op).rd as usize];
                    match memory::store_hit::<$fstore_t, B>(&*hart, value, op, acc, view) {
                        Some(at) if !(*env.cast::<Environment<B>>()).holds_code(at) => {
                            (*env.cast::<Environment<B>>()).use_data_line(&*hart, op, acc, at, Access::Write);
                            go!(hart, op.add(1), acc.wrapping_add(accumulator::ACCESS), view, env)
                        }
                        Some(at) => return wrote_code::<B>(hart, op, acc, view, env, at),
                        None => return misses::$fstore::<B>(hart, op, acc, view, env),
                    }
                }
            });)*

            $(handler!($branch, |hart, op, acc, view, env| {
                unsafe {
                    let taken = alu::$branch_f((*hart).register((*op).rs1), (*hart).register((*op).rd));
                    (*env.cast::<Environment<B>>()).branch(&*hart, op, acc, taken);
                    if taken {
                        take!(hart, op, acc, view, env, target_of(hart, op.add(2)))
                    } else {
                        go!(hart, op.add(3), acc, view, env)
                    }
                }
            });)*

            $(handler!($lr, |hart, op, acc, view, env| {
                unsafe { return atomic_op::<$lr_t, B>(hart, op, acc, view, env, AtomicOperation { kind: Atomic::Reserve, modify: atomic::swap }) }
            });)*

            $(handler!($sc, |hart, op, acc, view, env| {
                unsafe { return atomic_op::<$sc_t, B>(hart, op, acc, view, env, AtomicOperation { kind: Atomic::Conditional, modify: atomic::swap }) }
            });)*

            $(handler!($amo, |hart, op, acc, view, env| {
                unsafe { return atomic_op::<$amo_t, B>(hart, op, acc, view, env, AtomicOperation { kind: Atomic::Modify, modify: atomic::$amo_f }) }
            });)*

            $(handler!($float, |hart, op, acc, view, env| {
                unsafe {
                    (*env.cast::<Environment<B>>()).operation(&*hart, op, acc);
                    if float::quickly(Opcode::$float, &mut *hart, &*op) {
                        go!(hart, op.add(1), acc, view, env)
                    }
                    return misses::$float::<B>(hart, op, acc, view, env);
                }
            });)*

            handler!(Li, |hart, op, acc, view, env| {
                unsafe {
                    (*env.cast::<Environment<B>>()).operation(&*hart, op, acc);
                    (*hart).set_register((*op).rd, (*op).imm as i64 as u64);
                    go!(hart, op.add(1), acc, view, env)
                }
            });

            handler!(Auipc, |hart, op, acc, view, env| {
                unsafe {
                    (*env.cast::<Environment<B>>()).operation(&*hart, op, acc);
                    let value = (*hart).page.wrapping_add((*op).imm as i64 as u64);
                    (*hart).set_register((*op).rd, value);
                    go!(hart, op.add(1), acc, view, env)
                }
            });

            handler!(Nop, |hart, op, acc, view, env| {
                unsafe {
                    (*env.cast::<Environment<B>>()).serialize(&*hart, op, acc, Serialize::Fence);
                    go!(hart, op.add(1), acc, view, env)
                }
            });

            handler!(FetchLine, |hart, op, acc, view, env| {
                unsafe {
                    (*env.cast::<Environment<B>>()).fetch_line(&*hart, op, acc, (*op).imm);
                    go!(hart, op.add(1), acc, view, env)
                }
            });

            handler!(Jal, |hart, op, acc, view, env| {
                unsafe {
                    (*env.cast::<Environment<B>>()).operation(&*hart, op, acc);
                    let next = (*hart).page.wrapping_add(u64::from((*op).rs2));
                    (*hart).set_register((*op).rd, next);
                    take!(hart, op, acc, view, env, target_of(hart, op.add(2)))
                }
            });

            handler!(Jalr, |hart, op, acc, view, env| {
                unsafe {
                    (*env.cast::<Environment<B>>()).operation(&*hart, op, acc);
                    let target = (*hart).register((*op).rs1).wrapping_add((*op).imm as i64 as u64) & !1;
                    let next = (*hart).page.wrapping_add(u64::from((*op).rs2));
                    (*hart).set_register((*op).rd, next);
                    let acc = acc.wrapping_add((*op.add(1).cast::<Link>()).cost);
                    if accumulator::spent(acc) {
                        (*hart).pc = target;
                        (*hart).leave = Leave::Budget;
                        return acc;
                    }
                    match (*env.cast::<Environment<B>>()).jump(&mut *hart, acc, target) {
                        Some(op) => go!(hart, op, acc, view, env),
                        None => return acc,
                    }
                }
            });

            handler!(JalrAligned, |hart, op, acc, view, env| {
                unsafe {
                    let target = (*hart).register((*op).rs1).wrapping_add((*op).imm as i64 as u64) & !1;
                    if target & 2 != 0 {
                        return step(hart, op, acc, view, env);
                    }
                    return Jalr::<B>(hart, op, acc, view, env);
                }
            });

            handler!(MisalignedJump, |hart, op, acc, view, env| { unsafe { return step(hart, op, acc, view, env) } });

            handler!(Csr, |hart, op, acc, view, env| {
                unsafe {
                    match (*env.cast::<Environment<B>>()).access_csr(&mut *hart, op, acc) {
                        Some(AfterCsr::Next) => go!(hart, op.add(1), acc, view, env),
                        Some(AfterCsr::View(view)) => go!(hart, op.add(1), acc, view, env),
                        None => return step(hart, op, acc, view, env),
                    }
                }
            });

            handler!(System, |hart, op, acc, view, env| { unsafe { return step(hart, op, acc, view, env) } });

            handler!(Straddle, |hart, op, acc, view, env| { unsafe { return step(hart, op, acc, view, env) } });

            handler!(FloatGate, |hart, op, acc, view, env| {
                unsafe {
                    if (*hart).float_open() {
                        go!(hart, op.add(1), acc, view, env)
                    }
                    return step(hart, op, acc, view, env);
                }
            });

            handler!(Next, |hart, op, acc, view, env| {
                unsafe { take!(hart, op, acc, view, env, target_of(hart, op.add(2))) }
            });

            handler!(Resolve, |hart, op, acc, view, env| {
                unsafe {
                    match (*env.cast::<Environment<B>>()).resolve(&mut *hart, acc, op) {
                        Some(op) => go!(hart, op, acc, view, env),
                        None => return acc,
                    }
                }
            });

            handler!(Compiled, |hart, op, acc, view, env| {
                unsafe {
                    let left = compiled::enter::<B>(hart, op, acc, view, env);
                    if left.next.is_null() {
                        return left.acc;
                    }
                    go!(hart, left.next, left.acc, view, env)
                }
            });

            handler!(Moved, |hart, op, acc, view, env| {
                unsafe { go!(hart, op.offset((*op).imm as isize), acc, view, env) }
            });

            handler!(Stale, |hart, op, acc, _window, _env| {
                unsafe {
                    (*hart).pc = target_of(hart, op);
                    (*hart).leave = Leave::Lookup;
                }
                return acc;
            });
        }

        /// What loads and stores do that miss the entry they hit last, and what is slow of floating point; out of line so that
        /// the hit paths save no registers.
        // SAFETY (all): as for the handlers.
        #[allow(clippy::undocumented_unsafe_blocks, reason = "one argument for all handlers, above")]
        mod misses {
            use super::*;

            $(handler!(#[inline(never)] $load, |hart, op, acc, view, env| {
                unsafe {
                    if memory::load_hits_page_slot::<$load_t, B>(&*hart, op, acc, view, &*env.cast()) {
                        return handlers::$load::<B>(hart, op, acc, view, env);
                    }
                    return searches::$load::<B>(hart, op, acc, view, env);
                }
            });)*

            $(handler!(#[inline(never)] $fload, |hart, op, acc, view, env| {
                unsafe {
                    if memory::load_hits_page_slot::<$fload_t, B>(&*hart, op, acc, view, &*env.cast()) {
                        return handlers::$fload::<B>(hart, op, acc, view, env);
                    }
                    return searches::$fload::<B>(hart, op, acc, view, env);
                }
            });)*

            $(handler!(#[inline(never)] $store, |hart, op, acc, view, env| {
                unsafe {
                    if memory::store_hits_page_slot::<$store_t, B>(&*hart, op, acc, view, &*env.cast()) {
                        return handlers::$store::<B>(hart, op, acc, view, env);
                    }
                    return searches::$store::<B>(hart, op, acc, view, env);
                }
            });)*

            $(handler!(#[inline(never)] $fstore, |hart, op, acc, view, env| {
                unsafe {
                    if memory::store_hits_page_slot::<$fstore_t, B>(&*hart, op, acc, view, &*env.cast()) {
                        return handlers::$fstore::<B>(hart, op, acc, view, env);
                    }
                    return searches::$fstore::<B>(hart, op, acc, view, env);
                }
            });)*

            $(handler!(#[inline(never)] $float, |hart, op, acc, view, env| {
                unsafe {
                    float::$float_f(&mut *hart, &*op);
                    go!(hart, op.add(1), acc, view, env)
                }
            });)*
        }

        /// Loads and stores that neither the entry they hit last nor that of their page answers: the bus translates. Then each is executed
        /// again by its own handler, not by that of a pair it is the first of, so that the next pair begins where it always does.
        // SAFETY (all): as for the handlers.
        #[allow(clippy::undocumented_unsafe_blocks, reason = "one argument for all handlers, above")]
        mod searches {
            use super::*;

            $(handler!(#[inline(never)] $load, |hart, op, acc, view, env| {
                unsafe {
                    let after = memory::load_miss::<$load_t, B>(&mut *hart, op, acc, &mut *env.cast(), |hart, op, value| {
                        hart.set_register(op.rd, atomic::Cell::extended(value));
                    });
                    if after == After::Retry {
                        return handlers::$load::<B>(hart, op, acc, view, env);
                    }
                    return go_after(after, hart, op, acc, view, env);
                }
            });)*

            $(handler!(#[inline(never)] $fload, |hart, op, acc, view, env| {
                unsafe {
                    let after = memory::load_miss::<$fload_t, B>(&mut *hart, op, acc, &mut *env.cast(), |hart, op, value| {
                        hart.f[op.rd as usize] = float::boxed(value);
                    });
                    if after == After::Retry {
                        return handlers::$fload::<B>(hart, op, acc, view, env);
                    }
                    return go_after(after, hart, op, acc, view, env);
                }
            });)*

            $(handler!(#[inline(never)] $store, |hart, op, acc, view, env| {
                unsafe {
                    let value = (*hart).register((*op).rd);
                    let after = memory::store_miss::<$store_t, B>(&mut *hart, value, op, acc, &mut *env.cast());
                    if after == After::Retry {
                        return handlers::$store::<B>(hart, op, acc, view, env);
                    }
                    return go_after(after, hart, op, acc, view, env);
                }
            });)*

            $(handler!(#[inline(never)] $fstore, |hart, op, acc, view, env| {
                unsafe {
                    let value = (*hart).f[(*op).rd as usize];
                    let after = memory::store_miss::<$fstore_t, B>(&mut *hart, value, op, acc, &mut *env.cast());
                    if after == After::Retry {
                        return handlers::$fstore::<B>(hart, op, acc, view, env);
                    }
                    return go_after(after, hart, op, acc, view, env);
                }
            });)*
        }

        /// What the operations do that may come first in a pair: the accumulator behind them, or `None` where the
        /// handler of the operation must have it, which starts again.
        // SAFETY (all): as for the handlers. A store done twice is done once.
        #[allow(
            non_snake_case,
            dead_code,
            clippy::extra_unused_type_parameters,
            clippy::undocumented_unsafe_blocks,
            reason = "as for the handlers; not every operation is in a pair"
        )]
        pub(super) mod steps {
            use super::*;

            $(#[inline(always)]
            pub(in super::super) unsafe fn $imm<B: Bus>(hart: *mut Hart, op: *mut MicroOp, acc: u64, _: DataView, env: *mut ()) -> Option<u64> {
                unsafe {
                    (*env.cast::<Environment<B>>()).operation(&*hart, op, acc);
                    let value = alu::$imm_f((*hart).register((*op).rs1), (*op).imm as i64 as u64);
                    (*hart).set_register((*op).rd, value);
                }
                Some(acc)
            })*

            $(#[inline(always)]
            pub(in super::super) unsafe fn $reg<B: Bus>(hart: *mut Hart, op: *mut MicroOp, acc: u64, _: DataView, env: *mut ()) -> Option<u64> {
                unsafe {
                    (*env.cast::<Environment<B>>()).operation(&*hart, op, acc);
                    let value = alu::$reg_f((*hart).register((*op).rs1), (*hart).register((*op).rs2 as u8));
                    (*hart).set_register((*op).rd, value);
                }
                Some(acc)
            })*

            $(#[inline(always)]
            pub(in super::super) unsafe fn $load<B: Bus>(hart: *mut Hart, op: *mut MicroOp, acc: u64, view: DataView, env: *mut ()) -> Option<u64> {
                unsafe {
                    let value = memory::load_hit::<$load_t, B>(&*hart, op, acc, view, &mut *env.cast())?;
                    (*hart).set_register((*op).rd, atomic::Cell::extended(value));
                }
                Some(acc.wrapping_add(accumulator::ACCESS))
            })*

            $(#[inline(always)]
            pub(in super::super) unsafe fn $fload<B: Bus>(hart: *mut Hart, op: *mut MicroOp, acc: u64, view: DataView, env: *mut ()) -> Option<u64> {
                unsafe {
                    let value = memory::load_hit::<$fload_t, B>(&*hart, op, acc, view, &mut *env.cast())?;
                    (*hart).f[(*op).rd as usize] = float::boxed(value);
                }
                Some(acc.wrapping_add(accumulator::ACCESS))
            })*

            $(#[inline(always)]
            pub(in super::super) unsafe fn $store<B: Bus>(hart: *mut Hart, op: *mut MicroOp, acc: u64, view: DataView, env: *mut ()) -> Option<u64> {
                unsafe {
                    let value = (*hart).register((*op).rd);
                    let at = memory::store_hit::<$store_t, B>(&*hart, value, op, acc, view)?;
                    if (*env.cast::<Environment<B>>()).holds_code(at) {
                        return None;
                    }
                    (*env.cast::<Environment<B>>()).use_data_line(&*hart, op, acc, at, Access::Write);
                    Some(acc.wrapping_add(accumulator::ACCESS))
                }
            })*

            $(#[inline(always)]
            pub(in super::super) unsafe fn $fstore<B: Bus>(hart: *mut Hart, op: *mut MicroOp, acc: u64, view: DataView, env: *mut ()) -> Option<u64> {
                unsafe {
                    let value = (*hart).f[(*op).rd as usize];
                    let at = memory::store_hit::<$fstore_t, B>(&*hart, value, op, acc, view)?;
                    if (*env.cast::<Environment<B>>()).holds_code(at) {
                        return None;
                    }
                    (*env.cast::<Environment<B>>()).use_data_line(&*hart, op, acc, at, Access::Write);
                    Some(acc.wrapping_add(accumulator::ACCESS))
                }
            })*

            #[inline(always)]
            pub(in super::super) unsafe fn Li<B: Bus>(hart: *mut Hart, op: *mut MicroOp, acc: u64, _: DataView, env: *mut ()) -> Option<u64> {
                unsafe { (*env.cast::<Environment<B>>()).operation(&*hart, op, acc); (*hart).set_register((*op).rd, (*op).imm as i64 as u64) };
                Some(acc)
            }
        }

        /// The handler of an opcode.
        pub(crate) fn handler<B: Bus>(opcode: Opcode) -> Handler {
            match opcode {
                $(Opcode::$imm => handlers::$imm::<B>,)*
                $(Opcode::$reg => handlers::$reg::<B>,)*
                $(Opcode::$load => handlers::$load::<B>,)*
                $(Opcode::$store => handlers::$store::<B>,)*
                $(Opcode::$fload => handlers::$fload::<B>,)*
                $(Opcode::$fstore => handlers::$fstore::<B>,)*
                $(Opcode::$branch => handlers::$branch::<B>,)*
                $(Opcode::$lr => handlers::$lr::<B>,)*
                $(Opcode::$sc => handlers::$sc::<B>,)*
                $(Opcode::$amo => handlers::$amo::<B>,)*
                $(Opcode::$float => handlers::$float::<B>,)*
                $(Opcode::$single => handlers::$single::<B>,)*
            }
        }
    };
}
operations!(define_handlers);
