//! Registers that an instruction reads and writes.

/// Registers that an instruction reads and writes, by numbers that are not 0. Those of x86-64 that `ChampSim` takes branches by are reserved:
/// the stack pointer is 6, the flags are 25, and the instruction pointer is 26.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Operands {
    /// What it reads; 0: nothing.
    pub reads: [u8; 4],
    /// What it writes; 0: nothing.
    pub writes: [u8; 2],
}

/// The stack pointer.
pub(crate) const STACK_POINTER: u8 = 6;
/// The flags.
pub(crate) const FLAGS: u8 = 25;
/// The instruction pointer.
pub(crate) const INSTRUCTION_POINTER: u8 = 26;

/// Where RISC-V's integer registers begin.
const INTEGER: u8 = 64;
/// `x0`, where a branch has to read a register.
pub(crate) const ZERO: u8 = INTEGER;
/// Where its floating-point registers begin.
const FLOAT: u8 = 128;

/// RISC-V's integer register `number`; 0 for `x0`, which is no register in a trace.
pub(crate) const fn integer(number: u32) -> u8 {
    match number {
        0 => 0,
        2 => STACK_POINTER,
        _ => INTEGER + number as u8,
    }
}

/// RISC-V's floating-point register `number`.
pub(crate) const fn float(number: u32) -> u8 {
    FLOAT + number as u8
}

impl Operands {
    /// One that reads and writes these, the first ones of them where there are too many. 0 is left out.
    #[must_use]
    pub fn new(reads: &[u8], writes: &[u8]) -> Self {
        let mut operands = Self::default();
        fill(&mut operands.reads, reads);
        fill(&mut operands.writes, writes);
        operands
    }

    /// Whether it reads register `number`.
    pub(crate) fn reads(&self, number: u8) -> bool {
        self.reads.contains(&number)
    }
}

fn fill(places: &mut [u8], registers: &[u8]) {
    for (place, register) in places.iter_mut().zip(registers.iter().filter(|&&register| register != 0)) {
        *place = *register;
    }
}
