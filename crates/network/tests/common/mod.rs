//! A guest of the network: a stack of its own, as a guest's kernel has one.

use network::{Host, UserNetwork};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::{tcp, udp};
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpCidr, IpEndpoint};
use std::net::Ipv4Addr;
use std::time::Duration;

/// The card of the guest.
pub(crate) const CARD: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Guest<H: Host> {
    pub(crate) network: UserNetwork<H>,
    pub(crate) interface: Interface,
    pub(crate) sockets: SocketSet<'static>,
    began: std::time::Instant,
}

impl<H: Host> Guest<H> {
    /// A guest without an address.
    pub(crate) fn new(mut network: UserNetwork<H>) -> Self {
        let mut config = Config::new(HardwareAddress::Ethernet(EthernetAddress(CARD)));
        config.random_seed = 7;
        let interface = Interface::new(config, &mut Wire(&mut network), Instant::ZERO);
        Self { network, interface, sockets: SocketSet::new(Vec::new()), began: std::time::Instant::now() }
    }

    /// A guest with the address that it would get.
    pub(crate) fn configured(network: UserNetwork<H>) -> Self {
        let mut guest = Self::new(network);
        guest.set_address(network::plan::GUEST);
        guest
    }

    pub(crate) fn set_address(&mut self, address: Ipv4Addr) {
        self.interface.update_ip_addrs(|addresses| {
            addresses.push(IpCidr::new(address.into(), network::plan::PREFIX)).unwrap();
        });
        self.interface.routes_mut().add_default_ipv4_route(network::plan::GATEWAY).unwrap();
    }

    pub(crate) fn tcp(&mut self) -> SocketHandle {
        let buffer = || tcp::SocketBuffer::new(vec![0; 32 << 10]);
        self.sockets.add(tcp::Socket::new(buffer(), buffer()))
    }

    pub(crate) fn udp(&mut self, port: u16) -> SocketHandle {
        let buffer = || udp::PacketBuffer::new(vec![udp::PacketMetadata::EMPTY; 8], vec![0; 8 << 10]);
        let mut socket = udp::Socket::new(buffer(), buffer());
        socket.bind(port).unwrap();
        self.sockets.add(socket)
    }

    /// A connection that is begun.
    pub(crate) fn connect(&mut self, to: (Ipv4Addr, u16), from: u16) -> SocketHandle {
        let handle = self.tcp();
        let socket = self.sockets.get_mut::<tcp::Socket>(handle);
        socket.connect(self.interface.context(), IpEndpoint::new(to.0.into(), to.1), from).unwrap();
        handle
    }

    pub(crate) fn socket(&mut self, handle: SocketHandle) -> &mut tcp::Socket<'static> {
        self.sockets.get_mut(handle)
    }

    pub(crate) fn datagrams(&mut self, handle: SocketHandle) -> &mut udp::Socket<'static> {
        self.sockets.get_mut(handle)
    }

    /// One round of everybody's work.
    pub(crate) fn step(&mut self) {
        let now = Instant::from_micros(self.began.elapsed().as_micros() as i64);
        self.interface.poll(now, &mut Wire(&mut self.network), &mut self.sockets);
        self.network.exchange();
        self.interface.poll(now, &mut Wire(&mut self.network), &mut self.sockets);
    }

    /// Goes on until `done` says so.
    pub(crate) fn until<R>(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> Option<R>) -> R {
        let began = std::time::Instant::now();
        loop {
            self.step();
            if let Some(result) = done(self) {
                return result;
            }
            assert!(began.elapsed() < PATIENCE, "{what}");
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

struct Wire<'n, H: Host>(&'n mut UserNetwork<H>);

impl<H: Host> Device for Wire<'_, H> {
    type RxToken<'a>
        = Frame
    where
        Self: 'a;
    type TxToken<'a>
        = Card<'a, H>
    where
        Self: 'a;

    fn receive(&mut self, _now: Instant) -> Option<(Frame, Card<'_, H>)> {
        let frame = self.0.frame()?.to_vec();
        self.0.took();
        Some((Frame(frame), Card(self.0)))
    }

    fn transmit(&mut self, _now: Instant) -> Option<Card<'_, H>> {
        Some(Card(self.0))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = 1514;
        capabilities
    }
}

struct Frame(Vec<u8>);

impl RxToken for Frame {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

struct Card<'n, H: Host>(&'n mut UserNetwork<H>);

impl<H: Host> TxToken for Card<'_, H> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, bytes: usize, write: F) -> R {
        let mut frame = vec![0; bytes];
        let result = write(&mut frame);
        self.0.send(&frame);
        result
    }
}
