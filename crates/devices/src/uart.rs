//! An ns16550a: `vm-superio`'s registers and FIFO, with the interrupt as a level.
//!
//! `vm-superio` raises edges, and its interrupt identification forgets all causes when read; a level-triggered PLIC needs the wire
//! and the cause to agree. So the two interrupt causes that this UART has are derived here, as in the PC16550D data sheet
//! ("Interrupt Control Functions"): received data while the FIFO holds any, and an empty transmitter holding register from
//! the moment it empties, or its interrupt is enabled, until the cause is read.

use std::convert::Infallible;
use vm_superio::serial::NoEvents;
use vm_superio::{Serial, Trigger};

/// Registers, one byte each.
pub(crate) const REGISTERS: u64 = 8;

const DATA: u8 = 0;
const INTERRUPT_ENABLE: u8 = 1;
/// Read: interrupt identification. Write: FIFO control.
const IDENTIFICATION: u8 = 2;
const LINE_CONTROL: u8 = 3;
const MODEM_CONTROL: u8 = 4;
const LINE_STATUS: u8 = 5;

const ENABLE_RECEIVED: u8 = 1 << 0;
const ENABLE_TRANSMITTER_EMPTY: u8 = 1 << 1;
const CAUSE_NONE: u8 = 1;
const CAUSE_TRANSMITTER_EMPTY: u8 = 2;
const CAUSE_RECEIVED: u8 = 4;
const IDENTIFICATION_FIFO: u8 = 0xc0;
const FIFO_ENABLE: u8 = 1 << 0;
const FIFO_CLEAR_RECEIVED: u8 = 1 << 1;
const DIVISOR_LATCH: u8 = 1 << 7;
const STATUS_DATA_READY: u8 = 1 << 0;
const REQUEST_TO_SEND: u8 = 1 << 1;

/// The interrupt is read as a level, so the edges go nowhere.
#[derive(Debug)]
struct NoEdge;

impl Trigger for NoEdge {
    type E = Infallible;

    fn trigger(&self) -> Result<(), Infallible> {
        Ok(())
    }
}

/// An ns16550a.
#[derive(Debug)]
pub(crate) struct Uart {
    serial: Serial<NoEdge, NoEvents, Vec<u8>>,
    /// Interrupt enable register; `serial` hides it while the divisor latch is open.
    enabled: u8,
    transmitter_emptied: bool,
    fifo_enabled: bool,
    fifo_capacity: usize,
}

impl Uart {
    /// A UART after reset.
    pub(crate) fn new() -> Self {
        let serial = Serial::new(NoEdge, Vec::new());
        let fifo_capacity = serial.fifo_capacity();
        Self { serial, enabled: 0, transmitter_emptied: false, fifo_enabled: false, fifo_capacity }
    }

    /// The level of the interrupt wire.
    pub(crate) fn interrupt(&self) -> bool {
        self.cause() != CAUSE_NONE
    }

    /// Reads `register`, below [`REGISTERS`].
    pub(crate) fn read(&mut self, register: u8) -> u8 {
        if register != IDENTIFICATION {
            return self.serial.read(register);
        }
        let cause = self.cause();
        if cause == CAUSE_TRANSMITTER_EMPTY {
            self.transmitter_emptied = false;
        }
        cause | if self.fifo_enabled { IDENTIFICATION_FIFO } else { 0 }
    }

    /// Writes `register`, below [`REGISTERS`].
    pub(crate) fn write(&mut self, register: u8, value: u8) {
        if register == IDENTIFICATION {
            self.control_fifo(value);
            return;
        }
        // Neither the edge nor the vector that takes the output can fail.
        let _infallible = self.serial.write(register, value);
        match register {
            DATA if !self.divisor_latch() => self.transmitter_emptied = true,
            INTERRUPT_ENABLE if !self.divisor_latch() => {
                let before = self.enabled;
                self.enabled = self.serial.read(INTERRUPT_ENABLE);
                if self.enabled & !before & ENABLE_TRANSMITTER_EMPTY != 0 {
                    self.transmitter_emptied = true;
                }
            }
            _ => {}
        }
    }

    /// Takes as many of `bytes` as go into the FIFO; returns how many.
    ///
    /// The terminal obeys the line's flow control: it sends once the driver listens (RTS, or the received-data interrupt).
    /// A driver empties the FIFO when it starts, and input that was typed, or piped, before then must not be lost.
    pub(crate) fn receive(&mut self, bytes: &[u8]) -> usize {
        let listens = self.enabled & ENABLE_RECEIVED != 0 || self.serial.read(MODEM_CONTROL) & REQUEST_TO_SEND != 0;
        // A full FIFO is an error to `vm-superio`; to a sender it is "none taken".
        if listens { self.serial.enqueue_raw_bytes(bytes).unwrap_or(0) } else { 0 }
    }

    /// Takes the byte that was received first, for firmware that shares the UART with the driver.
    pub(crate) fn take_received(&mut self) -> Option<u8> {
        let received = !self.divisor_latch() && self.serial.read(LINE_STATUS) & STATUS_DATA_READY != 0;
        received.then(|| self.serial.read(DATA))
    }

    /// Moves what the driver has sent to the end of `output`.
    pub(crate) fn drain(&mut self, output: &mut Vec<u8>) {
        output.append(self.serial.writer_mut());
    }

    fn divisor_latch(&mut self) -> bool {
        self.serial.read(LINE_CONTROL) & DIVISOR_LATCH != 0
    }

    fn cause(&self) -> u8 {
        let received = self.serial.fifo_capacity() < self.fifo_capacity;
        if received && self.enabled & ENABLE_RECEIVED != 0 {
            CAUSE_RECEIVED
        } else if self.transmitter_emptied && self.enabled & ENABLE_TRANSMITTER_EMPTY != 0 {
            CAUSE_TRANSMITTER_EMPTY
        } else {
            CAUSE_NONE
        }
    }

    fn control_fifo(&mut self, value: u8) {
        let enable = value & FIFO_ENABLE != 0;
        // Data sheet, "FIFO Control Register": a change of the enable bit clears the FIFO as well.
        if value & FIFO_CLEAR_RECEIVED != 0 || enable != self.fifo_enabled {
            let line_control = self.serial.read(LINE_CONTROL);
            let _infallible = self.serial.write(LINE_CONTROL, line_control & !DIVISOR_LATCH);
            while self.serial.read(LINE_STATUS) & STATUS_DATA_READY != 0 {
                self.serial.read(DATA);
            }
            let _infallible = self.serial.write(LINE_CONTROL, line_control);
        }
        self.fifo_enabled = enable;
    }
}

pub(crate) mod state;
#[cfg(test)]
mod tests;
