//! The TCP stack of `smoltcp`, with a queue of packets on either side of it in place of a network card.

use crate::frame::{self, MTU};
use crate::outbox::Outbox;
use crate::plan::{GATEWAY, PREFIX};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Checksum, ChecksumCapabilities, Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp;
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetProtocol, HardwareAddress, IpAddress, IpCidr};
use std::collections::VecDeque;
use std::net::SocketAddrV4;
use std::time::Duration;

/// Packets of the guest that wait for the stack; what comes when there are as many is dropped.
const MOST_PACKETS: usize = 1024;

/// Bytes that the stack keeps of a connection in each direction.
pub(crate) const BUFFER: usize = 64 << 10;

/// The stack, and its sockets.
pub(crate) struct Stack {
    interface: Interface,
    sockets: SocketSet<'static>,
    /// From the guest, not looked at yet.
    inbox: VecDeque<Vec<u8>>,
}

impl Stack {
    /// A stack that answers for every address. `seed` makes its sequence numbers.
    pub(crate) fn new(seed: u64) -> Self {
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = seed;
        let mut outbox = Outbox::default();
        let mut nothing = VecDeque::new();
        let mut device = Link { inbox: &mut nothing, outbox: &mut outbox, card: [0; 6] };
        let mut interface = Interface::new(config, &mut device, Instant::ZERO);
        interface.update_ip_addrs(|addresses| {
            // There is room for two at least.
            let _ = addresses.push(IpCidr::new(IpAddress::Ipv4(GATEWAY), PREFIX));
        });
        // Packets to other addresses are taken where the route to those leads here.
        interface.set_any_ip(true);
        let _ = interface.routes_mut().add_default_ipv4_route(GATEWAY);
        Self { interface, sockets: SocketSet::new(Vec::new()), inbox: VecDeque::new() }
    }

    /// An IP packet of the guest.
    pub(crate) fn take(&mut self, packet: &[u8]) {
        if self.inbox.len() < MOST_PACKETS {
            self.inbox.push_back(packet.to_vec());
        }
    }

    /// Works on what has come and on what is to be sent. Frames for the card at `card` go to `outbox`, as long as it has room.
    pub(crate) fn poll(&mut self, now: Duration, card: [u8; 6], outbox: &mut Outbox) {
        let mut device = Link { inbox: &mut self.inbox, outbox, card };
        self.interface.poll(instant(now), &mut device, &mut self.sockets);
    }

    /// In how long there is something to do by time alone; `None`: never.
    pub(crate) fn delay(&mut self, now: Duration) -> Option<Duration> {
        let delay = self.interface.poll_delay(instant(now), &self.sockets)?;
        Some(Duration::from_micros(delay.total_micros()))
    }

    /// A socket that takes the next connection to `to`.
    pub(crate) fn listen(&mut self, to: SocketAddrV4) -> Option<SocketHandle> {
        let mut socket = socket();
        socket.listen((IpAddress::Ipv4(*to.ip()), to.port())).ok()?;
        Some(self.sockets.add(socket))
    }

    /// A socket that connects from `from` to a port of the guest.
    pub(crate) fn connect(&mut self, from: SocketAddrV4, to: SocketAddrV4) -> Option<SocketHandle> {
        let mut socket = socket();
        let remote = (IpAddress::Ipv4(*to.ip()), to.port());
        let local = (IpAddress::Ipv4(*from.ip()), from.port());
        socket.connect(self.interface.context(), remote, local).ok()?;
        Some(self.sockets.add(socket))
    }

    /// A socket.
    pub(crate) fn socket(&mut self, handle: SocketHandle) -> &mut tcp::Socket<'static> {
        self.sockets.get_mut(handle)
    }

    /// The same, to look at.
    pub(crate) fn look(&self, handle: SocketHandle) -> &tcp::Socket<'static> {
        self.sockets.get(handle)
    }

    /// A socket is done with.
    pub(crate) fn remove(&mut self, handle: SocketHandle) {
        self.sockets.remove(handle);
    }
}

fn instant(now: Duration) -> Instant {
    Instant::from_micros(i64::try_from(now.as_micros()).unwrap_or(i64::MAX))
}

fn socket() -> tcp::Socket<'static> {
    let buffer = || tcp::SocketBuffer::new(vec![0; BUFFER]);
    let mut socket = tcp::Socket::new(buffer(), buffer());
    // Whatever is there is sent at once, as the host's own stack has gathered it already.
    socket.set_nagle_enabled(false);
    socket.set_ack_delay(None);
    socket
}

/// The link between the stack and the guest's card.
struct Link<'q> {
    inbox: &'q mut VecDeque<Vec<u8>>,
    outbox: &'q mut Outbox,
    card: [u8; 6],
}

impl Device for Link<'_> {
    type RxToken<'a>
        = Received
    where
        Self: 'a;
    type TxToken<'a>
        = Sent<'a>
    where
        Self: 'a;

    fn receive(&mut self, _now: Instant) -> Option<(Received, Sent<'_>)> {
        // A packet may be answered: it waits until there is room for the answer.
        if !self.outbox.has_room() {
            return None;
        }
        let packet = self.inbox.pop_front()?;
        Some((Received(packet), Sent { outbox: self.outbox, card: self.card }))
    }

    fn transmit(&mut self, _now: Instant) -> Option<Sent<'_>> {
        self.outbox.has_room().then_some(Sent { outbox: self.outbox, card: self.card })
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut checksum = ChecksumCapabilities::default();
        // Nothing can damage a packet on its way from the guest.
        (checksum.ipv4, checksum.tcp) = (Checksum::Tx, Checksum::Tx);
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = MTU;
        capabilities.checksum = checksum;
        capabilities
    }
}

struct Received(Vec<u8>);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

struct Sent<'o> {
    outbox: &'o mut Outbox,
    card: [u8; 6],
}

impl TxToken for Sent<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, bytes: usize, write: F) -> R {
        let mut result = None;
        let frame = frame::ethernet(self.card, EthernetProtocol::Ipv4, bytes, |packet| result = Some(write(packet)));
        self.outbox.push(frame);
        result.expect("a frame is filled")
    }
}
