//! Signals that ask the process to end: HUP, INT, QUIT and TERM.
//!
//! A run loop calls [`check`] between turns. Once a signal has come, the loop ends, its callers return with
//! [`Failure::Interrupted`](crate::error::Failure::Interrupted), and everything they own is dropped: the terminal is restored, temporary files
//! are removed. `main` then ends the process by the same signal, so that a shell sees why it ended.
//!
//! Only work that holds an [`Orderly`] looks at the request. Without one, or when a second signal comes, the watching thread runs the
//! [`crate::cleanup`] and ends the process at once.

use crate::cleanup;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::{Handle, Signals};
use signal_hook::low_level::emulate_default_handler;
use std::ffi::c_int;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::{fmt, fs, io};

/// A signal that asks the process to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The terminal is gone: SIGHUP.
    HangUp,
    /// The user typed Ctrl-C: SIGINT.
    Interrupt,
    /// The user typed Ctrl-\: SIGQUIT.
    Quit,
    /// A request that the process ends: SIGTERM.
    Terminate,
}

impl Signal {
    /// All of them.
    const ALL: [Self; 4] = [Self::HangUp, Self::Interrupt, Self::Quit, Self::Terminate];

    /// Its number, as the host's system has it.
    #[must_use]
    pub fn number(self) -> c_int {
        match self {
            Self::HangUp => SIGHUP,
            Self::Interrupt => SIGINT,
            Self::Quit => SIGQUIT,
            Self::Terminate => SIGTERM,
        }
    }

    fn of(number: c_int) -> Option<Self> {
        Self::ALL.into_iter().find(|signal| signal.number() == number)
    }

    /// Ends the process as the signal does where no handler is installed: a shell sees status 128 + its number.
    pub fn end_process(self) -> ! {
        // It fails only for numbers that are no signals.
        let _ = emulate_default_handler(self.number());
        std::process::exit(128 + self.number())
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HangUp => "hang-up (SIGHUP)",
            Self::Interrupt => "interrupt (SIGINT)",
            Self::Quit => "quit (SIGQUIT)",
            Self::Terminate => "termination (SIGTERM)",
        })
    }
}

/// The number of the last signal that came; 0 before. The handler stores it, so that none is lost while no thread waits.
static REQUESTED: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// How many pieces of work look at [`REQUESTED`].
static ORDERLY: AtomicUsize = AtomicUsize::new(0);

/// Becomes readable when a signal comes: code that waits for a file waits for this, too.
static WAKE: OnceLock<UnixStream> = OnceLock::new();

/// The thread that waits for signals.
static WATCHER: Mutex<Option<Watcher>> = Mutex::new(None);

/// The signal that asked the process to end, if one did.
#[must_use]
pub fn requested() -> Option<Signal> {
    Signal::of(REQUESTED.load(Ordering::Relaxed) as c_int)
}

/// Fails once a signal has requested the process's end. Run loops call this between turns.
///
/// # Errors
/// [`io::ErrorKind::Interrupted`].
pub fn check() -> io::Result<()> {
    requested().map_or(Ok(()), |_| Err(io::ErrorKind::Interrupted.into()))
}

/// What becomes readable when a signal requests the process's end, for `poll`; `None` where signals are not watched.
#[must_use]
pub fn descriptor() -> Option<BorrowedFd<'static>> {
    WAKE.get().map(AsFd::as_fd)
}

/// Held by work that calls [`check`] often, and ends soon after it fails.
#[derive(Debug)]
pub struct Orderly(());

impl Orderly {
    /// From now on a signal waits until the work has ended.
    #[must_use]
    pub fn begin() -> Self {
        ORDERLY.fetch_add(1, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for Orderly {
    fn drop(&mut self) {
        ORDERLY.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Handles the signals from now on, on a thread of its own. A signal that the process was started to ignore, as by `nohup`, stays ignored.
///
/// # Errors
/// As the host's system says.
pub fn watch() -> io::Result<()> {
    let ignored = ignored();
    let watched: Vec<Signal> =
        Signal::ALL.into_iter().filter(|signal| ignored >> (signal.number() - 1) & 1 == 0).collect();
    for signal in &watched {
        flag::register_usize(signal.number(), REQUESTED.clone(), signal.number() as usize)?;
    }
    let (wake, wakes) = UnixStream::pair()?;
    if WAKE.set(wake).is_ok() {
        *watcher() = Some(Watcher::start(signals_of(&watched)?, watched, Some(wakes))?);
    }
    Ok(())
}

/// Does `work` while the calling thread is the only one of the process, as far as this module knows. A signal that comes meanwhile is handled afterwards.
///
/// # Errors
/// As the host's system says.
pub fn alone<T>(work: impl FnOnce() -> T) -> io::Result<T> {
    let mut slot = watcher();
    let stopped = slot.take().map(Watcher::stop);
    // Its sockets are made before `work`, which may give up the right to make any.
    let signals = stopped.as_ref().map(|(watched, _)| signals_of(watched)).transpose()?;
    let done = work();
    if let (Some((watched, wakes)), Some(signals)) = (stopped, signals) {
        *slot = Some(Watcher::start(signals, watched, wakes)?);
    }
    Ok(done)
}

fn signals_of(watched: &[Signal]) -> io::Result<Signals> {
    Signals::new(watched.iter().map(|signal| signal.number()))
}

fn watcher() -> MutexGuard<'static, Option<Watcher>> {
    WATCHER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread that handles the watched signals.
struct Watcher {
    watched: Vec<Signal>,
    handle: Handle,
    /// Returns what wakes others, if that is still to be done.
    thread: JoinHandle<Option<UnixStream>>,
}

impl Watcher {
    fn start(mut signals: Signals, watched: Vec<Signal>, mut wakes: Option<UnixStream>) -> io::Result<Self> {
        let handle = signals.handle();
        // One may have come while no thread waited.
        if let Some(signal) = requested() {
            act(signal, &mut wakes);
        }
        let thread = thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for signal in signals.forever().filter_map(Signal::of) {
                act(signal, &mut wakes);
            }
            wakes
        })?;
        Ok(Self { watched, handle, thread })
    }

    fn stop(self) -> (Vec<Signal>, Option<UnixStream>) {
        self.handle.close();
        (self.watched, self.thread.join().ok().flatten())
    }
}

/// What a signal does: the first wakes work that looks at the request, if there is any, and the next ends the process at once.
fn act(signal: Signal, wakes: &mut Option<UnixStream>) {
    if wakes.is_none() || ORDERLY.load(Ordering::SeqCst) == 0 {
        cleanup::run();
        signal.end_process();
    }
    // Closed: the other end is readable, however often it is polled.
    *wakes = None;
}

/// The set of signals that are ignored, signal n as bit n - 1; empty where the system does not say.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signal_is_found_by_its_number() {
        for signal in Signal::ALL {
            assert_eq!(Signal::of(signal.number()), Some(signal));
        }
        assert_eq!(Signal::of(0), None);
    }
}
