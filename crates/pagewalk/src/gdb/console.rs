//! The guest's console while a debugger is there: whatever waits for the user waits for the debugger as well.

use super::connection::Debugger;
use machine::Console;
use std::io;
use std::time::Duration;

/// How long the user is waited for at once.
const SLICE: Duration = Duration::from_millis(20);

/// A console whose waits end when the debugger is heard.
pub(super) struct Listening<'r> {
    pub(super) console: &'r mut dyn Console,
    pub(super) debugger: &'r Debugger,
}

impl Listening<'_> {
    /// Whether the debugger has sent something, or has gone.
    fn is_heard(&self) -> bool {
        self.debugger.is_heard(Some(Duration::ZERO)).unwrap_or(true)
    }
}

impl Console for Listening<'_> {
    fn output(&mut self, guest: usize, bytes: &[u8]) {
        self.console.output(guest, bytes);
    }

    fn input(&mut self) -> io::Result<Vec<u8>> {
        self.console.input()
    }

    fn listens(&self) -> bool {
        self.console.listens()
    }

    fn idle(&mut self, guest_time: Option<Duration>) -> bool {
        if !self.console.listens() {
            // It does not wait, or not for long.
            return self.console.idle(guest_time);
        }
        let mut left = guest_time;
        loop {
            let slice = left.map_or(SLICE, |left| left.min(SLICE));
            if self.console.idle(Some(slice)) || self.is_heard() {
                return true;
            }
            left = left.map(|left| left - slice);
            if left == Some(Duration::ZERO) {
                return false;
            }
        }
    }
}
