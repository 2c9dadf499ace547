//! `boot --gdb`: a guest under GDB, by its remote protocol; see docs/debugging.md.

mod commands;
mod connection;
mod console;
mod registers;
mod target;

pub(crate) use connection::Debugger;

use crate::error::Failure;
use crate::interrupt;
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
use target::DebuggedGuest;

/// How often the debugger is listened to while the guest runs. A turn can take a few microseconds, which is less than a system call on a busy host.
const ATTENTION: Duration = Duration::from_millis(5);

/// Runs a machine under a debugger, which finds it stopped before its first instruction; returns how the guest ended.
///
/// # Errors
/// [`Failure::Run`]: the debugger left without detaching, or sent what is not its protocol.
pub(crate) fn run(debugger: Debugger, machine: &mut Machine, console: &mut dyn Console) -> Result<Outcome, Failure> {
    let mut guest = DebuggedGuest::new(DebugSession::begin(machine), console);
    // The guest ends before its first instruction where it has none.
    while guest.advance(&debugger).is_none() {}
    if let Some(outcome) = guest.outcome.take() {
        return Ok(outcome);
    }
    let stub = GdbStub::new(debugger);
    let ended = stub.run_blocking::<EventLoop<'_, '_>>(&mut guest);
    match ended {
        Ok(DisconnectReason::Kill) => Ok(guest.kill()),
        Ok(
            DisconnectReason::Disconnect | DisconnectReason::TargetExited(_) | DisconnectReason::TargetTerminated(_),
        ) => Ok(guest.detach()),
        // The signal ends the run as it does without a debugger.
        Err(_) if interrupt::requested().is_some() => Ok(guest.kill()),
        Err(error) => Err(Failure::Run(match error.into_connection_error() {
            Some((cause, _)) => format!("gdb: {cause}"),
            None => "gdb: the debugger sent a packet that is not of GDB's remote protocol".to_owned(),
        })),
    }
}

/// What is done while the guest runs.
struct EventLoop<'r, 'm>(PhantomData<(&'r (), &'m ())>);

impl<'r, 'm> BlockingEventLoop for EventLoop<'r, 'm> {
    type Target = DebuggedGuest<'r, 'm>;
    type Connection = Debugger;
    type StopReason = MultiThreadStopReason<u64>;

    fn wait_for_stop_reason(
        guest: &mut DebuggedGuest<'r, 'm>,
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
            if let Some(reason) = guest.advance(debugger) {
                return Ok(Event::TargetStopped(reason));
            }
        }
    }

    fn on_interrupt(guest: &mut DebuggedGuest<'r, 'm>) -> Result<Option<MultiThreadStopReason<u64>>, Infallible> {
        let tid = target::thread(guest.focus);
        Ok(Some(MultiThreadStopReason::SignalWithThread { tid, signal: Signal::SIGINT }))
    }
}
