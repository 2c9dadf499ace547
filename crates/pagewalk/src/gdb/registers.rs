//! A hart's registers as GDB numbers and describes them: those of GDB's features `riscv.cpu`, `riscv.fpu`, `riscv.csr` and `riscv.virtual`.

use gdbstub::arch::{Arch, RegId, Registers};
use machine::debug::HartView;
use std::fmt::Write;
use std::num::NonZeroUsize;
use std::sync::LazyLock;

/// GDB's numbers of registers: `x0` to `x31`, `pc`, `f0` to `f31`, the CSRs by their number, the privilege.
const PC: usize = 32;
const FIRST_FLOAT: usize = 33;
const FIRST_CSR: usize = 65;
const PRIVILEGE: usize = FIRST_CSR + 4096;

/// RV64GC with S-mode.
pub(super) enum Riscv64 {}

impl Arch for Riscv64 {
    type Usize = u64;
    type Registers = CoreRegisters;
    type BreakpointKind = usize;
    type RegId = Register;

    fn target_description_xml() -> Option<&'static str> {
        static XML: LazyLock<String> = LazyLock::new(description);
        Some(&XML)
    }
}

/// What the packet `g` has, in the order of the numbers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct CoreRegisters {
    pub(super) x: [u64; 32],
    pub(super) pc: u64,
    pub(super) f: [u64; 32],
}

impl CoreRegisters {
    fn all(&mut self) -> impl Iterator<Item = &mut u64> {
        self.x.iter_mut().chain([&mut self.pc]).chain(&mut self.f)
    }

    /// Of a hart.
    pub(super) fn of(hart: &HartView) -> Self {
        let registers = &hart.registers;
        let mut all = Self { pc: registers.pc, ..Self::default() };
        all.x.iter_mut().skip(1).zip(&registers.x).for_each(|(x, value)| *x = *value);
        all.f.iter_mut().zip(&registers.f).for_each(|(f, value)| *f = *value);
        all
    }
}

impl Registers for CoreRegisters {
    type ProgramCounter = u64;

    fn pc(&self) -> u64 {
        self.pc
    }

    fn gdb_serialize(&self, mut write_byte: impl FnMut(Option<u8>)) {
        let all = self.x.iter().chain([&self.pc]).chain(&self.f);
        all.flat_map(|value| value.to_le_bytes()).for_each(|byte| write_byte(Some(byte)));
    }

    /// What a short packet lacks stays as it is.
    fn gdb_deserialize(&mut self, bytes: &[u8]) -> Result<(), ()> {
        for (register, value) in self.all().zip(bytes.chunks(8)) {
            *register = u64::from_le_bytes(value.try_into().map_err(|_| ())?);
        }
        Ok(())
    }
}

/// A register, by GDB's number of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Register {
    /// `x0` to `x31`.
    X(usize),
    /// `pc`.
    Pc,
    /// `f0` to `f31`.
    Float(usize),
    /// A CSR that the description has.
    Csr(Csr),
    /// The privilege: 0 is U-mode, and 1 is S-mode.
    Privilege,
}

impl RegId for Register {
    fn from_raw_id(id: usize) -> Option<(Self, Option<NonZeroUsize>)> {
        let register = match id {
            0..PC => Self::X(id),
            PC => Self::Pc,
            FIRST_FLOAT..FIRST_CSR => Self::Float(id - FIRST_FLOAT),
            FIRST_CSR..PRIVILEGE => Self::Csr(Csr::ALL.into_iter().find(|csr| csr.number() == id - FIRST_CSR)?),
            PRIVILEGE => Self::Privilege,
            _ => return None,
        };
        Some((register, NonZeroUsize::new(register.bytes())))
    }
}

impl Register {
    /// Its size in the description.
    pub(super) const fn bytes(self) -> usize {
        match self {
            Self::Csr(Csr::Fflags | Csr::Frm | Csr::Fcsr) => 4,
            _ => 8,
        }
    }

    /// What a hart has in it.
    pub(super) fn of(self, hart: &HartView) -> u64 {
        let registers = &hart.registers;
        match self {
            Self::X(0) => 0,
            Self::X(number) => registers.x.get(number - 1).copied().unwrap_or_default(),
            Self::Pc => registers.pc,
            Self::Float(number) => registers.f.get(number).copied().unwrap_or_default(),
            Self::Csr(csr) => csr.of(hart),
            Self::Privilege => u64::from(registers.supervisor),
        }
    }

    /// Puts `value` into it; whether it can be written.
    #[must_use]
    pub(super) fn set(self, hart: &mut HartView, value: u64) -> bool {
        let registers = &mut hart.registers;
        let place = match self {
            Self::X(0) => return true,
            Self::X(number) => registers.x.get_mut(number - 1),
            Self::Pc => Some(&mut registers.pc),
            Self::Float(number) => registers.f.get_mut(number),
            Self::Csr(csr) => return csr.set(hart, value),
            Self::Privilege => {
                registers.supervisor = value & 1 != 0;
                return true;
            }
        };
        place.map(|place| *place = value).is_some()
    }
}

macro_rules! csrs {
    ($($csr:ident $name:literal $number:literal,)*) => {
        /// A CSR that the description has.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(super) enum Csr {
            $($csr,)*
        }

        impl Csr {
            const ALL: [Self; [$($number,)*].len()] = [$(Self::$csr,)*];

            const fn name(self) -> &'static str {
                match self {
                    $(Self::$csr => $name,)*
                }
            }

            const fn number(self) -> usize {
                match self {
                    $(Self::$csr => $number,)*
                }
            }
        }
    };
}

// By number. The first three are of the feature `riscv.fpu`.
csrs! {
    Fflags "fflags" 0x001,
    Frm "frm" 0x002,
    Fcsr "fcsr" 0x003,
    Sstatus "sstatus" 0x100,
    Sie "sie" 0x104,
    Stvec "stvec" 0x105,
    Scounteren "scounteren" 0x106,
    Senvcfg "senvcfg" 0x10a,
    Sscratch "sscratch" 0x140,
    Sepc "sepc" 0x141,
    Scause "scause" 0x142,
    Stval "stval" 0x143,
    Sip "sip" 0x144,
    Stimecmp "stimecmp" 0x14d,
    Satp "satp" 0x180,
    Cycle "cycle" 0xc00,
    Time "time" 0xc01,
    Instret "instret" 0xc02,
}

impl Csr {
    const fn is_float(self) -> bool {
        matches!(self, Self::Fflags | Self::Frm | Self::Fcsr)
    }

    fn of(self, hart: &HartView) -> u64 {
        let registers = &hart.registers;
        match self {
            Self::Fflags => u64::from(registers.fcsr & 31),
            Self::Frm => u64::from(registers.fcsr >> 5),
            Self::Fcsr => u64::from(registers.fcsr),
            Self::Sstatus => registers.sstatus,
            Self::Sie => registers.sie,
            Self::Stvec => registers.stvec,
            Self::Scounteren => registers.scounteren,
            Self::Senvcfg => registers.senvcfg,
            Self::Sscratch => registers.sscratch,
            Self::Sepc => registers.sepc,
            Self::Scause => registers.scause,
            Self::Stval => registers.stval,
            Self::Sip => registers.sip,
            Self::Stimecmp => registers.timer.unwrap_or(u64::MAX),
            Self::Satp => registers.satp,
            Self::Cycle => hart.cycle.0,
            Self::Time => hart.time,
            Self::Instret => registers.instret,
        }
    }

    fn set(self, hart: &mut HartView, value: u64) -> bool {
        let registers = &mut hart.registers;
        let place = match self {
            Self::Fflags => {
                registers.fcsr = registers.fcsr & !31 | value as u8 & 31;
                return true;
            }
            Self::Frm => {
                registers.fcsr = registers.fcsr & 31 | (value as u8) << 5;
                return true;
            }
            Self::Fcsr => {
                registers.fcsr = value as u8;
                return true;
            }
            Self::Stimecmp => {
                registers.timer = Some(value);
                return true;
            }
            Self::Sstatus => &mut registers.sstatus,
            Self::Sie => &mut registers.sie,
            Self::Stvec => &mut registers.stvec,
            Self::Scounteren => &mut registers.scounteren,
            Self::Senvcfg => &mut registers.senvcfg,
            Self::Sscratch => &mut registers.sscratch,
            Self::Sepc => &mut registers.sepc,
            Self::Scause => &mut registers.scause,
            Self::Stval => &mut registers.stval,
            Self::Sip => &mut registers.sip,
            Self::Satp => &mut registers.satp,
            // They count, and a debugger does not change what is measured.
            Self::Cycle | Self::Time | Self::Instret => return false,
        };
        *place = value;
        true
    }
}

/// Names of `x0` to `x31`, with GDB's types.
const INTEGER_NAMES: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "fp", "s1", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "s2",
    "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
];

/// Names of `f0` to `f31`.
const FLOAT_NAMES: [&str; 32] = [
    "ft0", "ft1", "ft2", "ft3", "ft4", "ft5", "ft6", "ft7", "fs0", "fs1", "fa0", "fa1", "fa2", "fa3", "fa4", "fa5",
    "fa6", "fa7", "fs2", "fs3", "fs4", "fs5", "fs6", "fs7", "fs8", "fs9", "fs10", "fs11", "ft8", "ft9", "ft10", "ft11",
];

/// The target description (GDB manual, appendix G.5.15).
fn description() -> String {
    let mut xml = String::from(
        "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target version=\"1.0\">\
         <architecture>riscv:rv64</architecture><feature name=\"org.gnu.gdb.riscv.cpu\">",
    );
    let register = |xml: &mut String, name: &str, bits: usize, kind: &str, number: usize| {
        // A string takes whatever is written to it.
        let _ = write!(xml, "<reg name=\"{name}\" bitsize=\"{bits}\" type=\"{kind}\" regnum=\"{number}\"/>");
    };
    for (number, name) in INTEGER_NAMES.into_iter().enumerate() {
        let kind = match name {
            "ra" => "code_ptr",
            "sp" | "gp" | "tp" | "fp" => "data_ptr",
            _ => "int",
        };
        register(&mut xml, name, 64, kind, number);
    }
    register(&mut xml, "pc", 64, "code_ptr", PC);
    xml += "</feature><feature name=\"org.gnu.gdb.riscv.fpu\"><union id=\"riscv_double\">\
            <field name=\"float\" type=\"ieee_single\"/><field name=\"double\" type=\"ieee_double\"/></union>";
    for (number, name) in FLOAT_NAMES.into_iter().enumerate() {
        register(&mut xml, name, 64, "riscv_double", FIRST_FLOAT + number);
    }
    let bits = |csr| 8 * Register::Csr(csr).bytes();
    for csr in Csr::ALL.into_iter().filter(|csr| csr.is_float()) {
        register(&mut xml, csr.name(), bits(csr), "int", FIRST_CSR + csr.number());
    }
    xml += "</feature><feature name=\"org.gnu.gdb.riscv.csr\">";
    for csr in Csr::ALL.into_iter().filter(|csr| !csr.is_float()) {
        register(&mut xml, csr.name(), bits(csr), "int", FIRST_CSR + csr.number());
    }
    xml += "</feature><feature name=\"org.gnu.gdb.riscv.virtual\">";
    register(&mut xml, "priv", 64, "int", PRIVILEGE);
    xml + "</feature></target>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_general_packet_has_the_registers_in_the_order_of_their_numbers() {
        let mut registers = CoreRegisters::default();
        registers.all().zip(100..).for_each(|(register, value)| *register = value);
        let mut bytes = Vec::new();
        registers.gdb_serialize(|byte| bytes.extend(byte));
        assert_eq!(bytes.len(), 8 * FIRST_CSR);
        assert_eq!(bytes[8 * PC..][..8], 132_u64.to_le_bytes());
        let mut back = CoreRegisters::default();
        assert_eq!(back.gdb_deserialize(&bytes), Ok(()));
        assert_eq!(back, registers);
        assert_eq!(back.gdb_deserialize(&bytes[..20]), Err(()), "a part of a register");
    }

    #[test]
    fn numbers_lead_to_registers() {
        let found = |id| Register::from_raw_id(id).map(|(register, bytes)| (register, bytes.map(NonZeroUsize::get)));
        assert_eq!(found(31), Some((Register::X(31), Some(8))));
        assert_eq!(found(33), Some((Register::Float(0), Some(8))));
        assert_eq!(found(65 + 3), Some((Register::Csr(Csr::Fcsr), Some(4))));
        assert_eq!(found(65 + 0x180), Some((Register::Csr(Csr::Satp), Some(8))));
        assert_eq!(found(65 + 0x300), None, "mstatus is none of a guest's");
        assert_eq!((found(4161), found(4162)), (Some((Register::Privilege, Some(8))), None));
    }

    #[test]
    fn the_description_names_each_register_once() {
        let xml = description();
        for name in INTEGER_NAMES.into_iter().chain(FLOAT_NAMES).chain(Csr::ALL.map(Csr::name)).chain(["pc", "priv"]) {
            assert_eq!(xml.matches(&format!("name=\"{name}\"")).count(), 1, "{name}");
        }
    }
}
