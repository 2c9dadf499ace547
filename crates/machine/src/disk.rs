//! Disks that take their time: a request is served so long after the driver notified the disk, and then the interrupt comes.

use crate::{clock::Clock, config::Config, machine::Machine};
use devices::DiskNotification;
use std::collections::BTreeMap;
use types::Cycles;

/// What disks are to serve, by when.
#[derive(Debug, Default)]
pub(crate) struct Disks {
    /// 0: at once.
    latency: Cycles,
    /// By time, and in the order of notification.
    due: BTreeMap<(Cycles, u64), (usize, DiskNotification)>,
    notified: u64,
}

impl Disks {
    /// As the configuration says.
    pub(crate) fn new(config: &Config, clock: &Clock) -> Self {
        let cycles = u128::from(config.disk.latency_us) * u128::from(clock.hz) / 1_000_000;
        Self { latency: Cycles(u64::try_from(cycles).unwrap_or(u64::MAX)), ..Self::default() }
    }

    /// Whether a request takes any time.
    pub(crate) fn take_time(&self) -> bool {
        self.latency > Cycles(0)
    }

    /// When the next request is to be served.
    pub(crate) fn first_due(&self) -> Option<Cycles> {
        self.due.first_key_value().map(|(&(due, _), _)| due)
    }
}

impl Machine {
    /// Takes note at `now` of what the harts of a guest told its disks.
    pub(crate) fn take_disk_notifications(&mut self, guest: usize, now: Cycles) {
        for notification in self.world.guests[guest].platform.take_disk_notifications() {
            self.disks.due.insert((now + self.disks.latency, self.disks.notified), (guest, notification));
            self.disks.notified += 1;
        }
    }

    /// Serves the request of a disk that is due first, if that is no later than `next`, the time of whatever else happens; whether there was one.
    pub(crate) fn serve_disk(&mut self, next: Cycles) -> bool {
        let Some(entry) = self.disks.due.first_entry().filter(|entry| entry.key().0 <= next) else { return false };
        let ((due, _), (guest, notification)) = entry.remove_entry();
        if !self.has_ended(guest) {
            self.world.serve_disk(guest, notification);
            self.deliver_interrupts(guest, due);
            self.take_disk_notifications(guest, due);
        }
        true
    }
}
