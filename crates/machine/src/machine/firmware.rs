//! SBI calls, executed: [`hypervisor::sbi`] says what a call asks for, and here it happens to harts, processors and console.

use super::trace;
use crate::results::events::EventInterrupt;
use crate::state::pmu;
use crate::state::primary_region;
use crate::state::shadow;
use crate::{machine::Machine, parts::steal::StealTime, parts::vcpu::Vcpu, results::outcome::Outcome};
use core::ops::Range;
use hart::{Hart, Interrupt, Stop};
use hypervisor::{
    Entry, HartState, Suspend,
    pmu::FirmwareEvent,
    sbi::{
        self, ConsoleBuffer, ConsoleRequest, Extension, FeatureRequest, Features, HsmRequest, LegacyRequest, Limits,
        RemoteFence, Request, ResetKind, ResetReason, SbiCall, SbiError, SbiReturn,
    },
};
use mmu::{AdPolicy, Mmu};
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
    /// Executes the SBI call that vCPU `index` has just made.
    pub(crate) fn supervisor_call(&mut self, index: usize, now: Cycles) -> Option<Outcome> {
        let Vcpu { hart, guest, .. } = &self.vcpus[index];
        let (hart, guest) = (hart, *guest);
        let call = SbiCall {
            eid: hart.register(A7),
            fid: hart.register(A6),
            args: core::array::from_fn(|number| hart.register(A0 + number as u8)),
        };
        let limits = self.limits(guest);
        let request = sbi::decode(&call, &limits);
        if !request.as_ref().is_ok_and(|request| shadow::charges_itself(&self.state, guest, request)) {
            self.state.charge_exit(self.extensions.exit_reason(call.eid));
        }
        let answer = match request {
            Ok(request) => self.execute(index, &request, now),
            Err(error) => Answer::Return(Err(error)),
        };
        match answer {
            Answer::Return(result) => {
                let hart = &mut self.vcpus[index].hart;
                if self.extensions.of(call.eid) == Some(Extension::Legacy) {
                    // A legacy call returns its value in `a0`, and leaves `a1` as it is.
                    hart.set_register(A0, result.unwrap_or_else(|error| error.code() as u64));
                    return None;
                }
                let SbiReturn { error, value } = result.into();
                hart.set_register(A0, error as u64);
                hart.set_register(A1, value);
                None
            }
            Answer::NoReturn => None,
            Answer::End(outcome) => Some(outcome),
        }
    }

    /// What calls of a guest can refer to.
    fn limits(&self, guest: usize) -> Limits {
        Limits { harts: self.harts_of(guest).count(), ram: self.state.vms[guest].ram(), extensions: self.extensions }
    }

    fn execute(&mut self, index: usize, request: &Request, now: Cycles) -> Answer {
        let Vcpu { guest, hart_id, .. } = self.vcpus[index];
        match *request {
            Request::Paravirtual(ref request) => Answer::Return(self.paravirtual(index, request)),
            Request::Base(query) => Answer::Return(Ok(query.answer())),
            Request::SetTimer { at } => {
                // The call itself has taken time since it was made.
                let current = self.state.current.processor;
                let time = self.clock().time(self.clock_of_pcpu(current));
                self.vcpus[index].hart.set_timer(at, time);
                pmu::count_firmware(&mut self.state, guest, hart_id, FirmwareEvent::SetTimer);
                Answer::Return(Ok(0))
            }
            Request::SendIpi { harts } => {
                self.count_request(index, harts, FirmwareEvent::IpiSent, FirmwareEvent::IpiReceived);
                for target in self.harts_of(guest) {
                    let vcpu = &mut self.vcpus[target];
                    if harts.contains(vcpu.hart_id) {
                        vcpu.hart.set_pending(Interrupt::Software, true);
                        vcpu.event = now;
                        trace::interrupt(self, target, now, EventInterrupt::Software);
                        self.wake_if_due(target, now);
                    }
                }
                Answer::Return(Ok(0))
            }
            Request::RemoteFence { harts, fence } => {
                let (sent, received) = fence_events(fence);
                self.count_request(index, harts, sent, received);
                if let RemoteFence::Address { range, asid } = fence
                    && self.state.vms[guest].is_shadowed()
                {
                    shadow::fence_remotely(&mut self.state, harts, range, asid);
                }
                for target in self.harts_of(guest) {
                    if harts.contains(self.vcpus[target].hart_id) {
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
            Request::Legacy(request) => self.legacy_call(index, request, now),
            Request::Pmu(request) => {
                let instructions = self.vcpus[index].hart.counts().instructions;
                Answer::Return(pmu::serve(&mut self.state, request, instructions))
            }
            Request::Suspend(entry) => self.suspend_system(index, entry),
            Request::Features(request) => Answer::Return(self.feature_call(index, request)),
            Request::StealTime(area) => Answer::Return(self.set_steal_area(index, area)),
        }
    }

    /// Harts take turns, so the fence is done at once, before the target's next instruction: where it runs, or where it ran last and may have
    /// left entries. One that has never run has left none.
    fn fence_remotely(&mut self, target: usize, fence: RemoteFence) {
        match fence {
            // Stores drop translated code as they happen.
            RemoteFence::Instruction => {}
            RemoteFence::Address { range, asid } => {
                let vmid = self.state.vms[self.vcpus[target].guest].vmid();
                let Some(pcpu) = self.vcpus[target].residence.ran_on else { return };
                let mmu = &mut self.state.processors[pcpu].mmu;
                for gva in range.operands() {
                    mmu.fence(&mmu::Fence::Vvma { vmid, gva, asid });
                }
            }
        }
    }

    fn manage_hart(&mut self, index: usize, request: HsmRequest, now: Cycles) -> Answer {
        let guest = self.vcpus[index].guest;
        match request {
            HsmRequest::Start { hart, entry } => {
                let target = self.find(guest, hart);
                let result = self.vcpus[target].state.start(entry);
                if result.is_ok() {
                    self.vcpus[target].event = now;
                    self.wake_if_due(target, now);
                }
                Answer::Return(result.map(|()| 0))
            }
            HsmRequest::Stop => match self.vcpus[index].state.stop() {
                Ok(()) => Answer::NoReturn,
                Err(error) => Answer::Return(Err(error)),
            },
            HsmRequest::Status { hart } => {
                let target = self.find(guest, hart);
                Answer::Return(Ok(self.vcpus[target].state.status()))
            }
            HsmRequest::Suspend(how) => Answer::Return(self.vcpus[index].state.suspend(how).map(|()| 0)),
        }
    }

    /// Suspend to RAM: the calling hart sleeps alone until an interrupt that it has enabled is pending, and then begins at `entry`. The others
    /// have to be stopped (SBI 3.0, section 13.1).
    fn suspend_system(&mut self, index: usize, entry: Entry) -> Answer {
        let mut others = self.harts_of(self.vcpus[index].guest).filter(|&other| other != index);
        if others.any(|other| self.vcpus[other].state != HartState::Stopped) {
            return Answer::Return(Err(SbiError::Denied));
        }
        match self.vcpus[index].state.suspend(Suspend::NonRetentive(entry)) {
            Ok(()) => Answer::NoReturn,
            Err(error) => Answer::Return(Err(error)),
        }
    }

    fn feature_call(&mut self, index: usize, request: FeatureRequest) -> Result<u64, SbiError> {
        let features = &mut self.vcpus[index].features;
        let value = features.serve(request)?;
        switch_hardware_ad(&mut self.state.processor().mmu, features);
        Ok(value)
    }

    /// The firmware features of a hart that was reset.
    pub(crate) fn reset_features(&self) -> Features {
        Features::new(self.isa.svade && self.isa.svadu)
    }

    fn legacy_call(&mut self, index: usize, request: LegacyRequest, now: Cycles) -> Answer {
        let guest = self.vcpus[index].guest;
        match request {
            LegacyRequest::GetCharacter => Answer::Return(Ok(self.typed_byte(guest).map_or(u64::MAX, u64::from))),
            LegacyRequest::ClearIpi => {
                let hart = &mut self.vcpus[index].hart;
                let pending = hart.pending(Interrupt::Software);
                hart.set_pending(Interrupt::Software, false);
                Answer::Return(Ok(u64::from(pending)))
            }
            LegacyRequest::Masked { mask, call } => {
                let bits = match mask.0 {
                    0 => Ok(None),
                    address => self.state.load_for_call(address).map(Some),
                };
                let hart = &mut self.vcpus[index].hart;
                match bits {
                    Ok(bits) => self.execute(index, &call.request(bits, &self.limits(guest)), now),
                    Err(Stop::Trap(trap)) => {
                        hart.fail_call(trap);
                        Answer::NoReturn
                    }
                    Err(Stop::Leave) => {
                        hart.repeat_call();
                        Answer::NoReturn
                    }
                }
            }
        }
    }

    /// The next byte that was typed for a guest: from its UART, which firmware shares with its driver, or from the terminal.
    fn typed_byte(&mut self, guest: usize) -> Option<u8> {
        let received = self.state.guests[guest].platform.take_console_byte();
        received.or_else(|| self.records[guest].typed.pop_front())
    }

    fn console_call(&mut self, guest: usize, request: ConsoleRequest) -> Result<u64, SbiError> {
        // What the guest has sent by its UART in this turn comes first.
        let sent = self.state.guests[guest].platform.take_console_output();
        self.records[guest].printed.extend(sent);
        match request {
            ConsoleRequest::WriteByte(byte) => {
                self.records[guest].printed.push(byte);
                Ok(0)
            }
            ConsoleRequest::Write(ConsoleBuffer { at, bytes }) => {
                let mut buffer = vec![0; bytes.min(CONSOLE_CHUNK) as usize];
                self.state.read_guest(guest, at, &mut buffer).map_err(|_| SbiError::Failed)?;
                self.records[guest].printed.extend(&buffer);
                Ok(buffer.len() as u64)
            }
            ConsoleRequest::Read(ConsoleBuffer { at, bytes }) => {
                let most = bytes.min(CONSOLE_CHUNK) as usize;
                let typed: Vec<u8> = std::iter::from_fn(|| self.typed_byte(guest)).take(most).collect();
                self.state.write_guest(guest, at, &typed).map_err(|_| SbiError::Failed)?;
                Ok(typed.len() as u64)
            }
        }
    }

    /// Indices of a guest's vCPUs.
    pub(crate) fn harts_of(&self, guest: usize) -> Range<usize> {
        self.records[guest].vcpus.clone()
    }

    /// The vCPU that is hart `hart` of a guest. Decoding has checked that there is one.
    fn find(&self, guest: usize, hart: usize) -> usize {
        self.harts_of(guest).nth(hart).expect("decoding refuses harts that do not exist")
    }

    /// Sets a hart up to begin where the HSM says, if it was started or woken: S-mode, translation and interrupts off, hart ID in `a0`. One that
    /// was woken finds its timer, and pending what woke it; one that was started is reset.
    pub(crate) fn begin_if_pending(&mut self, index: usize) {
        let resumes = matches!(self.vcpus[index].state, HartState::ResumePending(_));
        let Some(entry) = self.vcpus[index].state.enter() else { return };
        let features = self.reset_features();
        let vcpu = &mut self.vcpus[index];
        let begun = Hart::new(self.isa, self.paging).counting_on(&vcpu.hart);
        if resumes {
            vcpu.hart = begun.with_interrupts_of(&vcpu.hart);
        } else {
            vcpu.hart = begun;
            vcpu.features = features;
            vcpu.steal = StealTime::default();
            let level = self.state.guests[vcpu.guest].platform.external_interrupt(vcpu.hart_id);
            vcpu.hart.set_pending(Interrupt::External, level);
            if let Some(pcpu) = vcpu.residence.pcpu {
                switch_hardware_ad(&mut self.state.processors[pcpu].mmu, &features);
            }
        }
        let vcpu = &mut self.vcpus[index];
        vcpu.hart.set_pc(entry.pc.0);
        vcpu.hart.set_register(A0, vcpu.hart_id as u64);
        vcpu.hart.set_register(A1, entry.opaque);
        let (guest, hart) = (vcpu.guest, vcpu.hart_id);
        primary_region::reset(&mut self.state, guest, hart);
    }
}

/// A walker sets A and D bits as the hart on its pCPU has asked, if that is for the guest to say.
pub(super) fn switch_hardware_ad(mmu: &mut Mmu, features: &Features) {
    if let Some(on) = features.hardware_ad() {
        let policy = if on { AdPolicy::Update } else { AdPolicy::Fault };
        mmu.set_first_stage_ad(policy);
    }
}

/// What a remote fence is counted as, where it is sent and where it is received.
const fn fence_events(fence: RemoteFence) -> (FirmwareEvent, FirmwareEvent) {
    match fence {
        RemoteFence::Instruction => (FirmwareEvent::FenceISent, FirmwareEvent::FenceIReceived),
        RemoteFence::Address { asid: None, .. } => (FirmwareEvent::SfenceSent, FirmwareEvent::SfenceReceived),
        RemoteFence::Address { asid: Some(_), .. } => {
            (FirmwareEvent::SfenceAsidSent, FirmwareEvent::SfenceAsidReceived)
        }
    }
}
