//! The guest as a debugger's target: its harts are threads, of which number n is thread n + 1.

use super::commands;
use super::connection::Debugger;
use super::registers::{CoreRegisters, Register, Riscv64};
use gdbstub::common::{Signal, Tid};
use gdbstub::stub::MultiThreadStopReason;
use gdbstub::target::ext::base::BaseOps;
use gdbstub::target::ext::base::multithread::{
    MultiThreadBase, MultiThreadResume, MultiThreadResumeOps, MultiThreadSchedulerLocking,
    MultiThreadSchedulerLockingOps, MultiThreadSingleStep, MultiThreadSingleStepOps,
};
use gdbstub::target::ext::base::single_register_access::{SingleRegisterAccess, SingleRegisterAccessOps};
use gdbstub::target::ext::breakpoints::{
    Breakpoints, BreakpointsOps, HwBreakpoint, HwBreakpointOps, HwWatchpoint, HwWatchpointOps, SwBreakpoint,
    SwBreakpointOps, WatchKind,
};
use gdbstub::target::ext::monitor_cmd::{ConsoleOutput, MonitorCmd, MonitorCmdOps};
use gdbstub::target::ext::thread_extra_info::{ThreadExtraInfo, ThreadExtraInfoOps};
use gdbstub::target::{Target, TargetError, TargetResult};
use machine::debug::{
    DataKind, DataWatch, DebugEvent, DebugSession, DebugStop, HartActivity, HartView, StopCause, StopPoints,
};
use machine::{Console, Outcome};
use std::collections::BTreeSet;
use std::convert::Infallible;
use types::Gva;

/// Error numbers that GDB prints.
const EFAULT: u8 = 14;
const EINVAL: u8 = 22;

/// A guest under a debugger.
pub(super) struct DebuggedGuest<'r, 'm> {
    pub(super) session: DebugSession<'m>,
    console: &'r mut dyn Console,
    /// Addresses with breakpoints of either kind, which differ in name alone: guest memory is never changed for one.
    software: BTreeSet<u64>,
    hardware: BTreeSet<u64>,
    watched: Vec<(u64, u64, WatchKind)>,
    /// The hart that executes one instruction.
    step: Option<usize>,
    /// The hart that the debugger looked at last.
    pub(super) focus: usize,
    /// How the guest ended.
    pub(super) outcome: Option<Outcome>,
}

impl<'r, 'm> DebuggedGuest<'r, 'm> {
    pub(super) fn new(session: DebugSession<'m>, console: &'r mut dyn Console) -> Self {
        Self {
            session,
            console,
            software: BTreeSet::new(),
            hardware: BTreeSet::new(),
            watched: Vec::new(),
            step: None,
            focus: 0,
            outcome: None,
        }
    }

    /// Runs a turn. Returns what the debugger receives if the guest has stopped or ended. Where the guest waits, it does so until the debugger is heard.
    pub(super) fn advance(&mut self, debugger: &Debugger) -> Option<MultiThreadStopReason<u64>> {
        let mut console = super::console::Listening { console: self.console, debugger };
        match self.session.advance(&mut console) {
            DebugEvent::Turn => None,
            DebugEvent::Stopped(stop) => Some(self.reason(stop)),
            DebugEvent::Ended(outcome) => {
                let status = outcome.status();
                self.outcome = Some(outcome);
                Some(MultiThreadStopReason::Exited(status))
            }
        }
    }

    /// The debugger is gone; how the guest ends.
    pub(super) fn detach(self) -> Outcome {
        match self.outcome {
            Some(outcome) => outcome,
            None => self.session.detach(self.console),
        }
    }

    /// The debugger ends the run; how the guest has ended.
    pub(super) fn kill(self) -> Outcome {
        match self.outcome {
            Some(outcome) => outcome,
            None => self.session.kill(self.console),
        }
    }

    fn reason(&mut self, stop: DebugStop) -> MultiThreadStopReason<u64> {
        let DebugStop { hart, cause } = stop;
        self.focus = hart;
        let tid = thread(hart);
        match cause {
            StopCause::Step | StopCause::Instructions => {
                MultiThreadStopReason::SignalWithThread { tid, signal: Signal::SIGTRAP }
            }
            StopCause::Breakpoint if self.software.contains(&self.session.hart(hart).registers.pc) => {
                MultiThreadStopReason::SwBreak(tid)
            }
            StopCause::Breakpoint => MultiThreadStopReason::HwBreak(tid),
            StopCause::Data { address, kind } => {
                let kind = match kind {
                    DataKind::Read => WatchKind::Read,
                    DataKind::Write => WatchKind::Write,
                    DataKind::Any => WatchKind::ReadWrite,
                };
                MultiThreadStopReason::Watch { tid, kind, addr: address }
            }
        }
    }

    /// The hart of a thread.
    fn hart(&mut self, tid: Tid) -> TargetResult<usize, Self> {
        let hart = tid.get() - 1;
        if hart >= self.session.harts() {
            return Err(TargetError::Errno(EINVAL));
        }
        self.focus = hart;
        Ok(hart)
    }

    fn change(&mut self, hart: usize, change: impl FnOnce(&mut HartView) -> bool) -> TargetResult<(), Self> {
        let mut view = self.session.hart(hart);
        if !change(&mut view) {
            return Err(TargetError::Errno(EINVAL));
        }
        self.session.set_registers(hart, &view.registers);
        Ok(())
    }
}

/// The thread that a hart is.
pub(super) fn thread(hart: usize) -> Tid {
    Tid::MIN.saturating_add(hart)
}

impl Target for DebuggedGuest<'_, '_> {
    type Arch = Riscv64;
    type Error = Infallible;

    fn base_ops(&mut self) -> BaseOps<'_, Riscv64, Infallible> {
        BaseOps::MultiThread(self)
    }

    fn support_breakpoints(&mut self) -> Option<BreakpointsOps<'_, Self>> {
        Some(self)
    }

    fn support_monitor_cmd(&mut self) -> Option<MonitorCmdOps<'_, Self>> {
        Some(self)
    }
}

impl MultiThreadBase for DebuggedGuest<'_, '_> {
    fn read_registers(&mut self, registers: &mut CoreRegisters, tid: Tid) -> TargetResult<(), Self> {
        let hart = self.hart(tid)?;
        *registers = CoreRegisters::of(&self.session.hart(hart));
        Ok(())
    }

    fn write_registers(&mut self, registers: &CoreRegisters, tid: Tid) -> TargetResult<(), Self> {
        let hart = self.hart(tid)?;
        self.change(hart, |view| {
            view.registers.x = registers.x[1..].to_vec();
            view.registers.f = registers.f.to_vec();
            view.registers.pc = registers.pc;
            true
        })
    }

    fn support_single_register_access(&mut self) -> Option<SingleRegisterAccessOps<'_, Tid, Self>> {
        Some(self)
    }

    fn read_addrs(&mut self, start: u64, data: &mut [u8], tid: Tid) -> TargetResult<usize, Self> {
        let hart = self.hart(tid)?;
        self.session.read_virtual(hart, Gva(start), data).map_err(|_| TargetError::Errno(EFAULT))
    }

    fn write_addrs(&mut self, start: u64, data: &[u8], tid: Tid) -> TargetResult<(), Self> {
        let hart = self.hart(tid)?;
        self.session.write_virtual(hart, Gva(start), data).map_err(|_| TargetError::Errno(EFAULT))
    }

    fn list_active_threads(&mut self, register: &mut dyn FnMut(Tid)) -> Result<(), Infallible> {
        (0..self.session.harts()).for_each(|hart| register(thread(hart)));
        Ok(())
    }

    fn support_resume(&mut self) -> Option<MultiThreadResumeOps<'_, Self>> {
        Some(self)
    }

    fn support_thread_extra_info(&mut self) -> Option<ThreadExtraInfoOps<'_, Self>> {
        Some(self)
    }
}

impl ThreadExtraInfo for DebuggedGuest<'_, '_> {
    fn thread_extra_info(&self, tid: Tid, buffer: &mut [u8]) -> Result<usize, Infallible> {
        let hart = tid.get() - 1;
        let text = if hart < self.session.harts() { described(hart, &self.session.hart(hart)) } else { String::new() };
        let bytes = text.len().min(buffer.len());
        buffer[..bytes].copy_from_slice(&text.as_bytes()[..bytes]);
        Ok(bytes)
    }
}

/// A hart in a few words.
fn described(hart: usize, view: &HartView) -> String {
    let mode = if view.registers.supervisor { "S-mode" } else { "U-mode" };
    match view.activity {
        HartActivity::Stopped => format!("hart {hart}, not started"),
        HartActivity::Waiting => format!("hart {hart}, waits for an interrupt"),
        HartActivity::Running => format!("hart {hart}, {mode}"),
    }
}

impl SingleRegisterAccess<Tid> for DebuggedGuest<'_, '_> {
    fn read_register(&mut self, tid: Tid, register: Register, buffer: &mut [u8]) -> TargetResult<usize, Self> {
        let hart = self.hart(tid)?;
        let bytes = register.bytes().min(buffer.len());
        buffer[..bytes].copy_from_slice(&register.of(&self.session.hart(hart)).to_le_bytes()[..bytes]);
        Ok(bytes)
    }

    fn write_register(&mut self, tid: Tid, register: Register, value: &[u8]) -> TargetResult<(), Self> {
        let hart = self.hart(tid)?;
        let mut bytes = [0; 8];
        let given = bytes.get_mut(..value.len()).ok_or(TargetError::Errno(EINVAL))?;
        given.copy_from_slice(value);
        self.change(hart, |view| register.set(view, u64::from_le_bytes(bytes)))
    }
}

impl MultiThreadResume for DebuggedGuest<'_, '_> {
    fn resume(&mut self) -> Result<(), Infallible> {
        let breakpoints = self.software.union(&self.hardware).copied().collect();
        let data = self.watched.iter().map(|&(first, bytes, kind)| {
            let kind = match kind {
                WatchKind::Read => DataKind::Read,
                WatchKind::Write => DataKind::Write,
                WatchKind::ReadWrite => DataKind::Any,
            };
            DataWatch::new(first, bytes, kind)
        });
        self.session.resume(StopPoints::new(breakpoints, data.collect()), self.step);
        Ok(())
    }

    fn clear_resume_actions(&mut self) -> Result<(), Infallible> {
        self.step = None;
        Ok(())
    }

    fn set_resume_action_continue(&mut self, _: Tid, _: Option<Signal>) -> Result<(), Infallible> {
        Ok(())
    }

    fn support_single_step(&mut self) -> Option<MultiThreadSingleStepOps<'_, Self>> {
        Some(self)
    }

    fn support_scheduler_locking(&mut self) -> Option<MultiThreadSchedulerLockingOps<'_, Self>> {
        Some(self)
    }
}

impl MultiThreadSingleStep for DebuggedGuest<'_, '_> {
    fn set_resume_action_step(&mut self, tid: Tid, _: Option<Signal>) -> Result<(), Infallible> {
        self.step = Some(tid.get() - 1);
        Ok(())
    }
}

impl MultiThreadSchedulerLocking for DebuggedGuest<'_, '_> {
    /// Other harts have their turns all the same: another order of turns would be another run.
    fn set_resume_action_scheduler_lock(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Breakpoints for DebuggedGuest<'_, '_> {
    fn support_sw_breakpoint(&mut self) -> Option<SwBreakpointOps<'_, Self>> {
        Some(self)
    }

    fn support_hw_breakpoint(&mut self) -> Option<HwBreakpointOps<'_, Self>> {
        Some(self)
    }

    fn support_hw_watchpoint(&mut self) -> Option<HwWatchpointOps<'_, Self>> {
        Some(self)
    }
}

impl SwBreakpoint for DebuggedGuest<'_, '_> {
    fn add_sw_breakpoint(&mut self, address: u64, _: usize) -> TargetResult<bool, Self> {
        self.software.insert(address);
        Ok(true)
    }

    fn remove_sw_breakpoint(&mut self, address: u64, _: usize) -> TargetResult<bool, Self> {
        Ok(self.software.remove(&address))
    }
}

impl HwBreakpoint for DebuggedGuest<'_, '_> {
    fn add_hw_breakpoint(&mut self, address: u64, _: usize) -> TargetResult<bool, Self> {
        self.hardware.insert(address);
        Ok(true)
    }

    fn remove_hw_breakpoint(&mut self, address: u64, _: usize) -> TargetResult<bool, Self> {
        Ok(self.hardware.remove(&address))
    }
}

impl HwWatchpoint for DebuggedGuest<'_, '_> {
    fn add_hw_watchpoint(&mut self, first: u64, bytes: u64, kind: WatchKind) -> TargetResult<bool, Self> {
        if !self.watched.contains(&(first, bytes, kind)) {
            self.watched.push((first, bytes, kind));
        }
        Ok(true)
    }

    fn remove_hw_watchpoint(&mut self, first: u64, bytes: u64, kind: WatchKind) -> TargetResult<bool, Self> {
        let before = self.watched.len();
        self.watched.retain(|watched| *watched != (first, bytes, kind));
        Ok(self.watched.len() != before)
    }
}

impl MonitorCmd for DebuggedGuest<'_, '_> {
    fn handle_monitor_cmd(&mut self, command: &[u8], mut output: ConsoleOutput<'_>) -> Result<(), Infallible> {
        let text = commands::answer(&self.session, self.focus, &String::from_utf8_lossy(command));
        // One packet for each line: a debugger takes packets of a limited length.
        for line in text.split_inclusive('\n') {
            output.write_raw(line.as_bytes());
            output.flush();
        }
        Ok(())
    }
}
