//! The host's registers as baseline code uses them, and the encoder of its instructions.

use cranelift_assembler_x64::{
    Amode, AmodeOffset, AmodeOffsetPlusKnownOffset, AsReg, CodeSink, DeferredTarget, KnownOffset, NonRspGpr, Registers,
    Scale, TrapCode, inst,
};

/// A general register of the host, by the number that instructions encode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Register(u8);

impl AsReg for Register {
    fn new(number: u8) -> Self {
        Self(number)
    }

    fn enc(&self) -> u8 {
        self.0
    }
}

/// What a handler is entered with: the hart, the micro-op, the accumulator, the view and the environment.
pub(super) const HART: Register = Register(7);
pub(super) const OP: Register = Register(6);
pub(super) const ACC: Register = Register(2);
pub(super) const VIEW: Register = Register(1);
pub(super) const ENVIRONMENT: Register = Register(8);

/// Hold values within one template. [`A`] is where an access has its address, and where a product begins.
pub(super) const A: Register = Register(0);
pub(super) const B: Register = Register(9);
pub(super) const C: Register = Register(10);

/// Hold guest registers between templates.
pub(super) const GUEST: [Register; 4] = [Register(11), Register(12), Register(13), Register(14)];

/// The stack's end, which only calls within the code move.
pub(super) const STACK: Register = Register(4);

/// Holds the address of the TLB entry that an access has hit; within a group of accesses, where the compared byte lies.
pub(super) const ENTRY: Register = Register(15);

/// The registers of every instruction.
#[derive(Clone, Copy)]
pub(super) struct Host;

impl Registers for Host {
    type ReadGpr = Register;
    type ReadWriteGpr = Register;
    type WriteGpr = Register;
    type ReadXmm = Register;
    type ReadWriteXmm = Register;
    type WriteXmm = Register;
}

/// The memory `displacement` bytes from `base`.
pub(super) fn at(base: Register, displacement: i32) -> Amode<Register> {
    let simm32 = AmodeOffsetPlusKnownOffset { simm32: AmodeOffset::new(displacement), offset: None };
    Amode::ImmReg { base, simm32, trap: None }
}

/// The memory at the sum of two registers.
pub(super) fn at_sum(base: Register, index: Register) -> Amode<Register> {
    at_index(base, index, Scale::One)
}

/// The memory at the sum of two registers, of which the second counts so many bytes.
pub(super) fn at_index(base: Register, index: Register, scale: Scale) -> Amode<Register> {
    Amode::ImmRegRegShift { base, index: NonRspGpr::new(index), scale, simm32: AmodeOffset::ZERO, trap: None }
}

/// The memory where the displacement of a field is known as an unsigned number.
pub(super) fn field(base: Register, offset: usize) -> Amode<Register> {
    at(base, i32::try_from(offset).expect("a field of a small structure"))
}

/// Code that is being made.
#[derive(Default)]
pub(super) struct Code(Vec<u8>);

impl Code {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// What follows begins with a line of the host's cache.
    pub(super) fn align(&mut self) {
        // Nothing comes here: it would stop.
        const BREAKPOINT: u8 = 0xcc;
        self.0.resize(self.0.len().next_multiple_of(64), BREAKPOINT);
    }

    /// The jump leads to `target`, an offset in the code.
    pub(super) fn lead(&mut self, jump: Jump, target: usize) {
        self.lead_from(jump, 0, target);
    }

    /// The jump leads to the address `target` once the code lies at `address`.
    pub(super) fn lead_from(&mut self, jump: Jump, address: usize, target: usize) {
        let distance = target as i64 - (address + jump.0) as i64;
        let distance = i32::try_from(distance).expect("all code lies within 2 GiB");
        self.0[jump.0 - 4..jump.0].copy_from_slice(&distance.to_le_bytes());
    }
}

impl CodeSink for Code {
    #[inline]
    fn put1(&mut self, value: u8) {
        self.0.push(value);
    }

    #[inline]
    fn put2(&mut self, value: u16) {
        self.0.extend(value.to_le_bytes());
    }

    #[inline]
    fn put4(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }

    #[inline]
    fn put8(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }

    fn add_trap(&mut self, _: TrapCode) {}

    fn use_target(&mut self, _: DeferredTarget) {
        unreachable!("no operand is a label")
    }

    fn known_offset(&self, _: KnownOffset) -> i32 {
        unreachable!("every offset is a number")
    }
}

/// When a jump is taken: as signed or unsigned numbers compare, or where the latest sum is negative.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Condition {
    Always,
    Equal,
    NotEqual,
    Less,
    NotLess,
    Below,
    NotBelow,
    Negative,
}

/// A jump whose target is not known yet: where its displacement ends in the code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jump(usize);

/// Appends a jump.
pub(super) fn jump(code: &mut Code, condition: Condition) -> Jump {
    match condition {
        Condition::Always => inst::jmp_d32::new(0).encode(code),
        Condition::Equal => inst::je_d32::new(0).encode(code),
        Condition::NotEqual => inst::jne_d32::new(0).encode(code),
        Condition::Less => inst::jl_d32::new(0).encode(code),
        Condition::NotLess => inst::jge_d32::new(0).encode(code),
        Condition::Below => inst::jb_d32::new(0).encode(code),
        Condition::NotBelow => inst::jae_d32::new(0).encode(code),
        Condition::Negative => inst::js_d32::new(0).encode(code),
    }
    Jump(code.len())
}

/// Appends a call, which leads as a jump does.
pub(super) fn call(code: &mut Code) -> Jump {
    inst::callq_d::new(0).encode(code);
    Jump(code.len())
}

/// Appends `register = register + value`; flags are changed.
pub(super) fn add(code: &mut Code, register: Register, value: i32) {
    match i8::try_from(value) {
        Ok(0) => {}
        Ok(value) => inst::addq_mi_sxb::<Host>::new(register, value).encode(code),
        Err(_) => inst::addq_mi_sxl::<Host>::new(register, value).encode(code),
    }
}

/// Appends `to = from`.
pub(super) fn copy(code: &mut Code, to: Register, from: Register) {
    if to != from {
        inst::movq_rm::<Host>::new(to, from).encode(code);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_leads_from_behind_itself() {
        let mut code = Code::default();
        let forward = jump(&mut code, Condition::Always);
        let back = jump(&mut code, Condition::Negative);
        let end = code.len();
        code.lead(forward, end);
        code.lead(back, 0);
        // jmp +6; js -11
        assert_eq!(code.bytes(), [0xe9, 6, 0, 0, 0, 0x0f, 0x88, 0xf5, 0xff, 0xff, 0xff]);
    }

    #[test]
    fn short_forms_are_chosen_and_nothing_is_written_for_nothing() {
        let mut code = Code::default();
        add(&mut code, OP, 0);
        copy(&mut code, A, A);
        assert!(code.bytes().is_empty());
        add(&mut code, OP, 16);
        assert_eq!(code.bytes(), [0x48, 0x83, 0xc6, 16]);
        let mut code = Code::default();
        add(&mut code, OP, -4096);
        assert_eq!(code.bytes(), [0x48, 0x81, 0xc6, 0, 0xf0, 0xff, 0xff]);
    }
}
