//! Disks that take their time: a request is served so long after the driver notified the disk, and then the interrupt comes.

use config::Config;
use config::clock::Clock;
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

    /// A disk of a guest has been notified at `now`.
    pub(crate) fn note(&mut self, guest: usize, notification: DiskNotification, now: Cycles) {
        self.due.insert((now + self.latency, self.notified), (guest, notification));
        self.notified += 1;
    }

    /// Takes the request that is due first, if that is no later than `next`: when it is, of which guest.
    pub(crate) fn take_due(&mut self, next: Cycles) -> Option<(Cycles, usize, DiskNotification)> {
        let entry = self.due.first_entry().filter(|entry| entry.key().0 <= next)?;
        let ((due, _), (guest, notification)) = entry.remove_entry();
        Some((due, guest, notification))
    }

    /// When the next request of a guest is to be served.
    pub(crate) fn first_due_of(&self, guest: usize) -> Option<Cycles> {
        self.due.iter().find(|(_, (of, _))| *of == guest).map(|(&(due, _), _)| due)
    }

    /// When the next request is to be served.
    pub(crate) fn first_due(&self) -> Option<Cycles> {
        self.due.first_key_value().map(|(&(due, _), _)| due)
    }
}
