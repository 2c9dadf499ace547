//! What compiled code and the functions that it calls tell each other.

use crate::{bus::DataView, microop::MicroOp};

/// How compiled code comes back: the accumulator, and the micro-op to go on at; null where the hart leaves the engine.
#[repr(C)]
pub(crate) struct Left {
    pub(crate) acc: u64,
    pub(crate) next: *mut MicroOp,
}

/// What compiled code and the functions that it calls tell each other.
#[repr(C)]
pub(crate) struct Exchange {
    /// [`HIT`] or [`LEFT`].
    pub(super) answer: u64,
    /// Where the access hits.
    pub(super) at: u64,
    /// Before the call of a store, what it stores; what the bus itself has loaded, from where compiled code loads it again.
    pub(super) value: u64,
    /// The unit returns this.
    pub(super) left: Left,
    /// The current context's.
    pub(super) view: DataView,
}

/// The access hits the byte at `at` now.
pub(super) const HIT: u64 = 0;
/// The unit is left as `left` says.
pub(super) const LEFT: u64 = 1;

impl Exchange {
    pub(super) const fn new() -> Self {
        let null = std::ptr::null_mut();
        Self { answer: HIT, at: 0, value: 0, left: Left { acc: 0, next: null }, view: DataView(null.cast()) }
    }

    pub(super) fn hit(&mut self, at: *const u8) {
        (self.answer, self.at) = (HIT, at as u64);
    }

    pub(super) fn leave(&mut self, acc: u64, next: *mut MicroOp) {
        self.answer = LEFT;
        self.left = Left { acc, next };
    }
}
