//! Atomic operations, and reads of CSRs: a call of what the interpreters do, with the registers in the hart's memory meanwhile.

use super::{Call, emit::Emitter};
use crate::{
    Bus,
    csr::is_read,
    engine::{
        environment::{AfterCsr, Environment},
        exchange::{Exchange, HIT},
        operands::Operands,
    },
    hart::Hart,
    microop::{MicroOp, accumulator},
    ops::{
        Opcode,
        atomic::{self, Cell},
        memory::{After, Atomic, AtomicOperation, atomic_hit, atomic_miss},
        operations,
    },
};
use cranelift_codegen::ir::{InstBuilder, condcodes::IntCC, types::I64};
use std::mem::offset_of;

impl<B: Bus> Emitter<'_, '_, B> {
    /// LR, SC or an AMO.
    pub(super) fn atomic(&mut self, opcode: Opcode, op: &MicroOp, slot: usize) {
        let address = self.x(op.rs1);
        self.call_on_hart(atomic_call::<B>(opcode), (opcode, op), slot, Some(address));
        self.count_access();
    }

    /// A CSR access, which an interpreter makes unless it only reads. Returns whether there is one here.
    pub(super) fn read_csr(&mut self, op: &MicroOp, slot: usize) -> bool {
        let reads = is_read(op.imm as u32);
        if reads {
            self.call_on_hart(read_csr::<B>, (Opcode::Csr, op), slot, None);
        }
        reads
    }

    /// Calls what executes the micro-op on the registers in the hart's memory, where those are that it names; leaves as the function has told, or goes on.
    fn call_on_hart(
        &mut self,
        function: Call,
        (opcode, op): (Opcode, &MicroOp),
        slot: usize,
        address: Option<cranelift_codegen::ir::Value>,
    ) {
        let Operands { read, written } = Operands::of(opcode, op);
        // What is written as well: where the function leaves before, it is what it was.
        for register in read.and(written).integers() {
            let value = self.x(register);
            self.store_hart(value, Hart::x_offset(register));
        }
        let address = address.unwrap_or_else(|| self.constant(0));
        self.call(function, slot, address);
        for register in written.integers() {
            let value = self.load_hart(I64, Hart::x_offset(register));
            self.set_x(register, value);
        }
        self.read_outstanding();
        let answer = self.told(offset_of!(Exchange, answer));
        let on = self.f.create_block();
        let done = self.f.ins().icmp_imm_s(IntCC::Equal, answer, HIT as i64);
        self.f.ins().brif(done, on, &[], self.exit_as_told, &[]);
        self.begin(on);
    }
}

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
        let (environment, stamp) = (&mut *environment.cast::<Environment<B>>(), accumulator::stamp(acc));
        let view = environment.exchange.view;
        loop {
            let at = match operation.kind {
                Atomic::Reserve => B::read_hit(view, (*op).rs2, address, T::WIDTH, stamp),
                Atomic::Conditional | Atomic::Modify => {
                    B::write_hit(view, (*op).rs2, address, T::WIDTH, stamp).map(<*mut u8>::cast_const)
                }
            };
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
unsafe extern "C" fn read_csr<B: Bus>(hart: *mut Hart, op: *mut MicroOp, acc: u64, environment: *mut (), _: u64) {
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
        fn atomic_call<B: Bus>(opcode: Opcode) -> Call {
            match opcode {
                $(Opcode::$name => calls::$name::<B>,)*
                _ => unreachable!("{opcode:?} is no atomic operation"),
            }
        }
    };
}
operations!(define_atomic_calls);
