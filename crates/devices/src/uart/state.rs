//! The UART's registers and receive FIFO as plain values, for a snapshot. What was sent is with the user already.

use super::{NoEdge, Uart};
use serde::{Deserialize, Serialize};
use vm_superio::Serial;
use vm_superio::serial::{NoEvents, SerialState};

/// The state of a UART in a snapshot.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct UartState {
    baud_divisor: [u8; 2],
    interrupt_enable: u8,
    interrupt_identification: u8,
    line_control: u8,
    line_status: u8,
    modem_control: u8,
    modem_status: u8,
    scratch: u8,
    received: Vec<u8>,
    transmitter_emptied: bool,
    fifo_enabled: bool,
}

impl Uart {
    /// The registers.
    pub(crate) fn state(&self) -> UartState {
        let serial = self.serial.state();
        UartState {
            baud_divisor: [serial.baud_divisor_low, serial.baud_divisor_high],
            interrupt_enable: self.enabled,
            interrupt_identification: serial.interrupt_identification,
            line_control: serial.line_control,
            line_status: serial.line_status,
            modem_control: serial.modem_control,
            modem_status: serial.modem_status,
            scratch: serial.scratch,
            received: serial.in_buffer,
            transmitter_emptied: self.transmitter_emptied,
            fifo_enabled: self.fifo_enabled,
        }
    }

    /// Sets all registers; false, and nothing has changed, if the FIFO does not hold what was received.
    pub(crate) fn set_state(&mut self, state: &UartState) -> bool {
        let [baud_divisor_low, baud_divisor_high] = state.baud_divisor;
        let serial = SerialState {
            baud_divisor_low,
            baud_divisor_high,
            interrupt_enable: state.interrupt_enable,
            interrupt_identification: state.interrupt_identification,
            line_control: state.line_control,
            line_status: state.line_status,
            modem_control: state.modem_control,
            modem_status: state.modem_status,
            scratch: state.scratch,
            in_buffer: state.received.clone(),
        };
        let Ok(serial) = Serial::from_state(&serial, NoEdge, NoEvents, Vec::new()) else { return false };
        self.serial = serial;
        self.enabled = state.interrupt_enable;
        self.transmitter_emptied = state.transmitter_emptied;
        self.fifo_enabled = state.fifo_enabled;
        true
    }
}
