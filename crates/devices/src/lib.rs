//! The devices of a guest: UART, PLIC and virtio over MMIO.
