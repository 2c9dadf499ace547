//! `boot --gdb` and `run --gdb`: guests under GDB, by its remote protocol; see docs/debugging.md.

mod commands;
mod connection;
mod console;
mod registers;
mod target;
mod threads;

pub(crate) use connection::Debugger;

use crate::error::Failure;
use crate::interrupt;
use crate::observe::Recorded;
use connection::ConnectionError;
use gdbstub::common::Signal;
use gdbstub::conn::ConnectionExt;
use gdbstub::stub::run_blocking::{BlockingEventLoop, Event, WaitForStopReasonError};
use gdbstub::stub::{DisconnectReason, GdbStub, MultiThreadStopReason};
use machine::debug::DebugSession;
use machine::{Console, Machine, Outcome};
use std::convert::Infallible;
use std::marker::PhantomData;
use std::time::{Duration, Instant};
use target::DebuggedRun;
use threads::{VmNames, thread};

/// How often the debugger is listened to while guests run. A turn can take a few microseconds, which is less than a system call on a busy host.
const ATTENTION: Duration = Duration::from_millis(5);

/// Refuses a debugger beside what is recorded, if both want the same.
///
/// # Errors
/// [`Failure::Usage`].
pub(crate) fn check_recorded(recorded: &Recorded) -> Result<(), Failure> {
    if recorded.needs_accesses() {
        let problem = "--gdb watches the instructions that --reuse and --heatmap-of references would: use one of them";
        return Err(Failure::Usage(problem.to_owned()));
    }
    Ok(())
}

/// Runs a machine under a debugger, which finds it stopped before its first instruction; returns how each guest ended. `names` are those of its guests,
/// if there are several to tell apart.
///
/// # Errors
/// [`Failure::Run`]: the debugger left without detaching, or sent what is not its protocol.
pub(crate) fn run(
    debugger: Debugger,
    machine: &mut Machine,
    names: &[String],
    console: &mut dyn Console,
) -> Result<Vec<Outcome>, Failure> {
    let mut run = DebuggedRun::new(DebugSession::begin(machine), VmNames(names), console);
    // Guests end before their first instruction where they have none.
    while run.advance(&debugger).is_none() {}
    if let Some(outcomes) = run.outcomes.take() {
        return Ok(outcomes);
    }
    let stub = GdbStub::new(debugger);
    let ended = stub.run_blocking::<EventLoop<'_, '_>>(&mut run);
    match ended {
        Ok(DisconnectReason::Kill) => Ok(run.kill()),
        Ok(
            DisconnectReason::Disconnect | DisconnectReason::TargetExited(_) | DisconnectReason::TargetTerminated(_),
        ) => Ok(run.detach()),
        // The signal ends the run as it does without a debugger.
        Err(_) if interrupt::requested().is_some() => Ok(run.kill()),
        Err(error) => Err(Failure::Run(match error.into_connection_error() {
            Some((cause, _)) => format!("gdb: {cause}"),
            None => "gdb: the debugger sent a packet that is not of GDB's remote protocol".to_owned(),
        })),
    }
}

/// What is done while guests run.
struct EventLoop<'r, 'm>(PhantomData<(&'r (), &'m ())>);

impl<'r, 'm> BlockingEventLoop for EventLoop<'r, 'm> {
    type Target = DebuggedRun<'r, 'm>;
    type Connection = Debugger;
    type StopReason = MultiThreadStopReason<u64>;

    fn wait_for_stop_reason(
        run: &mut DebuggedRun<'r, 'm>,
        debugger: &mut Debugger,
    ) -> Result<Event<MultiThreadStopReason<u64>>, WaitForStopReasonError<Infallible, ConnectionError>> {
        let mut listened: Option<Instant> = None;
        loop {
            if listened.is_none_or(|listened| listened.elapsed() > ATTENTION) {
                if debugger.peek().map_err(WaitForStopReasonError::Connection)?.is_some() {
                    return debugger.read().map(Event::IncomingData).map_err(WaitForStopReasonError::Connection);
                }
                listened = Some(Instant::now());
            }
            if let Some(reason) = run.advance(debugger) {
                return Ok(Event::TargetStopped(reason));
            }
        }
    }

    fn on_interrupt(run: &mut DebuggedRun<'r, 'm>) -> Result<Option<MultiThreadStopReason<u64>>, Infallible> {
        let tid = thread(run.focus);
        Ok(Some(MultiThreadStopReason::SignalWithThread { tid, signal: Signal::SIGINT }))
    }
}
