//! Instructions that the run loop executes itself: CSRs, calls, returns, fences and waits; and the corner cases that the engines leave to
//! it: an instruction across two pages, floating point with the unit off, a misaligned jump.

use crate::{
    Bus, CodeCache, Engine, Exception, Exit, Fence, Hart, Stop, Transfer, Trap,
    bus::Sites,
    csr::{CsrAccess, FloatUnit, IllegalCsr},
    decode::{self, Instruction},
    leave::Leave,
    ops::{Class, Opcode, alu},
    report::{Report, Serialize},
};
use types::{Access, Asid, Gva, Privilege};

impl Hart {
    /// Executes the instruction at `pc`, which the engine was left at.
    pub(crate) fn step<B: Bus>(
        &mut self,
        code: &mut CodeCache<B>,
        bus: &mut B,
        engine: Engine,
    ) -> Result<Option<Exit>, Stop> {
        if self.left_at(code, Opcode::FloatGate) && self.open_gate() {
            return Ok(None);
        }
        if B::SITES == Sites::Needed {
            bus.at(self.pc, self.retired_in_run());
        }
        let bits = self.instruction_bits(bus)?;
        let (place, context) = ((self.counts().instructions, self.pc), self.context());
        if let Some(log) = self.instruction_log() {
            log.stepped(place, bits, &context);
        }
        self.step_bits(code, bus, bits, engine)
    }

    /// Executes the instruction at `pc`, which has these bits.
    pub(crate) fn step_bits<B: Bus>(
        &mut self,
        code: &mut CodeCache<B>,
        bus: &mut B,
        bits: u32,
        engine: Engine,
    ) -> Result<Option<Exit>, Stop> {
        let instruction = decode::decode(bits, code.isa());
        if matches!(instruction.opcode, Opcode::System | Opcode::Csr) {
            return Ok(self.system(&instruction, code, bus)?);
        }
        if instruction.opcode.is_float() {
            self.check_float(&instruction, bits)?;
        }
        if let Some(target) = self.misaligned_target(&instruction) {
            return Err(Trap { cause: Exception::InstructionMisaligned, value: target }.into());
        }
        if !self.isa.c && instruction.opcode.class() == Class::branch {
            // Left here because its target is misaligned; but it is not taken.
            self.pc = self.pc.wrapping_add(4);
            self.retire();
            return Ok(None);
        }
        let mark = code.mark();
        let op = code.scratch(&instruction, (self.pc & 0xfff) as u16);
        self.execute(code, bus, op, 0, engine);
        code.release(mark);
        match self.leave {
            Leave::Trap(trap) => Err(trap.into()),
            Leave::Again => Err(Stop::Leave),
            Leave::Fetch(stop) => Err(stop),
            Leave::Stopped(cause) => {
                self.suspend_step(bits);
                Ok(Some(Exit::Stopped(cause)))
            }
            Leave::Budget | Leave::Lookup | Leave::Step => Ok(None),
        }
    }

    /// The bits of the instruction at `pc`, whose page the hart executes from; of a compressed one the low 16.
    fn instruction_bits<B: Bus>(&self, bus: &mut B) -> Result<u32, Stop> {
        let offset = (self.pc & 0xfff) as usize;
        bus.use_line(self.host_page.start().wrapping_add(offset), Access::Execute);
        // SAFETY: the page is 4 KiB of readable memory, and the offset even.
        let low = u32::from(unsafe { self.host_page.start().add(offset).cast::<u16>().read_unaligned() });
        if low & 3 != 3 {
            return Ok(low);
        }
        let second = if offset + 4 <= 4096 {
            bus.use_line(self.host_page.start().wrapping_add(offset + 2), Access::Execute);
            self.host_page.start().wrapping_add(offset + 2)
        } else {
            let second = bus.fetch(self.pc.wrapping_add(2))?.page.start();
            bus.use_line(second, Access::Execute);
            self.report(bus, Report::Fetched(self.pc.wrapping_add(2)));
            second
        };
        // SAFETY: two bytes of a page of readable memory, at an even offset.
        Ok(low | u32::from(unsafe { second.cast::<u16>().read_unaligned() }) << 16)
    }

    /// The bits of the instruction at an offset in the page that the hart executes from; of a compressed one, or one that continues in the next
    /// page, the low 16.
    pub(crate) fn bits_in_page(&self, offset: u16) -> u32 {
        let at = self.host_page.start().wrapping_add(usize::from(offset));
        // SAFETY: the page is 4 KiB of readable memory, and the offset even.
        let low = u32::from(unsafe { at.cast::<u16>().read_unaligned() });
        if low & 3 != 3 || offset > 0xffc {
            return low;
        }
        // SAFETY: the instruction ends in the page.
        low | u32::from(unsafe { at.wrapping_add(2).cast::<u16>().read_unaligned() }) << 16
    }

    /// At a floating-point gate: passes it if the unit is on and the rounding mode valid. The unit becomes dirty here, before the
    /// block's first write to it, which the specification allows (Privileged 1.13, section 3.1.6.6: "imprecisely").
    fn open_gate(&mut self) -> bool {
        if self.csrs.float != FloatUnit::Off && self.frm <= 4 {
            self.csrs.float = FloatUnit::Dirty;
            self.update_float_open();
        }
        self.float_open
    }

    /// Whether a floating-point instruction may execute; marks the unit dirty if so.
    fn check_float(&mut self, instruction: &Instruction, bits: u32) -> Result<(), Trap> {
        const DYNAMIC: i32 = 7;
        let rounds = instruction.opcode.class() == Class::float && instruction.opcode.rounds();
        let reserved_mode = rounds && instruction.imm & 7 == DYNAMIC && self.frm > 4;
        if self.csrs.float == FloatUnit::Off || reserved_mode {
            return Err(Trap::illegal(bits));
        }
        self.csrs.float = FloatUnit::Dirty;
        self.update_float_open();
        Ok(())
    }

    /// The target of a jump that is taken and misaligned.
    fn misaligned_target(&self, instruction: &Instruction) -> Option<u64> {
        if self.isa.c {
            return None;
        }
        let (a, b) = (self.register(instruction.rs1), self.register(instruction.rs2));
        let direct = self.pc.wrapping_add(instruction.imm as i64 as u64);
        let (taken, target) = match instruction.opcode {
            Opcode::Beq => (alu::eq(a, b), direct),
            Opcode::Bne => (alu::ne(a, b), direct),
            Opcode::Blt => (alu::lt(a, b), direct),
            Opcode::Bge => (alu::ge(a, b), direct),
            Opcode::Bltu => (alu::ltu(a, b), direct),
            Opcode::Bgeu => (alu::geu(a, b), direct),
            Opcode::Jal => (true, direct),
            Opcode::Jalr => (true, a.wrapping_add(instruction.imm as i64 as u64) & !1),
            _ => (false, 0),
        };
        (taken && target & 2 != 0).then_some(target)
    }

    fn system<B: Bus>(
        &mut self,
        instruction: &Instruction,
        code: &mut CodeCache<B>,
        bus: &mut B,
    ) -> Result<Option<Exit>, Trap> {
        const FENCE_I: u32 = 0x100f;
        const ECALL: u32 = 0x0000_0073;
        const EBREAK: u32 = 0x0010_0073;
        const C_EBREAK: u32 = 0x9002;
        const SRET: u32 = 0x1020_0073;
        const WFI: u32 = 0x1050_0073;
        const WRS_NTO: u32 = 0x00d0_0073;
        const WRS_STO: u32 = 0x01d0_0073;

        let bits = instruction.imm as u32;
        let illegal = Err(Trap::illegal(bits));
        let supervisor = self.privilege == Privilege::Supervisor;
        let exit = match bits {
            ECALL if supervisor => Some(Exit::SupervisorCall),
            ECALL => return Err(Trap { cause: Exception::UserCall, value: 0 }),
            EBREAK => return Err(Trap { cause: Exception::Breakpoint, value: self.pc }),
            C_EBREAK if self.isa.c => return Err(Trap { cause: Exception::Breakpoint, value: self.pc }),
            SRET if supervisor => {
                self.return_from_handler();
                self.retire();
                self.tell_transfer(bus, |sp| Transfer::TrapReturn { target: self.pc, sp, to: self.privilege });
                self.report(bus, Report::Serialize(Serialize::Trap));
                return Ok(None);
            }
            WFI if supervisor => (!self.wakes()).then_some(Exit::Wait),
            decode::PAUSE if self.isa.spins_exit => Some(Exit::Pause),
            WRS_NTO if self.isa.zawrs && self.isa.spins_exit => Some(Exit::ReservationWait),
            // A wait on a reservation may end at any time, and here it ends at once: no other hart stores while this one runs.
            WRS_NTO | WRS_STO if self.isa.zawrs => None,
            _ if bits & 0xfe00_7fff == 0x1200_0073 && supervisor => {
                bus.fence(self.fence_operands(bits));
                None
            }
            // Stores drop the translations of what they overwrite at once; what devices wrote goes now. The next instruction is looked up again.
            _ if bits & 0x707f == FENCE_I => {
                bus.foreign_writes(&mut |at, bytes| code.written(at, bytes));
                None
            }
            _ if bits & 0x000f_ffff == 0x0000_2013 => Some(Exit::Marker((bits >> 20) as u16)),
            _ if bits & 0x7f == 0x73 && bits >> 12 & 3 != 0 => {
                let run_so_far = self.counts().instructions - self.run_start();
                match self.access_csr(bits, bus, run_so_far) {
                    Ok(exit) => exit,
                    Err(IllegalCsr) => return illegal,
                }
            }
            _ => return illegal,
        };
        self.pc = self.pc.wrapping_add(u64::from(instruction.length));
        self.retire();
        let csr = instruction.opcode == Opcode::Csr;
        self.report(bus, Report::Serialize(if csr { Serialize::Csr } else { Serialize::Fence }));
        Ok(exit)
    }

    /// `sfence.vma`'s operands; register `x0` means all.
    fn fence_operands(&self, bits: u32) -> Fence {
        let operand = |field: u32| (field != 0).then(|| self.register(field as u8));
        Fence { gva: operand(bits >> 15 & 31).map(Gva), asid: operand(bits >> 20 & 31).map(|asid| Asid(asid as u16)) }
    }

    /// A CSR access that was not made in place.
    fn access_csr<B: Bus>(&mut self, bits: u32, bus: &mut B, retired: u64) -> Result<Option<Exit>, IllegalCsr> {
        let access = CsrAccess::decode(bits, self);
        let old = self.read_csr(access.csr, bus, retired)?;
        let exit = match access.written(old) {
            Some(new) => self.write_csr(access.csr, new, bus, retired)?,
            None => None,
        };
        access.deliver(self, old);
        Ok(exit)
    }
}
