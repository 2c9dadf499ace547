//! Devices and time: requests of disks are served when they are due, and frames are carried between turns, to and from networks outside, and
//! between guests when they are due.

use crate::machine::Machine;
use crate::parts::network::{Cable, Network, SentFrames};
use crate::parts::switch::Switch;
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

    /// Connects the first network card of a guest to a network outside; whether it has a card. From now on, what the guest does depends on what
    /// comes from there, and when.
    pub fn connect(&mut self, guest: usize, network: Box<dyn Network>) -> bool {
        let sent = SentFrames::default();
        let connected = self.state.guests[guest].platform.connect(Box::new(sent.clone()));
        if connected {
            self.cables.push(Cable { guest, sent, network, waiting: None });
        }
        connected
    }

    /// Carries what guests have sent, and what has come for them as far as their drivers have buffers for it.
    pub(crate) fn exchange_frames(&mut self) {
        for index in 0..self.cables.len() {
            let Cable { guest, sent, network, waiting } = &mut self.cables[index];
            let guest = *guest;
            sent.take().iter().for_each(|frame| network.send(frame));
            let mut taken = false;
            while let Some(frame) = waiting.take().or_else(|| network.next()) {
                if !self.state.receive_frame(guest, &frame) {
                    *waiting = Some(frame);
                    break;
                }
                taken = true;
            }
            if taken {
                let waited = network.waited();
                let now = self.elapsed() + self.cycles(waited);
                self.deliver_interrupts(guest, now);
            }
        }
    }

    /// Connects the first network card of a guest to the switch, where there is one.
    pub(crate) fn connect_to_switch(&mut self, guest: usize) {
        let Some(switch) = &mut self.switch else { return };
        let sent = SentFrames::default();
        if self.state.guests[guest].platform.connect(Box::new(sent.clone())) {
            switch.connect(guest, sent);
        }
    }

    /// Takes note at `now` of what a guest has sent to the switch.
    pub(crate) fn take_frames(&mut self, guest: usize, now: Cycles) {
        if let Some(switch) = &mut self.switch {
            switch.take(guest, now);
        }
    }

    /// When the next frame comes from the switch.
    pub(crate) fn first_frame_due(&self) -> Option<Cycles> {
        self.switch.as_ref().and_then(Switch::first_due)
    }

    /// Delivers the frame that is due first, if that is no later than `next`, the time of whatever else happens; whether there was one. One for
    /// which the driver has no buffer is lost.
    pub(crate) fn deliver_frame(&mut self, next: Cycles) -> bool {
        let due = self.switch.as_mut().and_then(|switch| switch.take_due(next));
        let Some((due, (guest, frame))) = due else { return false };
        if !self.has_ended(guest) && self.state.receive_frame(guest, &frame) {
            self.deliver_interrupts(guest, due);
        }
        true
    }

    /// Cycles of the pCPUs in `time`.
    fn cycles(&self, time: std::time::Duration) -> Cycles {
        let cycles = time.as_nanos() * u128::from(self.clock().hz) / 1_000_000_000;
        Cycles(u64::try_from(cycles).unwrap_or(u64::MAX))
    }
}
