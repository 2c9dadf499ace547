//! A thread that draws a picture again from time to time.

use super::screen::REFRESH;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};

/// Draws until it is dropped.
#[derive(Debug)]
pub(super) struct Ticker {
    over: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Calls `draw` again and again; where no thread can be had, never.
    pub(super) fn start(draw: impl Fn() + Send + 'static) -> Self {
        let (over, is_over) = mpsc::channel();
        let draws = move || {
            while is_over.recv_timeout(REFRESH) == Err(RecvTimeoutError::Timeout) {
                draw();
            }
        };
        Self { over: Some(over), thread: thread::Builder::new().name("progress".to_owned()).spawn(draws).ok() }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.over = None;
        if let Some(thread) = self.thread.take() {
            // It panics nowhere, and what it draws is wiped in any case.
            let _ = thread.join();
        }
    }
}
