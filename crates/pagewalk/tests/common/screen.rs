//! What a running command shows, read as it comes, so that a test can wait for a text before it types.

use std::io::Read;
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long anything on the screen may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// The output of a running command, read on a thread of its own.
pub(crate) struct Screen {
    shown: Receiver<Vec<u8>>,
    /// What was shown after the text that was waited for last.
    seen: Vec<u8>,
}

impl Screen {
    /// Reads `output` to its end, on a thread of its own.
    pub(crate) fn new(mut output: impl Read + Send + 'static) -> Self {
        let (shows, shown) = channel();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = output.read(&mut buffer) {
                if shows.send(buffer[..length].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { shown, seen: Vec::new() }
    }

    /// Waits until `text` appears, after what was seen before; returns the text between.
    #[track_caller]
    pub(crate) fn sees(&mut self, text: &str) -> String {
        let from = Instant::now();
        loop {
            let shown = self.text();
            if let Some(at) = shown.find(text) {
                self.seen = shown.as_bytes()[at + text.len()..].to_vec();
                return shown[..at].to_owned();
            }
            match self.shown.recv_timeout(PATIENCE.saturating_sub(from.elapsed())) {
                Ok(more) => self.seen.extend(more),
                Err(_) => panic!("no {text:?} in {shown:?}"),
            }
        }
    }

    /// Waits for the end of the command that is shown; its exit code.
    #[track_caller]
    pub(crate) fn until_the_end_of(&self, child: &mut Child) -> Option<i32> {
        let from = Instant::now();
        loop {
            if let Some(status) = child.try_wait().expect("it is our child") {
                return status.code();
            }
            assert!(from.elapsed() < PATIENCE, "it goes on; on the screen: {}", self.text());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// What was shown and not waited for.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.seen).into_owned()
    }
}
