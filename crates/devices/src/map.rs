//! Where the devices are in guest physical memory, and which PLIC source each drives. As QEMU's `virt` machine has them.

use types::Gpa;

/// A range of guest physical addresses that belongs to one device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// First address.
    pub base: Gpa,
    /// Length in bytes.
    pub bytes: u64,
}

impl Window {
    /// Bytes from the window's start to `gpa`, or `None` where `gpa` lies outside.
    #[inline]
    #[must_use]
    pub const fn offset(self, gpa: Gpa) -> Option<u64> {
        // Below the base the subtraction wraps to a value above any window's length.
        let offset = gpa.0.wrapping_sub(self.base.0);
        if offset < self.bytes { Some(offset) } else { None }
    }
}

/// The PLIC; [`PlicContexts`](crate::PlicContexts) says which context is whose.
pub const PLIC: Window = Window { base: Gpa(0x0c00_0000), bytes: 0x60_0000 };

/// The ns16550a UART.
pub const UART: Window = Window { base: Gpa(0x1000_0000), bytes: 0x100 };

/// PLIC source of the UART.
pub const UART_SOURCE: u32 = 10;

/// PLIC source of the hypervisor's own interrupt: the allocation of processors has changed (docs/paravirtual.md).
pub const HYPERVISOR_SOURCE: u32 = 11;

/// Number of virtio-mmio slots.
pub const VIRTIO_SLOTS: usize = 8;

/// All virtio-mmio slots, one after the other.
pub const VIRTIO: Window = Window { base: Gpa(0x1000_1000), bytes: VIRTIO_SLOTS as u64 * VIRTIO_SLOT_BYTES };

/// Length of one virtio-mmio slot in bytes.
pub const VIRTIO_SLOT_BYTES: u64 = 0x1000;

/// The register page of the primary region.
pub const PRIMARY_REGION: Window = Window { base: Gpa(0x1001_0000), bytes: 0x1000 };

/// First address of RAM.
pub const RAM_BASE: Gpa = Gpa(0x8000_0000);

/// The window of virtio-mmio slot `slot`, 0 ≤ `slot` < [`VIRTIO_SLOTS`].
#[must_use]
pub const fn virtio_slot(slot: usize) -> Window {
    Window { base: VIRTIO.base.wrapping_add(slot as u64 * VIRTIO_SLOT_BYTES), bytes: VIRTIO_SLOT_BYTES }
}

/// PLIC source of virtio-mmio slot `slot`, 0 ≤ `slot` < [`VIRTIO_SLOTS`].
#[must_use]
pub const fn virtio_source(slot: usize) -> u32 {
    1 + slot as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_ends_before_its_end() {
        assert_eq!(UART.offset(Gpa(0x0fff_ffff)), None);
        assert_eq!(UART.offset(Gpa(0x1000_0000)), Some(0));
        assert_eq!(UART.offset(Gpa(0x1000_00ff)), Some(0xff));
        assert_eq!(UART.offset(Gpa(0x1000_0100)), None);
    }

    #[test]
    fn slots_follow_each_other() {
        assert_eq!(virtio_slot(7).base, Gpa(0x1000_8000));
        assert_eq!(VIRTIO.offset(Gpa(0x1000_8fff)), Some(0x7fff));
        assert_eq!(VIRTIO.offset(Gpa(0x1000_9000)), None);
    }
}
