//! Transfers of control that change the call stack.
//!
//! Which jumps are calls and returns is what a return-address stack goes by: the hints of the unprivileged specification, section 2.5.1, table
//! "Return-address stack prediction hints". A jump to a function's end that another call reaches ("tail call") is none of them.

use types::Privilege;

/// A transfer of control. Stack pointers are `x2` as the instruction finds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transfer {
    /// `jal` or `jalr` that writes `x1` or `x5`.
    Call {
        /// The instruction.
        pc: u64,
        /// The address behind it.
        return_address: u64,
        /// The stack pointer.
        sp: u64,
    },
    /// `jalr` through `x1` or `x5`.
    Return {
        /// Where it jumps to.
        target: u64,
        /// The stack pointer.
        sp: u64,
    },
    /// A trap is taken.
    Trap {
        /// The address in `sepc`.
        pc: u64,
        /// The stack pointer.
        sp: u64,
    },
    /// `sret`.
    TrapReturn {
        /// The address in `sepc`.
        target: u64,
        /// The stack pointer.
        sp: u64,
        /// The privilege that it returns to.
        to: Privilege,
    },
}

/// Whether a register holds return addresses.
const fn is_link(register: u8) -> bool {
    matches!(register, 1 | 5)
}

/// What a `jalr` does to the call stack: it returns, calls, or both, in this order.
pub(crate) const fn of_indirect_jump(rd: u8, rs1: u8) -> (bool, bool) {
    (is_link(rs1) && rd != rs1, is_link(rd))
}

/// Whether a `jal` calls.
pub(crate) const fn calls(rd: u8) -> bool {
    is_link(rd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hart::SINK;

    #[test]
    fn jumps_are_calls_and_returns_as_the_specification_hints() {
        // (rd, rs1): (pops, pushes).
        for ((rd, rs1), expected) in [
            ((SINK, 10), (false, false)),
            ((SINK, 1), (true, false)),
            ((SINK, 5), (true, false)),
            ((1, 10), (false, true)),
            ((5, 10), (false, true)),
            ((1, 5), (true, true)),
            ((5, 1), (true, true)),
            ((1, 1), (false, true)),
        ] {
            assert_eq!(of_indirect_jump(rd, rs1), expected, "rd {rd}, rs1 {rs1}");
        }
        assert!(calls(1) && calls(5) && !calls(SINK) && !calls(6));
    }
}
