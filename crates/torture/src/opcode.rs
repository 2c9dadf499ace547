//! Every user-level opcode of RV64IMAFDC, Zicsr, Zifencei and Zihintpause, except `ebreak`.

use crate::field::*;

/// What a program must do for an instruction to be well-defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Nothing: it depends on registers only.
    Plain,
    /// It reads or writes this many bytes at its base plus its immediate, at any alignment.
    Memory(u8),
    /// As `Memory`, with `sp` as the implied base.
    Stack(u8),
    /// An atomic on this many bytes, naturally aligned, at its base.
    Amo(u8),
    /// Load-reserved of this many bytes.
    LoadReserved(u8),
    /// Store-conditional of this many bytes.
    StoreConditional(u8),
    /// A conditional branch.
    Branch,
    /// A direct jump.
    Jump,
    /// An indirect jump.
    JumpIndirect,
    /// An access to `fflags`, `frm` or `fcsr`, which may leave a reserved rounding mode behind.
    FloatCsr,
    /// A read of a counter: its result is not comparable.
    Counter,
    /// `fence.i`: it lets the program run what it has written.
    FetchFence,
    /// `ecall`: only what is around the programs makes system calls.
    SystemCall,
}

/// An opcode: a name for a pattern of fixed bits with operand fields.
#[derive(Debug)]
pub struct Opcode {
    /// The assembler's mnemonic; where one name has several encodings, told apart by a suffix after a space.
    pub name: &'static str,
    /// The fixed bits.
    pub bits: u32,
    /// The operands, in the order of assembly.
    pub fields: &'static [Field],
    /// What it needs.
    pub class: Class,
}

impl Opcode {
    /// Bytes: 2 for a compressed instruction, else 4.
    pub fn size(&self) -> usize {
        if self.bits & 3 == 3 { 4 } else { 2 }
    }

    /// The opcode called `name`.
    ///
    /// # Panics
    /// If the name is unknown: names are literals of this crate.
    pub fn named(name: &str) -> &'static Self {
        OPCODES.iter().find(|opcode| opcode.name == name).unwrap_or_else(|| panic!("no opcode is called {name}"))
    }

    /// The opcodes of a class.
    pub fn of(class: impl Fn(Class) -> bool) -> Vec<&'static Self> {
        OPCODES.iter().filter(|opcode| class(opcode.class)).collect()
    }

    /// Whether the instruction has a rounding mode.
    pub fn rounds(&self) -> bool {
        self.fields.contains(&Field::Rounding)
    }
}

macro_rules! opcodes {
    ($($class:expr => { $($name:literal $bits:literal $fields:expr;)* })*) => {
        /// The table.
        pub static OPCODES: &[Opcode] = &[
            $($(Opcode { name: $name, bits: $bits, fields: &$fields, class: $class },)*)*
        ];
    };
}

use Field::{Ordering as AQ_RL, Rounding as RM};

opcodes! {
    Class::Plain => {
        // RV64I
        "lui" 0x0000_0037 [RD, U20];
        "auipc" 0x0000_0017 [RD, U20];
        "addi" 0x0000_0013 [RD, RS1, I12];
        "slti" 0x0000_2013 [RD, RS1, I12];
        "sltiu" 0x0000_3013 [RD, RS1, I12];
        "xori" 0x0000_4013 [RD, RS1, I12];
        "ori" 0x0000_6013 [RD, RS1, I12];
        "andi" 0x0000_7013 [RD, RS1, I12];
        "slli" 0x0000_1013 [RD, RS1, SHAMT6];
        "srli" 0x0000_5013 [RD, RS1, SHAMT6];
        "srai" 0x4000_5013 [RD, RS1, SHAMT6];
        "addiw" 0x0000_001b [RD, RS1, I12];
        "slliw" 0x0000_101b [RD, RS1, SHAMT5];
        "srliw" 0x0000_501b [RD, RS1, SHAMT5];
        "sraiw" 0x4000_501b [RD, RS1, SHAMT5];
        "add" 0x0000_0033 [RD, RS1, RS2];
        "sub" 0x4000_0033 [RD, RS1, RS2];
        "sll" 0x0000_1033 [RD, RS1, RS2];
        "slt" 0x0000_2033 [RD, RS1, RS2];
        "sltu" 0x0000_3033 [RD, RS1, RS2];
        "xor" 0x0000_4033 [RD, RS1, RS2];
        "srl" 0x0000_5033 [RD, RS1, RS2];
        "sra" 0x4000_5033 [RD, RS1, RS2];
        "or" 0x0000_6033 [RD, RS1, RS2];
        "and" 0x0000_7033 [RD, RS1, RS2];
        "addw" 0x0000_003b [RD, RS1, RS2];
        "subw" 0x4000_003b [RD, RS1, RS2];
        "sllw" 0x0000_103b [RD, RS1, RS2];
        "srlw" 0x0000_503b [RD, RS1, RS2];
        "sraw" 0x4000_503b [RD, RS1, RS2];
        "fence" 0x0000_000f [PRED_SUCC];
        "fence.tso" 0x8330_000f [];
        "pause" 0x0100_000f [];
        // M
        "mul" 0x0200_0033 [RD, RS1, RS2];
        "mulh" 0x0200_1033 [RD, RS1, RS2];
        "mulhsu" 0x0200_2033 [RD, RS1, RS2];
        "mulhu" 0x0200_3033 [RD, RS1, RS2];
        "div" 0x0200_4033 [RD, RS1, RS2];
        "divu" 0x0200_5033 [RD, RS1, RS2];
        "rem" 0x0200_6033 [RD, RS1, RS2];
        "remu" 0x0200_7033 [RD, RS1, RS2];
        "mulw" 0x0200_003b [RD, RS1, RS2];
        "divw" 0x0200_403b [RD, RS1, RS2];
        "divuw" 0x0200_503b [RD, RS1, RS2];
        "remw" 0x0200_603b [RD, RS1, RS2];
        "remuw" 0x0200_703b [RD, RS1, RS2];
        // F
        "fmadd.s" 0x0000_0043 [FRD, FRS1, FRS2, FRS3, RM];
        "fmsub.s" 0x0000_0047 [FRD, FRS1, FRS2, FRS3, RM];
        "fnmsub.s" 0x0000_004b [FRD, FRS1, FRS2, FRS3, RM];
        "fnmadd.s" 0x0000_004f [FRD, FRS1, FRS2, FRS3, RM];
        "fadd.s" 0x0000_0053 [FRD, FRS1, FRS2, RM];
        "fsub.s" 0x0800_0053 [FRD, FRS1, FRS2, RM];
        "fmul.s" 0x1000_0053 [FRD, FRS1, FRS2, RM];
        "fdiv.s" 0x1800_0053 [FRD, FRS1, FRS2, RM];
        "fsqrt.s" 0x5800_0053 [FRD, FRS1, RM];
        "fsgnj.s" 0x2000_0053 [FRD, FRS1, FRS2];
        "fsgnjn.s" 0x2000_1053 [FRD, FRS1, FRS2];
        "fsgnjx.s" 0x2000_2053 [FRD, FRS1, FRS2];
        "fmin.s" 0x2800_0053 [FRD, FRS1, FRS2];
        "fmax.s" 0x2800_1053 [FRD, FRS1, FRS2];
        "fcvt.w.s" 0xc000_0053 [RD, FRS1, RM];
        "fcvt.wu.s" 0xc010_0053 [RD, FRS1, RM];
        "fcvt.l.s" 0xc020_0053 [RD, FRS1, RM];
        "fcvt.lu.s" 0xc030_0053 [RD, FRS1, RM];
        "fmv.x.w" 0xe000_0053 [RD, FRS1];
        "feq.s" 0xa000_2053 [RD, FRS1, FRS2];
        "flt.s" 0xa000_1053 [RD, FRS1, FRS2];
        "fle.s" 0xa000_0053 [RD, FRS1, FRS2];
        "fclass.s" 0xe000_1053 [RD, FRS1];
        "fcvt.s.w" 0xd000_0053 [FRD, RS1, RM];
        "fcvt.s.wu" 0xd010_0053 [FRD, RS1, RM];
        "fcvt.s.l" 0xd020_0053 [FRD, RS1, RM];
        "fcvt.s.lu" 0xd030_0053 [FRD, RS1, RM];
        "fmv.w.x" 0xf000_0053 [FRD, RS1];
        // D
        "fmadd.d" 0x0200_0043 [FRD, FRS1, FRS2, FRS3, RM];
        "fmsub.d" 0x0200_0047 [FRD, FRS1, FRS2, FRS3, RM];
        "fnmsub.d" 0x0200_004b [FRD, FRS1, FRS2, FRS3, RM];
        "fnmadd.d" 0x0200_004f [FRD, FRS1, FRS2, FRS3, RM];
        "fadd.d" 0x0200_0053 [FRD, FRS1, FRS2, RM];
        "fsub.d" 0x0a00_0053 [FRD, FRS1, FRS2, RM];
        "fmul.d" 0x1200_0053 [FRD, FRS1, FRS2, RM];
        "fdiv.d" 0x1a00_0053 [FRD, FRS1, FRS2, RM];
        "fsqrt.d" 0x5a00_0053 [FRD, FRS1, RM];
        "fsgnj.d" 0x2200_0053 [FRD, FRS1, FRS2];
        "fsgnjn.d" 0x2200_1053 [FRD, FRS1, FRS2];
        "fsgnjx.d" 0x2200_2053 [FRD, FRS1, FRS2];
        "fmin.d" 0x2a00_0053 [FRD, FRS1, FRS2];
        "fmax.d" 0x2a00_1053 [FRD, FRS1, FRS2];
        "fcvt.s.d" 0x4010_0053 [FRD, FRS1, RM];
        "fcvt.d.s" 0x4200_0053 [FRD, FRS1, RM];
        "feq.d" 0xa200_2053 [RD, FRS1, FRS2];
        "flt.d" 0xa200_1053 [RD, FRS1, FRS2];
        "fle.d" 0xa200_0053 [RD, FRS1, FRS2];
        "fclass.d" 0xe200_1053 [RD, FRS1];
        "fcvt.w.d" 0xc200_0053 [RD, FRS1, RM];
        "fcvt.wu.d" 0xc210_0053 [RD, FRS1, RM];
        "fcvt.l.d" 0xc220_0053 [RD, FRS1, RM];
        "fcvt.lu.d" 0xc230_0053 [RD, FRS1, RM];
        "fmv.x.d" 0xe200_0053 [RD, FRS1];
        "fcvt.d.w" 0xd200_0053 [FRD, RS1, RM];
        "fcvt.d.wu" 0xd210_0053 [FRD, RS1, RM];
        "fcvt.d.l" 0xd220_0053 [FRD, RS1, RM];
        "fcvt.d.lu" 0xd230_0053 [FRD, RS1, RM];
        "fmv.d.x" 0xf200_0053 [FRD, RS1];
        // C, and its hints
        "c.addi4spn" 0x0000 [C_RD_LOW, C_ADDI4SPN];
        "c.nop" 0x0001 [];
        "c.nop hint" 0x0001 [C_IMM_NOT_0];
        "c.addi" 0x0001 [C_RD_NOT_0, C_IMM_NOT_0];
        "c.addi hint" 0x0001 [C_RD_NOT_0];
        "c.addiw" 0x2001 [C_RD_NOT_0, C_IMM];
        "c.li" 0x4001 [C_RD_NOT_0, C_IMM];
        "c.li hint" 0x4001 [C_IMM];
        "c.addi16sp" 0x6101 [C_ADDI16SP];
        "c.lui" 0x6001 [C_RD_NOT_0_2, C_IMM_NOT_0];
        "c.lui hint" 0x6001 [C_IMM_NOT_0];
        "c.srli" 0x8001 [C_RD_HIGH, C_SHAMT];
        "c.srli hint" 0x8001 [C_RD_HIGH];
        "c.srai" 0x8401 [C_RD_HIGH, C_SHAMT];
        "c.srai hint" 0x8401 [C_RD_HIGH];
        "c.andi" 0x8801 [C_RD_HIGH, C_IMM];
        "c.sub" 0x8c01 [C_RD_HIGH, C_RS2_LOW];
        "c.xor" 0x8c21 [C_RD_HIGH, C_RS2_LOW];
        "c.or" 0x8c41 [C_RD_HIGH, C_RS2_LOW];
        "c.and" 0x8c61 [C_RD_HIGH, C_RS2_LOW];
        "c.subw" 0x9c01 [C_RD_HIGH, C_RS2_LOW];
        "c.addw" 0x9c21 [C_RD_HIGH, C_RS2_LOW];
        "c.slli" 0x0002 [C_RD_NOT_0, C_SHAMT];
        "c.slli hint" 0x0002 [C_SHAMT];
        "c.slli hint 0" 0x0002 [C_RD_NOT_0];
        "c.mv" 0x8002 [C_RD_NOT_0, C_RS2_NOT_0];
        "c.mv hint" 0x8002 [C_RS2_NOT_0];
        "c.add" 0x9002 [C_RD_NOT_0, C_RS2_NOT_0];
        "c.add hint" 0x9002 [C_RS2_NOT_0];
    }
    Class::Memory(1) => {
        "lb" 0x0000_0003 [RD, I12, BASE];
        "lbu" 0x0000_4003 [RD, I12, BASE];
        "sb" 0x0000_0023 [RS2, S12, BASE];
    }
    Class::Memory(2) => {
        "lh" 0x0000_1003 [RD, I12, BASE];
        "lhu" 0x0000_5003 [RD, I12, BASE];
        "sh" 0x0000_1023 [RS2, S12, BASE];
    }
    Class::Memory(4) => {
        "lw" 0x0000_2003 [RD, I12, BASE];
        "lwu" 0x0000_6003 [RD, I12, BASE];
        "sw" 0x0000_2023 [RS2, S12, BASE];
        "flw" 0x0000_2007 [FRD, I12, BASE];
        "fsw" 0x0000_2027 [FRS2, S12, BASE];
        "c.lw" 0x4000 [C_RD_LOW, C_LW, C_BASE];
        "c.sw" 0xc000 [C_RS2_LOW, C_LW, C_BASE];
    }
    Class::Memory(8) => {
        "ld" 0x0000_3003 [RD, I12, BASE];
        "sd" 0x0000_3023 [RS2, S12, BASE];
        "fld" 0x0000_3007 [FRD, I12, BASE];
        "fsd" 0x0000_3027 [FRS2, S12, BASE];
        "c.fld" 0x2000 [C_FRD_LOW, C_LD, C_BASE];
        "c.ld" 0x6000 [C_RD_LOW, C_LD, C_BASE];
        "c.fsd" 0xa000 [C_FRS2_LOW, C_LD, C_BASE];
        "c.sd" 0xe000 [C_RS2_LOW, C_LD, C_BASE];
    }
    Class::Stack(4) => {
        "c.lwsp" 0x4002 [C_RD_NOT_0, C_LWSP];
        "c.swsp" 0xc002 [C_RS2, C_SWSP];
    }
    Class::Stack(8) => {
        "c.fldsp" 0x2002 [C_FRD, C_LDSP];
        "c.ldsp" 0x6002 [C_RD_NOT_0, C_LDSP];
        "c.fsdsp" 0xa002 [C_FRS2, C_SDSP];
        "c.sdsp" 0xe002 [C_RS2, C_SDSP];
    }
    Class::Amo(4) => {
        "amoswap.w" 0x0800_202f [RD, RS2, BASE, AQ_RL];
        "amoadd.w" 0x0000_202f [RD, RS2, BASE, AQ_RL];
        "amoxor.w" 0x2000_202f [RD, RS2, BASE, AQ_RL];
        "amoand.w" 0x6000_202f [RD, RS2, BASE, AQ_RL];
        "amoor.w" 0x4000_202f [RD, RS2, BASE, AQ_RL];
        "amomin.w" 0x8000_202f [RD, RS2, BASE, AQ_RL];
        "amomax.w" 0xa000_202f [RD, RS2, BASE, AQ_RL];
        "amominu.w" 0xc000_202f [RD, RS2, BASE, AQ_RL];
        "amomaxu.w" 0xe000_202f [RD, RS2, BASE, AQ_RL];
    }
    Class::Amo(8) => {
        "amoswap.d" 0x0800_302f [RD, RS2, BASE, AQ_RL];
        "amoadd.d" 0x0000_302f [RD, RS2, BASE, AQ_RL];
        "amoxor.d" 0x2000_302f [RD, RS2, BASE, AQ_RL];
        "amoand.d" 0x6000_302f [RD, RS2, BASE, AQ_RL];
        "amoor.d" 0x4000_302f [RD, RS2, BASE, AQ_RL];
        "amomin.d" 0x8000_302f [RD, RS2, BASE, AQ_RL];
        "amomax.d" 0xa000_302f [RD, RS2, BASE, AQ_RL];
        "amominu.d" 0xc000_302f [RD, RS2, BASE, AQ_RL];
        "amomaxu.d" 0xe000_302f [RD, RS2, BASE, AQ_RL];
    }
    Class::LoadReserved(4) => { "lr.w" 0x1000_202f [RD, BASE, AQ_RL]; }
    Class::LoadReserved(8) => { "lr.d" 0x1000_302f [RD, BASE, AQ_RL]; }
    Class::StoreConditional(4) => { "sc.w" 0x1800_202f [RD, RS2, BASE, AQ_RL]; }
    Class::StoreConditional(8) => { "sc.d" 0x1800_302f [RD, RS2, BASE, AQ_RL]; }
    Class::Branch => {
        "beq" 0x0000_0063 [RS1, RS2, B13];
        "bne" 0x0000_1063 [RS1, RS2, B13];
        "blt" 0x0000_4063 [RS1, RS2, B13];
        "bge" 0x0000_5063 [RS1, RS2, B13];
        "bltu" 0x0000_6063 [RS1, RS2, B13];
        "bgeu" 0x0000_7063 [RS1, RS2, B13];
        "c.beqz" 0xc001 [C_RS1_HIGH, C_B9];
        "c.bnez" 0xe001 [C_RS1_HIGH, C_B9];
    }
    Class::Jump => {
        "jal" 0x0000_006f [RD, J21];
        "c.j" 0xa001 [C_J12];
    }
    Class::JumpIndirect => {
        "jalr" 0x0000_0067 [RD, RS1, I12];
        "c.jr" 0x8002 [C_RS1_NOT_0];
        "c.jalr" 0x9002 [C_RS1_NOT_0];
    }
    Class::FloatCsr => {
        "csrrw fflags" 0x0010_1073 [RD, RS1];
        "csrrs fflags" 0x0010_2073 [RD, RS1];
        "csrrc fflags" 0x0010_3073 [RD, RS1];
        "csrrwi fflags" 0x0010_5073 [RD, ZIMM];
        "csrrsi fflags" 0x0010_6073 [RD, ZIMM];
        "csrrci fflags" 0x0010_7073 [RD, ZIMM];
        "csrrw frm" 0x0020_1073 [RD, RS1];
        "csrrs frm" 0x0020_2073 [RD, RS1];
        "csrrc frm" 0x0020_3073 [RD, RS1];
        "csrrwi frm" 0x0020_5073 [RD, ZIMM];
        "csrrsi frm" 0x0020_6073 [RD, ZIMM];
        "csrrci frm" 0x0020_7073 [RD, ZIMM];
        "csrrw fcsr" 0x0030_1073 [RD, RS1];
        "csrrs fcsr" 0x0030_2073 [RD, RS1];
        "csrrc fcsr" 0x0030_3073 [RD, RS1];
        "csrrwi fcsr" 0x0030_5073 [RD, ZIMM];
        "csrrsi fcsr" 0x0030_6073 [RD, ZIMM];
        "csrrci fcsr" 0x0030_7073 [RD, ZIMM];
    }
    Class::Counter => {
        "rdcycle" 0xc000_2073 [RD];
        "rdtime" 0xc010_2073 [RD];
        "rdinstret" 0xc020_2073 [RD];
    }
    Class::FetchFence => { "fence.i" 0x0000_100f []; }
    Class::SystemCall => { "ecall" 0x0000_0073 []; }
}
