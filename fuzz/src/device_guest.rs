//! A guest with every device, and what it can do to them.

use crate::guest_memory::{GuestMemory, PAGES, RAM};
use devices::map::{RAM_BASE, VIRTIO_SLOTS, virtio_slot};
use devices::{
    Balloon, Block, BlockConfig, Console, ConsoleInput, DiscardFrames, ImageMode, Net, Platform, PlatformConfig,
    PlicContexts, Rng, VirtioDevice,
};
use std::io::Write;
use tempfile::NamedTempFile;
use testing::Random;
use types::{Gpa, Width};

const HARTS: usize = 3;
const WIDTHS: [Width; 6] = [Width::Byte, Width::Half, Width::Word, Width::Word, Width::Word, Width::Double];
const SECTORS: usize = 64;
static IMAGE: [u8; SECTORS * 512] = [0x5a; SECTORS * 512];

/// A platform and the memory of the hostile guest that drives it.
pub(crate) struct DeviceGuest {
    pub(crate) platform: Platform,
    pub(crate) memory: GuestMemory,
    image: NamedTempFile,
}

impl DeviceGuest {
    /// The devices after a reset, on a host that may lack frames.
    pub(crate) fn new(random: &mut Random) -> Self {
        let mut image = NamedTempFile::new().expect("there is room for a small file");
        image.write_all(&IMAGE).expect("there is room for a small file");
        let disk = BlockConfig { path: image.path().to_owned(), mode: ImageMode::Overlay, id: "disk".to_owned() };
        let virtio = vec![
            VirtioDevice::Console(Console::new()),
            VirtioDevice::Block(Block::open(&disk).expect("the image was written")),
            VirtioDevice::Net(Net::new([2; 6], Box::new(DiscardFrames))),
            VirtioDevice::Rng(Rng::new(3)),
            VirtioDevice::Balloon(Balloon::new()),
        ];
        let plic = if random.one_in(4) { PlicContexts::MachineAndSupervisor } else { PlicContexts::Supervisor };
        let input = if random.one_in(2) { ConsoleInput::Virtio } else { ConsoleInput::Uart };
        let primary_region = random.one_in(2).then_some(Gpa(0x9000_0000)..Gpa(0x9010_0000));
        let config = PlatformConfig { harts: HARTS, plic, input, virtio, primary_region };
        let limit = if random.one_in(4) { random.below(PAGES) } else { PAGES };
        let mut platform = Platform::new(config).expect("the configuration is one of those that can be built");
        if random.one_in(4) {
            platform.postpone_disks();
        }
        Self { platform, memory: GuestMemory::new(limit), image }
    }

    /// Writes to a register. A bus error is an answer as good as another.
    pub(crate) fn write(&mut self, gpa: Gpa, width: Width, value: u64) {
        let _bus_error = self.platform.write(gpa, width, value, &self.memory);
    }

    /// Reads a register.
    ///
    /// # Panics
    /// If it has more bits than the guest requested.
    pub(crate) fn read(&mut self, gpa: Gpa, width: Width) {
        if let Ok(value) = self.platform.read(gpa, width) {
            assert!(width == Width::Double || value >> (8 * width.bytes()) == 0, "{gpa}: {value:#x} in {width:?}");
        }
    }

    /// One thing that a guest, or its user, does.
    pub(crate) fn step(&mut self, random: &mut Random) {
        match random.below(16) {
            0..=8 => {
                let (gpa, width, value) = (address(random), random.pick(&WIDTHS), value(random));
                self.write(gpa, width, value);
            }
            9..=11 => {
                let (gpa, width) = (address(random), random.pick(&WIDTHS));
                self.read(gpa, width);
            }
            12 if random.one_in(2) => {
                let frame = random.bytes(1514);
                let _taken = self.platform.receive_frame(&frame, &self.memory);
            }
            12 => {
                let bytes = random.bytes(100);
                assert!(self.platform.console_input(&bytes, &self.memory) <= bytes.len(), "more taken than typed");
            }
            13 => self.platform.console_resize(random.below(1 << 16) as u16, random.below(1 << 16) as u16),
            14 => self.platform.ask_for_memory(random.below(1 << 32) as u32),
            _ => {
                for notification in self.platform.take_disk_notifications() {
                    self.platform.serve_disk(notification, &self.memory);
                }
            }
        }
        self.settle();
    }

    /// What the machine takes from the devices after each access.
    pub(crate) fn settle(&mut self) {
        let _printed = self.platform.take_console_output();
        let most = 256 << 14;
        assert!(self.platform.take_given_up().len() <= most, "a notification is a ring of requests at the most");
        let _levels = [0; HARTS].map(|hart| self.platform.external_interrupt(hart));
    }

    /// Every register can be read still, and the disk's image is as it was.
    ///
    /// # Panics
    /// If not.
    pub(crate) fn finish(mut self) {
        for slot in 0..VIRTIO_SLOTS {
            for offset in (0..0x100).step_by(4) {
                self.read(virtio_slot(slot).base.wrapping_add(offset), Width::Word);
            }
        }
        let image = std::fs::read(self.image.path()).expect("the image is there");
        assert!(image == IMAGE, "the image of an overlay was written to");
    }
}

/// An address in or near a device, mostly that of a register.
fn address(random: &mut Random) -> Gpa {
    match random.below(8) {
        0..=2 => {
            let register = virtio_slot(random.index(VIRTIO_SLOTS)).base.wrapping_add(random.below(0x50) * 4);
            register.wrapping_add(if random.one_in(8) { random.below(4) } else { 0 })
        }
        3 => Gpa(0x1001_0000 + 8 * random.below(8)),
        4 => Gpa(0x1000_0000 + random.below(12)),
        5 => Gpa(0x0c00_0000 + 4 * random.below(64)),
        6 => {
            let context = 0x0c20_0000 + 0x1000 * random.below(4) + 4 * random.below(2);
            let enabled = 0x0c00_2000 + 0x80 * random.below(4) + 4 * random.below(2);
            Gpa(if random.one_in(2) { context } else { enabled })
        }
        _ => Gpa(random.bits()),
    }
}

/// A value that a register may mean something by.
fn value(random: &mut Random) -> u64 {
    match random.below(5) {
        0 | 1 => random.below(16),
        2 => random.pick(&[16, 64, 128, 256]),
        3 => RAM_BASE.0 + random.below(RAM >> 4) * 16,
        _ => random.bits(),
    }
}
