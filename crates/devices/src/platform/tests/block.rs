//! A disk with a real image, from its driver's side.

use super::*;
use crate::virtio::{Block, BlockConfig, ImageMode};
use proptest::collection::vec;
use proptest::prelude::*;
use std::io::Write;

const IN: u32 = 0;
const OUT: u32 = 1;
const FLUSH: u32 = 4;
const GET_ID: u32 = 8;
const OK: u8 = 0;
const IOERR: u8 = 1;
const UNSUPPORTED: u8 = 2;

/// Header, data and status of a request; header and data straddle pages.
const HEADER: u64 = 0x0ff8;
const DATA: u64 = 0x1_0f00;
const STATUS_BYTE: u64 = 0x8_0000;

struct Bench<'m> {
    platform: Platform,
    driver: Driver<'m>,
    queue: DriverQueue,
    image: tempfile::NamedTempFile,
}

impl<'m> Bench<'m> {
    fn new(memory: &'m dyn DmaMemory, mode: ImageMode, sectors: usize) -> Self {
        let mut image = tempfile::NamedTempFile::new().unwrap();
        let bytes: Vec<u8> = (0..sectors * 512).map(|index| (index / 512) as u8 ^ index as u8).collect();
        image.write_all(&bytes).unwrap();
        let config = BlockConfig { path: image.path().to_owned(), mode, id: "pagewalk-disk-number-one".into() };
        let mut platform = platform(vec![VirtioDevice::Block(Block::open(&config).unwrap())]);
        let driver = Driver { slot: 0, memory };
        let queue = driver.start(&mut platform, u64::MAX, 1).remove(0);
        Self { platform, driver, queue, image }
    }

    /// One request; returns the status and the length of the used element.
    fn request(&mut self, kind: u32, sector: u64, data: &[Buffer]) -> (u8, u32) {
        let memory = self.driver.memory;
        let mut header = [0; 16];
        header[0..4].copy_from_slice(&kind.to_le_bytes());
        header[8..16].copy_from_slice(&sector.to_le_bytes());
        store(memory, buffer(HEADER), &header);
        store(memory, buffer(STATUS_BYTE), &[0xff]);
        let (first, last) = (Buffer::Readable(buffer(HEADER), 16), Buffer::Writable(buffer(STATUS_BYTE), 1));
        let head = self.queue.add(memory, &[&[first], data, &[last]].concat());
        self.driver.notify(&mut self.platform, &self.queue);
        let returned = self.queue.returned(memory);
        assert_eq!(returned.len(), 1);
        assert_eq!(returned[0].0, u32::from(head));
        (load(memory, buffer(STATUS_BYTE), 1)[0], returned[0].1)
    }

    fn read(&mut self, sector: u64, length: u32) -> (u8, u32) {
        self.request(IN, sector, &[Buffer::Writable(buffer(DATA), length)])
    }

    fn write(&mut self, sector: u64, bytes: &[u8]) -> u8 {
        store(self.driver.memory, buffer(DATA), bytes);
        self.request(OUT, sector, &[Buffer::Readable(buffer(DATA), bytes.len() as u32)]).0
    }

    fn data(&self, length: usize) -> Vec<u8> {
        load(self.driver.memory, buffer(DATA), length)
    }

    fn image(&self) -> Vec<u8> {
        std::fs::read(self.image.path()).unwrap()
    }
}

#[test]
fn configuration() {
    let memory = ScatteredRam::new(RAM);
    let mut bench = Bench::new(&memory, ImageMode::ReadOnly, 300);
    let features = bench.driver.offered(&mut bench.platform);
    assert_eq!(features & 0xff_ffff, 1 << 1 | 1 << 2 | 1 << 5 | 1 << 6 | 1 << 9);
    let words: Vec<u64> = (0..6).map(|word| bench.driver.read(&mut bench.platform, CONFIG + 4 * word)).collect();
    assert_eq!(words, [300, 0, 32 << 10, 126, 0, 512]);
    let Bench { mut platform, driver, .. } = Bench::new(&memory, ImageMode::Overlay, 300);
    assert_eq!(driver.offered(&mut platform) & 1 << 5, 0, "a disk with an overlay can be written");
}

#[test]
fn reads_what_is_in_the_image() {
    let memory = ScatteredRam::new(RAM);
    let mut bench = Bench::new(&memory, ImageMode::Overlay, 400);
    assert_eq!(bench.read(7, 512), (OK, 513));
    assert_eq!(bench.data(512), bench.image()[7 * 512..8 * 512]);
    assert_eq!(bench.read(1, 399 * 512), (OK, 399 * 512 + 1), "longer than a chunk");
    assert_eq!(bench.data(399 * 512), bench.image()[512..]);
    let scattered = [Buffer::Writable(buffer(DATA), 100), Buffer::Writable(buffer(DATA + 100), 412)];
    assert_eq!(bench.request(IN, 399, &scattered), (OK, 513));
    assert_eq!(bench.data(512), bench.image()[399 * 512..]);
}

#[test]
fn an_overlay_is_read_back_and_never_reaches_the_image() {
    let memory = ScatteredRam::new(RAM);
    let mut bench = Bench::new(&memory, ImageMode::Overlay, 64);
    let before = bench.image();
    let fresh = vec![0xab; 3 * 512];
    assert_eq!(bench.write(5, &fresh), OK);
    assert_eq!(bench.request(FLUSH, 0, &[]), (OK, 1));
    assert_eq!(bench.image(), before);
    let mut expected = before.clone();
    expected[5 * 512..8 * 512].copy_from_slice(&fresh);
    assert_eq!(bench.read(0, 64 * 512), (OK, 64 * 512 + 1));
    assert_eq!(bench.data(64 * 512), expected);
}

#[test]
fn a_blank_disk_is_zeroes_and_keeps_what_is_written() {
    let memory = ScatteredRam::new(RAM);
    let mut bench = Bench::new(&memory, ImageMode::Blank(8 * 512 + 100), 1);
    let before = bench.image();
    assert_eq!(bench.read(0, 8 * 512), (OK, 8 * 512 + 1));
    assert_eq!(bench.data(8 * 512), [0; 8 * 512]);
    assert_eq!(bench.write(7, &[0xab; 512]), OK);
    assert_eq!(bench.read(7, 512), (OK, 513));
    assert_eq!((bench.data(512), bench.image()), (vec![0xab; 512], before));
    assert_eq!(bench.write(8, &[0xab; 512]), IOERR, "only whole sectors are there");
    let empty = BlockConfig { path: "blank".into(), mode: ImageMode::Blank(511), id: String::new() };
    assert!(Block::open(&empty).unwrap_err().to_string().contains("not even one sector"));
}

#[test]
fn a_disk_that_takes_its_time_serves_and_interrupts_when_it_is_told_to() {
    let memory = ScatteredRam::new(RAM);
    let mut bench = Bench::new(&memory, ImageMode::Overlay, 64);
    bench.platform.postpone_disks();
    store(&memory, buffer(HEADER), &[0; 16]);
    store(&memory, buffer(STATUS_BYTE), &[0xff]);
    let (first, last) = (Buffer::Readable(buffer(HEADER), 16), Buffer::Writable(buffer(STATUS_BYTE), 1));
    bench.queue.add(&memory, &[first, Buffer::Writable(buffer(DATA), 512), last]);
    let source = 1 << crate::map::virtio_source(0);
    assert!(!bench.platform.has_disk_notifications());
    bench.driver.notify(&mut bench.platform, &bench.queue);
    assert!(bench.platform.has_disk_notifications() && bench.queue.returned(&memory).is_empty());
    assert_eq!(bench.platform.plic_pending() & source, 0);
    let notifications = bench.platform.take_disk_notifications();
    assert_eq!((notifications.len(), bench.platform.has_disk_notifications()), (1, false));
    bench.platform.serve_disk(notifications[0], &memory);
    assert_eq!((bench.queue.returned(&memory).len(), load(&memory, buffer(STATUS_BYTE), 1)[0]), (1, OK));
    assert_ne!(bench.platform.plic_pending() & source, 0);
    assert_eq!(bench.data(512), bench.image()[..512]);
}

#[test]
fn write_through_reaches_the_image() {
    let memory = ScatteredRam::new(RAM);
    let mut bench = Bench::new(&memory, ImageMode::WriteThrough, 64);
    let mut expected = bench.image();
    assert_eq!(bench.write(63, &[0xcd; 512]), OK);
    assert_eq!(bench.request(FLUSH, 0, &[]).0, OK);
    expected[63 * 512..].fill(0xcd);
    assert_eq!(bench.image(), expected);
}

#[test]
fn a_read_only_disk_answers_writes_with_an_error() {
    let memory = ScatteredRam::new(RAM);
    let mut bench = Bench::new(&memory, ImageMode::ReadOnly, 64);
    let before = bench.image();
    assert_eq!(bench.write(0, &[0; 512]), IOERR);
    assert_eq!(bench.image(), before);
    assert_eq!(bench.read(0, 512).0, OK);
    assert_eq!(bench.platform.faults(), [], "the guest's fault, not the host's");
}

#[test]
fn transfers_stay_within_the_disk() {
    let memory = ScatteredRam::new(RAM);
    let mut bench = Bench::new(&memory, ImageMode::WriteThrough, 64);
    let before = bench.image();
    for sector in [63, 64, 1 << 55, u64::MAX / 512, u64::MAX] {
        assert_eq!(bench.write(sector, &[0; 1024]), IOERR, "{sector:#x}");
        assert_eq!(bench.read(sector, 1024), (IOERR, 0), "{sector:#x}");
    }
    assert_eq!(bench.write(0, &[0; 511]), IOERR);
    assert_eq!(bench.read(0, 513), (IOERR, 0));
    assert_eq!(bench.image(), before);
    assert_eq!(bench.read(64, 0), (OK, 1), "nothing, at the end");
    assert_eq!(bench.platform.faults(), []);
}

#[test]
fn tells_its_id() {
    let memory = ScatteredRam::new(RAM);
    let mut bench = Bench::new(&memory, ImageMode::Overlay, 1);
    assert_eq!(bench.request(GET_ID, 0, &[Buffer::Writable(buffer(DATA), 20)]), (OK, 21));
    assert_eq!(bench.data(20), b"pagewalk-disk-number");
    assert_eq!(bench.request(GET_ID, 0, &[Buffer::Writable(buffer(DATA), 40)]), (OK, 20), "the rest is not written");
}

#[test]
fn other_requests_are_unsupported() {
    let memory = ScatteredRam::new(RAM);
    let mut bench = Bench::new(&memory, ImageMode::Overlay, 64);
    for kind in [2, 11, 13, 0xffff_ffff] {
        assert_eq!(bench.request(kind, 0, &[]).0, UNSUPPORTED);
    }
}

#[test]
fn a_host_that_fails_is_an_error_to_the_guest_and_reported() {
    let memory = ScatteredRam::new(RAM);
    let mut bench = Bench::new(&memory, ImageMode::Overlay, 64);
    bench.image.as_file().set_len(512).unwrap();
    assert_eq!(bench.read(0, 1024).0, IOERR);
    assert_eq!(bench.read(60, 512).0, IOERR);
    assert!(matches!(bench.platform.faults()[..], [DeviceFault::Host { slot: 0, count: 2, .. }]));
    assert_eq!(bench.read(0, 512).0, OK);
}

#[test]
fn a_request_without_header_or_status_breaks_the_queue() {
    for chain in [
        &[Buffer::Readable(buffer(HEADER), 15), Buffer::Writable(buffer(STATUS_BYTE), 1)][..],
        &[Buffer::Readable(buffer(HEADER), 16)],
        &[Buffer::Readable(buffer(HEADER), 16), Buffer::Writable(buffer(STATUS_BYTE), 0)],
        &[Buffer::Writable(buffer(STATUS_BYTE), 1)],
    ] {
        let memory = ScatteredRam::new(RAM);
        let mut bench = Bench::new(&memory, ImageMode::Overlay, 64);
        bench.queue.add(&memory, chain);
        bench.driver.notify(&mut bench.platform, &bench.queue);
        assert_eq!(bench.queue.returned(&memory), []);
        assert!(matches!(
            bench.platform.faults()[..],
            [DeviceFault::Queue { device: "block", fault: QueueFault::Request, count: 1, .. }]
        ));
    }
}

/// U-Boot asks for an extent of ext4 at once, whatever the device says of segments. The request was refused as too long, and U-Boot waited for ever.
#[test]
fn a_disk_serves_requests_as_long_as_those_of_u_boot() {
    const PIECE: u32 = 0x6_f000;
    const PIECES: u32 = 12;
    let memory = ScatteredRam::new(RAM);
    let mut bench = Bench::new(&memory, ImageMode::Overlay, (PIECES * PIECE / 512) as usize);
    let pieces = vec![Buffer::Writable(buffer(DATA), PIECE); PIECES as usize];
    assert_eq!(bench.request(IN, 0, &pieces), (OK, PIECES * PIECE + 1));
    let last = ((PIECES - 1) * PIECE) as usize;
    assert_eq!(bench.data(PIECE as usize), bench.image()[last..last + PIECE as usize]);
}

#[test]
fn many_requests_are_served_by_one_notification() {
    let memory = ScatteredRam::new(RAM);
    let mut bench = Bench::new(&memory, ImageMode::Overlay, 64);
    for sector in 0..5_u64 {
        let mut header = [0; 16];
        header[8..16].copy_from_slice(&sector.to_le_bytes());
        store(&memory, buffer(0x10 * sector), &header);
        let chain = [
            Buffer::Readable(buffer(0x10 * sector), 16),
            Buffer::Writable(buffer(DATA + 512 * sector), 512),
            Buffer::Writable(buffer(STATUS_BYTE + sector), 1),
        ];
        bench.queue.add(&memory, &chain);
    }
    bench.driver.notify(&mut bench.platform, &bench.queue);
    let returned = bench.queue.returned(&memory);
    assert_eq!(returned, [(0, 513), (3, 513), (6, 513), (9, 513), (12, 513)]);
    assert_eq!(bench.data(5 * 512), bench.image()[..5 * 512]);
    assert_eq!(load(&memory, buffer(STATUS_BYTE), 5), [OK; 5]);
}

/// Cuts `bytes` bytes at `DATA` into buffers of the lengths given, in turn; the last takes the rest.
fn cut(bytes: u32, lengths: &[u32], buffer_of: fn(Gpa, u32) -> Buffer) -> Vec<Buffer> {
    let mut at = 0;
    let mut buffers = Vec::new();
    for &length in lengths.iter().chain([&bytes]) {
        let length = length.min(bytes - at);
        if length > 0 {
            buffers.push(buffer_of(buffer(DATA + u64::from(at)), length));
            at += length;
        }
    }
    buffers
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Against a plain array: reads and writes anywhere, also past the end, in buffers cut anywhere.
    #[test]
    fn a_disk_is_an_array(
        requests in vec((any::<bool>(), 0_u64..70, 0_u32..24, vec(1_u32..3000, 0..8), any::<u8>()), 1..60),
    ) {
        let memory = ScatteredRam::new(RAM);
        let mut bench = Bench::new(&memory, ImageMode::Overlay, 64);
        let image = bench.image();
        let mut expected = image.clone();
        for (is_write, sector, sectors, lengths, byte) in requests {
            let bytes = sectors * 512;
            let range = sector as usize * 512..sector as usize * 512 + bytes as usize;
            let status = if range.end <= expected.len() { OK } else { IOERR };
            if is_write {
                store(&memory, buffer(DATA), &vec![byte; bytes as usize]);
                let (answer, used) = bench.request(OUT, sector, &cut(bytes, &lengths, Buffer::Readable));
                prop_assert_eq!((answer, used), (status, 1));
                if status == OK {
                    expected[range].fill(byte);
                }
            } else {
                let (answer, used) = bench.request(IN, sector, &cut(bytes, &lengths, Buffer::Writable));
                prop_assert_eq!(answer, status);
                if status == OK {
                    prop_assert_eq!(used, bytes + 1);
                    prop_assert_eq!(bench.data(bytes as usize), &expected[range]);
                }
            }
        }
        prop_assert_eq!(bench.platform.faults(), []);
        prop_assert_eq!(bench.image(), image);
    }
}
