//! All devices of a guest behind one bus: decodes addresses, carries interrupt wires to the PLIC, gathers console output.

use crate::bus::BusError;
use crate::dma::DmaMemory;
use crate::map::{self, VIRTIO_SLOT_BYTES, VIRTIO_SLOTS};
use crate::plic::{self, Plic, PlicContexts};
use crate::primary_region::RegionRegisters;
use crate::uart::{self, Uart};
use crate::virtio::{MmioSlot, NetBackend, QueueFault, VirtioDevice};
use core::ops::Range;
use types::{Gpa, Width};

/// The device that the user's keyboard is plugged into.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum ConsoleInput {
    /// The UART (`console=ttyS0`).
    #[default]
    Uart,
    /// The first virtio console (`console=hvc0`).
    Virtio,
}

/// What a platform is built from.
#[derive(Debug)]
pub struct PlatformConfig {
    /// Harts of the guest, 1 to 1024; half as many where each has two contexts of the PLIC.
    pub harts: usize,
    /// The PLIC's contexts of each hart.
    pub plic: PlicContexts,
    /// Where [`Platform::console_input`] goes.
    pub input: ConsoleInput,
    /// Virtio devices, at most 8; the nth is in slot n.
    pub virtio: Vec<VirtioDevice>,
    /// The guest's primary region, if it has one.
    pub primary_region: Option<Range<Gpa>>,
}

/// Why a platform cannot be built.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// No hart, or more than the PLIC has contexts for.
    #[error("{0} harts: a guest has at least one, and at most as many as the PLIC has contexts for (1024)")]
    Harts(usize),
    /// More virtio devices than slots.
    #[error("{0} virtio devices: there are 8 slots")]
    Slots(usize),
    /// Console input goes to a virtio console, and there is none.
    #[error("console input is for a virtio console, but the guest has no such device")]
    NoVirtioConsole,
}

/// Something that went wrong in a device, for reports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DeviceFault {
    /// The driver broke a queue, and the device asked for a reset.
    Queue {
        /// The virtio slot.
        slot: usize,
        /// The device's name.
        device: &'static str,
        /// What was wrong.
        fault: QueueFault,
        /// How often.
        count: u64,
    },
    /// The host failed requests to a disk; the guest saw I/O errors.
    Host {
        /// The virtio slot.
        slot: usize,
        /// What the host said last.
        message: String,
        /// How often.
        count: u64,
    },
}

/// UART, PLIC and virtio slots of one guest, at the addresses of [`crate::map`].
#[derive(Debug)]
pub struct Platform {
    plic: Plic,
    contexts: PlicContexts,
    uart: Uart,
    slots: Vec<MmioSlot>,
    region: Option<RegionRegisters>,
    input: ConsoleInput,
    output: Vec<u8>,
    /// Notifications of disks that were not served yet, where disks take their time.
    postponed: Option<Vec<DiskNotification>>,
}

/// What a driver told a disk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct DiskNotification {
    slot: usize,
    queue: u32,
    requests: u16,
}

/// A register of a device.
enum Target {
    Plic(u64),
    Uart(u8),
    Slot {
        slot: usize,
        offset: u32,
    },
    Config {
        slot: usize,
        offset: u64,
    },
    /// A virtio slot without a device.
    Empty {
        offset: u64,
    },
    Region(u64),
}

impl Platform {
    /// The devices after reset.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn new(config: PlatformConfig) -> Result<Self, ConfigError> {
        let contexts = config.plic.count(config.harts);
        if !(1..=plic::MAX_CONTEXTS).contains(&contexts) {
            return Err(ConfigError::Harts(config.harts));
        }
        if config.virtio.len() > VIRTIO_SLOTS {
            return Err(ConfigError::Slots(config.virtio.len()));
        }
        let is_console = |device: &VirtioDevice| matches!(device, VirtioDevice::Console(_));
        if config.input == ConsoleInput::Virtio && !config.virtio.iter().any(is_console) {
            return Err(ConfigError::NoVirtioConsole);
        }
        Ok(Self {
            plic: Plic::new(contexts),
            contexts: config.plic,
            uart: Uart::new(),
            slots: config.virtio.into_iter().map(MmioSlot::new).collect(),
            region: config.primary_region.map(RegionRegisters::new),
            input: config.input,
            output: Vec::new(),
            postponed: None,
        })
    }

    /// Whether `gpa` is in a device's window. There may be no register there.
    #[inline]
    #[must_use]
    pub fn contains(gpa: Gpa) -> bool {
        [map::PLIC, map::UART, map::VIRTIO, map::PRIMARY_REGION].iter().any(|window| window.offset(gpa).is_some())
    }

    /// A guest's load of `width` at `gpa`, zero-extended.
    ///
    /// # Errors
    /// [`BusError`]: the guest takes a load access fault; no device has changed.
    pub fn read(&mut self, gpa: Gpa, width: Width) -> Result<u64, BusError> {
        let value = match self.decode(gpa, width)? {
            Target::Plic(offset) => u64::from(self.plic.read(offset)),
            Target::Uart(register) => u64::from(self.uart.read(register)),
            Target::Slot { slot, offset } => u64::from(self.slots[slot].read(offset)),
            Target::Config { slot, offset } => self.slots[slot].read_config(offset, width),
            // Its configuration space is empty too.
            Target::Empty { offset } => u64::from(crate::virtio::read_empty(offset as u32)),
            Target::Region(offset) => self.region.as_ref().map_or(0, |region| region.read(offset)),
        };
        self.drive_wires();
        Ok(value)
    }

    /// A guest's store of the low `width` of `value` at `gpa`. A write that notifies a device has its requests served, with their
    /// data in `memory`, before this returns.
    ///
    /// # Errors
    /// [`BusError`]: the guest takes a store access fault; no device has changed.
    pub fn write(&mut self, gpa: Gpa, width: Width, value: u64, memory: &dyn DmaMemory) -> Result<(), BusError> {
        match self.decode(gpa, width)? {
            Target::Plic(offset) => self.plic.write(offset, value as u32),
            Target::Uart(register) => {
                self.uart.write(register, value as u8);
                self.uart.drain(&mut self.output);
            }
            Target::Slot { slot, offset } if self.postpones(slot, offset) => {
                self.postpone(slot, value as u32, memory);
            }
            Target::Slot { slot, offset } => {
                self.slots[slot].write(offset, value as u32, memory);
                if let VirtioDevice::Console(console) = self.slots[slot].device_mut() {
                    console.drain(&mut self.output);
                }
            }
            Target::Config { slot, offset } => {
                let bytes = value.to_le_bytes();
                self.slots[slot].device_mut().write_config(offset, &bytes[..width.bytes() as usize]);
            }
            Target::Empty { .. } => {}
            Target::Region(offset) => {
                if let Some(region) = &mut self.region {
                    region.write(offset, value);
                }
            }
        }
        self.drive_wires();
        Ok(())
    }

    /// From now on a disk serves the requests that it is notified of when [`Self::serve_disk`] says so.
    pub fn postpone_disks(&mut self) {
        self.postponed = Some(Vec::new());
    }

    /// Whether one of the devices is a disk.
    #[must_use]
    pub fn has_disk(&self) -> bool {
        self.slots.iter().any(|slot| matches!(slot.device(), VirtioDevice::Block(_)))
    }

    fn postpones(&self, slot: usize, offset: u32) -> bool {
        let notifies = offset == crate::virtio::QUEUE_NOTIFY && self.postponed.is_some();
        notifies && matches!(self.slots[slot].device(), VirtioDevice::Block(_))
    }

    /// Takes note of what is new in a disk's queue.
    fn postpone(&mut self, slot: usize, queue: u32, memory: &dyn DmaMemory) {
        let requests = self.slots[slot].postpone(queue, memory);
        if requests > 0 {
            self.postponed.get_or_insert_default().push(DiskNotification { slot, queue, requests });
        }
    }

    /// Whether a disk was notified since that was last taken.
    #[must_use]
    pub fn has_disk_notifications(&self) -> bool {
        self.postponed.as_ref().is_some_and(|postponed| !postponed.is_empty())
    }

    /// Takes the notifications of disks since this was last asked, oldest first.
    pub fn take_disk_notifications(&mut self) -> Vec<DiskNotification> {
        self.postponed.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Has the requests served that a disk was notified of. Of what the driver has added without a word it is notified now.
    pub fn serve_disk(&mut self, notification: DiskNotification, memory: &dyn DmaMemory) {
        let DiskNotification { slot, queue, requests } = notification;
        self.slots[slot].serve_postponed(queue, requests, memory);
        self.postpone(slot, queue, memory);
        self.drive_wires();
    }

    /// The level of hart `hart`'s external interrupt (SEIP).
    #[inline]
    #[must_use]
    pub fn external_interrupt(&self, hart: usize) -> bool {
        self.plic.line(self.contexts.supervisor(hart))
    }

    /// Grows whenever the external interrupt of any hart changes: while it stays the same, no hart has to check again.
    #[inline]
    #[must_use]
    pub fn interrupt_generation(&self) -> u64 {
        self.plic.generation()
    }

    /// Drives the hypervisor's own interrupt.
    pub fn set_hypervisor_interrupt(&mut self, high: bool) {
        self.plic.set_level(map::HYPERVISOR_SOURCE, high);
    }

    /// Passes what the user typed to the guest; returns how many of `bytes` it took. The caller offers the rest again later:
    /// a guest takes none before its driver listens, and then as much as its buffers hold.
    pub fn console_input(&mut self, bytes: &[u8], memory: &dyn DmaMemory) -> usize {
        let taken = match self.input {
            ConsoleInput::Uart => self.uart.receive(bytes),
            ConsoleInput::Virtio => {
                self.virtio_console().map_or(0, |slot| slot.deliver(crate::virtio::CONSOLE_RECEIVE, bytes, memory))
            }
        };
        self.drive_wires();
        taken
    }

    /// Has the first network card send to `backend` from now on; whether there is one.
    pub fn connect(&mut self, backend: Box<dyn NetBackend>) -> bool {
        for slot in &mut self.slots {
            if let VirtioDevice::Net(net) = slot.device_mut() {
                net.connect(backend);
                return true;
            }
        }
        false
    }

    /// Whether frames that the guest has sent wait for someone to carry them on.
    #[must_use]
    pub fn has_sent_frames(&self) -> bool {
        self.slots.iter().any(|slot| matches!(slot.device(), VirtioDevice::Net(net) if net.holds_frames()))
    }

    /// Passes a frame, from the destination address to the end of the payload, to the first network card; whether its driver had a buffer for
    /// it. Without one the frame is still the caller's.
    pub fn receive_frame(&mut self, frame: &[u8], memory: &dyn DmaMemory) -> bool {
        for slot in &mut self.slots {
            if let VirtioDevice::Net(net) = slot.device() {
                let bytes = net.with_header(frame);
                let taken = slot.deliver_whole(crate::virtio::NET_RECEIVE, &bytes, memory);
                self.drive_wires();
                return taken;
            }
        }
        false
    }

    /// Takes the byte that has been in the UART for longest, as firmware does that reads the console for the guest.
    pub fn take_console_byte(&mut self) -> Option<u8> {
        let byte = self.uart.take_received();
        self.drive_wires();
        byte
    }

    /// Takes what the guest has written, to the UART and to virtio consoles, since it was last taken. It gathers until then, so
    /// it is to be taken after every slice of the guest's execution.
    pub fn take_console_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    /// The user's terminal has that size in characters now. A UART cannot tell its driver.
    pub fn console_resize(&mut self, columns: u16, rows: u16) {
        for slot in &mut self.slots {
            if let VirtioDevice::Console(console) = slot.device_mut()
                && console.resize(columns, rows)
            {
                slot.config_changed();
            }
        }
        self.drive_wires();
    }

    /// Whether the guest has a balloon.
    #[must_use]
    pub fn has_balloon(&self) -> bool {
        self.slots.iter().any(|slot| matches!(slot.device(), VirtioDevice::Balloon(_)))
    }

    /// Asks the guest to give up this many pages of 4 KiB in all, if it has a balloon. Its driver answers in its own time.
    pub fn ask_for_memory(&mut self, pages: u32) {
        for slot in &mut self.slots {
            if let VirtioDevice::Balloon(balloon) = slot.device_mut()
                && balloon.ask_for(pages)
            {
                slot.config_changed();
            }
        }
        self.drive_wires();
    }

    /// Takes the pages that the guest has given up since this was last asked: any addresses at all, some perhaps twice. What is in them
    /// is lost.
    pub fn take_given_up(&mut self) -> Vec<Gpa> {
        let mut pages = Vec::new();
        for slot in &mut self.slots {
            if let VirtioDevice::Balloon(balloon) = slot.device_mut() {
                pages.append(&mut balloon.take_given_up());
            }
        }
        pages
    }

    /// Pages of 4 KiB that the guest's driver says to have given up.
    #[must_use]
    pub fn given_up(&self) -> u64 {
        let balloons = self.slots.iter().filter_map(|slot| match slot.device() {
            VirtioDevice::Balloon(balloon) => Some(u64::from(balloon.actual())),
            _ => None,
        });
        balloons.sum()
    }

    /// The registers of the primary region, if the guest has one.
    pub fn primary_region(&mut self) -> Option<&mut RegionRegisters> {
        self.region.as_mut()
    }

    /// What went wrong in the devices since the start, in order of slots.
    #[must_use]
    pub fn faults(&self) -> Vec<DeviceFault> {
        let mut faults = Vec::new();
        for (index, slot) in self.slots.iter().enumerate() {
            faults.extend(slot.faults().iter().map(|(&fault, &count)| DeviceFault::Queue {
                slot: index,
                device: slot.device().device().name(),
                fault,
                count,
            }));
            if let VirtioDevice::Block(block) = slot.device()
                && let Some((count, error)) = block.host_errors()
            {
                faults.push(DeviceFault::Host { slot: index, message: error.to_string(), count });
            }
        }
        faults
    }

    /// The register at `gpa`, if it can be accessed with `width`.
    fn decode(&self, gpa: Gpa, width: Width) -> Result<Target, BusError> {
        let target = self.target(gpa).ok_or(BusError::NoDevice(gpa))?;
        let fits = match target {
            Target::Uart(_) => width == Width::Byte,
            Target::Plic(_) | Target::Slot { .. } => width == Width::Word,
            Target::Empty { offset } if offset < crate::virtio::CONFIG => width == Width::Word,
            // Section 4.2.2.2: a 64-bit field is accessed as two halves.
            Target::Config { .. } | Target::Empty { .. } => width != Width::Double,
            Target::Region(_) => width == Width::Double,
        };
        match (fits, gpa.is_aligned(width.bytes())) {
            (false, _) => Err(BusError::Width(gpa, width)),
            (true, false) => Err(BusError::Misaligned(gpa, width)),
            (true, true) => Ok(target),
        }
    }

    fn target(&self, gpa: Gpa) -> Option<Target> {
        if let Some(offset) = map::UART.offset(gpa) {
            return (offset < uart::REGISTERS).then_some(Target::Uart(offset as u8));
        }
        if let Some(offset) = map::PLIC.offset(gpa) {
            return Some(Target::Plic(offset));
        }
        if let Some(offset) = map::PRIMARY_REGION.offset(gpa) {
            return self.region.is_some().then_some(Target::Region(offset));
        }
        let offset = map::VIRTIO.offset(gpa)?;
        let (slot, offset) = ((offset / VIRTIO_SLOT_BYTES) as usize, offset % VIRTIO_SLOT_BYTES);
        if slot >= self.slots.len() {
            return Some(Target::Empty { offset });
        }
        Some(match offset.checked_sub(crate::virtio::CONFIG) {
            Some(offset) => Target::Config { slot, offset },
            None => Target::Slot { slot, offset: offset as u32 },
        })
    }

    /// The pending bits of sources 0 to 31.
    #[cfg(test)]
    pub(crate) fn plic_pending(&mut self) -> u32 {
        self.plic.read(0x1000)
    }

    fn virtio_console(&mut self) -> Option<&mut MmioSlot> {
        self.slots.iter_mut().find(|slot| matches!(slot.device(), VirtioDevice::Console(_)))
    }

    fn drive_wires(&mut self) {
        self.plic.set_level(map::UART_SOURCE, self.uart.interrupt());
        for (index, slot) in self.slots.iter().enumerate() {
            self.plic.set_level(map::virtio_source(index), slot.interrupt());
        }
    }
}

mod state;
#[cfg(test)]
mod tests;

pub use state::{PlatformState, StateError};
