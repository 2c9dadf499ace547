//! The run as a debugger's target. It is one process, as QEMU's is, and the vCPUs of all of its guests are threads: `gdbstub` offers one process alone.

use super::commands;
use super::connection::Debugger;
use super::registers::{CoreRegisters, Register, Riscv64};
use super::threads::{self, VmNames, thread};
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

/// A run under a debugger.
pub(super) struct DebuggedRun<'r, 'm> {
    session: DebugSession<'m>,
    names: VmNames<'r>,
    console: &'r mut dyn Console,
    /// Addresses with breakpoints of either kind, which differ in name alone: guest memory is never changed for one.
    software: BTreeSet<u64>,
    hardware: BTreeSet<u64>,
    watched: Vec<(u64, u64, WatchKind)>,
    /// The vCPU that executes one instruction.
    step: Option<usize>,
    /// The vCPU that the debugger looked at last.
    pub(super) focus: usize,
    /// How each guest ended, once the run is over.
    pub(super) outcomes: Option<Vec<Outcome>>,
}

impl<'r, 'm> DebuggedRun<'r, 'm> {
    pub(super) fn new(session: DebugSession<'m>, names: VmNames<'r>, console: &'r mut dyn Console) -> Self {
        Self {
            session,
            names,
            console,
            software: BTreeSet::new(),
            hardware: BTreeSet::new(),
            watched: Vec::new(),
            step: None,
            focus: 0,
            outcomes: None,
        }
    }

    /// Runs a turn. Returns what the debugger receives if the guests have stopped or ended. Where they wait, they do so until the debugger is heard.
    pub(super) fn advance(&mut self, debugger: &Debugger) -> Option<MultiThreadStopReason<u64>> {
        let mut console = super::console::Listening { console: self.console, debugger };
        match self.session.advance(&mut console) {
            DebugEvent::Turn => {
                self.leave_ended_guest();
                None
            }
            DebugEvent::Stopped(stop) => Some(self.reason(stop)),
            DebugEvent::Ended(outcomes) => {
                // Of several, the first that says anything says it of the run.
                let status = outcomes.iter().map(Outcome::status).find(|&status| status != 0).unwrap_or(0);
                self.outcomes = Some(outcomes);
                Some(MultiThreadStopReason::Exited(status))
            }
        }
    }

    /// Where the guest that the debugger looked at has ended, looks at one that has not.
    fn leave_ended_guest(&mut self) {
        if !threads::is_there(&self.session, self.focus)
            && let Some(other) = threads::all(&self.session).next()
        {
            self.focus = other;
        }
    }

    /// The debugger is gone; how each guest ends.
    pub(super) fn detach(self) -> Vec<Outcome> {
        match self.outcomes {
            Some(outcomes) => outcomes,
            None => self.session.detach(self.console),
        }
    }

    /// The debugger ends the run; how each guest has ended.
    pub(super) fn kill(self) -> Vec<Outcome> {
        match self.outcomes {
            Some(outcomes) => outcomes,
            None => self.session.kill(self.console),
        }
    }

    fn reason(&mut self, stop: DebugStop) -> MultiThreadStopReason<u64> {
        let DebugStop { vcpu, cause } = stop;
        self.focus = vcpu;
        let tid = thread(vcpu);
        match cause {
            StopCause::Step | StopCause::Instructions => {
                MultiThreadStopReason::SignalWithThread { tid, signal: Signal::SIGTRAP }
            }
            StopCause::Breakpoint if self.software.contains(&self.session.hart(vcpu).registers.pc) => {
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

    /// The vCPU of a thread.
    fn vcpu(&mut self, tid: Tid) -> TargetResult<usize, Self> {
        let vcpu = threads::vcpu(&self.session, tid).ok_or(TargetError::Errno(EINVAL))?;
        self.focus = vcpu;
        Ok(vcpu)
    }

    fn change(&mut self, vcpu: usize, change: impl FnOnce(&mut HartView) -> bool) -> TargetResult<(), Self> {
        let mut view = self.session.hart(vcpu);
        if !change(&mut view) {
            return Err(TargetError::Errno(EINVAL));
        }
        self.session.set_registers(vcpu, &view.registers);
        Ok(())
    }

    /// A vCPU in a few words.
    fn described(&self, vcpu: usize) -> String {
        let view = self.session.hart(vcpu);
        let doing = match view.activity {
            HartActivity::Stopped => "not started",
            HartActivity::Waiting => "waits for an interrupt",
            HartActivity::Running if view.registers.supervisor => "S-mode",
            HartActivity::Running => "U-mode",
        };
        format!("{}, {doing}", self.names.of(&self.session, vcpu))
    }
}

impl Target for DebuggedRun<'_, '_> {
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

impl MultiThreadBase for DebuggedRun<'_, '_> {
    fn read_registers(&mut self, registers: &mut CoreRegisters, tid: Tid) -> TargetResult<(), Self> {
        let vcpu = self.vcpu(tid)?;
        *registers = CoreRegisters::of(&self.session.hart(vcpu));
        Ok(())
    }

    fn write_registers(&mut self, registers: &CoreRegisters, tid: Tid) -> TargetResult<(), Self> {
        let vcpu = self.vcpu(tid)?;
        self.change(vcpu, |view| {
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
        let vcpu = self.vcpu(tid)?;
        self.session.read_virtual(vcpu, Gva(start), data).map_err(|_| TargetError::Errno(EFAULT))
    }

    fn write_addrs(&mut self, start: u64, data: &[u8], tid: Tid) -> TargetResult<(), Self> {
        let vcpu = self.vcpu(tid)?;
        self.session.write_virtual(vcpu, Gva(start), data).map_err(|_| TargetError::Errno(EFAULT))
    }

    fn list_active_threads(&mut self, register: &mut dyn FnMut(Tid)) -> Result<(), Infallible> {
        threads::all(&self.session).for_each(|vcpu| register(thread(vcpu)));
        Ok(())
    }

    fn support_resume(&mut self) -> Option<MultiThreadResumeOps<'_, Self>> {
        Some(self)
    }

    fn support_thread_extra_info(&mut self) -> Option<ThreadExtraInfoOps<'_, Self>> {
        Some(self)
    }
}

impl ThreadExtraInfo for DebuggedRun<'_, '_> {
    fn thread_extra_info(&self, tid: Tid, buffer: &mut [u8]) -> Result<usize, Infallible> {
        let vcpu = threads::vcpu(&self.session, tid);
        let text = vcpu.map(|vcpu| self.described(vcpu)).unwrap_or_default();
        let bytes = text.len().min(buffer.len());
        buffer[..bytes].copy_from_slice(&text.as_bytes()[..bytes]);
        Ok(bytes)
    }
}

impl SingleRegisterAccess<Tid> for DebuggedRun<'_, '_> {
    fn read_register(&mut self, tid: Tid, register: Register, buffer: &mut [u8]) -> TargetResult<usize, Self> {
        let vcpu = self.vcpu(tid)?;
        let bytes = register.bytes().min(buffer.len());
        buffer[..bytes].copy_from_slice(&register.of(&self.session.hart(vcpu)).to_le_bytes()[..bytes]);
        Ok(bytes)
    }

    fn write_register(&mut self, tid: Tid, register: Register, value: &[u8]) -> TargetResult<(), Self> {
        let vcpu = self.vcpu(tid)?;
        let mut bytes = [0; 8];
        let given = bytes.get_mut(..value.len()).ok_or(TargetError::Errno(EINVAL))?;
        given.copy_from_slice(value);
        self.change(vcpu, |view| register.set(view, u64::from_le_bytes(bytes)))
    }
}

impl MultiThreadResume for DebuggedRun<'_, '_> {
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

impl MultiThreadSingleStep for DebuggedRun<'_, '_> {
    fn set_resume_action_step(&mut self, tid: Tid, _: Option<Signal>) -> Result<(), Infallible> {
        self.step = Some(tid.get() - 1);
        Ok(())
    }
}

impl MultiThreadSchedulerLocking for DebuggedRun<'_, '_> {
    /// Other vCPUs have their turns all the same: another order of turns would be another run.
    fn set_resume_action_scheduler_lock(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Breakpoints for DebuggedRun<'_, '_> {
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

impl SwBreakpoint for DebuggedRun<'_, '_> {
    fn add_sw_breakpoint(&mut self, address: u64, _: usize) -> TargetResult<bool, Self> {
        self.software.insert(address);
        Ok(true)
    }

    fn remove_sw_breakpoint(&mut self, address: u64, _: usize) -> TargetResult<bool, Self> {
        Ok(self.software.remove(&address))
    }
}

impl HwBreakpoint for DebuggedRun<'_, '_> {
    fn add_hw_breakpoint(&mut self, address: u64, _: usize) -> TargetResult<bool, Self> {
        self.hardware.insert(address);
        Ok(true)
    }

    fn remove_hw_breakpoint(&mut self, address: u64, _: usize) -> TargetResult<bool, Self> {
        Ok(self.hardware.remove(&address))
    }
}

impl HwWatchpoint for DebuggedRun<'_, '_> {
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

impl MonitorCmd for DebuggedRun<'_, '_> {
    fn handle_monitor_cmd(&mut self, command: &[u8], mut output: ConsoleOutput<'_>) -> Result<(), Infallible> {
        let text = commands::answer(&self.session, self.names, self.focus, &String::from_utf8_lossy(command));
        // One packet for each line: a debugger takes packets of a limited length.
        for line in text.split_inclusive('\n') {
            output.write_raw(line.as_bytes());
            output.flush();
        }
        Ok(())
    }
}
