//! A memory balloon, from its driver's side.

use super::*;
use crate::virtio::Balloon;

const INFLATE: usize = 0;
const DEFLATE: usize = 1;
const ACTUAL: u64 = CONFIG + 4;
const NUMBERS: Gpa = Gpa(RAM_BASE.0 + 0x8_0ffc);

fn with_driver(test: impl FnOnce(&mut Platform, Driver<'_>, &mut [DriverQueue])) {
    let memory = ScatteredRam::new(1 << 20);
    let mut platform = platform(vec![VirtioDevice::Balloon(Balloon::new())]);
    let driver = Driver { slot: 0, memory: &memory };
    let mut queues = driver.start(&mut platform, u64::MAX, 2);
    test(&mut platform, driver, &mut queues);
}

/// Offers page numbers as one request of `queue`.
fn send(platform: &mut Platform, driver: Driver<'_>, queue: &mut DriverQueue, numbers: &[u32]) {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    store(driver.memory, NUMBERS, &bytes);
    queue.add(driver.memory, &[Buffer::Readable(NUMBERS, bytes.len() as u32)]);
    driver.notify(platform, queue);
}

#[test]
fn the_driver_is_told_what_is_asked_for_and_says_what_it_did() {
    with_driver(|platform, driver, _| {
        assert_eq!(driver.read(platform, DEVICE_ID), 5);
        assert_eq!(driver.read(platform, CONFIG), 0);
        platform.ask_for_memory(1000);
        assert_eq!((driver.read(platform, CONFIG), driver.read(platform, INTERRUPT_STATUS)), (1000, 2));
        assert_eq!(platform.plic_pending(), 1 << map::virtio_source(0));
        driver.write(platform, INTERRUPT_ACK, 2);
        platform.ask_for_memory(1000);
        assert_eq!(driver.read(platform, INTERRUPT_STATUS), 0, "nothing new");
        driver.write(platform, ACTUAL, 0x0001_0203);
        platform.write(driver.gpa(ACTUAL + 1), Width::Byte, 0xff, driver.memory).unwrap();
        platform.write(driver.gpa(CONFIG), Width::Word, 7, driver.memory).unwrap();
        platform.write(driver.gpa(CONFIG + 60), Width::Word, 7, driver.memory).unwrap();
        assert_eq!((driver.read(platform, ACTUAL), driver.read(platform, CONFIG)), (0x0001_ff03, 1000));
        assert_eq!(platform.given_up(), 0x0001_ff03);
    });
}

#[test]
fn pages_given_up_are_handed_over_once_in_their_order() {
    with_driver(|platform, driver, queues| {
        send(platform, driver, &mut queues[INFLATE], &[0x8_0005, 0x8_0001, 0xffff_ffff, 0x8_0001]);
        let pages = [0x8000_5000, 0x8000_1000, 0xfff_ffff_f000, 0x8000_1000];
        assert_eq!(platform.take_given_up(), pages.map(Gpa));
        assert_eq!(platform.take_given_up(), []);
        assert_eq!(queues[INFLATE].returned(driver.memory), [(0, 0)]);
        send(platform, driver, &mut queues[DEFLATE], &[0x8_0005]);
        assert_eq!(platform.take_given_up(), [], "what is taken back is not given up");
        assert_eq!(queues[DEFLATE].returned(driver.memory), [(0, 0)]);
    });
}

#[test]
fn requests_that_are_none_ask_for_a_reset() {
    for (bytes, fault) in [(6, QueueFault::Request), (0x1_0004, QueueFault::TooLong)] {
        with_driver(|platform, driver, queues| {
            queues[INFLATE].add(driver.memory, &[Buffer::Readable(NUMBERS, bytes)]);
            driver.notify(platform, &queues[INFLATE]);
            assert_eq!(driver.read(platform, STATUS) & NEEDS_RESET, NEEDS_RESET);
            let expected = DeviceFault::Queue { slot: 0, device: "balloon", fault, count: 1 };
            assert_eq!(platform.faults(), [expected]);
            assert_eq!(platform.take_given_up(), []);
        });
    }
}
