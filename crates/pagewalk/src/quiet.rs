//! A console that nobody sits at: what the guest prints is kept, and nothing is typed.

use machine::Console;
use std::time::Duration;

/// Output kept at the most; what a guest prints beyond is dropped, so that no guest fills the host.
const LIMIT: usize = 1 << 20;

/// See the module.
#[derive(Default)]
pub(crate) struct QuietConsole {
    /// What the guest printed.
    pub(crate) output: Vec<u8>,
}

impl Console for QuietConsole {
    fn output(&mut self, _guest: usize, bytes: &[u8]) {
        let room = LIMIT - self.output.len();
        self.output.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn input(&mut self) -> std::io::Result<Vec<u8>> {
        Ok(Vec::new())
    }

    fn idle(&mut self, _: Option<Duration>) -> bool {
        false
    }
}
