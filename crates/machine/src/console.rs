//! The guest's console, as the caller of a run provides it.

use std::time::Duration;

/// Who sits at the guest's console.
pub trait Console {
    /// What guest number `guest` printed.
    fn output(&mut self, guest: usize, bytes: &[u8]);

    /// What was typed since the last call, for the first guest.
    ///
    /// # Errors
    /// Any error ends the run, as [`Outcome::Interrupted`](crate::Outcome::Interrupted).
    fn input(&mut self) -> std::io::Result<Vec<u8>>;

    /// Whether input may still come.
    fn listens(&self) -> bool {
        false
    }

    /// Nothing happens in the guest for `guest_time`, or ever. May wait as long for input; returns whether there is some. Who does not type
    /// need not wait: simulated time goes on at once.
    fn idle(&mut self, _guest_time: Option<Duration>) -> bool {
        false
    }
}
