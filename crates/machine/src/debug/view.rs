//! What a stopped machine is: registers, memory, walks, TLBs, counts; and what a debugger changes.

use super::session::{DebugSession, GUEST};
use crate::parts::vcpu::{Activity, Vcpu};
use crate::results::statistics::Statistics;
use crate::results::walks::RecordedWalk;
use hart::Registers;
use hypervisor::{GuestMemoryError, PeekError, WalkMemory};
use memory::OutsideMemory;
use mmu::{Fault, Memo, Mmu, TlbContents, WalkRecord, WalkRequest};
use types::{Cycles, Gpa, Gva, Hpa, PageSize, PagingMode, TranslationContext};

/// Why an address of a hart cannot be looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LookError {
    /// It is not translated.
    #[error("{0}")]
    Fault(Fault),
    /// There is no memory where it leads.
    #[error(transparent)]
    Memory(#[from] PeekError),
    /// The hart has run on no pCPU yet.
    #[error("the hart has had no pCPU yet")]
    NoPcpu,
}

/// What a hart is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HartActivity {
    /// Not started by the guest, or stopped by it.
    Stopped,
    /// It executes.
    Running,
    /// It waits for an interrupt.
    Waiting,
}

/// A hart, as a debugger shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HartView {
    /// Its registers.
    pub registers: Registers,
    /// What it is doing.
    pub activity: HartActivity,
    /// The pCPU that it has.
    pub pcpu: Option<usize>,
    /// The clock of that pCPU, and the guest's `time` there.
    pub cycle: Cycles,
    /// `time`.
    pub time: u64,
}

impl DebugSession<'_> {
    /// A hart.
    #[must_use]
    pub fn hart(&self, hart: usize) -> HartView {
        let vcpu = &self.machine.vcpus[self.index(hart)];
        let pcpu = vcpu.residence.pcpu;
        let cycle = pcpu.map_or_else(|| self.machine.elapsed(), |pcpu| self.machine.clock_of_pcpu(pcpu));
        let activity = match vcpu.activity() {
            Activity::Stopped => HartActivity::Stopped,
            Activity::Running => HartActivity::Running,
            Activity::Waiting => HartActivity::Waiting,
        };
        HartView { registers: vcpu.hart.registers(), activity, pcpu, cycle, time: self.machine.clock().time(cycle) }
    }

    /// Gives a hart these registers. What a register cannot hold is dropped, as where it is written.
    pub fn set_registers(&mut self, hart: usize, registers: &Registers) {
        let index = self.index(hart);
        let hart = &mut self.machine.vcpus[index].hart;
        let before = hart.registers();
        if before == *registers {
            return;
        }
        hart.set_registers(registers);
        // With `x` and `f` alone the hart is where it was.
        if hart.registers() != (Registers { x: registers.x.clone(), f: registers.f.clone(), ..before }) {
            hart.leave_block();
        }
    }

    /// Copies the bytes at a hart's guest virtual address to `to`, as far as they can be read; returns how many. What the hart itself may read makes no
    /// difference.
    ///
    /// # Errors
    /// [`LookError`]: not even the first byte can be.
    pub fn read_virtual(&self, hart: usize, gva: Gva, to: &mut [u8]) -> Result<usize, LookError> {
        let mut done = 0;
        while done < to.len() {
            let gva = gva.wrapping_add(done as u64);
            let read = self.translate(hart, gva).and_then(|gpa| Ok(self.read_some(gpa, &mut to[done..])?));
            match read {
                Ok(bytes) => done += bytes,
                Err(error) if done == 0 => return Err(error),
                Err(_) => break,
            }
        }
        Ok(done)
    }

    /// Copies the bytes at a guest physical address to `to`.
    ///
    /// # Errors
    /// [`PeekError`]: a byte cannot be read.
    pub fn read_guest(&self, gpa: Gpa, to: &mut [u8]) -> Result<(), PeekError> {
        let mut done = 0;
        while done < to.len() {
            done += self.read_some(gpa.wrapping_add(done as u64), &mut to[done..])?;
        }
        Ok(())
    }

    /// Copies the bytes at a host physical address to `to`.
    ///
    /// # Errors
    /// [`OutsideMemory`].
    pub fn read_host(&self, hpa: Hpa, to: &mut [u8]) -> Result<(), OutsideMemory> {
        self.machine.state.host.memory.read_slice(hpa, to)
    }

    /// Stores `bytes` at a hart's guest virtual address, whatever the hart itself may write. Pages get frames for it, as for a device's writes.
    ///
    /// # Errors
    /// [`LookError`]; what is before the page that failed is written.
    pub fn write_virtual(&mut self, hart: usize, gva: Gva, bytes: &[u8]) -> Result<(), LookError> {
        let mut done = 0;
        while done < bytes.len() {
            let gva = gva.wrapping_add(done as u64);
            let left = (PageSize::Size4K.bytes() - gva.offset(PageSize::Size4K)) as usize;
            let piece = &bytes[done..(done + left).min(bytes.len())];
            let gpa = self.translate(hart, gva)?;
            self.write_some(gpa, piece).map_err(|_| LookError::Memory(PeekError::NotMemory))?;
            done += piece.len();
        }
        Ok(())
    }

    /// The walk that a load of the hart from `gva` makes, with nothing remembered and with what its pCPU remembers.
    ///
    /// # Errors
    /// [`LookError`].
    pub fn walk(&self, hart: usize, gva: Gva) -> Result<RecordedWalk, LookError> {
        let walk = |memo| self.record(hart, gva, memo);
        Ok(RecordedWalk { whole: walk(Memo::Empty)?, cached: walk(Memo::AsItIs)? })
    }

    /// What the TLBs of a hart's pCPU hold for the guest.
    ///
    /// # Errors
    /// [`LookError::NoPcpu`].
    pub fn tlb(&self, hart: usize) -> Result<TlbContents, LookError> {
        Ok(self.mmu(hart)?.tlb_contents(self.machine.state.vms[GUEST].vmid()))
    }

    /// What a hart has counted from the beginning.
    #[must_use]
    pub fn statistics_of_hart(&self, hart: usize) -> Statistics {
        self.machine.statistics_of_vcpu(self.index(hart))
    }

    /// What all harts have counted together from the beginning.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.machine.statistics_of(GUEST)
    }

    fn vcpu(&self, hart: usize) -> &Vcpu {
        &self.machine.vcpus[self.index(hart)]
    }

    /// The MMU of the pCPU that a hart has, or had last.
    fn mmu(&self, hart: usize) -> Result<&Mmu, LookError> {
        let residence = &self.vcpu(hart).residence;
        let pcpu = residence.pcpu.or(residence.ran_on).ok_or(LookError::NoPcpu)?;
        Ok(&self.machine.state.processors[pcpu].mmu)
    }

    /// How a hart translates, with the right to load from every page.
    fn context(&self, hart: usize) -> TranslationContext {
        self.vcpu(hart).hart.context().that_may_load_all()
    }

    fn record(&self, hart: usize, gva: Gva, memo: Memo) -> Result<WalkRecord, LookError> {
        let state = &self.machine.state;
        let (vm, hart_id) = (&state.vms[GUEST], self.vcpu(hart).hart_id);
        // Under shadow tables, the hardware walks from their root and not from the guest's.
        let context =
            vm.shadow_context(hart_id).map_or_else(|| self.context(hart), TranslationContext::that_may_load_all);
        let request = WalkRequest { context, vmid: vm.vmid(), gva, memo };
        let mut memory = WalkMemory::new(&state.host.memory);
        let second = vm.second_stage_of(hart_id);
        self.mmu(hart)?.record_walk_of(&mut memory, &second, &request).map_err(LookError::Fault)
    }

    /// Where an address of a hart is in guest physical memory, by its segment or by the guest's tables.
    fn translate(&self, hart: usize, gva: Gva) -> Result<Gpa, LookError> {
        let state = &self.machine.state;
        let context = self.context(hart);
        // A segment that maps the address takes the place of the guest's tables, and then the walk needs none of them.
        if state.segments.has_guest_segment()
            && let Ok(walk) = self.record(hart, gva, Memo::Empty)
            && walk.guest_segment.is_some()
        {
            return Ok(walk.gpa);
        }
        if context.mode == PagingMode::Bare {
            return Ok(Gpa(gva.0));
        }
        let leaf = state.vms[GUEST].look_up(&state.host.memory, &context, gva).map_err(LookError::Fault)?;
        Ok(Gpa(leaf.page.0 | gva.offset(leaf.size)))
    }

    fn read_some(&self, gpa: Gpa, to: &mut [u8]) -> Result<usize, PeekError> {
        let state = &self.machine.state;
        state.vms[GUEST].peek_bytes(&state.host.memory, gpa, to)
    }

    fn write_some(&mut self, gpa: Gpa, bytes: &[u8]) -> Result<(), GuestMemoryError> {
        let state = &mut self.machine.state;
        let before = state.foreign_writes.len();
        state.write_guest(GUEST, gpa, bytes)?;
        // The hart that was stopped may be about to execute what was written.
        let before = before.min(state.foreign_writes.len());
        for (at, bytes) in state.foreign_writes.drain(before..) {
            self.machine.code.written(at as *const u8, bytes);
        }
        Ok(())
    }
}
