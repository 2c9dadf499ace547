//! Requests of disks are served when they are due.

use crate::machine::Machine;
use types::Cycles;

impl Machine {
    /// Takes note at `now` of what the harts of a guest told its disks.
    pub(crate) fn take_disk_notifications(&mut self, guest: usize, now: Cycles) {
        for notification in self.state.guests[guest].platform.take_disk_notifications() {
            self.disks.note(guest, notification, now);
        }
    }

    /// Serves the request of a disk that is due first, if that is no later than `next`, the time of whatever else happens; whether there was one.
    pub(crate) fn serve_disk(&mut self, next: Cycles) -> bool {
        let Some((due, guest, notification)) = self.disks.take_due(next) else { return false };
        if !self.has_ended(guest) {
            self.state.serve_disk(guest, notification);
            self.deliver_interrupts(guest, due);
            self.take_disk_notifications(guest, due);
        }
        true
    }
}
