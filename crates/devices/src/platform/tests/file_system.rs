//! A virtio file system, from its driver's side.

use super::*;
use crate::virtio::{FileServer, FileSystem};

const URGENT: usize = 0;
const REQUESTS: usize = 1;
const MESSAGE: Gpa = Gpa(RAM_BASE.0 + 0x8_0ffc);
const ANSWER: Gpa = Gpa(RAM_BASE.0 + 0x9_0ffc);

/// Answers a message with itself turned round; none to one that begins with a zero, and what is too long to one that begins with a one.
struct Mirror;

impl FileServer for Mirror {
    fn answer(&mut self, message: &[u8], room: usize) -> Option<Vec<u8>> {
        match message.first()? {
            0 => Some(Vec::new()),
            1 => Some(vec![1; room + 1]),
            _ => Some(message.iter().rev().copied().collect()),
        }
    }
}

fn with_driver(test: impl FnOnce(&mut Platform, Driver<'_>, &mut [DriverQueue])) {
    let memory = ScatteredRam::new(1 << 20);
    let mut platform = platform(vec![VirtioDevice::FileSystem(FileSystem::new("data", Box::new(Mirror)))]);
    let driver = Driver { slot: 0, memory: &memory };
    let mut queues = driver.start(&mut platform, u64::MAX, 2);
    test(&mut platform, driver, &mut queues);
}

#[test]
fn the_driver_finds_the_tag_and_one_queue_for_requests() {
    with_driver(|platform, driver, _| {
        assert_eq!(driver.read(platform, DEVICE_ID), 26);
        assert_eq!(driver.read(platform, CONFIG), u64::from(u32::from_le_bytes(*b"data")));
        assert_eq!((driver.read(platform, CONFIG + 4), driver.read(platform, CONFIG + 36)), (0, 1));
    });
}

#[test]
fn an_answer_has_its_length() {
    with_driver(|platform, driver, queues| {
        store(driver.memory, MESSAGE, b"message");
        queues[REQUESTS].add(driver.memory, &[Buffer::Readable(MESSAGE, 7), Buffer::Writable(ANSWER, 100)]);
        driver.notify(platform, &queues[REQUESTS]);
        assert_eq!(queues[REQUESTS].returned(driver.memory), [(0, 7)]);
        assert_eq!(load(driver.memory, ANSWER, 8), b"egassem\0");
        store(driver.memory, MESSAGE, &[0]);
        queues[URGENT].add(driver.memory, &[Buffer::Readable(MESSAGE, 1)]);
        driver.notify(platform, &queues[URGENT]);
        assert_eq!(queues[URGENT].returned(driver.memory), [(0, 0)]);
        assert!(platform.faults().is_empty());
    });
}

#[test]
fn a_message_without_an_answer_that_fits_breaks_the_queue() {
    for message in [&[][..], &[1, 2]] {
        with_driver(|platform, driver, queues| {
            store(driver.memory, MESSAGE, message);
            let readable = Buffer::Readable(MESSAGE, message.len() as u32);
            queues[REQUESTS].add(driver.memory, &[readable, Buffer::Writable(ANSWER, 16)]);
            driver.notify(platform, &queues[REQUESTS]);
            assert_eq!(driver.read(platform, STATUS) & NEEDS_RESET, NEEDS_RESET);
            let [DeviceFault::Queue { device: "file system", fault: QueueFault::Request, count: 1, .. }] =
                platform.faults()[..]
            else {
                panic!("{:?}", platform.faults())
            };
        });
    }
}

#[test]
fn a_shared_directory_has_no_state_to_keep() {
    with_driver(|platform, _, _| assert_eq!(platform.state(), Err(StateError::Share)));
}
