//! Frames for the guest that it has not taken yet.

use std::collections::VecDeque;

/// Frames that are kept at the most; what comes when there are as many is dropped.
pub const MOST_FRAMES: usize = 256;

/// Frames for the guest, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    frames: VecDeque<Vec<u8>>,
}

impl Outbox {
    /// Whether one more frame would be kept.
    pub(crate) fn has_room(&self) -> bool {
        self.frames.len() < MOST_FRAMES
    }

    /// Keeps a frame, or drops it.
    pub(crate) fn push(&mut self, frame: Vec<u8>) {
        if self.has_room() {
            self.frames.push_back(frame);
        }
    }

    /// The oldest frame.
    pub(crate) fn front(&self) -> Option<&[u8]> {
        self.frames.front().map(Vec::as_slice)
    }

    /// The guest has taken the oldest frame.
    pub(crate) fn pop(&mut self) {
        self.frames.pop_front();
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_dropped() {
        let mut outbox = Outbox::default();
        (0..=MOST_FRAMES).for_each(|number| outbox.push(vec![number as u8]));
        assert!(!outbox.has_room());
        assert_eq!(outbox.front(), Some(&[0][..]));
        outbox.pop();
        assert!(outbox.has_room());
    }
}
