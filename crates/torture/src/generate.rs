//! Making programs: any opcode with any operands that keep the program defined by the specification alone.

use crate::field::{Field, File, Immediate, Role};
use crate::instruction::{DYNAMIC, Instruction};
use crate::opcode::{Class, OPCODES, Opcode};
use crate::program::{Node, Program, SCRATCH, State};
use crate::record;
use crate::values;
use testing::Random;

/// Top-level nodes of a program.
const NODES: (i64, i64) = (16, 32);
/// Branches nest this deep.
const DEPTH: u8 = 2;
/// How often a choice that is not possible is made again before something simpler is taken.
const ATTEMPTS: usize = 16;

/// Program `index` of the stream that `seed` names.
pub fn program(seed: u64, index: u64) -> Program {
    program_of(Random::nth(seed, index))
}

/// The program that the choices of `random` make.
pub fn program_of(mut random: Random) -> Program {
    let base = random.between(1, 31) as u8;
    let start = state(&mut random);
    let mut generator = Generator { random, base, locked: 1 << base };
    let count = generator.random.between(NODES.0, NODES.1);
    Program { start, base, nodes: (0..count).map(|_| generator.node(0)).collect() }
}

/// `opcode` with operands of any kind, which may not be defined outside the right surroundings.
pub fn operands(random: &mut Random, opcode: &'static Opcode) -> Instruction {
    let mut generator = Generator { random: random.clone(), base: 0, locked: 0 };
    let mut values = [0; 5];
    for (value, field) in values.iter_mut().zip(opcode.fields) {
        *value = generator.operand(opcode, field);
    }
    *random = generator.random;
    Instruction { opcode, values }
}

fn state(random: &mut Random) -> State {
    let garbage = if random.one_in(4) { random.bits() << 8 } else { 0 };
    let flags = if random.one_in(2) { 0 } else { random.bits() & 0x1f };
    State {
        fcsr: garbage | (random.index(5) as u64) << 5 | flags,
        x: values::integers(random),
        f: values::floats(random),
        scratch: std::array::from_fn(|_| values::memory(random)),
    }
}

struct Generator {
    random: Random,
    base: u8,
    /// Integer registers that must keep their value, as a mask.
    locked: u32,
}

impl Generator {
    fn node(&mut self, depth: u8) -> Node {
        for _ in 0..ATTEMPTS {
            let opcode = match self.random.index(12) {
                0 => self.memory_opcode(),
                1 if self.random.one_in(2) => return self.reset_flags(),
                _ => &OPCODES[self.random.index(OPCODES.len())],
            };
            if let Some(node) = self.node_of(opcode, depth) {
                return node;
            }
        }
        Node::Straight(vec![Instruction::new("c.nop", &[])])
    }

    fn memory_opcode(&mut self) -> &'static Opcode {
        let opcodes = Opcode::of(|class| matches!(class, Class::Memory(_) | Class::Stack(_)));
        self.random.pick(&opcodes)
    }

    /// Clears flags now and then, as sticky ones hide those that later instructions raise.
    fn reset_flags(&mut self) -> Node {
        let flags = if self.random.one_in(2) { 0 } else { self.random.between(0, 31) };
        Node::Straight(vec![Instruction::new("csrrwi fflags", &[0, flags])])
    }

    /// A node around `opcode`, if the locked registers allow one.
    fn node_of(&mut self, opcode: &'static Opcode, depth: u8) -> Option<Node> {
        Some(match opcode.class {
            Class::Plain => Node::Straight(vec![self.instruction(opcode)?]),
            Class::Memory(size) => Node::Straight(self.memory_access(opcode, size)?),
            Class::Stack(size) => Node::Straight(self.stack_access(opcode, size)?),
            Class::Amo(size) => {
                let target = self.target(size, Alignment::Natural);
                let pointer = self.unlocked()?;
                Node::Straight(vec![self.point(pointer, target), self.at(opcode, pointer)?])
            }
            Class::LoadReserved(size) => Node::Straight(self.reservation(opcode, conditional(size), size)?),
            Class::StoreConditional(size) => Node::Straight(self.reservation(reserved(size), opcode, size)?),
            Class::Branch if depth < DEPTH && self.random.one_in(3) => self.repeat(opcode, depth)?,
            Class::Branch => Node::Skip { branch: self.instruction(opcode)?, body: self.body(opcode, depth) },
            Class::Jump if opcode.size() == 4 && depth < DEPTH && self.random.one_in(2) => self.call(depth)?,
            Class::Jump => Node::Skip { branch: self.instruction(opcode)?, body: self.dead(opcode, depth) },
            Class::JumpIndirect => self.skip_indirect(opcode, depth)?,
            Class::FloatCsr => Node::Straight(self.float_csr(opcode)?),
            Class::Counter => {
                let read = self.instruction(opcode)?;
                let overwrite = Instruction::new("addi", &[read.values[0], 0, 0]);
                Node::Straight(vec![read, overwrite])
            }
            Class::FetchFence if self.random.one_in(3) => Node::Straight(vec![self.instruction(opcode)?]),
            Class::FetchFence => self.patch()?,
            Class::SystemCall => return None,
        })
    }

    /// `opcode` with random operands that respect the locked registers.
    fn instruction(&mut self, opcode: &'static Opcode) -> Option<Instruction> {
        (0..ATTEMPTS).find_map(|_| {
            let mut values = [0; 5];
            for (value, field) in values.iter_mut().zip(opcode.fields) {
                *value = self.operand(opcode, field);
            }
            let instruction = Instruction { opcode, values };
            let allowed = self.may_write(&instruction) && !is_marker(&instruction);
            allowed.then_some(instruction)
        })
    }

    fn may_write(&self, instruction: &Instruction) -> bool {
        instruction.destination().is_none_or(|register| self.locked >> register & 1 == 0)
    }

    fn operand(&mut self, opcode: &Opcode, field: &Field) -> i64 {
        match field {
            Field::Register(register) => loop {
                let number = match register.file {
                    File::Integer => self.random.index(32) as u8,
                    File::Float => self.float_register(opcode, register.role),
                };
                if register.admits(number) {
                    return number.into();
                }
            },
            Field::Immediate(immediate) => self.immediate(immediate),
            Field::Rounding => self.random.pick(&[0, 1, 2, 3, 4, DYNAMIC, DYNAMIC, DYNAMIC]),
            Field::Ordering => self.random.between(0, 3),
        }
    }

    /// A register that likely holds a number of the opcode's format, so that singles are not all improperly boxed.
    fn float_register(&mut self, opcode: &Opcode, role: Role) -> u8 {
        let any = self.random.index(32) as u8;
        let mut formats = opcode.name.split('.').skip(1);
        let format = if role == Role::Destination { formats.next() } else { formats.last() };
        match format {
            _ if self.random.one_in(6) => any,
            Some("s" | "w") => any & 15,
            Some("d") => any | 16,
            _ => any,
        }
    }

    fn immediate(&mut self, immediate: &Immediate) -> i64 {
        loop {
            let value = match self.random.index(5) {
                0 => self.random.pick(&[immediate.low, immediate.high]),
                1 => self.random.between(-8, 8) * immediate.step,
                _ => {
                    self.random.between(immediate.low / immediate.step, immediate.high / immediate.step)
                        * immediate.step
                }
            };
            if immediate.admits(value) {
                return value;
            }
        }
    }

    /// A register that may be overwritten, not `x0`.
    fn unlocked(&mut self) -> Option<u8> {
        self.unlocked_of(|_| true)
    }

    fn unlocked_of(&mut self, admits: impl Fn(u8) -> bool) -> Option<u8> {
        (0..ATTEMPTS)
            .map(|_| self.random.between(1, 31) as u8)
            .find(|&number| self.locked >> number & 1 == 0 && admits(number))
    }

    /// Runs `make` with `registers` locked as well.
    fn locking<T>(&mut self, registers: &[u8], make: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.locked;
        self.locked = registers.iter().fold(before, |locked, register| locked | 1 << register);
        let made = make(self);
        self.locked = before;
        made
    }

    fn alignment(&mut self) -> Alignment {
        if self.random.one_in(2) { Alignment::Natural } else { Alignment::Any }
    }

    /// An offset from the base register at which `size` bytes of scratch memory start.
    fn target(&mut self, size: u8, alignment: Alignment) -> i64 {
        let size = usize::from(size);
        let any = self.random.index(SCRATCH - size + 1);
        let offset = match alignment {
            Alignment::Natural => any & !(size - 1),
            Alignment::Any => any,
        };
        (record::SCRATCH_AT + offset) as i64
    }

    /// Makes `pointer` the base register plus `offset`.
    fn point(&self, pointer: u8, offset: i64) -> Instruction {
        Instruction::new("addi", &[pointer.into(), self.base.into(), offset])
    }

    /// `opcode` with random operands and this base register.
    fn at(&mut self, opcode: &'static Opcode, pointer: u8) -> Option<Instruction> {
        let mut access = self.instruction(opcode)?;
        access.set(is_base, pointer.into());
        Some(access)
    }

    fn memory_access(&mut self, opcode: &'static Opcode, size: u8) -> Option<Vec<Instruction>> {
        let (base, immediate) = base_and_immediate(opcode);
        let alignment = self.alignment();
        let target = self.target(size, alignment);
        if base.admits(self.base) && immediate.admits(target) && self.random.one_in(3) {
            let mut access = self.at(opcode, self.base)?;
            access.set_immediate(target);
            return Some(vec![access]);
        }
        let pointer = self.unlocked_of(|number| base.admits(number))?;
        let mut access = self.at(opcode, pointer)?;
        let offset = self.split(target, immediate);
        access.set_immediate(offset);
        Some(vec![self.point(pointer, target - offset), access])
    }

    fn stack_access(&mut self, opcode: &'static Opcode, size: u8) -> Option<Vec<Instruction>> {
        const SP: u8 = 2;
        if self.locked >> SP & 1 != 0 {
            return None;
        }
        let alignment = self.alignment();
        let target = self.target(size, alignment);
        let mut access = self.instruction(opcode)?;
        let immediate = access.opcode.fields.iter().find_map(as_immediate)?;
        let offset = self.split(target, immediate);
        access.set_immediate(offset);
        Some(vec![self.point(SP, target - offset), access])
    }

    /// A value of `immediate` that leaves of `target` what `addi` can add.
    fn split(&mut self, target: i64, immediate: &Immediate) -> i64 {
        loop {
            let value = self.immediate(immediate);
            if (-2048..2048).contains(&(target - value)) {
                return value;
            }
        }
    }

    /// A load-reserved, up to three integer instructions, and a store-conditional that must succeed; or one that must fail, because it
    /// goes elsewhere or comes second.
    fn reservation(&mut self, load: &'static Opcode, store: &'static Opcode, size: u8) -> Option<Vec<Instruction>> {
        let pointer = self.unlocked()?;
        let target = self.target(size, Alignment::Natural);
        let mut group = vec![self.point(pointer, target)];
        self.locking(&[pointer], |this| {
            group.push(this.at(load, pointer)?);
            for _ in 0..this.random.index(4) {
                let simple = Opcode::of(|class| class == Class::Plain);
                let simple: Vec<_> = simple.into_iter().filter(|opcode| is_base_integer(opcode)).collect();
                let opcode = this.random.pick(&simple);
                group.push(this.instruction(opcode)?);
            }
            match this.random.index(6) {
                0 => {
                    // No reservation set reaches that far.
                    let half = (SCRATCH / 2) as i64;
                    let scratch = target - record::SCRATCH_AT as i64;
                    group.push(this.point(pointer, record::SCRATCH_AT as i64 + (scratch + half) % (2 * half)));
                }
                1 => group.push(this.at(store, pointer)?),
                _ => {}
            }
            Some(())
        })?;
        group.push(self.at(store, pointer)?);
        Some(group)
    }

    /// An access to `fcsr`, perhaps an instruction that does not mind a reserved rounding mode, and a valid mode for those that do.
    fn float_csr(&mut self, opcode: &'static Opcode) -> Option<Vec<Instruction>> {
        let mut group = vec![self.instruction(opcode)?];
        if self.random.one_in(3) {
            let plain = Opcode::of(|class| class == Class::Plain);
            let opcode = self.random.pick(&plain);
            let mut indifferent = self.instruction(opcode)?;
            if opcode.rounds() {
                let own = self.random.between(0, 4);
                indifferent.set(|field| *field == Field::Rounding, own);
            }
            group.push(indifferent);
        }
        group.push(self.valid_rounding()?);
        Some(group)
    }

    /// A write of a rounding mode that instructions may use.
    fn valid_rounding(&mut self) -> Option<Instruction> {
        let mut write = self.instruction(Opcode::named("csrrwi frm"))?;
        write.set_immediate(self.random.between(0, 4));
        Some(write)
    }

    /// What a branch of this opcode may skip: short if its reach is.
    fn body(&mut self, branch: &Opcode, depth: u8) -> Vec<Node> {
        let depth = if branch.size() == 2 { DEPTH } else { depth };
        // Deeper than `DEPTH` nothing branches.
        (0..=self.random.index(3)).map(|_| if depth < DEPTH { self.node(depth + 1) } else { self.leaf() }).collect()
    }

    fn leaf(&mut self) -> Node {
        loop {
            let node = self.node(DEPTH);
            if node.body().is_none() {
                return node;
            }
        }
    }

    fn dead(&mut self, jump: &Opcode, depth: u8) -> Vec<Node> {
        if self.random.one_in(2) {
            return self.body(jump, depth);
        }
        vec![Node::Garbage((0..=self.random.index(6)).map(|_| self.random.bits() as u16).collect())]
    }

    /// A counted loop. Only some branches can test a counter against zero; of the others, a `bne` takes the place.
    fn repeat(&mut self, opcode: &'static Opcode, depth: u8) -> Option<Node> {
        let short = opcode.size() == 2;
        let counter = self.unlocked_of(|number| !short || (8..16).contains(&number))?;
        let register = i64::from(counter);
        let branch = match opcode.name {
            "c.bnez" => Instruction::new("c.bnez", &[register, -2]),
            "blt" | "bltu" => Instruction::new(opcode.name, &[0, register, 0]),
            "bge" | "bgeu" => return None,
            _ => Instruction::new("bne", &[register, 0, 0]),
        };
        let body = self.locking(&[counter], |this| this.body(opcode, depth));
        Some(Node::Loop { counter, count: self.random.between(1, 5) as u16, branch, body })
    }

    fn call(&mut self, depth: u8) -> Option<Node> {
        let link = self.unlocked()?;
        let call = Instruction::new("jal", &[link.into(), 0]);
        let back = match self.random.index(2) {
            0 => Instruction::new("c.jr", &[link.into()]),
            _ => {
                let mut back = self.instruction(Opcode::named("jalr"))?;
                back.set(|field| field == &crate::field::RS1, link.into());
                back.set_immediate(self.random.between(0, 1));
                back
            }
        };
        let body = self.locking(&[link], |this| this.body(call.opcode, depth));
        Some(Node::Call { call, back, body })
    }

    fn skip_indirect(&mut self, opcode: &'static Opcode, depth: u8) -> Option<Node> {
        let pointer = self.unlocked()?;
        let mut jump = self.instruction(opcode)?;
        jump.set(|field| matches!(field, Field::Register(register) if register.role == Role::Source), pointer.into());
        if opcode.name == "jalr" {
            jump.set_immediate(self.random.between(-1024, 1024));
        }
        Some(Node::SkipIndirect { pointer, jump, body: self.dead(opcode, depth) })
    }

    fn patch(&mut self) -> Option<Node> {
        let link = self.unlocked()?;
        let (temporary, instructions) = self.locking(&[link], |this| {
            let temporary = this.unlocked()?;
            let plain = Opcode::of(|class| class == Class::Plain);
            let mut instructions = Vec::new();
            while instructions.iter().map(|instruction: &Instruction| instruction.opcode.size()).sum::<usize>() < 4 {
                let room = if instructions.is_empty() { 4 } else { 2 };
                let opcode = this.random.pick(&plain);
                if opcode.size() <= room {
                    instructions.push(this.instruction(opcode)?);
                }
            }
            Some((temporary, instructions))
        })?;
        // Few places, so that most are written and run more than once.
        let offset = (record::SCRATCH_AT + self.random.pick(&[0, 2, 130, SCRATCH - 8])) as i64;
        Some(Node::Patch { temporary, link, offset, instructions })
    }
}

#[derive(Clone, Copy)]
enum Alignment {
    Natural,
    Any,
}

fn reserved(size: u8) -> &'static Opcode {
    Opcode::named(if size == 4 { "lr.w" } else { "lr.d" })
}

fn conditional(size: u8) -> &'static Opcode {
    Opcode::named(if size == 4 { "sc.w" } else { "sc.d" })
}

fn is_base(field: &Field) -> bool {
    matches!(field, Field::Register(register) if register.role == Role::Base)
}

fn as_immediate(field: &Field) -> Option<&'static Immediate> {
    match field {
        Field::Immediate(immediate) => Some(immediate),
        _ => None,
    }
}

/// The address operands of a load or store.
fn base_and_immediate(opcode: &Opcode) -> (crate::field::Register, &'static Immediate) {
    let base = opcode.fields.iter().find_map(|field| match field {
        Field::Register(register) if register.role == Role::Base => Some(*register),
        _ => None,
    });
    let immediate = opcode.fields.iter().find_map(as_immediate);
    base.zip(immediate).expect("loads and stores have a base and an immediate")
}

/// OP, OP-IMM and their word forms: what may stand between a load-reserved and its store-conditional.
fn is_base_integer(opcode: &Opcode) -> bool {
    matches!(opcode.bits & 0x7f, 0x13 | 0x1b | 0x33 | 0x3b)
}

/// `slti x0, x0, N` is a message to the machine.
fn is_marker(instruction: &Instruction) -> bool {
    instruction.opcode.name == "slti" && instruction.values[..2] == [0, 0]
}
