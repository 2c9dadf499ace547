//! Pairs: a handler that executes its operation and goes straight on to the handler of the next one.
//!
//! The dispatch between two micro-ops is a jump to an address from memory. Where a block is translated it is known which operation
//! follows, so the first micro-op of a frequent pair gets a handler that ends in the second one's. Nothing else changes: both keep
//! their slots and operands, and execution that enters at the second one, after a miss, finds its own handler there.

use super::{handlers, steps};
use crate::{
    Bus,
    bus::DataView,
    hart::Hart,
    microop::{Handler, MicroOp},
    ops::Opcode,
};

macro_rules! define_pairs {
    (first { $($first:ident)* } second $seconds:tt) => {
        $(define_pairs!(@first $first $seconds);)*

        /// The handler of the first of two operations, of which the second is in the next slot; `None` where it is its usual one.
        pub(crate) fn pair<B: Bus>(first: Opcode, second: Opcode) -> Option<Handler> {
            match first {
                $(Opcode::$first => $first::pair::<B>(second),)*
                _ => None,
            }
        }
    };
    (@first $first:ident { $($second:ident)* }) => {
        #[allow(non_snake_case, reason = "named after the opcode")]
        mod $first {
            use super::*;

            $(unsafe extern "C" fn $second<B: Bus>(
                hart: *mut Hart,
                op: *mut MicroOp,
                acc: u64,
                view: DataView,
                env: *mut (),
            ) -> u64 {
                // SAFETY: as for the handlers; the second operation is in the next slot.
                unsafe {
                    match steps::$first::<B>(hart, op, acc, view, env) {
                        Some(acc) => handlers::$second::<B>(hart, op.add(1), acc, view, env),
                        None => handlers::$first::<B>(hart, op, acc, view, env),
                    }
                }
            })*

            pub(super) fn pair<B: Bus>(second: Opcode) -> Option<Handler> {
                match second {
                    $(Opcode::$second => Some($second::<B>),)*
                    _ => None,
                }
            }
        }
    };
}

define_pairs! {
    first {
        Addi Li Slli Srli Srai Andi Xori Addiw Add Sub And Or Xor Addw Mul
        Ld Lw Lbu Fld Sd Sw Sb Fsd
    }
    second {
        Addi Li Slli Srli Srai Andi Addiw Add Sub And Or Xor Mul
        Ld Lw Lbu Fld Sd Sw Sb Fsd FmaddD
        Beq Bne Blt Bge Bltu Bgeu Jal
    }
}
