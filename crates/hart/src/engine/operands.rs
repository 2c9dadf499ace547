//! Which registers a micro-op reads and writes.

use crate::{
    hart::SINK,
    microop::MicroOp,
    ops::{Class, Opcode},
    report::RegisterSet,
};

/// A set of registers: bit n is x n, bit 32 + n is f n.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::engine) struct Set(u64);

impl Set {
    pub(in crate::engine) const fn x(number: u8) -> Self {
        // x0 is a constant, and no code reads the sink.
        Self(if number == 0 || number >= SINK { 0 } else { 1 << number })
    }

    pub(in crate::engine) const fn f(number: u8) -> Self {
        Self(1 << (32 + (number & 31)))
    }

    /// As others see it.
    pub(in crate::engine) const fn registers(self) -> RegisterSet {
        RegisterSet(self.0)
    }

    pub(in crate::engine) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The numbers of the integer registers in it.
    pub(in crate::engine) fn integers(self) -> impl Iterator<Item = u8> {
        (1..32).filter(move |number| self.0 >> number & 1 != 0)
    }

    /// The numbers of the floating-point registers in it.
    pub(in crate::engine) fn floats(self) -> impl Iterator<Item = u8> {
        (0..32).filter(move |number| self.0 >> (32 + number) & 1 != 0)
    }
}

/// What an operation reads, and what it writes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Operands {
    pub(in crate::engine) read: Set,
    pub(in crate::engine) written: Set,
}

impl Operands {
    /// Those of a micro-op that compiled code executes.
    pub(in crate::engine) fn of(opcode: Opcode, op: &MicroOp) -> Self {
        let (rd, rs1, rs2) = (op.rd, op.rs1, op.rs2 as u8);
        let (read, written) = match opcode.class() {
            Class::immediate | Class::load => (Set::x(rs1), Set::x(rd)),
            Class::register => (Set::x(rs1).and(Set::x(rs2)), Set::x(rd)),
            Class::store | Class::branch => (Set::x(rs1).and(Set::x(rd)), Set::default()),
            Class::float_load => (Set::x(rs1), Set::f(rd)),
            Class::float_store => (Set::x(rs1).and(Set::f(rd)), Set::default()),
            Class::float => {
                let first = if takes_integer(opcode) { Set::x(rs1) } else { Set::f(rs1) };
                let read = match float_sources(opcode) {
                    1 => first,
                    2 => first.and(Set::f(rs2)),
                    _ => first.and(Set::f(rs2)).and(Set::f(third(op))),
                };
                (read, if gives_integer(opcode) { Set::x(rd) } else { Set::f(rd) })
            }
            _ if matches!(opcode, Opcode::Li | Opcode::Auipc | Opcode::Jal) => (Set::default(), Set::x(rd)),
            _ if opcode == Opcode::Jalr => (Set::x(rs1), Set::x(rd)),
            Class::load_reserved => (Set::x(rs1), Set::x(rd)),
            Class::store_conditional | Class::atomic => (Set::x(rs1).and(Set::x(op.imm as u8)), Set::x(rd)),
            // One that reads: it names no register but the one that it writes.
            _ if opcode == Opcode::Csr => (Set::default(), Set::x((op.imm >> 7 & 31) as u8)),
            _ => (Set::default(), Set::default()),
        };
        Self { read, written }
    }

    /// Those that a core is told of.
    pub(crate) fn reported(opcode: Opcode, op: &MicroOp) -> Self {
        match opcode {
            // The target is predicted, and the return address is known.
            Opcode::Jalr | Opcode::JalrAligned => Self { read: Set::default(), written: Set::x(op.rd) },
            // The access is reported, and that it serializes.
            Opcode::Csr => Self::default(),
            _ if matches!(opcode.class(), Class::load_reserved | Class::store_conditional | Class::atomic) => {
                Self::default()
            }
            _ => Self::of(opcode, op),
        }
    }

    /// Which of [`Self::registers`] is written. Operations write one register at most.
    pub(crate) const fn written(self) -> Written {
        if self.written.0 == 0 {
            return Written(0);
        }
        let also_read = if self.read.0 & self.written.0 != 0 { Written::ALSO_READ } else { 0 };
        Written(self.written.0.trailing_zeros() as u8 | also_read)
    }

    /// All of them.
    pub(crate) const fn registers(self) -> RegisterSet {
        self.read.and(self.written).registers()
    }
}

/// Which of the registers that an operation names it writes, in a byte: the register's number, and whether the operation also reads it. Zero is none, as x0 is
/// never written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Written(u8);

impl Written {
    const ALSO_READ: u8 = 1 << 6;

    /// What an operation reads that names these registers, and what it writes.
    #[inline(always)]
    pub(crate) const fn split(self, names: RegisterSet) -> [RegisterSet; 2] {
        let written = (1 << (self.0 & 63)) & !1;
        let only_written = if self.0 & Self::ALSO_READ == 0 { written } else { 0 };
        [RegisterSet(names.0 & !only_written), RegisterSet(written)]
    }
}

/// The third source of a fused operation.
pub(in crate::engine) const fn third(op: &MicroOp) -> u8 {
    (op.imm >> 8) as u8 & 31
}

/// Whether a floating-point operation's source is an integer register.
const fn takes_integer(opcode: Opcode) -> bool {
    use Opcode as O;
    matches!(
        opcode,
        O::FcvtSW
            | O::FcvtSWu
            | O::FcvtSL
            | O::FcvtSLu
            | O::FcvtDW
            | O::FcvtDWu
            | O::FcvtDL
            | O::FcvtDLu
            | O::FmvWX
            | O::FmvDX
    )
}

/// Whether a floating-point operation's result is an integer.
pub(in crate::engine) const fn gives_integer(opcode: Opcode) -> bool {
    use Opcode as O;
    matches!(
        opcode,
        O::FeqS
            | O::FltS
            | O::FleS
            | O::FclassS
            | O::FcvtWS
            | O::FcvtWuS
            | O::FcvtLS
            | O::FcvtLuS
            | O::FmvXW
            | O::FeqD
            | O::FltD
            | O::FleD
            | O::FclassD
            | O::FcvtWD
            | O::FcvtWuD
            | O::FcvtLD
            | O::FcvtLuD
            | O::FmvXD
    )
}

/// How many registers a floating-point operation reads at most: one too many does no harm.
const fn float_sources(opcode: Opcode) -> u8 {
    use Opcode as O;
    match opcode {
        O::FmaddS | O::FmsubS | O::FnmsubS | O::FnmaddS | O::FmaddD | O::FmsubD | O::FnmsubD | O::FnmaddD => 3,
        O::FsqrtS | O::FsqrtD | O::FclassS | O::FclassD | O::FcvtSD | O::FcvtDS | O::FmvXW | O::FmvXD => 1,
        _ if takes_integer(opcode) => 1,
        O::FcvtWS | O::FcvtWuS | O::FcvtLS | O::FcvtLuS | O::FcvtWD | O::FcvtWuD | O::FcvtLD | O::FcvtLuD => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_of_an_operation_tells_what_it_reads_and_writes() {
        let (a, b, f) = (Set::x(5), Set::x(31), Set::f(31));
        let none = Set::default();
        for (read, written) in
            [(none, none), (a, none), (none, b), (a.and(b), b), (a.and(f), f), (f, f), (a, Set::x(0))]
        {
            let operands = Operands { read, written };
            assert_eq!(
                operands.written().split(operands.registers()),
                [read.registers(), written.registers()],
                "{operands:?}"
            );
        }
    }
}
