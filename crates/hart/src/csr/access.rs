//! CSR instructions.

use super::{FloatUnit, IllegalCsr, number, sstatus};
use crate::{Bus, Exit, Hart, Interrupt, float::Flags};
use types::Privilege;

/// `csrrw`, `csrrs`, `csrrc` and their immediate forms, decoded.
pub(crate) struct CsrAccess {
    pub(crate) csr: u32,
    kind: u32,
    is_read: bool,
    operand: u64,
    rd: u8,
}

/// Whether a CSR instruction writes nothing: it sets or clears no bits, by `x0` or the immediate 0.
pub(crate) const fn is_read(bits: u32) -> bool {
    bits >> 12 & 3 != 1 && bits >> 15 & 31 == 0
}

impl CsrAccess {
    /// Decodes a CSR instruction and reads its source.
    pub(crate) fn decode(bits: u32, hart: &Hart) -> Self {
        let field = bits >> 15 & 31;
        let operand = if bits >> 14 & 1 != 0 { u64::from(field) } else { hart.register(field as u8) };
        let is_read = is_read(bits);
        Self { csr: bits >> 20, kind: bits >> 12 & 3, is_read, operand, rd: (bits >> 7 & 31) as u8 }
    }

    /// What goes into the CSR; `None` where the instruction does not write.
    pub(crate) const fn written(&self, old: u64) -> Option<u64> {
        if self.is_read {
            return None;
        }
        Some(match self.kind {
            1 => self.operand,
            2 => old | self.operand,
            _ => old & !self.operand,
        })
    }

    /// Gives the register what the CSR held.
    pub(crate) fn deliver(&self, hart: &mut Hart, old: u64) {
        if self.rd != 0 {
            hart.set_register(self.rd, old);
        }
    }
}

/// What a CSR access in place has changed.
pub(crate) enum InPlace {
    /// Nothing that the engine keeps.
    Plain,
    /// How loads and stores translate.
    Context,
}

impl Hart {
    /// Executes a CSR instruction if that changes nothing that a block relies on: no interrupt becomes possible, floating point stays as it is,
    /// and fetches translate as before. `retired` counts the instructions retired in this run.
    pub(crate) fn access_csr_in_place<B: Bus>(&mut self, bits: u32, bus: &mut B, retired: u64) -> Option<InPlace> {
        /// Bits of `sstatus` that blocks rely on: FS and MXR.
        const RELIED_ON: u64 = 3 << sstatus::FS | 1 << sstatus::MXR;
        let access = CsrAccess::decode(bits, self);
        let old = self.read_csr(access.csr, bus, retired).ok()?;
        let Some(new) = access.written(old) else {
            access.deliver(self, old);
            return Some(InPlace::Plain);
        };
        let changed = old ^ new;
        let after = match access.csr {
            number::STVEC | number::SSCRATCH | number::SEPC | number::SCAUSE | number::STVAL | number::FFLAGS => {
                InPlace::Plain
            }
            number::SSTATUS if changed & RELIED_ON == 0 && changed & new & 1 << sstatus::SIE == 0 => {
                if changed & 1 << sstatus::SUM == 0 { InPlace::Plain } else { InPlace::Context }
            }
            _ => return None,
        };
        self.write_csr(access.csr, new, bus, retired).ok()?;
        access.deliver(self, old);
        Some(after)
    }

    /// Reads a CSR. `retired` counts the instructions retired in this run.
    pub(crate) fn read_csr<B: Bus>(&self, csr: u32, bus: &mut B, retired: u64) -> Result<u64, IllegalCsr> {
        let csrs = &self.csrs;
        self.check_privilege(csr)?;
        Ok(match csr {
            number::FFLAGS | number::FRM | number::FCSR => {
                if csrs.float == FloatUnit::Off {
                    return Err(IllegalCsr);
                }
                match csr {
                    number::FFLAGS => u64::from(self.fflags.bits()),
                    number::FRM => u64::from(self.frm),
                    _ => u64::from(self.fcsr()),
                }
            }
            number::SSTATUS => csrs.sstatus(),
            number::SIE => csrs.enabled,
            number::STVEC => csrs.stvec,
            number::SCOUNTEREN => csrs.scounteren,
            number::SENVCFG => csrs.senvcfg,
            number::SSCRATCH => csrs.sscratch,
            number::SEPC => csrs.sepc,
            number::SCAUSE => csrs.scause,
            number::STVAL => csrs.stval,
            number::SIP => self.pending_now(bus, retired),
            number::STIMECMP if self.isa.sstc => csrs.timer.unwrap_or(u64::MAX),
            number::SATP => csrs.satp(),
            number::CYCLE..=number::HPMCOUNTER31 => {
                let counter = csr - number::CYCLE;
                if self.privilege == Privilege::User && csrs.scounteren >> counter & 1 == 0 {
                    return Err(IllegalCsr);
                }
                match csr {
                    number::CYCLE | number::TIME | number::INSTRET if !self.isa.zicntr => return Err(IllegalCsr),
                    _ if self.isa.zihpm && csr != number::TIME => bus.counter(counter, retired).ok_or(IllegalCsr)?,
                    number::CYCLE => bus.cycle(retired),
                    number::TIME => bus.time(retired),
                    number::INSTRET => self.retired_elsewhere.wrapping_add(self.run_start() + retired),
                    _ => return Err(IllegalCsr),
                }
            }
            _ => return Err(IllegalCsr),
        })
    }

    /// Writes a CSR that has just been read. What asks for the caller's attention comes back.
    pub(crate) fn write_csr<B: Bus>(
        &mut self,
        csr: u32,
        value: u64,
        bus: &mut B,
        retired: u64,
    ) -> Result<Option<Exit>, IllegalCsr> {
        // CSRs whose number begins with two ones are read-only.
        if csr >> 10 == 3 {
            return Err(IllegalCsr);
        }
        let csrs = &mut self.csrs;
        match csr {
            number::FFLAGS => self.fflags = Flags::from_bits(value as u8),
            number::FRM => self.frm = value as u8 & 7,
            number::FCSR => {
                self.fflags = Flags::from_bits(value as u8 & 31);
                self.frm = (value >> 5) as u8 & 7;
            }
            number::SSTATUS => csrs.set_sstatus(value, self.isa.f),
            number::SIE => {
                let was = std::mem::replace(&mut csrs.enabled, value & Interrupt::ALL);
                let newly = was & Interrupt::Timer.bit() == 0;
                return Ok(if newly { self.timer_enabled(bus, retired) } else { None });
            }
            // Modes above 1 (vectored) are reserved: the write is taken as direct.
            number::STVEC => csrs.stvec = value & !2,
            number::SCOUNTEREN => csrs.scounteren = value & self.isa.counters(),
            // Only FIOM exists of what senvcfg may hold.
            number::SENVCFG => csrs.senvcfg = value & 1,
            number::SSCRATCH => csrs.sscratch = value,
            number::SEPC => csrs.sepc = value & if self.isa.c { !1 } else { !3 },
            number::SCAUSE => csrs.scause = value,
            number::STVAL => csrs.stval = value,
            number::SIP => {
                let writable = Interrupt::Software.bit();
                csrs.pending = csrs.pending & !writable | value & writable;
            }
            number::STIMECMP => {
                let now = bus.time(retired);
                self.set_timer(value, now);
                return Ok(Some(Exit::TimerSet));
            }
            number::SATP => csrs.set_satp(value, self.highest_mode),
            _ => return Err(IllegalCsr),
        }
        match csr {
            number::FFLAGS | number::FRM | number::FCSR => {
                self.csrs.float = FloatUnit::Dirty;
                self.update_float_open();
            }
            number::SSTATUS => self.update_float_open(),
            _ => {}
        }
        Ok(None)
    }

    /// `sip`, as a read of it has it.
    fn pending_now<B: Bus>(&self, bus: &mut B, retired: u64) -> u64 {
        let claimed = self.pending(Interrupt::External) && !bus.external_interrupt();
        let pending = self.csrs.pending & if claimed { !Interrupt::External.bit() } else { u64::MAX };
        pending | self.due_timer(bus, retired)
    }

    /// The bit of the timer interrupt if `time` has reached the timer, or else 0.
    ///
    /// `csrs.pending` has the bit only once the hart had to look, which is when the interrupt could be taken. A guest that masks the
    /// interrupt and polls `sip` must still see it (Sstc, section 2.1: STIP reflects the comparison).
    fn due_timer<B: Bus>(&self, bus: &mut B, retired: u64) -> u64 {
        let due = self.csrs.timer.is_some_and(|timer| bus.time(retired) >= timer);
        if due { Interrupt::Timer.bit() } else { 0 }
    }

    /// After a write of `sie` that may have enabled the timer interrupt: one that is due already becomes pending. If it is yet to come, the caller is
    /// told, because it knows the end of this run but did not count on the timer.
    fn timer_enabled<B: Bus>(&mut self, bus: &mut B, retired: u64) -> Option<Exit> {
        let timer = self.timer_interrupt()?;
        self.csrs.pending |= self.due_timer(bus, retired);
        // The largest time is how software says "never".
        (!self.pending(Interrupt::Timer) && timer != u64::MAX).then_some(Exit::TimerSet)
    }

    /// The number's bits 8 and 9 are the lowest privilege that may use the CSR.
    fn check_privilege(&self, csr: u32) -> Result<(), IllegalCsr> {
        let lowest = csr >> 8 & 3;
        if lowest <= self.privilege as u32 { Ok(()) } else { Err(IllegalCsr) }
    }
}
