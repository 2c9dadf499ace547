//! The bus, and each device from its driver's side.

mod balloon;
mod block;
mod file_system;
mod fuzz;

use super::*;
use crate::map::{RAM_BASE, virtio_slot, virtio_source};
use crate::testing::driver::*;
use crate::testing::{ContiguousRam, ScatteredRam, load, store};
use crate::virtio::{Console, DiscardFrames, Net, NetBackend, Rng};
use std::sync::{Arc, Mutex};

const RAM: u64 = 8 << 20;
const LINE_STATUS: Gpa = Gpa(map::UART.base.0 + 5);
const CLAIM: Gpa = Gpa(map::PLIC.base.0 + 0x20_0004);

fn platform(virtio: Vec<VirtioDevice>) -> Platform {
    Platform::new(PlatformConfig {
        harts: 2,
        plic: PlicContexts::Supervisor,
        input: ConsoleInput::Uart,
        virtio,
        primary_region: None,
    })
    .unwrap()
}

fn buffer(offset: u64) -> Gpa {
    RAM_BASE.wrapping_add(0x10_0000 + offset)
}

/// Enables `source` at hart 0, as the kernel's interrupt setup does.
fn enable(platform: &mut Platform, memory: &dyn DmaMemory, source: u32) {
    let plic = map::PLIC.base;
    platform.write(plic.wrapping_add(4 * u64::from(source)), Width::Word, 1, memory).unwrap();
    platform.write(plic.wrapping_add(0x2000), Width::Word, 1 << source, memory).unwrap();
}

#[test]
fn a_platform_can_move_between_threads() {
    fn is_send<T: Send>() {}
    is_send::<Platform>();
}

#[test]
fn impossible_configurations_are_refused() {
    let config = |harts, input, virtio| PlatformConfig {
        harts,
        plic: PlicContexts::Supervisor,
        input,
        virtio,
        primary_region: None,
    };
    let rngs = |count: usize| (0..count).map(|_| VirtioDevice::Rng(Rng::new(0))).collect();
    let error = |config| Platform::new(config).unwrap_err();
    assert_eq!(error(config(0, ConsoleInput::Uart, vec![])), ConfigError::Harts(0));
    assert_eq!(error(config(1025, ConsoleInput::Uart, vec![])), ConfigError::Harts(1025));
    assert_eq!(error(config(1, ConsoleInput::Uart, rngs(9))), ConfigError::Slots(9));
    assert_eq!(error(config(1, ConsoleInput::Virtio, rngs(1))), ConfigError::NoVirtioConsole);
    assert!(Platform::new(config(1024, ConsoleInput::Uart, rngs(8))).is_ok());
    let both = |harts| PlatformConfig {
        plic: PlicContexts::MachineAndSupervisor,
        ..config(harts, ConsoleInput::Uart, vec![])
    };
    assert!(Platform::new(both(512)).is_ok());
    assert_eq!(error(both(513)), ConfigError::Harts(513));
}

#[test]
fn windows_are_where_the_map_says() {
    for (gpa, inside) in [
        (0x0bff_ffff, false),
        (0x0c00_0000, true),
        (0x0c5f_ffff, true),
        (0x0c60_0000, false),
        (0x0fff_ffff, false),
        (0x1000_0000, true),
        (0x1000_00ff, true),
        (0x1000_0100, false),
        (0x1000_1000, true),
        (0x1000_8fff, true),
        (0x1000_9000, false),
        (0x8000_0000, false),
    ] {
        assert_eq!(Platform::contains(Gpa(gpa)), inside, "{gpa:#x}");
    }
}

#[test]
fn an_access_that_no_register_takes_is_a_bus_error() {
    use BusError::{Misaligned, NoDevice};
    let memory = ContiguousRam::new(RAM);
    let mut platform = platform(vec![VirtioDevice::Rng(Rng::new(0))]);
    let slot = virtio_slot(0).base.0;
    for (gpa, width, error) in [
        (0x1000_0008, Width::Byte, NoDevice(Gpa(0x1000_0008))),
        (0x1000_0000, Width::Word, BusError::Width(Gpa(0x1000_0000), Width::Word)),
        (0x0c00_0004, Width::Half, BusError::Width(Gpa(0x0c00_0004), Width::Half)),
        (0x0c00_0008, Width::Double, BusError::Width(Gpa(0x0c00_0008), Width::Double)),
        (0x0c00_0006, Width::Word, Misaligned(Gpa(0x0c00_0006), Width::Word)),
        (slot + 2, Width::Half, BusError::Width(Gpa(slot + 2), Width::Half)),
        (slot + 2, Width::Word, Misaligned(Gpa(slot + 2), Width::Word)),
        (slot + 0x101, Width::Half, Misaligned(Gpa(slot + 0x101), Width::Half)),
        (slot + 0x100, Width::Double, BusError::Width(Gpa(slot + 0x100), Width::Double)),
        (slot + 0x1000, Width::Half, BusError::Width(Gpa(slot + 0x1000), Width::Half)),
        (slot + 0x1002, Width::Word, Misaligned(Gpa(slot + 0x1002), Width::Word)),
        (slot + 0x1100, Width::Double, BusError::Width(Gpa(slot + 0x1100), Width::Double)),
        (slot + 0x8000, Width::Word, NoDevice(Gpa(slot + 0x8000))),
        (0x8000_0000, Width::Word, NoDevice(Gpa(0x8000_0000))),
        (u64::MAX, Width::Byte, NoDevice(Gpa(u64::MAX))),
    ] {
        assert_eq!(platform.read(Gpa(gpa), width), Err(error));
        assert_eq!(platform.write(Gpa(gpa), width, u64::MAX, &memory), Err(error));
    }
}

#[test]
fn an_empty_slot_reads_device_id_0_instead_of_faulting() {
    let memory = ContiguousRam::new(RAM);
    let mut platform = platform(vec![VirtioDevice::Rng(Rng::new(0))]);
    for slot in 1..map::VIRTIO_SLOTS {
        let driver = Driver { slot, memory: &memory };
        assert_eq!(driver.read(&mut platform, MAGIC), 0x7472_6976);
        assert_eq!(driver.read(&mut platform, VERSION), 2);
        assert_eq!(driver.read(&mut platform, DEVICE_ID), 0);
        assert_eq!(driver.read(&mut platform, VENDOR_ID), 0x4b57_4750);
        for register in (DEVICE_FEATURES..0x1000).step_by(4) {
            driver.write(&mut platform, register, u64::from(u32::MAX));
            assert_eq!(driver.read(&mut platform, register), 0, "{register:#x}");
        }
        assert_eq!(platform.read(driver.gpa(CONFIG + 1), Width::Byte), Ok(0));
    }
    assert_eq!(platform.plic_pending(), 0);
    assert_eq!(platform.faults(), []);
}

#[test]
fn the_uart_interrupts_through_the_plic() {
    let memory = ContiguousRam::new(RAM);
    let mut platform = platform(vec![]);
    enable(&mut platform, &memory, map::UART_SOURCE);
    assert_eq!(platform.console_input(b"ls\n", &memory), 0, "no driver reads the console");
    platform.write(map::UART.base.wrapping_add(1), Width::Byte, 1, &memory).unwrap();
    let quiet = platform.interrupt_generation();
    assert_eq!(platform.console_input(b"ls\n", &memory), 3);
    assert!(platform.external_interrupt(0));
    assert!(!platform.external_interrupt(1));
    assert_ne!(platform.interrupt_generation(), quiet);
    assert_eq!(platform.read(CLAIM, Width::Word), Ok(10));
    assert!(!platform.external_interrupt(0));
    let mut typed = Vec::new();
    while platform.read(LINE_STATUS, Width::Byte).unwrap() & 1 != 0 {
        typed.push(platform.read(map::UART.base, Width::Byte).unwrap() as u8);
    }
    assert_eq!(typed, b"ls\n");
    platform.write(CLAIM, Width::Word, 10, &memory).unwrap();
    assert!(!platform.external_interrupt(0));
    platform.write(map::UART.base, Width::Byte, u64::from(b'$'), &memory).unwrap();
    assert_eq!(platform.take_console_output(), b"$");
    assert_eq!(platform.take_console_output(), b"");
}

/// What a kernel for QEMU's `virt` with hard-coded contexts does: context 2h + 1 is hart h in S-mode.
#[test]
fn a_kernel_with_hard_coded_contexts_gets_its_interrupts() {
    let memory = ContiguousRam::new(RAM);
    let config = PlatformConfig {
        harts: 2,
        plic: PlicContexts::MachineAndSupervisor,
        input: ConsoleInput::Uart,
        virtio: vec![],
        primary_region: None,
    };
    let mut platform = Platform::new(config).unwrap();
    let plic = |offset: u64| map::PLIC.base.wrapping_add(offset);
    platform.write(plic(4 * u64::from(map::UART_SOURCE)), Width::Word, 1, &memory).unwrap();
    let supervisor_enable = |hart: u64| plic(0x2080 + hart * 0x100);
    let supervisor_claim = |hart: u64| plic(0x20_1004 + hart * 0x2000);
    platform.write(supervisor_enable(1), Width::Word, 1 << map::UART_SOURCE, &memory).unwrap();
    platform.write(map::UART.base.wrapping_add(1), Width::Byte, 1, &memory).unwrap();
    assert_eq!(platform.console_input(b"x", &memory), 1);
    assert_eq!([platform.external_interrupt(0), platform.external_interrupt(1)], [false, true]);
    assert_eq!(platform.read(supervisor_claim(0), Width::Word), Ok(0));
    assert_eq!(platform.read(supervisor_claim(1), Width::Word), Ok(u64::from(map::UART_SOURCE)));
    platform.write(supervisor_claim(1), Width::Word, u64::from(map::UART_SOURCE), &memory).unwrap();
    assert!(platform.external_interrupt(1), "the level is still high");
    // An M-mode context has its registers, and raises no interrupt.
    platform.write(supervisor_enable(1), Width::Word, 0, &memory).unwrap();
    platform.write(plic(0x2000), Width::Word, 1 << map::UART_SOURCE, &memory).unwrap();
    assert_eq!(platform.read(plic(0x2000), Width::Word), Ok(1 << map::UART_SOURCE));
    assert_eq!([platform.external_interrupt(0), platform.external_interrupt(1)], [false, false]);
}

#[test]
fn a_virtio_interrupt_stays_until_acknowledged() {
    let memory = ScatteredRam::new(RAM);
    let mut platform = platform(vec![VirtioDevice::Rng(Rng::new(0))]);
    enable(&mut platform, &memory, virtio_source(0));
    let driver = Driver { slot: 0, memory: &memory };
    let mut queues = driver.start(&mut platform, VERSION_1, 1);
    queues[0].add(&memory, &[Buffer::Writable(buffer(0), 8)]);
    driver.notify(&mut platform, &queues[0]);
    assert!(platform.external_interrupt(0));
    assert_eq!(platform.read(CLAIM, Width::Word), Ok(1));
    platform.write(CLAIM, Width::Word, 1, &memory).unwrap();
    assert!(platform.external_interrupt(0), "not acknowledged");
    assert_eq!(platform.read(CLAIM, Width::Word), Ok(1));
    driver.write(&mut platform, INTERRUPT_ACK, 1);
    platform.write(CLAIM, Width::Word, 1, &memory).unwrap();
    assert!(!platform.external_interrupt(0));
}

#[test]
fn the_rng_repeats_by_seed() {
    let draw = |seed| {
        let memory = ScatteredRam::new(RAM);
        let mut platform = platform(vec![VirtioDevice::Rng(Rng::new(seed))]);
        let driver = Driver { slot: 0, memory: &memory };
        let mut queues = driver.start(&mut platform, VERSION_1, 1);
        let chain = [Buffer::Writable(buffer(0xffe), 5), Buffer::Writable(buffer(0x2000), 95)];
        queues[0].add(&memory, &chain);
        queues[0].add(&memory, &[Buffer::Writable(buffer(0x4000), 1 << 20)]);
        driver.notify(&mut platform, &queues[0]);
        assert_eq!(queues[0].returned(&memory), [(0, 100), (2, 64 << 10)], "fewer bytes than asked are allowed");
        [load(&memory, buffer(0xffe), 5), load(&memory, buffer(0x2000), 95)].concat()
    };
    assert_eq!(draw(5), draw(5));
    assert_ne!(draw(5), draw(6));
    assert!(draw(5).iter().filter(|&&byte| byte == 0).count() < 10);
}

#[test]
fn the_console_writes_what_the_driver_sends() {
    let memory = ScatteredRam::new(RAM);
    let mut platform = platform(vec![VirtioDevice::Console(Console::new())]);
    let driver = Driver { slot: 0, memory: &memory };
    let mut queues = driver.start(&mut platform, VERSION_1, 2);
    let text: Vec<u8> = (0..9000_u32).map(|index| (index % 251) as u8).collect();
    store(&memory, buffer(0x123), &text);
    queues[1].add(&memory, &[Buffer::Readable(buffer(0x123), 1), Buffer::Readable(buffer(0x124), 8999)]);
    driver.notify(&mut platform, &queues[1]);
    assert_eq!(platform.take_console_output(), text);
    assert_eq!(queues[1].returned(&memory), [(0, 0)]);
}

#[test]
fn the_console_reads_what_the_user_types() {
    let memory = ScatteredRam::new(RAM);
    let config = PlatformConfig {
        harts: 1,
        plic: PlicContexts::Supervisor,
        input: ConsoleInput::Virtio,
        virtio: vec![VirtioDevice::Rng(Rng::new(0)), VirtioDevice::Console(Console::new())],
        primary_region: None,
    };
    let mut platform = Platform::new(config).unwrap();
    let driver = Driver { slot: 1, memory: &memory };
    assert_eq!(platform.console_input(b"early", &memory), 0);
    let mut queues = driver.start(&mut platform, VERSION_1, 2);
    assert_eq!(platform.console_input(b"early", &memory), 0, "no buffer");
    queues[0].add(&memory, &[Buffer::Writable(buffer(0xffe), 4)]);
    queues[0].add(&memory, &[Buffer::Writable(buffer(0x2000), 2), Buffer::Writable(buffer(0x3000), 100)]);
    driver.notify(&mut platform, &queues[0]);
    assert_eq!(queues[0].returned(&memory), [], "buffers are held");
    assert_eq!(platform.console_input(b"", &memory), 0);
    assert_eq!(platform.console_input(b"hello world", &memory), 11);
    assert_eq!(queues[0].returned(&memory), [(0, 4), (1, 7)]);
    assert_eq!(load(&memory, buffer(0xffe), 4), b"hell");
    assert_eq!(load(&memory, buffer(0x2000), 2), b"o ");
    assert_eq!(load(&memory, buffer(0x3000), 5), b"world");
    assert_eq!(driver.read(&mut platform, INTERRUPT_STATUS), 1);
    assert_eq!(platform.console_input(b"more", &memory), 0, "no buffer is left");
}

#[test]
fn a_receive_buffer_without_room_does_not_hang_input() {
    let memory = ScatteredRam::new(RAM);
    let config = PlatformConfig {
        harts: 1,
        plic: PlicContexts::Supervisor,
        input: ConsoleInput::Virtio,
        virtio: vec![VirtioDevice::Console(Console::new())],
        primary_region: None,
    };
    let mut platform = Platform::new(config).unwrap();
    let driver = Driver { slot: 0, memory: &memory };
    let mut queues = driver.start(&mut platform, VERSION_1, 2);
    queues[0].add(&memory, &[Buffer::Readable(buffer(0), 8)]);
    queues[0].add(&memory, &[Buffer::Writable(buffer(0), 8)]);
    assert_eq!(platform.console_input(b"abc", &memory), 0);
    assert_eq!(platform.console_input(b"abc", &memory), 3);
}

/// Keeps every frame.
#[derive(Clone, Default)]
struct Wire(Arc<Mutex<Vec<Vec<u8>>>>);

impl NetBackend for Wire {
    fn transmit(&mut self, frame: &[u8]) {
        self.0.lock().unwrap().push(frame.to_vec());
    }

    fn holds_frames(&self) -> bool {
        false
    }
}

#[test]
fn the_net_sends_frames_without_their_header_and_never_receives() {
    let memory = ScatteredRam::new(RAM);
    let wire = Wire::default();
    let mut platform = platform(vec![VirtioDevice::Net(Net::new([2; 6], Box::new(wire.clone())))]);
    let driver = Driver { slot: 0, memory: &memory };
    let mut queues = driver.start(&mut platform, VERSION_1 | 1 << 5 | 1 << 16, 2);
    queues[0].add(&memory, &[Buffer::Writable(buffer(0x8000), 1526)]);
    driver.notify(&mut platform, &queues[0]);
    let frame: Vec<u8> = (0..1514_u32).map(|index| index as u8).collect();
    store(&memory, buffer(0), &[0; 12]);
    store(&memory, buffer(12), &frame);
    queues[1].add(&memory, &[Buffer::Readable(buffer(0), 12 + 1514)]);
    queues[1].add(&memory, &[Buffer::Readable(buffer(0), 12), Buffer::Readable(buffer(100), 60)]);
    queues[1].add(&memory, &[Buffer::Readable(buffer(0), 12 + (64 << 10) + 1)]);
    driver.notify(&mut platform, &queues[1]);
    assert_eq!(queues[1].returned(&memory), [(0, 0), (1, 0), (3, 0)]);
    assert_eq!(*wire.0.lock().unwrap(), [frame.clone(), frame[88..148].to_vec()], "one too long is dropped");
    assert_eq!(queues[0].returned(&memory), []);
    assert_eq!(platform.faults(), []);
    queues[1].add(&memory, &[Buffer::Readable(buffer(0), 11)]);
    driver.notify(&mut platform, &queues[1]);
    assert!(matches!(platform.faults()[..], [DeviceFault::Queue { device: "net", fault: QueueFault::Request, .. }]));
}

/// Section 5.1.6.4: the header comes first, and `num_buffers` is 1.
#[test]
fn a_frame_for_the_guest_comes_in_one_buffer_behind_its_header() {
    for (features, header) in [(VERSION_1 | 1 << 5, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0][..]), (1 << 5, &[0; 10])] {
        let memory = ScatteredRam::new(RAM);
        let mut platform = platform(vec![VirtioDevice::Net(Net::new([2; 6], Box::new(DiscardFrames)))]);
        let frame: Vec<u8> = (1..61).collect();
        assert!(!platform.receive_frame(&frame, &memory), "the driver is not there yet");
        let driver = Driver { slot: 0, memory: &memory };
        let mut queues = driver.start(&mut platform, features, 2);
        assert!(!platform.receive_frame(&frame, &memory), "there is no buffer");
        queues[0].add(&memory, &[Buffer::Writable(buffer(0x8000), 20), Buffer::Writable(buffer(0x9000), 1506)]);
        driver.notify(&mut platform, &queues[0]);
        assert!(platform.receive_frame(&frame, &memory));
        assert!(!platform.receive_frame(&frame, &memory), "the buffer is taken");
        let length = header.len() + frame.len();
        assert_eq!(queues[0].returned(&memory), [(0, length as u32)]);
        let parts = [load(&memory, buffer(0x8000), 20), load(&memory, buffer(0x9000), length - 20)].concat();
        assert_eq!(parts, [header, &frame].concat());
        assert_eq!(platform.faults(), []);
        queues[0].add(&memory, &[Buffer::Writable(buffer(0x8000), length as u32 - 1)]);
        driver.notify(&mut platform, &queues[0]);
        assert!(!platform.receive_frame(&frame, &memory), "too short");
        assert!(matches!(platform.faults()[..], [DeviceFault::Queue { fault: QueueFault::Request, .. }]));
    }
}

/// Section 5.1.6.1: `num_buffers` is not in its header.
#[test]
fn the_net_of_a_driver_without_version_1_has_a_header_of_10_bytes() {
    let memory = ScatteredRam::new(RAM);
    let wire = Wire::default();
    let mut platform = platform(vec![VirtioDevice::Net(Net::new([2; 6], Box::new(wire.clone())))]);
    let driver = Driver { slot: 0, memory: &memory };
    let frame: Vec<u8> = (1..61).collect();
    store(&memory, buffer(0), &[0; 10]);
    store(&memory, buffer(10), &frame);
    let mut queues = driver.start(&mut platform, 1 << 5, 2);
    queues[1].add(&memory, &[Buffer::Readable(buffer(0), 10 + 60)]);
    driver.notify(&mut platform, &queues[1]);
    assert_eq!(*wire.0.lock().unwrap(), [frame]);
}

#[test]
fn the_register_page_is_there_where_the_guest_has_a_primary_region() {
    let memory = ScatteredRam::new(RAM);
    let page = map::PRIMARY_REGION.base;
    let build = |primary_region| {
        Platform::new(PlatformConfig {
            harts: 1,
            plic: PlicContexts::Supervisor,
            input: ConsoleInput::Uart,
            virtio: vec![],
            primary_region,
        })
        .unwrap()
    };
    assert!(Platform::contains(page));
    assert_eq!(build(None).read(page, Width::Double), Err(BusError::NoDevice(page)));
    let mut platform = build(Some(Gpa(0x9000_0000)..Gpa(0x9800_0000)));
    assert_eq!(platform.read(page.wrapping_add(8), Width::Double), Ok(0x9000_0000));
    assert_eq!(platform.read(page, Width::Word), Err(BusError::Width(page, Width::Word)));
    platform.write(page.wrapping_add(0x38), Width::Double, 0, &memory).unwrap();
    assert!(platform.primary_region().unwrap().take_request().is_some());
}
