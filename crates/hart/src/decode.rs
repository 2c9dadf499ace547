//! Instruction decode (volume I, chapter 34 "RV32/64G Instruction Set Listings").

mod compressed;

use crate::{Isa, hart::SINK, ops::Opcode};

/// A decoded instruction. Whatever is not defined, or switched off, is [`Opcode::System`] and judged by the run loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction {
    pub(crate) opcode: Opcode,
    /// Destination; an integer `x0` is [`SINK`].
    pub(crate) rd: u8,
    pub(crate) rs1: u8,
    pub(crate) rs2: u8,
    /// Immediate; for floating point [`float_immediate`]; for [`Opcode::System`] the instruction's bits.
    pub(crate) imm: i32,
    /// In bytes: 2 or 4.
    pub(crate) length: u8,
}

/// Rounding mode (7 is dynamic) and third source, in the immediate of a floating-point micro-op.
const fn float_immediate(word: u32) -> i32 {
    ((word >> 12 & 7) | (word >> 27) << 8) as i32
}

/// Decodes the instruction whose lowest bits are `bits`: all 32 of a full one, the low 16 of a compressed one.
pub(crate) fn decode(bits: u32, isa: &Isa) -> Instruction {
    if bits & 3 == 3 {
        return full(bits, isa).unwrap_or_else(|| system(bits, 4));
    }
    let bits = bits & 0xffff;
    let expanded = if isa.c { compressed::expand(bits as u16) } else { None };
    match expanded.and_then(|word| full(word, isa)) {
        // `c.ebreak` keeps its own bits, so that what leaves for the run loop has its true length.
        Some(Instruction { opcode: Opcode::System, .. }) | None => system(bits, 2),
        Some(instruction) => Instruction { length: 2, ..instruction },
    }
}

/// `pause`: a `fence` with the predecessor W alone and no successor (Zihintpause).
pub(crate) const PAUSE: u32 = 0x0100_000f;

const fn system(bits: u32, length: u8) -> Instruction {
    Instruction { opcode: Opcode::System, rd: SINK, rs1: 0, rs2: 0, imm: bits as i32, length }
}

/// Fields of a 32-bit instruction.
#[derive(Clone, Copy)]
struct Word(u32);

impl Word {
    const fn rd(self) -> u8 {
        (self.0 >> 7 & 31) as u8
    }
    /// The destination of an instruction that writes an integer register.
    const fn xd(self) -> u8 {
        if self.rd() == 0 { SINK } else { self.rd() }
    }
    const fn rs1(self) -> u8 {
        (self.0 >> 15 & 31) as u8
    }
    const fn rs2(self) -> u8 {
        (self.0 >> 20 & 31) as u8
    }
    const fn funct3(self) -> u32 {
        self.0 >> 12 & 7
    }
    const fn funct7(self) -> u32 {
        self.0 >> 25
    }
    const fn i(self) -> i32 {
        self.0 as i32 >> 20
    }
    const fn s(self) -> i32 {
        (self.0 as i32 >> 20 & !31) | (self.0 >> 7 & 31) as i32
    }
    const fn b(self) -> i32 {
        (self.0 as i32 >> 31 << 12)
            | ((self.0 >> 7 & 1) << 11 | (self.0 >> 25 & 63) << 5 | (self.0 >> 8 & 15) << 1) as i32
    }
    const fn u(self) -> i32 {
        (self.0 & 0xffff_f000) as i32
    }
    const fn j(self) -> i32 {
        (self.0 as i32 >> 31 << 20)
            | ((self.0 >> 12 & 0xff) << 12 | (self.0 >> 20 & 1) << 11 | (self.0 >> 21 & 0x3ff) << 1) as i32
    }
}

/// A 32-bit instruction; `None` if it is undefined or switched off.
fn full(bits: u32, isa: &Isa) -> Option<Instruction> {
    use Opcode as O;
    let w = Word(bits);
    let with = |opcode, rd, imm| Instruction { opcode, rd, rs1: w.rs1(), rs2: w.rs2(), imm, length: 4 };
    Some(match bits >> 2 & 31 {
        0b00000 => {
            with([O::Lb, O::Lh, O::Lw, O::Ld, O::Lbu, O::Lhu, O::Lwu].get(w.funct3() as usize).copied()?, w.xd(), w.i())
        }
        0b00001 if isa.f => match w.funct3() {
            2 => with(O::Flw, w.rd(), w.i()),
            3 if isa.d => with(O::Fld, w.rd(), w.i()),
            _ => return None,
        },
        0b00011 => match w.funct3() {
            0 if isa.spins_exit && bits == PAUSE => system(bits, 4),
            // `fence` orders nothing here that is not ordered already: harts take turns on one host thread.
            0 => with(O::Nop, SINK, 0),
            _ => system(bits, 4),
        },
        0b00100 => immediate(w, with)?,
        0b00101 => with(O::Auipc, w.xd(), w.u()),
        0b00110 => immediate_word(w, with)?,
        0b01000 => with([O::Sb, O::Sh, O::Sw, O::Sd].get(w.funct3() as usize).copied()?, SINK, w.s()),
        0b01001 if isa.f => match w.funct3() {
            2 => with(O::Fsw, 0, w.s()),
            3 if isa.d => with(O::Fsd, 0, w.s()),
            _ => return None,
        },
        0b01011 => atomic(w, with)?,
        0b01100 => with(register(w)?, w.xd(), 0),
        0b01101 => with(O::Li, w.xd(), w.u()),
        0b01110 => with(register_word(w)?, w.xd(), 0),
        0b10000..=0b10011 if isa.f => {
            let opcode = match (bits >> 2 & 3, bits >> 25 & 3) {
                (0, 0) => O::FmaddS,
                (1, 0) => O::FmsubS,
                (2, 0) => O::FnmsubS,
                (3, 0) => O::FnmaddS,
                (0, 1) if isa.d => O::FmaddD,
                (1, 1) if isa.d => O::FmsubD,
                (2, 1) if isa.d => O::FnmsubD,
                (3, 1) if isa.d => O::FnmaddD,
                _ => return None,
            };
            valid_rounding(w)?;
            with(opcode, w.rd(), float_immediate(bits))
        }
        0b10100 if isa.f => float(w, isa)?,
        0b11000 => {
            let opcode = match w.funct3() {
                0 => O::Beq,
                1 => O::Bne,
                4 => O::Blt,
                5 => O::Bge,
                6 => O::Bltu,
                7 => O::Bgeu,
                _ => return None,
            };
            with(opcode, SINK, w.b())
        }
        0b11001 if w.funct3() == 0 => with(O::Jalr, w.xd(), w.i()),
        0b11011 => with(O::Jal, w.xd(), w.j()),
        0b11100 if w.funct3() & 3 != 0 => Instruction { opcode: O::Csr, ..system(bits, 4) },
        0b11100 => system(bits, 4),
        _ => return None,
    })
}

fn immediate(w: Word, with: impl Fn(Opcode, u8, i32) -> Instruction) -> Option<Instruction> {
    use Opcode as O;
    let shift = w.i() & 63;
    let opcode = match (w.funct3(), w.0 >> 26) {
        (0, _) if w.rs1() == 0 => return Some(with(O::Li, w.xd(), w.i())),
        (0, _) => O::Addi,
        (1, 0) => return Some(with(O::Slli, w.xd(), shift)),
        (5, 0) => return Some(with(O::Srli, w.xd(), shift)),
        (5, 0b010000) => return Some(with(O::Srai, w.xd(), shift)),
        // HINTs that Pagewalk reads: `slti x0, x0, N`, see docs/architecture.md.
        (2, _) if w.rd() == 0 && w.rs1() == 0 => return Some(system(w.0, 4)),
        (2, _) => O::Slti,
        (3, _) => O::Sltiu,
        (4, _) => O::Xori,
        (6, _) => O::Ori,
        (7, _) => O::Andi,
        _ => return None,
    };
    Some(with(opcode, w.xd(), w.i()))
}

fn immediate_word(w: Word, with: impl Fn(Opcode, u8, i32) -> Instruction) -> Option<Instruction> {
    use Opcode as O;
    let (opcode, imm) = match (w.funct3(), w.funct7()) {
        (0, _) => (O::Addiw, w.i()),
        (1, 0) => (O::Slliw, w.i() & 31),
        (5, 0) => (O::Srliw, w.i() & 31),
        (5, 0b0100000) => (O::Sraiw, w.i() & 31),
        _ => return None,
    };
    Some(with(opcode, w.xd(), imm))
}

fn register(w: Word) -> Option<Opcode> {
    use Opcode as O;
    Some(match (w.funct7(), w.funct3()) {
        (0, 0) => O::Add,
        (0, 1) => O::Sll,
        (0, 2) => O::Slt,
        (0, 3) => O::Sltu,
        (0, 4) => O::Xor,
        (0, 5) => O::Srl,
        (0, 6) => O::Or,
        (0, 7) => O::And,
        (0b0100000, 0) => O::Sub,
        (0b0100000, 5) => O::Sra,
        (1, 0) => O::Mul,
        (1, 1) => O::Mulh,
        (1, 2) => O::Mulhsu,
        (1, 3) => O::Mulhu,
        (1, 4) => O::Div,
        (1, 5) => O::Divu,
        (1, 6) => O::Rem,
        (1, 7) => O::Remu,
        _ => return None,
    })
}

fn register_word(w: Word) -> Option<Opcode> {
    use Opcode as O;
    Some(match (w.funct7(), w.funct3()) {
        (0, 0) => O::Addw,
        (0, 1) => O::Sllw,
        (0, 5) => O::Srlw,
        (0b0100000, 0) => O::Subw,
        (0b0100000, 5) => O::Sraw,
        (1, 0) => O::Mulw,
        (1, 4) => O::Divw,
        (1, 5) => O::Divuw,
        (1, 6) => O::Remw,
        (1, 7) => O::Remuw,
        _ => return None,
    })
}

fn atomic(w: Word, with: impl Fn(Opcode, u8, i32) -> Instruction) -> Option<Instruction> {
    use Opcode as O;
    // aq and rl order nothing here that is not ordered already.
    let (word, double) = match w.0 >> 27 {
        0b00010 if w.rs2() == 0 => (O::LrW, O::LrD),
        0b00011 => (O::ScW, O::ScD),
        0b00001 => (O::AmoSwapW, O::AmoSwapD),
        0b00000 => (O::AmoAddW, O::AmoAddD),
        0b00100 => (O::AmoXorW, O::AmoXorD),
        0b01100 => (O::AmoAndW, O::AmoAndD),
        0b01000 => (O::AmoOrW, O::AmoOrD),
        0b10000 => (O::AmoMinW, O::AmoMinD),
        0b10100 => (O::AmoMaxW, O::AmoMaxD),
        0b11000 => (O::AmoMinuW, O::AmoMinuD),
        0b11100 => (O::AmoMaxuW, O::AmoMaxuD),
        _ => return None,
    };
    match w.funct3() {
        2 => Some(with(word, w.xd(), 0)),
        3 => Some(with(double, w.xd(), 0)),
        _ => None,
    }
}

/// Rounding modes 5 and 6 are reserved.
fn valid_rounding(w: Word) -> Option<()> {
    (!matches!(w.funct3(), 5 | 6)).then_some(())
}

/// OP-FP (F and D).
fn float(w: Word, isa: &Isa) -> Option<Instruction> {
    use Opcode as O;
    let pick = |single: Opcode, double: Opcode| match w.funct7() & 3 {
        0 => Some(single),
        1 if isa.d => Some(double),
        _ => None,
    };
    let by_funct3 = |choices: &[(Opcode, Opcode)]| {
        let &(single, double) = choices.get(w.funct3() as usize)?;
        pick(single, double)
    };
    let by_rs2 = |choices: &[(Opcode, Opcode)]| {
        valid_rounding(w)?;
        let &(single, double) = choices.get(usize::from(w.rs2()))?;
        pick(single, double)
    };
    let rounded = |single, double| {
        valid_rounding(w)?;
        pick(single, double)
    };
    // Whether the destination is an integer register.
    let mut integer = false;
    let opcode = match w.funct7() >> 2 {
        0b00000 => rounded(O::FaddS, O::FaddD)?,
        0b00001 => rounded(O::FsubS, O::FsubD)?,
        0b00010 => rounded(O::FmulS, O::FmulD)?,
        0b00011 => rounded(O::FdivS, O::FdivD)?,
        0b01011 if w.rs2() == 0 => rounded(O::FsqrtS, O::FsqrtD)?,
        0b00100 => by_funct3(&[(O::FsgnjS, O::FsgnjD), (O::FsgnjnS, O::FsgnjnD), (O::FsgnjxS, O::FsgnjxD)])?,
        0b00101 => by_funct3(&[(O::FminS, O::FminD), (O::FmaxS, O::FmaxD)])?,
        0b01000 if isa.d => {
            valid_rounding(w)?;
            match (w.funct7() & 3, w.rs2()) {
                (0, 1) => O::FcvtSD,
                (1, 0) => O::FcvtDS,
                _ => return None,
            }
        }
        0b10100 => {
            integer = true;
            by_funct3(&[(O::FleS, O::FleD), (O::FltS, O::FltD), (O::FeqS, O::FeqD)])?
        }
        0b11000 => {
            integer = true;
            by_rs2(&[
                (O::FcvtWS, O::FcvtWD),
                (O::FcvtWuS, O::FcvtWuD),
                (O::FcvtLS, O::FcvtLD),
                (O::FcvtLuS, O::FcvtLuD),
            ])?
        }
        0b11010 => by_rs2(&[
            (O::FcvtSW, O::FcvtDW),
            (O::FcvtSWu, O::FcvtDWu),
            (O::FcvtSL, O::FcvtDL),
            (O::FcvtSLu, O::FcvtDLu),
        ])?,
        0b11100 if w.rs2() == 0 => {
            integer = true;
            by_funct3(&[(O::FmvXW, O::FmvXD), (O::FclassS, O::FclassD)])?
        }
        0b11110 if w.rs2() == 0 => by_funct3(&[(O::FmvWX, O::FmvDX)])?,
        _ => return None,
    };
    Some(Instruction {
        opcode,
        rd: if integer { w.xd() } else { w.rd() },
        rs1: w.rs1(),
        rs2: w.rs2(),
        imm: float_immediate(w.0),
        length: 4,
    })
}
