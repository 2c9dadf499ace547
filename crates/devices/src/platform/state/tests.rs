//! Devices that go on elsewhere.

use super::*;
use crate::map::{self, RAM_BASE};
use crate::testing::ContiguousRam;
use crate::testing::driver::*;
use crate::virtio::{Block, BlockConfig, DiscardFrames, ImageMode, Net, Rng, VirtioDevice};
use crate::{ConsoleInput, PlatformConfig, PlicContexts};
use types::{Gpa, Width};

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

fn devices() -> Vec<VirtioDevice> {
    vec![
        VirtioDevice::Rng(Rng::new(7)),
        VirtioDevice::Net(Net::new([2, 0, 0, 0, 0, 1], Box::new(DiscardFrames))),
        VirtioDevice::Balloon(crate::Balloon::new()),
        VirtioDevice::Console(crate::Console::new()),
    ]
}

#[test]
fn devices_go_on_where_they_were() {
    let ram = ContiguousRam::new(1 << 20);
    let mut platform = platform(devices());
    let driver = Driver { slot: 0, memory: &ram };
    let mut queues = driver.start(&mut platform, VERSION_1, 1);
    let buffer = RAM_BASE.wrapping_add(0x8_0000);
    let ask = |platform: &mut Platform, queue: &mut DriverQueue| {
        queue.add(&ram, &[Buffer::Writable(buffer, 16)]);
        driver.notify(platform, queue);
        assert_eq!(queue.returned(&ram).len(), 1);
        crate::testing::load(&ram, buffer, 16)
    };
    let first = ask(&mut platform, &mut queues[0]);
    // Interrupts of the slot and the UART, enabled and one of them in service, and keys that the guest has not read.
    platform.ask_for_memory(9);
    platform.write(map::UART.base.wrapping_add(1), Width::Byte, 1, &ram).unwrap();
    assert_eq!(platform.console_input(b"ls\n", &ram), 3);
    for source in [map::UART_SOURCE, map::virtio_source(0)] {
        let at = map::PLIC.base.wrapping_add(4 * u64::from(source));
        platform.write(at, Width::Word, 1, &ram).unwrap();
    }
    platform.write(map::PLIC.base.wrapping_add(0x2000), Width::Word, u64::from(u32::MAX), &ram).unwrap();
    assert_eq!(platform.read(CLAIM, Width::Word), Ok(u64::from(map::virtio_source(0))));

    let state = platform.state().unwrap();
    let mut elsewhere = self::platform(devices());
    elsewhere.set_state(&state).unwrap();
    assert_eq!(elsewhere.state(), Ok(state));
    for platform in [&mut platform, &mut elsewhere] {
        assert!(platform.external_interrupt(0) && !platform.external_interrupt(1));
        assert_eq!(platform.read(CLAIM, Width::Word), Ok(u64::from(map::UART_SOURCE)));
        assert_eq!(platform.read(map::UART.base, Width::Byte), Ok(u64::from(b'l')));
    }
    // The rings are where the driver left them, and the generator goes on.
    let second = ask(&mut elsewhere, &mut queues[0]);
    assert_ne!(first, second);
    let mut whole = [0; 32];
    types::SplitMix64::new(7).fill(&mut whole);
    assert_eq!([first, second].concat(), whole);
}

#[test]
fn the_state_of_other_devices_is_refused() {
    let state = platform(devices()).state().unwrap();
    let mut fewer = devices();
    fewer.pop();
    let mut other = devices();
    other.swap(0, 1);
    for virtio in [fewer, other] {
        assert!(matches!(platform(virtio).set_state(&state), Err(StateError::Mismatch(_))));
    }
    // Two harts with two contexts each, as many contexts as four harts have with one.
    let config = PlatformConfig {
        harts: 2,
        plic: PlicContexts::MachineAndSupervisor,
        input: ConsoleInput::Uart,
        virtio: devices(),
        primary_region: None,
    };
    assert_eq!(Platform::new(config).unwrap().set_state(&state), Err(StateError::Mismatch("the PLIC")));
    let config = PlatformConfig {
        harts: 3,
        plic: PlicContexts::Supervisor,
        input: ConsoleInput::Uart,
        virtio: devices(),
        primary_region: None,
    };
    assert_eq!(Platform::new(config).unwrap().set_state(&state), Err(StateError::Mismatch("the PLIC")));
}

#[test]
fn the_state_of_a_disk_is_that_of_its_queue_alone() {
    let image = tempfile::NamedTempFile::new().unwrap();
    image.as_file().set_len(4096).unwrap();
    let config = BlockConfig { path: image.path().to_owned(), mode: ImageMode::Overlay, id: String::new() };
    let disk = || VirtioDevice::Block(Block::open(&config).unwrap());
    let state = platform(vec![disk()]).state().unwrap();
    assert!(platform(vec![disk()]).has_disk());
    assert_eq!(platform(vec![disk()]).set_state(&state), Ok(()));
    let rng = platform(vec![VirtioDevice::Rng(crate::Rng::new(1))]).set_state(&state);
    assert_eq!(rng, Err(StateError::Mismatch("a virtio device")));
}
