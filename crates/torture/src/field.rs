//! Operand fields: where they stand in an instruction, and which values they take.

/// A register file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File {
    /// `x0` to `x31`.
    Integer,
    /// `f0` to `f31`.
    Float,
}

/// What an instruction does with a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It is read.
    Source,
    /// It is written; in some compressed forms it is read as well.
    Destination,
    /// It is read as the base of an address.
    Base,
}

/// A register operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    /// Its register file.
    pub file: File,
    /// What becomes of it.
    pub role: Role,
    /// The lowest bit of its field.
    pub at: u8,
    /// Whether the field has three bits, and names registers 8 to 15.
    pub short: bool,
    /// Registers that it must not name, as a mask.
    pub excluded: u32,
}

impl Register {
    const fn new(file: File, role: Role, at: u8) -> Self {
        Self { file, role, at, short: false, excluded: 0 }
    }

    const fn short(self) -> Self {
        Self { short: true, ..self }
    }

    const fn except(self, excluded: u32) -> Self {
        Self { excluded, ..self }
    }

    /// Whether the field can name `register`.
    pub fn admits(&self, register: u8) -> bool {
        (!self.short || (8..16).contains(&register)) && self.excluded >> register & 1 == 0
    }
}

/// A run of bits that moves from the value to the instruction: from bit, width, to bit.
type Slice = (u8, u8, u8);

/// An immediate operand.
#[derive(Debug, PartialEq, Eq)]
pub struct Immediate {
    /// The least value.
    pub low: i64,
    /// The greatest value.
    pub high: i64,
    /// Values are multiples of this.
    pub step: i64,
    /// Whether zero is a value.
    pub zero: bool,
    slices: &'static [Slice],
}

impl Immediate {
    /// Whether the field can hold `value`.
    pub fn admits(&self, value: i64) -> bool {
        (self.low..=self.high).contains(&value) && value % self.step == 0 && (self.zero || value != 0)
    }
}

/// One operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// A register.
    Register(Register),
    /// An immediate.
    Immediate(&'static Immediate),
    /// The rounding mode.
    Rounding,
    /// The `aq` and `rl` bits.
    Ordering,
}

impl Field {
    /// The bits of the instruction that hold `value`.
    pub fn place(&self, value: i64) -> u32 {
        match self {
            Self::Register(register) => {
                let number = if register.short { value - 8 } else { value };
                (number as u32) << register.at
            }
            Self::Immediate(immediate) => immediate
                .slices
                .iter()
                .map(|&(from, width, to)| ((value >> from) as u32 & ((1 << width) - 1)) << to)
                .sum(),
            Self::Rounding => (value as u32) << 12,
            Self::Ordering => (value as u32) << 25,
        }
    }
}

macro_rules! register {
    ($($name:ident = $file:ident $role:ident $at:literal $(. $method:ident ($($argument:expr)?))*;)*) => {
        $(pub(crate) const $name: Field =
            Field::Register(Register::new(File::$file, Role::$role, $at)$(.$method($($argument)?))*);)*
    };
}

register! {
    RD = Integer Destination 7;
    RS1 = Integer Source 15;
    RS2 = Integer Source 20;
    BASE = Integer Base 15;
    FRD = Float Destination 7;
    FRS1 = Float Source 15;
    FRS2 = Float Source 20;
    FRS3 = Float Source 27;
    // Compressed.
    C_RD_NOT_0 = Integer Destination 7.except(1);
    C_RD_NOT_0_2 = Integer Destination 7.except(0b101);
    C_FRD = Float Destination 7;
    C_RS1_NOT_0 = Integer Source 7.except(1);
    C_RS2 = Integer Source 2;
    C_RS2_NOT_0 = Integer Source 2.except(1);
    C_FRS2 = Float Source 2;
    C_RD_LOW = Integer Destination 2.short();
    C_FRD_LOW = Float Destination 2.short();
    C_RS2_LOW = Integer Source 2.short();
    C_FRS2_LOW = Float Source 2.short();
    C_RD_HIGH = Integer Destination 7.short();
    C_RS1_HIGH = Integer Source 7.short();
    C_BASE = Integer Base 7.short();
}

macro_rules! immediate {
    ($($name:ident = $low:literal to $high:literal step $step:literal $zero:ident $slices:expr;)*) => {
        $(pub(crate) const $name: Field = {
            static IMMEDIATE: Immediate =
                Immediate { low: $low, high: $high, step: $step, zero: zero!($zero), slices: &$slices };
            Field::Immediate(&IMMEDIATE)
        };)*
    };
}

macro_rules! zero {
    (any) => {
        true
    };
    (nonzero) => {
        false
    };
}

immediate! {
    I12 = -2048 to 2047 step 1 any [(0, 12, 20)];
    S12 = -2048 to 2047 step 1 any [(0, 5, 7), (5, 7, 25)];
    B13 = -4096 to 4094 step 2 any [(11, 1, 7), (1, 4, 8), (5, 6, 25), (12, 1, 31)];
    U20 = 0 to 0xf_ffff step 1 any [(0, 20, 12)];
    J21 = -0x10_0000 to 0xf_fffe step 2 any [(12, 8, 12), (11, 1, 20), (1, 10, 21), (20, 1, 31)];
    SHAMT5 = 0 to 31 step 1 any [(0, 5, 20)];
    SHAMT6 = 0 to 63 step 1 any [(0, 6, 20)];
    ZIMM = 0 to 31 step 1 any [(0, 5, 15)];
    PRED_SUCC = 0 to 255 step 1 any [(0, 8, 20)];
    // Compressed.
    C_IMM = -32 to 31 step 1 any [(0, 5, 2), (5, 1, 12)];
    C_IMM_NOT_0 = -32 to 31 step 1 nonzero [(0, 5, 2), (5, 1, 12)];
    C_SHAMT = 1 to 63 step 1 any [(0, 5, 2), (5, 1, 12)];
    C_ADDI16SP = -512 to 496 step 16 nonzero [(5, 1, 2), (7, 2, 3), (6, 1, 5), (4, 1, 6), (9, 1, 12)];
    C_ADDI4SPN = 4 to 1020 step 4 any [(3, 1, 5), (2, 1, 6), (6, 4, 7), (4, 2, 11)];
    C_LWSP = 0 to 252 step 4 any [(6, 2, 2), (2, 3, 4), (5, 1, 12)];
    C_LDSP = 0 to 504 step 8 any [(6, 3, 2), (3, 2, 5), (5, 1, 12)];
    C_SWSP = 0 to 252 step 4 any [(6, 2, 7), (2, 4, 9)];
    C_SDSP = 0 to 504 step 8 any [(6, 3, 7), (3, 3, 10)];
    C_LW = 0 to 124 step 4 any [(6, 1, 5), (2, 1, 6), (3, 3, 10)];
    C_LD = 0 to 248 step 8 any [(6, 2, 5), (3, 3, 10)];
    C_B9 = -256 to 254 step 2 any [(5, 1, 2), (1, 2, 3), (6, 2, 5), (3, 2, 10), (8, 1, 12)];
    C_J12 = -2048 to 2046 step 2 any
        [(5, 1, 2), (1, 3, 3), (7, 1, 6), (6, 1, 7), (10, 1, 8), (8, 2, 9), (4, 1, 11), (11, 1, 12)];
}
