//! The guest's network: who gets which of its frames, and what waits for it.

use crate::arp;
use crate::dhcp;
use crate::forward::{Forward, Protocol};
use crate::host::Host;
use crate::icmp;
use crate::outbox::Outbox;
use crate::plan;
use crate::tcp::Connections;
use crate::udp::Flows;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{EthernetFrame, EthernetProtocol, IpAddress, IpProtocol, Ipv4Packet, UdpPacket, UdpRepr};
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::Duration;

/// Connections of forwards that are taken at once.
const MOST_AT_ONCE: usize = 16;

/// What a network is made with.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The hardware address of the guest's card, until it sends from another.
    pub card: [u8; 6],
    /// The host's name servers, in the order in which they are asked.
    pub resolvers: Vec<SocketAddr>,
    /// The forwards that the host's sockets listen for, in the same order.
    pub forwards: Vec<Forward>,
    /// What the sequence numbers of connections come from.
    pub seed: u64,
}

/// The network of one guest.
pub struct UserNetwork<H: Host> {
    host: H,
    settings: Settings,
    /// The hardware address of the guest's card.
    card: [u8; 6],
    outbox: Outbox,
    connections: Connections<H::Stream>,
    flows: Flows<H::Datagrams>,
    /// The ports of forwards for datagrams, by number.
    datagram_ports: Vec<Option<u16>>,
}

impl<H: Host> fmt::Debug for UserNetwork<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserNetwork").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl<H: Host> UserNetwork<H> {
    /// A network on the sockets of `host`.
    #[must_use]
    pub fn new(host: H, settings: Settings) -> Self {
        let port = |forward: &Forward| (forward.protocol == Protocol::Udp).then_some(forward.guest);
        Self {
            host,
            card: settings.card,
            outbox: Outbox::default(),
            connections: Connections::new(settings.seed),
            flows: Flows::new(),
            datagram_ports: settings.forwards.iter().map(port).collect(),
            settings,
        }
    }

    /// The guest sends a frame. A malformed one is dropped, and so is one for which there is no receiver.
    pub fn send(&mut self, frame: &[u8]) {
        let Ok(frame) = EthernetFrame::new_checked(frame) else { return };
        if frame.src_addr().is_unicast() {
            self.card = frame.src_addr().0;
        }
        match frame.ethertype() {
            EthernetProtocol::Arp => {
                arp::answer(frame.payload()).into_iter().for_each(|answer| self.outbox.push(answer));
            }
            EthernetProtocol::Ipv4 => self.packet(frame.payload()),
            _ => {}
        }
    }

    /// The guest sends an IP packet. Fragments are dropped.
    fn packet(&mut self, bytes: &[u8]) {
        let Ok(packet) = Ipv4Packet::new_checked(bytes) else { return };
        if packet.version() != 4 || packet.more_frags() || packet.frag_offset() != 0 {
            return;
        }
        let ends = (packet.src_addr(), packet.dst_addr());
        if packet.next_header() == IpProtocol::Udp {
            self.datagram(ends, packet.payload());
            return;
        }
        if !plan::is_guest(ends.0) {
            return;
        }
        match packet.next_header() {
            IpProtocol::Icmp => {
                let answer = icmp::answer(self.card, ends.0, ends.1, packet.payload());
                answer.into_iter().for_each(|answer| self.outbox.push(answer));
            }
            IpProtocol::Tcp => {
                let resolver = self.settings.resolvers.first().copied();
                // What follows the packet in its frame is padding.
                let whole = &bytes[..usize::from(packet.total_len())];
                self.connections.take(&mut self.host, ends, (whole, packet.payload()), resolver);
            }
            _ => {}
        }
    }

    fn datagram(&mut self, (from, to): (Ipv4Addr, Ipv4Addr), bytes: &[u8]) {
        let Ok(packet) = UdpPacket::new_checked(bytes) else { return };
        let ends = (IpAddress::Ipv4(from), IpAddress::Ipv4(to));
        let Ok(header) = UdpRepr::parse(&packet, &ends.0, &ends.1, &ChecksumCapabilities::ignored()) else { return };
        if header.dst_port == dhcp::SERVER_PORT && (to.is_broadcast() || to == plan::GATEWAY) {
            dhcp::answer(packet.payload()).into_iter().for_each(|answer| self.outbox.push(answer));
            return;
        }
        if plan::is_guest(from) && header.src_port != 0 {
            let ends = (SocketAddrV4::new(from, header.src_port), SocketAddrV4::new(to, header.dst_port));
            self.flows.take(&mut self.host, ends, packet.payload(), &self.settings.resolvers);
        }
    }

    /// Carries whatever has come, in both directions, as far as there is room.
    pub fn exchange(&mut self) {
        for (number, forward) in self.settings.forwards.iter().enumerate() {
            for _ in 0..MOST_AT_ONCE {
                let Some(stream) = self.host.accept(number) else { break };
                self.connections.forward(stream, forward.guest);
            }
        }
        let now = self.host.now();
        self.connections.exchange(now, self.card, &mut self.outbox);
        self.flows.exchange(&mut self.host, &self.datagram_ports, self.card, &mut self.outbox);
    }

    /// The next frame for the guest.
    #[must_use]
    pub fn frame(&self) -> Option<&[u8]> {
        self.outbox.front()
    }

    /// The guest has taken the next frame.
    pub fn took(&mut self) {
        self.outbox.pop();
    }

    /// The sockets that are waited for.
    #[must_use]
    pub fn awaited(&self) -> Vec<PollFd<'_>> {
        let listening = self.host.listening().into_iter();
        let listening = listening.map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN));
        listening.chain(self.connections.awaited()).chain(self.flows.awaited()).collect()
    }

    /// In how long there is something to do by time alone; `None`: never.
    pub fn delay(&mut self) -> Option<Duration> {
        // As long as the guest takes no frame, no time brings it one.
        if !self.outbox.has_room() {
            return None;
        }
        let now = self.host.now();
        self.connections.delay(now)
    }

    /// Whether a socket has something, or the time has come for something.
    pub fn is_ready(&mut self) -> bool {
        if self.delay() == Some(Duration::ZERO) {
            return true;
        }
        let mut awaited = self.awaited();
        !awaited.is_empty()
            && poll(&mut awaited, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
    }

    /// Whether anything may still come for the guest.
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        !self.outbox.is_empty() || self.connections.count() + self.flows.count() + self.settings.forwards.len() > 0
    }
}
