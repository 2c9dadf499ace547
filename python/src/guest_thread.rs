//! The thread that a guest lives on. Python may call from any of its threads, and a machine stays on the one that has made it.

use crate::error::{PagewalkError, exception};
use pagewalk::error::Failure;
use pagewalk::interactive::Interactive;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How often a caller who waits lets Python see to its signals, such as that of Ctrl-C.
const ATTENTION: Duration = Duration::from_millis(50);

/// As much as a process's first thread has by default.
const STACK_BYTES: usize = 8 << 20;

/// What is done with the guest.
type Action = Box<dyn FnOnce(&mut Interactive) + Send>;

/// A guest on a thread of its own.
pub(crate) struct GuestThread {
    /// `None` once the thread is to end.
    actions: Mutex<Option<Sender<Action>>>,
    thread: Option<JoinHandle<()>>,
}

impl GuestThread {
    /// Starts the thread, and makes the guest there.
    pub(crate) fn start(
        py: Python<'_>,
        make: impl FnOnce() -> Result<Interactive, Failure> + Send + 'static,
    ) -> PyResult<Self> {
        let (actions, taken) = mpsc::channel::<Action>();
        let (made, result) = mpsc::channel();
        let body = move || {
            let mut guest = match make() {
                Ok(guest) => guest,
                Err(failure) => {
                    // Who started the thread waits for it.
                    let _ = made.send(Err(failure));
                    return;
                }
            };
            let _ = made.send(Ok(()));
            taken.iter().for_each(|action| action(&mut guest));
        };
        let thread = thread::Builder::new().name("guest".to_owned()).stack_size(STACK_BYTES).spawn(body)?;
        let guest = Self { actions: Mutex::new(Some(actions)), thread: Some(thread) };
        wait(py, result, &AtomicBool::default())?.map_err(|failure| exception(&failure))?;
        Ok(guest)
    }

    /// Does `action` with the guest, without the lock of the interpreter; returns what it returns. Ctrl-C sets `stop`, which `action` gets, and is
    /// raised once the action has ended.
    pub(crate) fn call<R: Send + 'static>(
        &self,
        py: Python<'_>,
        action: impl FnOnce(&mut Interactive, &AtomicBool) -> R + Send + 'static,
    ) -> PyResult<R> {
        let (done, result) = mpsc::channel();
        let stop = Arc::new(AtomicBool::new(false));
        let told = stop.clone();
        let action: Action = Box::new(move |guest| {
            // It is received, since the caller waits for it.
            let _ = done.send(action(guest, &told));
        });
        let sent = match &*self.actions.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(actions) => actions.send(action).is_ok(),
            None => false,
        };
        if sent { wait(py, result, &stop) } else { Err(gone()) }
    }
}

/// Waits for what the thread answers. Where a signal raises an exception meanwhile, `stop` is set, and the exception is what comes of it.
fn wait<R: Send>(py: Python<'_>, mut result: Receiver<R>, stop: &AtomicBool) -> PyResult<R> {
    let mut signal = None;
    loop {
        let received;
        // A receiver is of one thread at a time.
        (received, result) = py.detach(move || (result.recv_timeout(ATTENTION), result));
        match received {
            Ok(value) => return signal.map_or(Ok(value), Err),
            Err(RecvTimeoutError::Timeout) => {
                if let Err(raised) = py.check_signals() {
                    signal = Some(raised);
                    stop.store(true, Ordering::Relaxed);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return Err(signal.unwrap_or_else(gone)),
        }
    }
}

impl Drop for GuestThread {
    fn drop(&mut self) {
        *self.actions.lock().unwrap_or_else(PoisonError::into_inner) = None;
        if let Some(thread) = self.thread.take() {
            // One that has panicked has said so.
            let _ = thread.join();
        }
    }
}

/// The thread has ended by a defect of the simulator's, which has been printed.
fn gone() -> PyErr {
    PagewalkError::new_err("the guest is gone: the simulator has a defect, and standard error says where")
}
