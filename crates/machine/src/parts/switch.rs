//! A switch between the guests of a machine: a frame comes a latency after it was sent, in simulated time, so that equal runs carry the same frames.

use super::network::SentFrames;
use std::collections::BTreeMap;
use std::sync::Arc;
use types::Cycles;

/// Frames on their way to a guest at the most; more are dropped.
const MOST_ON_THE_WAY: usize = 1024;

/// Hardware addresses that are known at the most. Frames for others go to all guests.
const MOST_ADDRESSES: usize = 4096;

/// The least frame: both addresses and the type.
const HEADER: usize = 14;

/// A hardware address.
type Address = [u8; 6];

/// A frame on its way: to which guest.
type OnTheWay = (usize, Arc<[u8]>);

/// The switch.
#[derive(Debug)]
pub(crate) struct Switch {
    latency: Cycles,
    /// What each guest that is connected has sent.
    ports: BTreeMap<usize, SentFrames>,
    /// Who has sent from which address.
    addresses: BTreeMap<Address, usize>,
    /// By time, and in the order of sending.
    due: BTreeMap<(Cycles, u64), OnTheWay>,
    /// By guest.
    on_the_way: BTreeMap<usize, usize>,
    sent: u64,
}

impl Switch {
    /// A switch without guests, whose frames take `latency`.
    pub(crate) fn new(latency: Cycles) -> Self {
        Self {
            latency,
            ports: BTreeMap::new(),
            addresses: BTreeMap::new(),
            due: BTreeMap::new(),
            on_the_way: BTreeMap::new(),
            sent: 0,
        }
    }

    /// Connects a guest, whose card sends to `sent`.
    pub(crate) fn connect(&mut self, guest: usize, sent: SentFrames) {
        self.ports.insert(guest, sent);
    }

    /// Takes what a guest has sent up to `now`.
    pub(crate) fn take(&mut self, guest: usize, now: Cycles) {
        let Some(port) = self.ports.get(&guest) else { return };
        for frame in port.take() {
            self.carry(guest, &frame.into(), now);
        }
    }

    fn carry(&mut self, from: usize, frame: &Arc<[u8]>, now: Cycles) {
        let (Some(to), Some(source)) = (address(frame, 0), address(frame, 6)) else { return };
        if frame.len() < HEADER {
            return;
        }
        if !is_group(source) && (self.addresses.len() < MOST_ADDRESSES || self.addresses.contains_key(&source)) {
            self.addresses.insert(source, from);
        }
        let known = self.addresses.get(&to).copied().filter(|_| !is_group(to));
        let receivers: Vec<usize> = match known {
            Some(guest) => vec![guest],
            None => self.ports.keys().copied().collect(),
        };
        for guest in receivers.into_iter().filter(|&guest| guest != from) {
            let on_the_way = self.on_the_way.entry(guest).or_default();
            if *on_the_way < MOST_ON_THE_WAY {
                *on_the_way += 1;
                self.due.insert((now + self.latency, self.sent), (guest, frame.clone()));
                self.sent += 1;
            }
        }
    }

    /// Takes the frame that is due first, if that is no later than `next`: when it is, and for which guest.
    pub(crate) fn take_due(&mut self, next: Cycles) -> Option<(Cycles, OnTheWay)> {
        let entry = self.due.first_entry().filter(|entry| entry.key().0 <= next)?;
        let ((due, _), (guest, frame)) = entry.remove_entry();
        if let Some(on_the_way) = self.on_the_way.get_mut(&guest) {
            *on_the_way -= 1;
        }
        Some((due, (guest, frame)))
    }

    /// When the next frame comes to its guest.
    pub(crate) fn first_due(&self) -> Option<Cycles> {
        self.due.first_key_value().map(|(&(due, _), _)| due)
    }
}

/// The address at an offset of a frame, if the frame is so long.
fn address(frame: &[u8], at: usize) -> Option<Address> {
    frame.get(at..at + 6)?.try_into().ok()
}

/// Whether an address is that of a group, all guests among them.
const fn is_group(address: Address) -> bool {
    address[0] & 1 != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use devices::NetBackend;

    fn frame(to: u8, from: u8) -> Vec<u8> {
        let mut frame = vec![0; 60];
        (frame[0], frame[5], frame[6], frame[11]) = (if to == 255 { 1 } else { 2 }, to, 2, from);
        frame
    }

    fn switch() -> (Switch, Vec<SentFrames>) {
        let mut switch = Switch::new(Cycles(100));
        let ports: Vec<SentFrames> = (0..3).map(|_| SentFrames::default()).collect();
        ports.iter().enumerate().for_each(|(guest, port)| switch.connect(guest, port.clone()));
        (switch, ports)
    }

    /// Sends a frame, and tells who gets it when.
    fn sent(switch: &mut Switch, port: &SentFrames, from: usize, bytes: &[u8], now: u64) -> Vec<(u64, usize)> {
        port.clone().transmit(bytes);
        switch.take(from, Cycles(now));
        std::iter::from_fn(|| switch.take_due(Cycles(u64::MAX)).map(|(due, (guest, _))| (due.0, guest))).collect()
    }

    #[test]
    fn a_frame_comes_a_latency_later_and_to_one_guest_where_that_is_known() {
        let (mut switch, ports) = switch();
        assert_eq!(sent(&mut switch, &ports[0], 0, &frame(2, 1), 10), [(110, 1), (110, 2)], "no guest has sent yet");
        assert_eq!(sent(&mut switch, &ports[1], 1, &frame(1, 2), 20), [(120, 0)]);
        assert_eq!(sent(&mut switch, &ports[0], 0, &frame(2, 1), 30), [(130, 1)]);
        assert_eq!(sent(&mut switch, &ports[0], 0, &frame(255, 1), 40), [(140, 1), (140, 2)]);
        assert_eq!(sent(&mut switch, &ports[0], 0, &frame(1, 1), 50), [], "to itself");
        assert_eq!(sent(&mut switch, &ports[0], 0, &[2; 13], 50), [], "no frame");
    }

    #[test]
    fn a_guest_that_sends_without_end_fills_nothing() {
        let (mut switch, ports) = switch();
        for _ in 0..3 {
            (0..1024).for_each(|_| ports[0].clone().transmit(&frame(255, 1)));
            switch.take(0, Cycles(0));
        }
        assert_eq!(switch.due.len(), 2 * MOST_ON_THE_WAY);
        for number in 0..2 * MOST_ADDRESSES {
            let mut bytes = frame(255, 1);
            bytes[7..9].copy_from_slice(&(number as u16).to_be_bytes());
            ports[0].clone().transmit(&bytes);
            switch.take(0, Cycles(0));
        }
        assert!(switch.addresses.len() <= MOST_ADDRESSES);
    }
}
