//! The registers of a slot, its queues and its device as plain values, for a snapshot. Every request is served within the store that announces it, so
//! that none is ever under way.

use super::{MmioSlot, Status, VirtioDevice};
use crate::virtio::queue::{MAX_QUEUE_SIZE, QueueSetup};
use serde::{Deserialize, Serialize};
use virtio_queue::{Queue, QueueState, QueueT};

/// The state of a slot in a snapshot.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct SlotState {
    device: DeviceState,
    status: u32,
    device_features_select: u32,
    driver_features_select: u32,
    driver_features: u64,
    queue_select: u32,
    queues: Vec<SetupState>,
    interrupt_status: u32,
    config_generation: u32,
}

/// What a device holds beside its queues.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DeviceState {
    Console {
        columns: u16,
        rows: u16,
    },
    Net,
    /// A disk. What it holds is in its file.
    Disk,
    /// Where the generator is.
    Rng(u64),
    /// Pages asked for, and pages that the guest says to have given up.
    Balloon {
        target: u32,
        actual: u32,
    },
}

/// The registers by which a driver places a queue, and the queue once it is ready.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct SetupState {
    size: u32,
    descriptors: u64,
    driver: u64,
    device: u64,
    ready: Option<ReadyState>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct ReadyState {
    next_avail: u16,
    next_used: u16,
    event_index: bool,
    size: u16,
    descriptors: u64,
    avail: u64,
    used: u64,
}

impl MmioSlot {
    /// All that the slot holds, without the contents of a disk; `None` of a directory of the host, whose open files are not the machine's to keep.
    pub(crate) fn state(&self) -> Option<SlotState> {
        let device = match &self.device {
            VirtioDevice::FileSystem(_) => return None,
            VirtioDevice::Block(_) => DeviceState::Disk,
            VirtioDevice::Console(console) => {
                let (columns, rows) = console.size();
                DeviceState::Console { columns, rows }
            }
            VirtioDevice::Net(_) => DeviceState::Net,
            VirtioDevice::Rng(rng) => DeviceState::Rng(rng.state()),
            VirtioDevice::Balloon(balloon) => {
                DeviceState::Balloon { target: balloon.target(), actual: balloon.actual() }
            }
        };
        Some(SlotState {
            device,
            status: self.status.0,
            device_features_select: self.device_features_select,
            driver_features_select: self.driver_features_select,
            driver_features: self.driver_features,
            queue_select: self.queue_select,
            queues: self.queues.iter().map(SetupState::of).collect(),
            interrupt_status: self.interrupt_status,
            config_generation: self.config_generation,
        })
    }

    /// Sets all of it; false if that is another device's, or no queue of ours. The slot may then have changed in part.
    pub(crate) fn set_state(&mut self, state: &SlotState) -> bool {
        if state.queues.len() != self.queues.len() {
            return false;
        }
        match (&mut self.device, &state.device) {
            (VirtioDevice::Console(console), &DeviceState::Console { columns, rows }) => {
                console.resize(columns, rows);
            }
            (VirtioDevice::Net(_), DeviceState::Net) | (VirtioDevice::Block(_), DeviceState::Disk) => {}
            (VirtioDevice::Rng(rng), &DeviceState::Rng(at)) => rng.set_state(at),
            (VirtioDevice::Balloon(balloon), &DeviceState::Balloon { target, actual }) => {
                balloon.set_state(target, actual);
            }
            _ => return false,
        }
        for (queue, state) in self.queues.iter_mut().zip(&state.queues) {
            let Some(setup) = state.setup() else { return false };
            *queue = setup;
        }
        self.status = Status(state.status);
        self.device_features_select = state.device_features_select;
        self.driver_features_select = state.driver_features_select;
        self.driver_features = state.driver_features;
        self.queue_select = state.queue_select;
        self.interrupt_status = state.interrupt_status;
        self.config_generation = state.config_generation;
        self.device.set_features(state.driver_features);
        true
    }
}

impl SetupState {
    fn of(setup: &QueueSetup) -> Self {
        let &QueueSetup { size, descriptors, driver, device, ref ready } = setup;
        Self { size, descriptors, driver, device, ready: ready.as_ref().map(ReadyState::of) }
    }

    fn setup(&self) -> Option<QueueSetup> {
        let &Self { size, descriptors, driver, device, ref ready } = self;
        let ready = match ready {
            Some(ready) => Some(ready.queue()?),
            None => None,
        };
        Some(QueueSetup { size, descriptors, driver, device, ready })
    }
}

impl ReadyState {
    fn of(queue: &Queue) -> Self {
        Self {
            next_avail: queue.next_avail(),
            next_used: queue.next_used(),
            event_index: queue.event_idx_enabled(),
            size: queue.size(),
            descriptors: queue.desc_table(),
            avail: queue.avail_ring(),
            used: queue.used_ring(),
        }
    }

    /// The queue; `virtio-queue` checks size and alignment. That the rings lie in RAM is checked whenever they are reached.
    fn queue(&self) -> Option<Queue> {
        let state = QueueState {
            max_size: MAX_QUEUE_SIZE,
            next_avail: self.next_avail,
            next_used: self.next_used,
            event_idx_enabled: self.event_index,
            size: self.size,
            ready: true,
            desc_table: self.descriptors,
            avail_ring: self.avail,
            used_ring: self.used,
        };
        Queue::try_from(state).ok()
    }
}
