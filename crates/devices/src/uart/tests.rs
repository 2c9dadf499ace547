use super::*;

const RTS: u8 = REQUEST_TO_SEND;

fn line_status(uart: &mut Uart) -> u8 {
    uart.read(LINE_STATUS)
}

#[test]
fn sends_what_is_written() {
    let mut uart = Uart::new();
    for &byte in b"hello" {
        assert_eq!(line_status(&mut uart), 0x60, "always ready to send");
        uart.write(DATA, byte);
    }
    let mut output = b"> ".to_vec();
    uart.drain(&mut output);
    uart.drain(&mut output);
    assert_eq!(output, b"> hello");
    assert!(!uart.interrupt(), "no interrupt is enabled");
}

#[test]
fn the_divisor_latch_hides_data_and_interrupt_enable() {
    let mut uart = Uart::new();
    uart.write(INTERRUPT_ENABLE, ENABLE_RECEIVED);
    uart.write(LINE_CONTROL, 0x83);
    uart.write(DATA, 0x01);
    uart.write(INTERRUPT_ENABLE, 0x02);
    assert_eq!((uart.read(DATA), uart.read(INTERRUPT_ENABLE)), (1, 2));
    uart.write(LINE_CONTROL, 0x03);
    assert_eq!(uart.read(INTERRUPT_ENABLE), ENABLE_RECEIVED);
    assert!(!uart.interrupt(), "the divisor is no interrupt enable");
    let mut output = Vec::new();
    uart.drain(&mut output);
    assert_eq!(output, b"");
}

#[test]
fn received_data_interrupts_until_it_is_read() {
    let mut uart = Uart::new();
    uart.write(IDENTIFICATION, FIFO_ENABLE);
    uart.write(INTERRUPT_ENABLE, ENABLE_RECEIVED);
    assert_eq!(uart.receive(b"ab"), 2);
    assert!(uart.interrupt());
    assert_eq!(uart.read(IDENTIFICATION), IDENTIFICATION_FIFO | CAUSE_RECEIVED);
    assert!(uart.interrupt(), "reading the cause does not read the data");
    assert_eq!(uart.read(DATA), b'a');
    assert!(uart.interrupt());
    assert_eq!(uart.read(IDENTIFICATION), IDENTIFICATION_FIFO | CAUSE_RECEIVED);
    assert_eq!(line_status(&mut uart) & STATUS_DATA_READY, STATUS_DATA_READY);
    assert_eq!(uart.read(DATA), b'b');
    assert!(!uart.interrupt());
    assert_eq!(line_status(&mut uart) & STATUS_DATA_READY, 0);
    assert_eq!(uart.read(IDENTIFICATION), IDENTIFICATION_FIFO | CAUSE_NONE);
}

#[test]
fn an_empty_transmitter_interrupts_until_the_cause_is_read() {
    let mut uart = Uart::new();
    uart.write(INTERRUPT_ENABLE, ENABLE_TRANSMITTER_EMPTY);
    assert!(uart.interrupt(), "enabling it interrupts at once");
    assert_eq!(uart.read(IDENTIFICATION), CAUSE_TRANSMITTER_EMPTY);
    assert!(!uart.interrupt());
    assert_eq!(uart.read(IDENTIFICATION), CAUSE_NONE);
    uart.write(INTERRUPT_ENABLE, ENABLE_TRANSMITTER_EMPTY);
    assert!(!uart.interrupt(), "it was enabled before");
    uart.write(DATA, b'x');
    assert!(uart.interrupt());
    uart.write(INTERRUPT_ENABLE, 0);
    assert!(!uart.interrupt());
}

#[test]
fn received_data_goes_before_the_empty_transmitter() {
    let mut uart = Uart::new();
    uart.write(INTERRUPT_ENABLE, ENABLE_RECEIVED | ENABLE_TRANSMITTER_EMPTY);
    uart.receive(b"x");
    assert_eq!(uart.read(IDENTIFICATION), CAUSE_RECEIVED);
    uart.read(DATA);
    assert_eq!(uart.read(IDENTIFICATION), CAUSE_TRANSMITTER_EMPTY);
    assert_eq!(uart.read(IDENTIFICATION), CAUSE_NONE);
}

#[test]
fn takes_nothing_before_the_driver_listens_and_then_a_fifo() {
    let mut uart = Uart::new();
    assert_eq!(uart.receive(b"x"), 0);
    uart.write(MODEM_CONTROL, RTS);
    assert_eq!(uart.receive(b""), 0);
    assert_eq!(uart.receive(&[b'x'; 100]), 64);
    assert_eq!(uart.receive(b"x"), 0, "full");
    uart.read(DATA);
    assert_eq!(uart.receive(b"yz"), 1);
}

#[test]
fn a_clear_empties_the_fifo() {
    let mut uart = Uart::new();
    uart.write(IDENTIFICATION, FIFO_ENABLE);
    uart.write(INTERRUPT_ENABLE, ENABLE_RECEIVED);
    uart.receive(b"abc");
    uart.write(LINE_CONTROL, 0x83);
    uart.write(IDENTIFICATION, FIFO_ENABLE | FIFO_CLEAR_RECEIVED);
    assert_eq!(uart.read(LINE_CONTROL), 0x83, "the latch is left as it was");
    assert!(!uart.interrupt());
    assert_eq!(line_status(&mut uart) & STATUS_DATA_READY, 0);
}

#[test]
fn switching_the_fifo_empties_it() {
    let mut uart = Uart::new();
    uart.write(INTERRUPT_ENABLE, ENABLE_RECEIVED);
    for value in [FIFO_ENABLE, 0] {
        uart.receive(b"abc");
        uart.write(IDENTIFICATION, value);
        assert!(!uart.interrupt());
        uart.receive(b"abc");
        uart.write(IDENTIFICATION, value);
        assert_eq!(uart.read(DATA), b'a', "no change, no clear");
    }
}

#[test]
fn loops_back() {
    let mut uart = Uart::new();
    uart.write(MODEM_CONTROL, 0x10 | RTS);
    for byte in 0..=u8::MAX {
        uart.write(DATA, byte);
    }
    assert_eq!(uart.receive(b"x"), 0, "the wire is cut");
    let looped: Vec<u8> = (0..64).map(|_| uart.read(DATA)).collect();
    assert_eq!(looped, (0..64).collect::<Vec<u8>>());
    assert_eq!(line_status(&mut uart) & STATUS_DATA_READY, 0);
    let mut output = Vec::new();
    uart.drain(&mut output);
    assert_eq!(output, b"");
}

#[test]
fn the_scratch_register_is_one() {
    let mut uart = Uart::new();
    uart.write(7, 0xa5);
    assert_eq!(uart.read(7), 0xa5);
}
