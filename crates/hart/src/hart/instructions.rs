//! Which instructions a hart retires, in order, with what each accesses, and the traps between them.
//!
//! A hart that keeps them is executed by the matching engine, which looks at each micro-op before it executes it. An instruction is kept once it has
//! retired: one that traps, or that the bus asks for again, has the number of the next one, which takes its place. So there are as many as the hart
//! counts.

use crate::{ops::Class, watch::Touched};
use types::{Privilege, TranslationContext};

/// What a load, store or atomic operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataAccess {
    /// A load, or a load-reserved.
    Load,
    /// A store, or a store-conditional.
    Store,
    /// An atomic operation.
    Modify,
}

/// An access of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataUse {
    /// What it does.
    pub access: DataAccess,
    /// The first byte, in guest virtual memory.
    pub address: u64,
    /// How many bytes.
    pub bytes: u8,
}

/// What happens, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Retired {
    /// An instruction.
    Instruction {
        /// Its address.
        pc: u64,
        /// Its bits; of a compressed one the low 16.
        bits: u32,
        /// The privilege that it is executed with.
        privilege: Privilege,
        /// What it accesses.
        data: Option<DataUse>,
    },
    /// Loads and stores translate in another context from here on.
    Context(TranslationContext),
    /// A trap is taken. The next instruction would have been at `pc`.
    Trap {
        /// The address in `sepc`.
        pc: u64,
    },
    /// A handler returns. The next instruction is at `pc`.
    Return {
        /// The address in `sepc`.
        pc: u64,
    },
}

/// What is kept of a hart's instructions.
#[derive(Clone, Debug, Default)]
pub(crate) struct InstructionLog {
    retired: Vec<Retired>,
    /// The instruction that has begun, and its number: how many have retired before it.
    begun: Option<(u64, Retired)>,
    /// The number and the bits of an instruction that the run loop executes. An engine may begin it again, and does not have its bits.
    stepped: Option<(u64, u32)>,
    context: Option<TranslationContext>,
}

impl InstructionLog {
    /// By now so many instructions have retired.
    #[inline]
    pub(crate) fn settle(&mut self, retired: u64) {
        if let Some((number, instruction)) = self.begun
            && retired > number
        {
            self.retired.push(instruction);
            self.begun = None;
        }
    }

    /// The run loop is about to execute an instruction of these bits.
    pub(crate) fn stepped(&mut self, (number, pc): (u64, u64), bits: u32, context: &TranslationContext) {
        self.begin((number, pc), bits, context, None);
        self.stepped = Some((number, bits));
    }

    /// An instruction begins.
    #[inline]
    pub(crate) fn begin(
        &mut self,
        (number, pc): (u64, u64),
        bits: u32,
        context: &TranslationContext,
        data: Option<DataUse>,
    ) {
        self.settle(number);
        if self.context.as_ref() != Some(context) {
            self.context = Some(*context);
            self.retired.push(Retired::Context(*context));
        }
        let bits = match self.stepped.take() {
            Some((stepped, bits_of)) if stepped == number => bits_of,
            _ => bits,
        };
        self.begun = Some((number, Retired::Instruction { pc, bits, privilege: context.privilege, data }));
    }

    /// A trap is taken, or a handler returns, once so many instructions have retired.
    pub(crate) fn transfer(&mut self, retired: u64, what: Retired) {
        self.settle(retired);
        if matches!(what, Retired::Trap { .. }) {
            self.begun = None;
        }
        self.stepped = None;
        self.retired.push(what);
    }

    /// What has been kept up to the instruction of that number.
    pub(crate) fn take(&mut self, retired: u64) -> Vec<Retired> {
        self.settle(retired);
        std::mem::take(&mut self.retired)
    }
}

impl DataUse {
    /// Of an instruction of this class.
    pub(crate) fn of(class: Class, touched: &Touched) -> Self {
        let access = match class {
            Class::atomic => DataAccess::Modify,
            Class::store | Class::float_store | Class::store_conditional => DataAccess::Store,
            Class::load
            | Class::float_load
            | Class::load_reserved
            | Class::immediate
            | Class::register
            | Class::branch
            | Class::float
            | Class::single => DataAccess::Load,
        };
        Self { access, address: touched.address, bytes: touched.bytes as u8 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_behind_a_marker_has_its_own_bits() {
        let mut log = InstructionLog::default();
        let context = TranslationContext::default();
        log.stepped((7, 0x1000), 0x0010_2013, &context);
        // The turn ends with the marker, which has retired.
        let bits_of = |what: &Retired| match what {
            Retired::Instruction { pc, bits, .. } => Some((*pc, *bits)),
            _ => None,
        };
        let first: Vec<_> = log.take(8).iter().filter_map(bits_of).collect();
        log.begin((8, 0x1004), 0x8652, &context, None);
        let second: Vec<_> = log.take(9).iter().filter_map(bits_of).collect();
        assert_eq!((first, second), (vec![(0x1000, 0x0010_2013)], vec![(0x1004, 0x8652)]));
    }

    #[test]
    fn an_instruction_that_the_run_loop_executes_keeps_its_bits() {
        let mut log = InstructionLog::default();
        let context = TranslationContext::default();
        log.stepped((7, 0x1ffe), 0x0081_3503, &context);
        log.begin((7, 0x1ffe), 0x3503, &context, None);
        let last = log.take(8).pop();
        assert!(matches!(last, Some(Retired::Instruction { bits: 0x0081_3503, .. })), "{last:?}");
    }
}
