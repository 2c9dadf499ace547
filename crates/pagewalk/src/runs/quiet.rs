//! A console without a user: it keeps what the guest prints, and it has no input.

use crate::interrupt;
use crate::runs::kernel_panic::KernelPanic;
use crate::runs::network::Outside;
use crate::terminal;
use machine::Console;
use std::time::Duration;

/// Output kept at the most; what a guest prints beyond is dropped, so that no guest fills the host.
const LIMIT: usize = 1 << 20;

/// A console that keeps what the guest prints and has no input.
#[derive(Default)]
pub(crate) struct QuietConsole {
    /// What the guest printed.
    pub(crate) output: Vec<u8>,
    /// Whether its kernel gave up.
    pub(crate) panic: KernelPanic,
    /// The guest's network outside of the machine, if it has one.
    pub(crate) network: Option<Outside>,
}

impl Console for QuietConsole {
    fn output(&mut self, _guest: usize, bytes: &[u8]) {
        self.panic.read(bytes);
        let room = LIMIT - self.output.len();
        self.output.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn input(&mut self) -> std::io::Result<Vec<u8>> {
        interrupt::check().map(|()| Vec::new())
    }

    fn listens(&self) -> bool {
        self.network.as_ref().is_some_and(Outside::is_awaited)
    }

    fn idle(&mut self, guest_time: Option<Duration>) -> bool {
        let network = self.network.as_ref().filter(|network| network.is_awaited());
        network.is_some_and(|network| network.idle(guest_time, terminal::wait))
    }
}
