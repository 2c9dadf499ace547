//! The console of a guest that a program runs: what it prints is kept, and what it is to read comes from the program.

use machine::Console;
use std::io;
use std::time::Duration;

/// The most bytes that are kept of what a guest prints. What it prints beyond is dropped, so that no guest fills the host.
const MOST_OUTPUT: usize = 16 << 20;

/// A console whose user is a program.
#[derive(Debug, Default)]
pub(super) struct KeptConsole {
    output: Vec<u8>,
    keys: Vec<u8>,
    idle: bool,
}

impl KeptConsole {
    /// What the guest has printed since the output was taken last.
    pub(super) fn output(&self) -> &[u8] {
        &self.output
    }

    pub(super) fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    pub(super) fn type_keys(&mut self, keys: &[u8]) {
        self.keys.extend_from_slice(keys);
    }

    /// Whether the guest has nothing to do but to wait for keys, since the last call.
    pub(super) fn take_idle(&mut self) -> bool {
        std::mem::take(&mut self.idle)
    }
}

impl Console for KeptConsole {
    fn output(&mut self, _guest: usize, bytes: &[u8]) {
        let room = MOST_OUTPUT - self.output.len();
        self.output.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn input(&mut self) -> io::Result<Vec<u8>> {
        Ok(std::mem::take(&mut self.keys))
    }

    /// Nothing is typed while the machine runs.
    fn listens(&self) -> bool {
        false
    }

    fn idle(&mut self, guest_time: Option<Duration>) -> bool {
        if guest_time.is_none() {
            self.idle = true;
        }
        self.idle
    }
}
