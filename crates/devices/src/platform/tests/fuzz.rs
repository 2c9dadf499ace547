//! A hostile guest: random accesses to registers, and random rings behind devices that were set up properly. Whatever it does, no
//! call panics or hangs, and a disk's image stays as it was.

use super::*;
use crate::virtio::{Balloon, Block, BlockConfig, DiscardFrames, ImageMode, Rng};
use proptest::collection::vec;
use proptest::prelude::*;
use std::io::Write;

/// The queues of five slots, 256 KiB apart.
const SMALL_RAM: u64 = 0x12_0000;
const QUEUES: [usize; 5] = [2, 1, 2, 1, 2];

fn hostile_platform(image: &tempfile::NamedTempFile) -> Platform {
    let disk = BlockConfig { path: image.path().to_owned(), mode: ImageMode::Overlay, id: String::new() };
    let virtio = vec![
        VirtioDevice::Console(Console::new()),
        VirtioDevice::Block(Block::open(&disk).unwrap()),
        VirtioDevice::Net(Net::new([2; 6], Box::new(DiscardFrames))),
        VirtioDevice::Rng(Rng::new(3)),
        VirtioDevice::Balloon(Balloon::new()),
    ];
    Platform::new(PlatformConfig {
        harts: 3,
        plic: PlicContexts::Supervisor,
        input: ConsoleInput::Virtio,
        virtio,
        primary_region: Some(Gpa(0x9000_0000)..Gpa(0x9010_0000)),
    })
    .unwrap()
}

fn image() -> tempfile::NamedTempFile {
    let mut image = tempfile::NamedTempFile::new().unwrap();
    image.write_all(&[0x5a; 64 * 512]).unwrap();
    image
}

/// An address in or near a device, mostly that of a register.
fn device_address() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => (0..QUEUES.len(), 0_u64..0x120).prop_map(|(slot, offset)| virtio_slot(slot).base.0 + offset / 4 * 4),
        1 => (0_u64..8).prop_map(|register| 0x1001_0000 + 8 * register),
        1 => (0_u64..0x9100).prop_map(|offset| 0x1000_0000 + offset),
        2 => (0_u64..8).prop_map(|offset| 0x1000_0000 + offset),
        1 => (0_u64..0x60_0000).prop_map(|offset| 0x0c00_0000 + offset),
        1 => (0_u64..64).prop_map(|word| 0x0c00_0000 + 4 * word),
        1 => (0_u64..4, 0_u64..2).prop_map(|(context, word)| 0x0c20_0000 + 0x1000 * context + 4 * word),
        1 => any::<u64>(),
    ]
}

fn width() -> impl Strategy<Value = Width> {
    prop_oneof![1 => Just(Width::Byte), 1 => Just(Width::Half), 4 => Just(Width::Word), 1 => Just(Width::Double)]
}

/// A value that a register may mean something by.
fn value() -> impl Strategy<Value = u64> {
    prop_oneof![0_u64..16, Just(64), Just(128), Just(256), 0x8000_0000_u64..0x8010_0000, any::<u64>()]
}

#[derive(Clone, Debug)]
enum Step {
    Read(u64, Width),
    Write(u64, Width, u64),
    Input(Vec<u8>),
    Resize(u16, u16),
    AskForMemory(u32),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (device_address(), width()).prop_map(|(gpa, width)| Step::Read(gpa, width)),
        12 => (device_address(), width(), value()).prop_map(|(gpa, width, value)| Step::Write(gpa, width, value)),
        1 => vec(any::<u8>(), 0..100).prop_map(Step::Input),
        1 => any::<(u16, u16)>().prop_map(|(columns, rows)| Step::Resize(columns, rows)),
        1 => any::<u32>().prop_map(Step::AskForMemory),
    ]
}

fn take(platform: &mut Platform, memory: &dyn DmaMemory, step: &Step) {
    match step {
        Step::Read(gpa, width) => {
            let read = platform.read(Gpa(*gpa), *width);
            if let (Ok(value), Width::Byte | Width::Half | Width::Word) = (read, *width) {
                assert_eq!(value >> (8 * width.bytes()), 0, "zero-extended");
            }
        }
        Step::Write(gpa, width, value) => {
            let _a_bus_error_is_fine = platform.write(Gpa(*gpa), *width, *value, memory);
        }
        Step::Input(bytes) => assert!(platform.console_input(bytes, memory) <= bytes.len()),
        Step::Resize(columns, rows) => platform.console_resize(*columns, *rows),
        Step::AskForMemory(pages) => platform.ask_for_memory(*pages),
    }
    platform.take_console_output();
    assert!(platform.take_given_up().len() <= 256 << 14, "a notification is a ring of requests at the most");
}

/// A descriptor that is mostly plausible: a buffer in RAM or in a ring, of a length that fits now and then.
fn any_descriptor() -> impl Strategy<Value = [u8; 16]> {
    let gpa = prop_oneof![
        6 => (0_u64..SMALL_RAM).prop_map(|offset| RAM_BASE.0 + offset),
        1 => (0_u64..SMALL_RAM / 16).prop_map(|entry| RAM_BASE.0 + 16 * entry),
        1 => any::<u64>(),
    ];
    let length = prop_oneof![2 => Just(16_u32), 2 => Just(512), 1 => Just(1), 4 => 0_u32..70_000, 1 => any::<u32>()];
    let flags = prop_oneof![8 => 0_u16..4, 1 => 0_u16..8];
    (gpa, length, flags, 0_u16..18).prop_map(|(gpa, length, flags, next)| descriptor(Gpa(gpa), length, flags, next))
}

/// The contents of one queue.
#[derive(Clone, Debug)]
struct Ring {
    table: Vec<[u8; 16]>,
    heads: Vec<u16>,
    index: u16,
}

fn ring() -> impl Strategy<Value = Ring> {
    (vec(any_descriptor(), 16), vec(0_u16..17, 16), prop_oneof![8 => 1_u16..17, 1 => any::<u16>()])
        .prop_map(|(table, heads, index)| Ring { table, heads, index })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn random_register_accesses(steps in vec(step(), 1..200)) {
        let memory = ScatteredRam::new(SMALL_RAM);
        let image = image();
        let mut platform = hostile_platform(&image);
        for step in &steps {
            take(&mut platform, &memory, step);
        }
        prop_assert_eq!(std::fs::read(image.path()).unwrap(), [0x5a; 64 * 512]);
    }

    #[test]
    fn random_rings(rings in vec(ring(), 10), features in any::<u64>(), noise in any::<u64>(), steps in vec(step(), 0..20)) {
        let memory = ScatteredRam::new(SMALL_RAM);
        // What the buffers hold: requests to a disk, as far as they mean anything.
        let mut contents = vec![0; SMALL_RAM as usize];
        types::SplitMix64::new(noise).fill(&mut contents);
        for header in contents.chunks_mut(16) {
            header[0] %= 10;
            header[1..8].fill(0);
            header[9..16].fill(0);
        }
        store(&memory, RAM_BASE, &contents);
        let image = image();
        let mut platform = hostile_platform(&image);
        for (slot, &count) in QUEUES.iter().enumerate() {
            let driver = Driver { slot, memory: &memory };
            let mut queues = driver.start(&mut platform, features | VERSION_1, count);
            for queue in &mut queues {
                let ring = &rings[slot * 2 + queue.index];
                for (entry, bytes) in (0..).zip(&ring.table) {
                    queue.set_descriptor(&memory, entry, bytes);
                }
                for &head in &ring.heads {
                    queue.offer(&memory, head);
                }
                queue.set_available_index(&memory, ring.index);
                driver.notify(&mut platform, queue);
            }
            platform.console_input(&[b'x'; 300], &memory);
        }
        for step in &steps {
            take(&mut platform, &memory, step);
        }
        prop_assert_eq!(std::fs::read(image.path()).unwrap(), [0x5a; 64 * 512]);
    }
}
