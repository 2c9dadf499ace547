//! Networks outside of the machine, and the frames on their way there.

use devices::NetBackend;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Frames of a guest that are kept between two turns at the most; more are dropped.
const MOST_FRAMES: usize = 1024;

/// Bytes of such frames at the most.
const MOST_BYTES: usize = 4 << 20;

/// A network that is no part of the machine: what comes from there, and when, is not determined by the machine's configuration.
pub trait Network: Send {
    /// The guest sends a frame.
    fn send(&mut self, frame: &[u8]);

    /// The next frame for the guest, if there is one. Called between turns, and must not wait.
    fn next(&mut self) -> Option<Vec<u8>>;

    /// The guest time for which the guest was idle while a frame for it was waited for, since this was last asked: that frame comes so much later.
    fn waited(&mut self) -> Duration;
}

/// Frames that a guest has sent, oldest first.
#[derive(Clone, Default, Debug)]
pub(crate) struct SentFrames(Arc<Mutex<Frames>>);

#[derive(Default, Debug)]
struct Frames {
    frames: Vec<Vec<u8>>,
    bytes: usize,
}

impl SentFrames {
    /// Takes all of them.
    pub(crate) fn take(&self) -> Vec<Vec<u8>> {
        // One thread runs a machine: a lock that is poisoned was held by a thread that has ended.
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        queue.bytes = 0;
        std::mem::take(&mut queue.frames)
    }
}

impl NetBackend for SentFrames {
    fn transmit(&mut self, frame: &[u8]) {
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.frames.len() < MOST_FRAMES && queue.bytes + frame.len() <= MOST_BYTES {
            queue.bytes += frame.len();
            queue.frames.push(frame.to_vec());
        }
    }

    fn holds_frames(&self) -> bool {
        !self.0.lock().unwrap_or_else(PoisonError::into_inner).frames.is_empty()
    }
}

/// The cable from the network card of a guest to a network outside.
pub(crate) struct Cable {
    pub(crate) guest: usize,
    pub(crate) sent: SentFrames,
    pub(crate) network: Box<dyn Network>,
    /// A frame for which the guest had no buffer yet.
    pub(crate) waiting: Option<Vec<u8>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_that_sends_without_end_fills_nothing() {
        let sent = SentFrames::default();
        (0..2 * MOST_FRAMES).for_each(|_| sent.clone().transmit(&[0; 60]));
        assert_eq!(sent.take().len(), MOST_FRAMES);
        (0..2 * MOST_FRAMES).for_each(|_| sent.clone().transmit(&[0; 64 << 10]));
        assert_eq!(sent.take().len(), MOST_BYTES / (64 << 10));
        assert!(sent.take().is_empty());
    }
}
