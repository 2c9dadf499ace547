//! Atomic operations, and reads of CSRs: a call of what the interpreters do, with the registers in the hart's memory meanwhile.

use super::Call;
use crate::{
    Bus,
    engine::environment::{AfterCsr, Environment},
    hart::Hart,
    microop::{MicroOp, accumulator},
    ops::{
        Opcode,
        atomic::{self, Cell},
        memory::{After, Atomic, AtomicOperation, atomic_hit, atomic_miss, atomic_reaches},
        operations,
    },
};

/// An atomic operation, as the interpreters make it. One on a page with translated code is theirs.
///
/// # Safety
/// As for the handlers.
#[inline(always)]
unsafe fn execute<T: Cell, B: Bus>(
    hart: *mut Hart,
    op: *mut MicroOp,
    acc: u64,
    environment: *mut (),
    (address, operation): (u64, AtomicOperation<T>),
) {
    // SAFETY: as for the handlers; an atomic operation is never the last of its block.
    unsafe {
        let environment = &mut *environment.cast::<Environment<B>>();
        let view = environment.exchange.view;
        loop {
            let at = atomic_reaches::<T, B>((op, address), acc, view, operation.kind);
            if let Some(at) = at {
                if environment.holds_code(at) {
                    return environment.exchange.leave(acc, op);
                }
                let hit = atomic_hit::<T, B>(&mut *hart, op, acc, view, environment, operation);
                debug_assert!(hit.is_some());
                return environment.exchange.hit(at);
            }
            let (acc, next) = match atomic_miss::<T, B>(&mut *hart, op, acc, environment, operation) {
                After::Retry => continue,
                After::Done => (acc.wrapping_add(accumulator::ACCESS), op.add(1)),
                After::Leave => (acc, std::ptr::null_mut()),
                After::DoneAndLeave => (acc.wrapping_add(accumulator::ACCESS), std::ptr::null_mut()),
            };
            return environment.exchange.leave(acc, next);
        }
    }
}

/// A CSR access that only reads. Where it is not done in place, an interpreter makes it.
///
/// # Safety
/// As for the handlers.
pub(super) unsafe extern "C" fn read_csr<B: Bus>(
    hart: *mut Hart,
    op: *mut MicroOp,
    acc: u64,
    environment: *mut (),
    _: u64,
) {
    // SAFETY: as for the handlers.
    unsafe {
        let environment = &mut *environment.cast::<Environment<B>>();
        match environment.access_csr(&mut *hart, op, acc) {
            Some(AfterCsr::Next | AfterCsr::View(_)) => environment.exchange.hit(std::ptr::null()),
            None => environment.exchange.leave(acc, op),
        }
    }
}

macro_rules! define_atomic_calls {
    (
        immediate $imm:tt register $reg:tt load $load:tt store $store:tt float_load $fload:tt float_store $fstore:tt branch $branch:tt
        load_reserved { $($lr:ident: $lr_t:ident),* $(,)? }
        store_conditional { $($sc:ident: $sc_t:ident),* $(,)? }
        atomic { $($amo:ident: $amo_t:ident $amo_f:ident),* $(,)? }
        float $float:tt
        single $single:tt
    ) => {
        define_atomic_calls!(@calls
            $($lr: $lr_t Reserve swap,)*
            $($sc: $sc_t Conditional swap,)*
            $($amo: $amo_t Modify $amo_f,)*
        );
    };
    (@calls $($name:ident: $cell:ident $kind:ident $modify:ident,)*) => {
        #[allow(non_snake_case, reason = "named after the opcode")]
        mod calls {
            use super::*;
            // SAFETY (all): as for the handlers.
            $(#[allow(clippy::undocumented_unsafe_blocks, reason = "above")]
            pub(super) unsafe extern "C" fn $name<B: Bus>(hart: *mut Hart, op: *mut MicroOp, acc: u64, environment: *mut (), address: u64) {
                let operation = AtomicOperation { kind: Atomic::$kind, modify: atomic::$modify };
                unsafe { execute::<$cell, B>(hart, op, acc, environment, (address, operation)) }
            })*
        }

        /// What executes an atomic operation on the hart's registers in memory.
        ///
        /// # Panics
        /// If it is none.
        pub(super) fn atomic_call<B: Bus>(opcode: Opcode) -> Call {
            match opcode {
                $(Opcode::$name => calls::$name::<B>,)*
                _ => unreachable!("{opcode:?} is no atomic operation"),
            }
        }
    };
}
operations!(define_atomic_calls);
