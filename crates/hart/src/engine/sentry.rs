//! What looks at each micro-op before the matching engine executes it: the hart's [`Observers`], or nothing.

use super::environment::Environment;
use crate::{
    Bus,
    hart::{
        Hart, STACK_POINTER,
        accesses::{AccessLog, PageUse},
        instructions::{DataUse, InstructionLog},
        observers::Observers,
        transfer::{self, Transfer},
    },
    microop::{MicroOp, accumulator},
    ops::{Class, Opcode, operations},
    watch::{Place, StopCause, Touched, Watch},
};
use types::{Gva, TranslationContext};

/// What looks at each micro-op before the matching engine executes it.
pub(crate) trait Sentry {
    /// Whether it looks at anything.
    const LOOKS: bool;

    /// Why the hart stops before the micro-op at `op`.
    ///
    /// # Safety
    /// `op` is a micro-op of a live block of this bus, with this opcode.
    unsafe fn stops<B: Bus>(
        &mut self,
        hart: &Hart,
        op: (Opcode, *const MicroOp),
        acc: u64,
        environment: &mut Environment<B>,
    ) -> Option<StopCause>;
}

/// Nothing stops the hart.
pub(crate) struct Unwatched;

impl Sentry for Unwatched {
    const LOOKS: bool = false;

    #[inline(always)]
    unsafe fn stops<B: Bus>(
        &mut self,
        _: &Hart,
        _: (Opcode, *const MicroOp),
        _: u64,
        _: &mut Environment<B>,
    ) -> Option<StopCause> {
        None
    }
}

impl Sentry for Observers {
    const LOOKS: bool = true;

    #[inline]
    unsafe fn stops<B: Bus>(
        &mut self,
        hart: &Hart,
        op: (Opcode, *const MicroOp),
        acc: u64,
        environment: &mut Environment<B>,
    ) -> Option<StopCause> {
        // SAFETY: by the contract.
        unsafe {
            if let Some(watch) = &self.watch
                && let Some(cause) = watched(watch, hart, op, acc, environment)
            {
                return Some(cause);
            }
            if let Some(log) = &mut self.accesses {
                log_access(log, hart, op, acc);
            }
            if let Some(log) = &mut self.instructions {
                log_instruction(log, hart, op, acc, environment);
            }
            if self.transfers {
                tell_transfer(hart, op, environment);
            }
        }
        None
    }
}

/// Why a debugger's watch stops the hart before the micro-op.
///
/// # Safety
/// As for [`Sentry::stops`].
unsafe fn watched<B: Bus>(
    watch: &Watch,
    hart: &Hart,
    (opcode, op): (Opcode, *const MicroOp),
    acc: u64,
    environment: &Environment<B>,
) -> Option<StopCause> {
    match opcode {
        // These begin no instruction. A gate does: with the unit off, the run loop executes what is behind it.
        Opcode::Next | Opcode::Resolve | Opcode::FetchLine | Opcode::Stale | Opcode::Moved | Opcode::Compiled => {
            return None;
        }
        _ => {}
    }
    let (offset, before) = environment.position(op);
    let place = Place { pc: hart.page + u64::from(offset), retired: hart.instructions_at(acc) + u64::from(before) };
    // SAFETY: by the contract.
    watch.cause(place, || unsafe { touched(hart, opcode, op) })
}

/// Keeps the page that the micro-op accesses.
///
/// # Safety
/// As for [`Sentry::stops`].
#[inline]
unsafe fn log_access(log: &mut AccessLog, hart: &Hart, (opcode, op): (Opcode, *const MicroOp), acc: u64) {
    let stamp = accumulator::stamp(acc);
    log.settle(stamp);
    // SAFETY: by the contract.
    if let Some(touched) = unsafe { touched(hart, opcode, op) } {
        let TranslationContext { mode, root, asid, .. } = hart.context();
        log.begin(stamp, PageUse { page: Gva(touched.address & !0xfff), mode, root, asid, count: 1 });
    }
}

/// Keeps the instruction that the micro-op begins.
///
/// # Safety
/// As for [`Sentry::stops`].
#[inline]
unsafe fn log_instruction<B: Bus>(
    log: &mut InstructionLog,
    hart: &Hart,
    (opcode, op): (Opcode, *const MicroOp),
    acc: u64,
    environment: &Environment<B>,
) {
    match opcode {
        // These begin no instruction, or the run loop executes what is behind them.
        Opcode::Next
        | Opcode::Resolve
        | Opcode::FetchLine
        | Opcode::Stale
        | Opcode::Moved
        | Opcode::Compiled
        | Opcode::FloatGate
        | Opcode::Straddle => return,
        _ => {}
    }
    let (offset, before) = environment.position(op);
    let number = hart.instructions_at(acc) + u64::from(before);
    // SAFETY: by the contract.
    let data = unsafe { touched(hart, opcode, op) }.map(|touched| DataUse::of(opcode.class(), &touched));
    let bits = hart.bits_in_page(offset);
    log.begin((number, hart.page + u64::from(offset)), bits, &hart.context(), data);
}

/// Reports the call or return that the micro-op makes to the bus.
///
/// # Safety
/// As for [`Sentry::stops`].
#[inline]
unsafe fn tell_transfer<B: Bus>(hart: &Hart, (opcode, op): (Opcode, *const MicroOp), environment: &mut Environment<B>) {
    // SAFETY: by the contract.
    let jump = unsafe { &*op };
    let (returns, calls, target) = match opcode {
        Opcode::Jal => (false, transfer::calls(jump.rd), 0),
        Opcode::Jalr | Opcode::JalrAligned => {
            let target = hart.register(jump.rs1).wrapping_add(jump.imm as i64 as u64) & !1;
            if opcode == Opcode::JalrAligned && target & 2 != 0 {
                // It traps.
                return;
            }
            let (returns, calls) = transfer::of_indirect_jump(jump.rd, jump.rs1);
            (returns, calls, target)
        }
        _ => return,
    };
    let sp = hart.register(STACK_POINTER);
    if returns {
        environment.bus().transfer(Transfer::Return { target, sp });
    }
    if calls {
        let (offset, _) = environment.position(op);
        let pc = hart.page.wrapping_add(u64::from(offset));
        let return_address = hart.page.wrapping_add(u64::from(jump.rs2));
        environment.bus().transfer(Transfer::Call { pc, return_address, sp });
    }
}

/// What the instruction of a micro-op accesses.
///
/// # Safety
/// `op` is a micro-op of a live block, with this opcode.
unsafe fn touched(hart: &Hart, opcode: Opcode, op: *const MicroOp) -> Option<Touched> {
    let bytes = width(opcode)?;
    let (indexed, reads, writes) = match opcode.class() {
        Class::load | Class::float_load => (true, true, false),
        Class::store | Class::float_store => (true, false, true),
        Class::load_reserved => (false, true, false),
        Class::store_conditional => (false, false, true),
        Class::atomic => (false, true, true),
        Class::immediate | Class::register | Class::branch | Class::float | Class::single => return None,
    };
    // SAFETY: by the contract; the classes above are memory micro-ops, and `rs2` is what an atomic one has in place of an offset.
    let address = unsafe { if indexed { (*op).address(hart) } else { hart.register((*op).rs1) } };
    Some(Touched { address, bytes, reads, writes })
}

macro_rules! define_width {
    (
        immediate $immediate:tt
        register $register:tt
        load { $($load:ident: $load_t:ident),* $(,)? }
        store { $($store:ident: $store_t:ident),* $(,)? }
        float_load { $($fload:ident: $fload_t:ident),* $(,)? }
        float_store { $($fstore:ident: $fstore_t:ident),* $(,)? }
        branch $branch:tt
        load_reserved { $($lr:ident: $lr_t:ident),* $(,)? }
        store_conditional { $($sc:ident: $sc_t:ident),* $(,)? }
        atomic { $($amo:ident: $amo_t:ident $amo_f:ident),* $(,)? }
        float $float:tt
        single $single:tt
    ) => {
        /// How many bytes of memory an operation accesses; `None` of one that accesses none.
        const fn width(opcode: Opcode) -> Option<u64> {
            let bytes = match opcode {
                $(Opcode::$load => size_of::<$load_t>(),)*
                $(Opcode::$store => size_of::<$store_t>(),)*
                $(Opcode::$fload => size_of::<$fload_t>(),)*
                $(Opcode::$fstore => size_of::<$fstore_t>(),)*
                $(Opcode::$lr => size_of::<$lr_t>(),)*
                $(Opcode::$sc => size_of::<$sc_t>(),)*
                $(Opcode::$amo => size_of::<$amo_t>(),)*
                _ => return None,
            };
            Some(bytes as u64)
        }
    };
}
operations!(define_width);
