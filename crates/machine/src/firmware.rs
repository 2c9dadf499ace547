//! SBI calls, executed: [`monitor::sbi`] says what a call asks for, and here it happens to harts, processors and console.

use crate::{
    machine::{Logical, Machine},
    outcome::Outcome,
};
use core::ops::Range;
use hart::{Hart, Interrupt};
use monitor::{
    HartState,
    sbi::{
        self, ConsoleBuffer, ConsoleRequest, HsmRequest, Limits, RemoteFence, Request, ResetKind, ResetReason, SbiCall,
        SbiError, SbiReturn,
    },
};
use types::Cycles;

const A0: u8 = 10;
const A1: u8 = 11;
const A6: u8 = 16;
const A7: u8 = 17;

/// The most bytes that one console call moves; the guest calls again for the rest.
const CONSOLE_CHUNK: u64 = 4096;

/// What a call leads to.
enum Answer {
    /// The hart goes on with this in `a0` and `a1`.
    Return(Result<u64, SbiError>),
    /// The hart does not return from the call.
    NoReturn,
    /// The run is over.
    End(Outcome),
}

impl Machine {
    /// Executes the SBI call that logical processor `index` has just made.
    pub(crate) fn supervisor_call(&mut self, index: usize, now: Cycles) -> Option<Outcome> {
        let Logical { hart, guest, .. } = &self.logicals[index];
        let (hart, guest) = (hart, *guest);
        let call = SbiCall {
            eid: hart.register(A7),
            fid: hart.register(A6),
            args: core::array::from_fn(|number| hart.register(A0 + number as u8)),
        };
        let limits = Limits { harts: self.harts_of(guest).count(), ram: self.world.vms[guest].ram() };
        let request = sbi::decode(&call, &limits);
        if !request.as_ref().is_ok_and(|request| self.world.charges_itself(guest, request)) {
            self.world.charge_exit(sbi::exit_reason(call.eid));
        }
        let answer = match request {
            Ok(request) => self.execute(index, &request, now),
            Err(error) => Answer::Return(Err(error)),
        };
        match answer {
            Answer::Return(result) => {
                let SbiReturn { error, value } = result.into();
                let hart = &mut self.logicals[index].hart;
                hart.set_register(A0, error as u64);
                hart.set_register(A1, value);
                None
            }
            Answer::NoReturn => None,
            Answer::End(outcome) => Some(outcome),
        }
    }

    fn execute(&mut self, index: usize, request: &Request, now: Cycles) -> Answer {
        let guest = self.logicals[index].guest;
        match *request {
            Request::Paravirtual(ref request) => Answer::Return(self.paravirtual(index, request)),
            Request::Base(query) => Answer::Return(Ok(query.answer())),
            Request::SetTimer { at } => {
                self.logicals[index].hart.set_timer(at);
                Answer::Return(Ok(0))
            }
            Request::SendIpi { harts } => {
                for target in self.harts_of(guest) {
                    let logical = &mut self.logicals[target];
                    if harts.contains(logical.hart_id) {
                        logical.hart.set_pending(Interrupt::Software, true);
                        logical.event = now;
                        self.rouse_if_woken(target, now);
                    }
                }
                Answer::Return(Ok(0))
            }
            Request::RemoteFence { harts, fence } => {
                if let RemoteFence::Address { range, asid } = fence
                    && self.world.vms[guest].is_shadowed()
                {
                    self.world.fence_shadow_remotely(harts, range, asid);
                }
                for target in self.harts_of(guest) {
                    if harts.contains(self.logicals[target].hart_id) {
                        self.fence_remotely(target, fence);
                    }
                }
                Answer::Return(Ok(0))
            }
            Request::Hsm(request) => self.manage_hart(index, request, now),
            Request::Reset { kind, reason } => Answer::End(match (kind, reason) {
                (ResetKind::Shutdown, ResetReason::None) => Outcome::Shutdown,
                (ResetKind::Shutdown, ResetReason::SystemFailure) => Outcome::GuestFailure,
                (ResetKind::ColdReboot | ResetKind::WarmReboot, ResetReason::None) => Outcome::Reset,
                (ResetKind::ColdReboot | ResetKind::WarmReboot, ResetReason::SystemFailure) => {
                    Outcome::ResetAfterFailure
                }
            }),
            Request::Console(request) => Answer::Return(self.console_call(guest, request)),
        }
    }

    /// Harts take turns, so the fence is done at once, before the target's next instruction: where it runs, or where it ran last and may have
    /// left entries. One that has never run has left none.
    fn fence_remotely(&mut self, target: usize, fence: RemoteFence) {
        match fence {
            // Stores drop translated code as they happen.
            RemoteFence::Instruction => {}
            RemoteFence::Address { range, asid } => {
                let vmid = self.world.vms[self.logicals[target].guest].vmid();
                let Some(real) = self.logicals[target].residence.ran_on else { return };
                let mmu = &mut self.world.processors[real].mmu;
                for gva in range.operands() {
                    mmu.fence(&mmu::Fence::Vvma { vmid, gva, asid });
                }
            }
        }
    }

    fn manage_hart(&mut self, index: usize, request: HsmRequest, now: Cycles) -> Answer {
        let guest = self.logicals[index].guest;
        match request {
            HsmRequest::Start { hart, entry } => {
                let target = self.find(guest, hart);
                let result = self.logicals[target].state.start(entry);
                if result.is_ok() {
                    self.logicals[target].event = now;
                    self.rouse_if_woken(target, now);
                }
                Answer::Return(result.map(|()| 0))
            }
            HsmRequest::Stop => match self.logicals[index].state.stop() {
                Ok(()) => Answer::NoReturn,
                Err(error) => Answer::Return(Err(error)),
            },
            HsmRequest::Status { hart } => {
                let target = self.find(guest, hart);
                Answer::Return(Ok(self.logicals[target].state.status()))
            }
            HsmRequest::Suspend(how) => Answer::Return(self.logicals[index].state.suspend(how).map(|()| 0)),
        }
    }

    fn console_call(&mut self, guest: usize, request: ConsoleRequest) -> Result<u64, SbiError> {
        match request {
            ConsoleRequest::WriteByte(byte) => {
                self.records[guest].printed.push(byte);
                Ok(0)
            }
            ConsoleRequest::Write(ConsoleBuffer { at, bytes }) => {
                let mut buffer = vec![0; bytes.min(CONSOLE_CHUNK) as usize];
                self.world.read_guest(guest, at, &mut buffer).map_err(|_| SbiError::Failed)?;
                self.records[guest].printed.extend(&buffer);
                Ok(buffer.len() as u64)
            }
            // What is typed goes to the guest's UART.
            ConsoleRequest::Read(_) => Ok(0),
        }
    }

    /// Indices of a guest's logical processors.
    pub(crate) fn harts_of(&self, guest: usize) -> Range<usize> {
        self.records[guest].logicals.clone()
    }

    /// The logical processor that is hart `hart` of a guest. Decoding has checked that there is one.
    fn find(&self, guest: usize, hart: usize) -> usize {
        self.harts_of(guest).nth(hart).expect("decoding refuses harts that do not exist")
    }

    /// Sets a hart up to begin where the HSM says, if it was started: S-mode, translation and interrupts off, hart ID in `a0`.
    pub(crate) fn begin_if_pending(&mut self, index: usize) {
        let Some(entry) = self.logicals[index].state.enter() else { return };
        let logical = &mut self.logicals[index];
        logical.hart = Hart::new(self.isa, self.paging).counting_on(&logical.hart);
        logical.hart.set_pc(entry.pc.0);
        logical.hart.set_register(A0, logical.hart_id as u64);
        logical.hart.set_register(A1, entry.opaque);
        let (guest, hart) = (logical.guest, logical.hart_id);
        self.world.reset_segment(guest, hart);
    }
}

/// Whether a logical processor takes turns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Activity {
    /// Not started by the guest, or stopped by it.
    Stopped,
    /// Executes, or is about to.
    Running,
    /// Waits for an interrupt.
    Waiting,
}

impl Logical {
    /// Whether it has nothing to do until something happens to it.
    pub(crate) fn is_idle(&self) -> bool {
        match self.activity() {
            Activity::Stopped => true,
            Activity::Waiting => !self.hart.wakes(),
            Activity::Running => false,
        }
    }

    /// What it is doing.
    pub(crate) const fn activity(&self) -> Activity {
        match self.state {
            HartState::Stopped => Activity::Stopped,
            HartState::StartPending(_) | HartState::ResumePending(_) => Activity::Running,
            HartState::Started if !self.waits => Activity::Running,
            HartState::Started | HartState::Suspended(_) => Activity::Waiting,
        }
    }
}
