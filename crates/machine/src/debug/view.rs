//! What a stopped machine is: registers, memory, walks, TLBs, counts; and what a debugger changes.

use super::session::DebugSession;
use crate::parts::vcpu::{Activity, Vcpu};
use crate::results::statistics::Statistics;
use crate::results::walks::RecordedWalk;
use crate::state::primary_region;
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
    /// The vCPU has run on no pCPU yet.
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
    /// The hart that a vCPU is.
    #[must_use]
    pub fn hart(&self, vcpu: usize) -> HartView {
        let vcpu = self.vcpu(vcpu);
        let pcpu = vcpu.residence.pcpu;
        let cycle = pcpu.map_or_else(|| self.machine.elapsed(), |pcpu| self.machine.clock_of_pcpu(pcpu));
        let activity = match vcpu.activity() {
            Activity::Stopped => HartActivity::Stopped,
            Activity::Running => HartActivity::Running,
            Activity::Waiting => HartActivity::Waiting,
        };
        HartView { registers: vcpu.hart.registers(), activity, pcpu, cycle, time: self.machine.clock().time(cycle) }
    }

    /// Gives a vCPU these registers. What a register cannot hold is dropped, as where it is written.
    pub fn set_registers(&mut self, vcpu: usize, registers: &Registers) {
        let hart = &mut self.machine.vcpus[vcpu].hart;
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

    /// Copies the bytes at a vCPU's guest virtual address to `to`, as far as they can be read; returns how many. What the vCPU itself may read makes no
    /// difference.
    ///
    /// # Errors
    /// [`LookError`]: not even the first byte can be.
    pub fn read_virtual(&self, vcpu: usize, gva: Gva, to: &mut [u8]) -> Result<usize, LookError> {
        let mut done = 0;
        while done < to.len() {
            let gva = gva.wrapping_add(done as u64);
            let read = self.translate(vcpu, gva);
            let read = read.and_then(|gpa| Ok(self.read_some(self.guest_of(vcpu), gpa, &mut to[done..])?));
            match read {
                Ok(bytes) => done += bytes,
                Err(error) if done == 0 => return Err(error),
                Err(_) => break,
            }
        }
        Ok(done)
    }

    /// Copies the bytes at a guest's physical address to `to`.
    ///
    /// # Errors
    /// [`PeekError`]: a byte cannot be read.
    pub fn read_guest(&self, guest: usize, gpa: Gpa, to: &mut [u8]) -> Result<(), PeekError> {
        let mut done = 0;
        while done < to.len() {
            done += self.read_some(guest, gpa.wrapping_add(done as u64), &mut to[done..])?;
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

    /// Stores `bytes` at a vCPU's guest virtual address, whatever the vCPU itself may write. Pages get frames for it, as for a device's writes.
    ///
    /// # Errors
    /// [`LookError`]; what is before the page that failed is written.
    pub fn write_virtual(&mut self, vcpu: usize, gva: Gva, bytes: &[u8]) -> Result<(), LookError> {
        let mut done = 0;
        while done < bytes.len() {
            let gva = gva.wrapping_add(done as u64);
            let left = (PageSize::Size4K.bytes() - gva.offset(PageSize::Size4K)) as usize;
            let piece = &bytes[done..(done + left).min(bytes.len())];
            let gpa = self.translate(vcpu, gva)?;
            self.write_some(self.guest_of(vcpu), gpa, piece).map_err(|_| LookError::Memory(PeekError::NotMemory))?;
            done += piece.len();
        }
        Ok(())
    }

    /// The walk that a load of a vCPU from `gva` makes, with nothing remembered and with what its pCPU remembers.
    ///
    /// # Errors
    /// [`LookError`].
    pub fn walk(&self, vcpu: usize, gva: Gva) -> Result<RecordedWalk, LookError> {
        let walk = |memo| self.record(vcpu, gva, memo);
        Ok(RecordedWalk { whole: walk(Memo::Empty)?, cached: walk(Memo::AsItIs)? })
    }

    /// What the TLBs of a vCPU's pCPU hold for its guest.
    ///
    /// # Errors
    /// [`LookError::NoPcpu`].
    pub fn tlb(&self, vcpu: usize) -> Result<TlbContents, LookError> {
        Ok(self.mmu(vcpu)?.tlb_contents(self.machine.state.vms[self.guest_of(vcpu)].vmid()))
    }

    /// What a vCPU has counted from the beginning.
    #[must_use]
    pub fn statistics_of_vcpu(&self, vcpu: usize) -> Statistics {
        self.machine.statistics_of_vcpu(vcpu)
    }

    /// What the harts of a guest have counted together from the beginning.
    #[must_use]
    pub fn statistics_of(&self, guest: usize) -> Statistics {
        self.machine.statistics_of(guest)
    }

    fn vcpu(&self, vcpu: usize) -> &Vcpu {
        &self.machine.vcpus[vcpu]
    }

    /// The MMU of the pCPU that a vCPU has, or had last.
    fn mmu(&self, vcpu: usize) -> Result<&Mmu, LookError> {
        let residence = &self.vcpu(vcpu).residence;
        let pcpu = residence.pcpu.or(residence.ran_on).ok_or(LookError::NoPcpu)?;
        Ok(&self.machine.state.processors[pcpu].mmu)
    }

    /// How a vCPU translates, with the right to load from every page.
    fn context(&self, vcpu: usize) -> TranslationContext {
        self.vcpu(vcpu).hart.context().that_may_load_all()
    }

    fn record(&self, vcpu: usize, gva: Gva, memo: Memo) -> Result<WalkRecord, LookError> {
        let state = &self.machine.state;
        let (guest, hart) = (self.guest_of(vcpu), self.hart_of(vcpu));
        let vm = &state.vms[guest];
        // Under shadow tables, the hardware walks from their root and not from the guest's.
        let context = vm.shadow_context(hart).map_or_else(|| self.context(vcpu), TranslationContext::that_may_load_all);
        let request = WalkRequest { context, vmid: vm.vmid(), gva, memo };
        let mut memory = WalkMemory::new(&state.host.memory);
        let second = vm.second_stage_of(hart);
        // A vCPU without a pCPU finds its own registers there when it is dispatched, and not those of who runs there now.
        let segments = primary_region::registers(state, guest, hart);
        self.mmu(vcpu)?.record_walk_of(&mut memory, (&second, &segments), &request).map_err(LookError::Fault)
    }

    /// Where an address of a vCPU is in guest physical memory, by its segment or by the guest's tables.
    fn translate(&self, vcpu: usize, gva: Gva) -> Result<Gpa, LookError> {
        let state = &self.machine.state;
        let context = self.context(vcpu);
        // A segment that maps the address takes the place of the guest's tables, and then the walk needs none of them.
        if state.segments.has_guest_segment()
            && let Ok(walk) = self.record(vcpu, gva, Memo::Empty)
            && walk.guest_segment.is_some()
        {
            return Ok(walk.gpa);
        }
        if context.mode == PagingMode::Bare {
            return Ok(Gpa(gva.0));
        }
        let leaf =
            state.vms[self.guest_of(vcpu)].look_up(&state.host.memory, &context, gva).map_err(LookError::Fault)?;
        Ok(Gpa(leaf.page.0 | gva.offset(leaf.size)))
    }

    fn read_some(&self, guest: usize, gpa: Gpa, to: &mut [u8]) -> Result<usize, PeekError> {
        let state = &self.machine.state;
        state.vms[guest].peek_bytes(&state.host.memory, gpa, to)
    }

    fn write_some(&mut self, guest: usize, gpa: Gpa, bytes: &[u8]) -> Result<(), GuestMemoryError> {
        let state = &mut self.machine.state;
        let before = state.foreign_writes.len();
        state.write_guest(guest, gpa, bytes)?;
        // The hart that was stopped may be about to execute what was written.
        let before = before.min(state.foreign_writes.len());
        for (at, bytes) in state.foreign_writes.drain(before..) {
            self.machine.code.written(at as *const u8, bytes);
        }
        Ok(())
    }
}
