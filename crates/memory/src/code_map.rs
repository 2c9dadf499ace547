//! Which frames hold translated code, so that a write to them drops the translations.
//!
//! # Protocol
//! * The translator [`mark`](CodeMap::mark)s a frame before it runs what it translated from it.
//! * The hart looks at the frame's byte before each store, through the raw pointer of [`CodeMap::base_pointer`]; anything but zero
//!   sends the store down its slow path, which drops the frame's translations and [`unmark`](CodeMap::unmark)s it.
//! * Whoever else writes to memory (a device's DMA, the monitor) calls [`CodeMap::written`]. It queues the frames concerned; the
//!   machine takes the queue, drops the translations and unmarks, before it runs a hart again.

use crate::{HostMemory, bytes::HOST_BASE};
use core::cell::{Cell, RefCell};
use types::{Hpa, PageSize};

const FRAME: u64 = PageSize::Size4K.bytes();

/// The frame holds no translated code.
const CLEAN: u8 = 0;
/// It holds some.
const CODE: u8 = 1;
/// It holds some, was written to by a device or the monitor, and is in the queue.
const QUEUED: u8 = 2;

/// One byte per 4 KiB frame of host memory. Zero: no translated code comes from the frame.
#[derive(Debug)]
pub struct CodeMap {
    bytes: Box<[Cell<u8>]>,
    queue: RefCell<Vec<Hpa>>,
}

impl CodeMap {
    /// No frame of `memory` holds code.
    #[must_use]
    pub fn new(memory: &HostMemory) -> Self {
        Self { bytes: vec![Cell::new(CLEAN); (memory.len() / FRAME) as usize].into(), queue: RefCell::default() }
    }

    /// Code was translated from the frame that holds `hpa`. Outside memory nothing happens: nothing is fetched there.
    pub fn mark(&self, hpa: Hpa) {
        if let Some(byte) = self.byte(hpa)
            && byte.get() == CLEAN
        {
            byte.set(CODE);
        }
    }

    /// No translation of the frame that holds `hpa` is left.
    pub fn unmark(&self, hpa: Hpa) {
        if let Some(byte) = self.byte(hpa) {
            byte.set(CLEAN);
        }
    }

    /// Whether the frame that holds `hpa` holds translated code.
    #[inline]
    #[must_use]
    pub fn is_marked(&self, hpa: Hpa) -> bool {
        self.byte(hpa).is_some_and(|byte| byte.get() != CLEAN)
    }

    /// `bytes` bytes at `hpa` were, or are about to be, written by other means than a hart's store: queues those of their frames
    /// that hold code, each once.
    pub fn written(&self, hpa: Hpa, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let first = hpa.0.saturating_sub(HOST_BASE.0) / FRAME;
        let end = hpa.0.saturating_add(bytes).saturating_sub(HOST_BASE.0).div_ceil(FRAME);
        let end = end.min(self.bytes.len() as u64);
        for index in first..end {
            let byte = &self.bytes[index as usize];
            if byte.get() == CODE {
                byte.set(QUEUED);
                self.queue.borrow_mut().push(HOST_BASE.wrapping_add(index * FRAME));
            }
        }
    }

    /// Whether [`take_written`](Self::take_written) would return anything.
    #[inline]
    #[must_use]
    pub fn has_written(&self) -> bool {
        !self.queue.borrow().is_empty()
    }

    /// The frames queued since the last call, in the order they were written. The caller drops their translations and unmarks them.
    #[must_use]
    pub fn take_written(&self) -> Vec<Hpa> {
        self.queue.take()
    }

    /// For the hit path: the byte of the frame at `hpa` is at this pointer plus ((`hpa` − [`HOST_BASE`]) >> 12). Valid as long as
    /// the map, for every address in memory.
    #[inline]
    #[must_use]
    pub fn base_pointer(&self) -> *const u8 {
        self.bytes.as_ptr().cast()
    }

    #[inline]
    fn byte(&self, hpa: Hpa) -> Option<&Cell<u8>> {
        self.bytes.get((hpa.0.checked_sub(HOST_BASE.0)? / FRAME) as usize)
    }
}

#[cfg(test)]
mod tests;
