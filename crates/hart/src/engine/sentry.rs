//! What looks at each micro-op before the matching engine executes it: a debugger's [`Watch`], a log of accesses, or nothing.

use super::environment::Environment;
use crate::{
    Bus,
    hart::{
        Hart,
        accesses::{AccessLog, PageUse},
        instructions::{DataUse, InstructionLog},
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
        environment: &Environment<B>,
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
        _: &Environment<B>,
    ) -> Option<StopCause> {
        None
    }
}

impl Sentry for Watch {
    const LOOKS: bool = true;

    unsafe fn stops<B: Bus>(
        &mut self,
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
        self.cause(place, || unsafe { touched(hart, opcode, op) })
    }
}

impl Sentry for AccessLog {
    const LOOKS: bool = true;

    #[inline]
    unsafe fn stops<B: Bus>(
        &mut self,
        hart: &Hart,
        (opcode, op): (Opcode, *const MicroOp),
        acc: u64,
        _: &Environment<B>,
    ) -> Option<StopCause> {
        let stamp = accumulator::stamp(acc);
        self.settle(stamp);
        // SAFETY: by the contract.
        if let Some(touched) = unsafe { touched(hart, opcode, op) } {
            let TranslationContext { mode, root, asid, .. } = hart.context();
            self.begin(stamp, PageUse { page: Gva(touched.address & !0xfff), mode, root, asid, count: 1 });
        }
        None
    }
}

impl Sentry for InstructionLog {
    const LOOKS: bool = true;

    #[inline]
    unsafe fn stops<B: Bus>(
        &mut self,
        hart: &Hart,
        (opcode, op): (Opcode, *const MicroOp),
        acc: u64,
        environment: &Environment<B>,
    ) -> Option<StopCause> {
        match opcode {
            // These begin no instruction, or the run loop executes what is behind them.
            Opcode::Next
            | Opcode::Resolve
            | Opcode::FetchLine
            | Opcode::Stale
            | Opcode::Moved
            | Opcode::Compiled
            | Opcode::FloatGate
            | Opcode::Straddle => return None,
            _ => {}
        }
        let (offset, before) = environment.position(op);
        let number = hart.instructions_at(acc) + u64::from(before);
        // SAFETY: by the contract.
        let data = unsafe { touched(hart, opcode, op) }.map(|touched| DataUse::of(opcode.class(), &touched));
        let bits = hart.bits_in_page(offset);
        self.begin((number, hart.page + u64::from(offset)), bits, &hart.context(), data);
        None
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
