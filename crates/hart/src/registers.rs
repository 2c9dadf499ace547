//! A hart's architectural state as plain values, for a snapshot: the registers as instructions read them, and nothing of this implementation.

use crate::{Hart, Interrupt, float::Flags};
use serde::{Deserialize, Serialize};
use types::Privilege;

/// The architectural state of a hart. A reservation of LR is not in it: it is lost wherever another hart may run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Registers {
    /// Address of the next instruction.
    pub pc: u64,
    /// S-mode, or else U-mode.
    pub supervisor: bool,
    /// `x1` to `x31`.
    pub x: Vec<u64>,
    /// `f0` to `f31`, as bits.
    pub f: Vec<u64>,
    /// `fcsr`.
    pub fcsr: u8,
    /// `sstatus`.
    pub sstatus: u64,
    /// `sie`.
    pub sie: u64,
    /// `sip`.
    pub sip: u64,
    /// `stvec`.
    pub stvec: u64,
    /// `sepc`.
    pub sepc: u64,
    /// `scause`.
    pub scause: u64,
    /// `stval`.
    pub stval: u64,
    /// `sscratch`.
    pub sscratch: u64,
    /// `scounteren`.
    pub scounteren: u64,
    /// `senvcfg`.
    pub senvcfg: u64,
    /// `satp`.
    pub satp: u64,
    /// `stimecmp`, or the SBI timer; `None` if neither was ever set.
    pub timer: Option<u64>,
    /// `instret`.
    pub instret: u64,
}

impl Hart {
    /// The registers as they are.
    #[must_use]
    pub fn registers(&self) -> Registers {
        let csrs = &self.csrs;
        Registers {
            pc: self.pc,
            supervisor: self.privilege == Privilege::Supervisor,
            x: (1..32).map(|number| self.register(number)).collect(),
            f: (0..32).map(|number| self.float_register(number)).collect(),
            fcsr: self.fcsr(),
            sstatus: csrs.sstatus(),
            sie: csrs.enabled,
            sip: csrs.pending,
            stvec: csrs.stvec,
            sepc: csrs.sepc,
            scause: csrs.scause,
            stval: csrs.stval,
            sscratch: csrs.sscratch,
            scounteren: csrs.scounteren,
            senvcfg: csrs.senvcfg,
            satp: csrs.satp(),
            timer: csrs.timer,
            instret: self.retired_elsewhere.wrapping_add(self.counts().instructions),
        }
    }

    /// Sets all registers. What a register cannot hold is dropped, as where it is written. [`Hart::counts`] stays as it is.
    pub fn set_registers(&mut self, registers: &Registers) {
        for (number, &value) in (1..32).zip(&registers.x) {
            self.set_register(number, value);
        }
        for (number, &bits) in (0..32).zip(&registers.f) {
            self.set_float_register(number, bits);
        }
        let aligned = if self.isa.c { !1 } else { !3 };
        self.pc = registers.pc & aligned;
        self.privilege = if registers.supervisor { Privilege::Supervisor } else { Privilege::User };
        self.fflags = Flags::from_bits(registers.fcsr & 31);
        self.frm = registers.fcsr >> 5;
        self.reservation = None;
        let csrs = &mut self.csrs;
        csrs.set_sstatus(registers.sstatus, self.isa.f);
        csrs.enabled = registers.sie & Interrupt::ALL;
        csrs.pending = registers.sip & Interrupt::ALL;
        csrs.stvec = registers.stvec & !2;
        csrs.sepc = registers.sepc & aligned;
        csrs.scause = registers.scause;
        csrs.stval = registers.stval;
        csrs.sscratch = registers.sscratch;
        csrs.scounteren = registers.scounteren & self.isa.counters();
        csrs.senvcfg = registers.senvcfg & 1;
        csrs.set_satp(registers.satp, self.highest_mode);
        csrs.timer = registers.timer;
        self.retired_elsewhere = registers.instret.wrapping_sub(self.counts().instructions);
        self.update_float_open();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Isa;
    use types::PagingMode;

    /// Each register has a value of its own, which it can hold.
    fn distinct() -> Registers {
        Registers {
            pc: 0xffff_ffff_8020_0002,
            supervisor: false,
            x: (1..32).map(|number| number * 0x1111).collect(),
            f: (0..32).map(|number| !(number * 0x1111)).collect(),
            fcsr: 0b010_10101,
            sstatus: 2 << 32 | 1 << 18 | 1 << 8 | 1 << 5 | 1 << 1 | 2 << 13,
            sie: 0x222,
            sip: 0x20,
            stvec: 0xffff_ffff_8000_0001,
            sepc: 0x1_0002,
            scause: 8,
            stval: 9,
            sscratch: 10,
            scounteren: 5,
            senvcfg: 1,
            satp: 8 << 60 | 0xabc << 44 | 0x8_0123,
            timer: Some(77),
            instret: 1 << 40,
        }
    }

    #[test]
    fn a_hart_that_takes_registers_has_them() {
        let mut hart = Hart::new(Isa::default(), PagingMode::Sv39);
        hart.set_registers(&distinct());
        assert_eq!(hart.registers(), distinct());
        assert_eq!(hart.counts().instructions, 0, "what was retired elsewhere is not counted here");
        let again = Hart::new(Isa::default(), PagingMode::Sv39).counting_on(&hart);
        assert_eq!(again.registers().instret, 1 << 40, "a hart that starts again goes on counting");
    }

    #[test]
    fn what_a_register_cannot_hold_is_dropped() {
        let all = Registers {
            pc: u64::MAX,
            fcsr: u8::MAX,
            sstatus: u64::MAX,
            sie: u64::MAX,
            sip: u64::MAX,
            scounteren: u64::MAX,
            satp: u64::MAX,
            x: vec![1; 100],
            f: Vec::new(),
            ..distinct()
        };
        let mut hart = Hart::new(Isa::default(), PagingMode::Sv39);
        hart.set_registers(&all);
        let held = hart.registers();
        assert_eq!((held.pc, held.fcsr, held.sie, held.sip), (u64::MAX - 1, u8::MAX, 0x222, 0x222));
        assert_eq!((held.scounteren, held.satp, held.x, held.f), (7, 0, vec![1; 31], vec![0; 32]));
    }
}
