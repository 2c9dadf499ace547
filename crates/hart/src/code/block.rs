//! Translation of one block: from the bytes of a page to micro-ops.

use super::translations::{Side, Slot, Translations};
use crate::{
    Bus, Isa,
    decode::{self, Instruction},
    engine::{
        operands::{Operands, Written},
        threaded,
    },
    host_page::HostPage,
    microop::{Link, MicroOp, accumulator},
    ops::{Class, Opcode},
    report::{RegisterSet, Reports},
};
use std::marker::PhantomData;

/// The most instructions of a block: with it, the budget is never overdrawn by more.
pub(crate) const MAX_INSTRUCTIONS: u32 = 64;

const PAGE: i32 = 4096;

/// Appends the block that starts at `offset` of `page` to the arena of `code`. Where blocks get baseline code, its executions are counted.
pub(super) fn translate<B: Bus>(code: &mut Translations, page: HostPage, offset: u16) {
    let slot = code.mark();
    append::<B>(code, page, offset);
    if code.counts_executions {
        let block = code.at(slot);
        let first = code.slot_of(code.past_gate(block, true));
        code.ops[first].op.handler = threaded::warming::<B>;
    }
}

fn append<B: Bus>(code: &mut Translations, page: HostPage, offset: u16) {
    let isa = code.isa;
    let start = i32::from(offset);
    let float = uses_float(page, start, &isa);
    let mut block = Builder::<B>::new(code, start, float);
    if float {
        block.push(Opcode::FloatGate, 0, (0, 0, 0));
    }
    while block.offset < PAGE && block.instructions < MAX_INSTRUCTIONS {
        let Some(instruction) = at(page, block.offset, &isa) else {
            block.enter_lines(2);
            return block.push(Opcode::Straddle, 0, (0, 0, 0));
        };
        block.enter_lines(i32::from(instruction.length));
        if block.instruction(&instruction, &isa) == End::Here {
            return;
        }
    }
    block.push(Opcode::Next, 0, (0, 0, 0));
    block.link(block.offset, block.instructions);
}

/// Appends a block of one instruction.
pub(super) fn translate_one<B: Bus>(code: &mut Translations, instruction: &Instruction, offset: u16) {
    let isa = code.isa;
    let offset = i32::from(offset);
    let mut block = Builder::<B>::new(code, offset, false);
    if block.instruction(instruction, &isa) == End::Later {
        block.push(Opcode::Next, 0, (0, 0, 0));
        block.link(block.offset, block.instructions);
    }
}

/// The instruction at `offset`; `None` where it goes on in the next page.
fn at(page: HostPage, offset: i32, isa: &Isa) -> Option<Instruction> {
    let half = |offset: i32| {
        // SAFETY: the page is 4 KiB of readable memory, and both halves asked for lie in it.
        u32::from(unsafe { page.start().add(offset as usize).cast::<u16>().read_unaligned() })
    };
    let low = half(offset);
    if low & 3 != 3 {
        Some(decode::decode(low, isa))
    } else if offset + 4 <= PAGE {
        Some(decode::decode(low | half(offset + 2) << 16, isa))
    } else {
        None
    }
}

/// Whether any instruction that the block may hold needs the floating-point unit.
fn uses_float(page: HostPage, start: i32, isa: &Isa) -> bool {
    let mut offset = start;
    for _ in 0..MAX_INSTRUCTIONS {
        if offset >= PAGE {
            return false;
        }
        let Some(instruction) = at(page, offset, isa) else { return false };
        if instruction.opcode.is_float() {
            return true;
        }
        if matches!(instruction.opcode, Opcode::Jal | Opcode::Jalr | Opcode::System) {
            return false;
        }
        offset += i32::from(instruction.length);
    }
    false
}

/// Whether the block ends.
#[derive(PartialEq, Eq)]
enum End {
    Here,
    Later,
}

struct Builder<'c, B: Bus> {
    code: &'c mut Translations,
    /// Of the instruction being translated.
    offset: i32,
    /// Where in the page the line of instructions begins that execution is in.
    line: Option<i32>,
    /// Before it.
    instructions: u32,
    stores: u32,
    float: bool,
    /// Of the latest micro-op.
    before: Option<Opcode>,
    bus: PhantomData<fn(&mut B)>,
}

impl<'c, B: Bus> Builder<'c, B> {
    fn new(code: &'c mut Translations, offset: i32, float: bool) -> Self {
        Self { code, offset, line: None, instructions: 0, stores: 0, float, before: None, bus: PhantomData }
    }

    /// The next instruction, of `bytes` bytes, may begin or end in another line.
    fn enter_lines(&mut self, bytes: i32) {
        let length = self.code.fetch_line as i32;
        if length == 0 {
            return;
        }
        for at in [self.offset, self.offset + bytes - 1] {
            let line = at & -length;
            if self.line.replace(line) != Some(line) {
                self.push(Opcode::FetchLine, line, (0, 0, 0));
            }
        }
    }

    fn instruction(&mut self, instruction: &Instruction, isa: &Isa) -> End {
        let Instruction { opcode, rd, rs1, rs2, imm, length } = *instruction;
        let next = self.offset + i32::from(length);
        let target = self.offset + imm;
        let through_this = self.instructions + 1;
        let direct_jump = opcode.class() == Class::branch || opcode == Opcode::Jal;
        match opcode.class() {
            // Whether it is taken, and so traps, is for the run loop to see.
            _ if direct_jump && !isa.c && target & 2 != 0 => {
                self.push(Opcode::MisalignedJump, 0, (0, 0, 0));
                return End::Here;
            }
            Class::branch => {
                self.push(opcode, 0, (rs2, rs1, 0));
                self.link(target, through_this);
            }
            _ => match opcode {
                Opcode::Auipc => self.push(opcode, imm.wrapping_add(self.offset), (rd, 0, 0)),
                Opcode::Jal => {
                    self.push(opcode, 0, (rd, 0, next as u16));
                    self.link(target, through_this);
                    return End::Here;
                }
                Opcode::Jalr => {
                    let opcode = if isa.c { Opcode::Jalr } else { Opcode::JalrAligned };
                    self.push(opcode, imm, (rd, rs1, next as u16));
                    self.link(0, through_this);
                    return End::Here;
                }
                Opcode::Csr => self.push(opcode, imm, (0, 0, 0)),
                Opcode::System => {
                    self.push(opcode, imm, (0, 0, 0));
                    return End::Here;
                }
                _ => match opcode.class() {
                    Class::store | Class::float_store => self.push(opcode, imm, (rs2, rs1, 0)),
                    Class::load | Class::float_load => self.push(opcode, imm, (rd, rs1, 0)),
                    Class::load_reserved | Class::store_conditional | Class::atomic => {
                        self.push(opcode, i32::from(rs2), (rd, rs1, 0));
                    }
                    _ => self.push(opcode, imm, (rd, rs1, u16::from(rs2))),
                },
            },
        }
        self.offset = next;
        self.instructions = through_this;
        self.stores += u32::from(opcode.is_store());
        End::Later
    }

    fn push(&mut self, opcode: Opcode, imm: i32, (rd, rs1, rs2): (u8, u8, u16)) {
        let op = MicroOp { handler: threaded::handler::<B>(opcode), imm, rd, rs1, rs2 };
        let operands = match B::REPORTS {
            Reports::None => Operands::default(),
            Reports::Instructions => Operands::reported(opcode, &op),
        };
        let side = Side { names: operands.registers(), written: operands.written(), ..self.side(opcode) };
        if let Some(handler) = self.before.replace(opcode).and_then(|before| threaded::pair::<B>(before, opcode)) {
            let before = self.code.ops.last_mut().expect("a micro-op was pushed before");
            // A link is followed by its resolver, which is no pair's first: the latest slot is a micro-op.
            before.op.handler = handler;
        }
        self.code.push(Slot { op }, side);
    }

    /// The link behind a micro-op, and its resolver, which leads `target` bytes from the start of the page.
    fn link(&mut self, target: i32, instructions: u32) {
        let side = self.side(Opcode::Nop);
        let resolver = self.code.at(self.code.ops.len() + 1);
        let link = Link { cost: accumulator::cost(instructions, self.stores), target: resolver };
        self.code.push(Slot { link }, side);
        self.push(Opcode::Resolve, target, (u8::from(self.float), 0, 0));
    }

    fn side(&self, opcode: Opcode) -> Side {
        let (offset, instructions) = (self.offset as u16, self.instructions as u8);
        let (names, written) = (RegisterSet::default(), Written::default());
        Side { opcode, offset, instructions, stores: self.stores as u8, names, written }
    }
}
