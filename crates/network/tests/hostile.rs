//! What a hostile guest can take of its host: no more than the stated number of sockets and frames.

#[allow(dead_code, reason = "each test binary uses its part")]
mod common;

use network::plan::{GATEWAY, GATEWAY_MAC, GUEST};
use network::{Datagrams, Host, MOST_CONNECTIONS, MOST_FLOWS, MOST_FRAMES, Settings, Stream, UserNetwork};
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    EthernetAddress, EthernetFrame, EthernetProtocol, EthernetRepr, IpProtocol, Ipv4Packet, Ipv4Repr, TcpControl,
    TcpPacket, TcpRepr, TcpSeqNumber, UdpPacket, UdpRepr,
};
use std::cell::RefCell;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::BorrowedFd;
use std::rc::Rc;
use std::time::Duration;

/// Sockets at this moment, and at the most.
#[derive(Default)]
struct Count {
    now: usize,
    most: usize,
    clock: Duration,
}

/// A host whose connections are never made, and whose datagrams are lost.
#[derive(Clone, Default)]
struct Silent(Rc<RefCell<Count>>);

struct Socket(Rc<RefCell<Count>>);

impl Silent {
    fn socket(&self) -> Socket {
        let mut count = self.0.borrow_mut();
        count.now += 1;
        count.most = count.most.max(count.now);
        Socket(self.0.clone())
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.0.borrow_mut().now -= 1;
    }
}

impl Host for Silent {
    type Stream = Socket;
    type Datagrams = Socket;

    fn connect(&mut self, _to: SocketAddr) -> io::Result<Socket> {
        Ok(self.socket())
    }

    fn datagrams(&mut self, _to: SocketAddr) -> io::Result<Socket> {
        Ok(self.socket())
    }

    fn accept(&mut self, _forward: usize) -> Option<Socket> {
        None
    }

    fn receive(&mut self, _forward: usize, _buffer: &mut [u8]) -> Option<(usize, SocketAddr)> {
        None
    }

    fn send(&mut self, _forward: usize, _bytes: &[u8], _to: SocketAddr) {}

    fn listening(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }

    fn now(&self) -> Duration {
        self.0.borrow().clock
    }
}

impl Stream for Socket {
    fn is_connected(&mut self) -> io::Result<bool> {
        Ok(false)
    }

    fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn end_writing(&mut self) {}

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

impl Datagrams for Socket {
    fn send(&mut self, _bytes: &[u8]) {}

    fn receive(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

fn frame(from: Ipv4Addr, to: Ipv4Addr, protocol: IpProtocol, bytes: usize, fill: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let ethernet = EthernetRepr {
        src_addr: EthernetAddress(common::CARD),
        dst_addr: EthernetAddress(GATEWAY_MAC),
        ethertype: EthernetProtocol::Ipv4,
    };
    let ip = Ipv4Repr { src_addr: from, dst_addr: to, next_header: protocol, payload_len: bytes, hop_limit: 64 };
    let mut frame = vec![0; ethernet.buffer_len() + ip.buffer_len() + bytes];
    let mut writer = EthernetFrame::new_unchecked(&mut frame);
    ethernet.emit(&mut writer);
    let mut packet = Ipv4Packet::new_unchecked(writer.payload_mut());
    ip.emit(&mut packet, &ChecksumCapabilities::default());
    fill(packet.payload_mut());
    frame
}

fn first_of_connection(from_port: u16, to: Ipv4Addr) -> Vec<u8> {
    let segment = TcpRepr {
        src_port: from_port,
        dst_port: 80,
        control: TcpControl::Syn,
        seq_number: TcpSeqNumber(1),
        ack_number: None,
        window_len: 1000,
        window_scale: None,
        max_seg_size: None,
        sack_permitted: false,
        sack_ranges: [None; 3],
        timestamp: None,
        payload: &[],
    };
    frame(GUEST, to, IpProtocol::Tcp, segment.buffer_len(), |payload| {
        let ends = (GUEST.into(), to.into());
        let mut packet = TcpPacket::new_unchecked(payload);
        segment.emit(&mut packet, &ends.0, &ends.1, &ChecksumCapabilities::default());
    })
}

fn datagram(from_port: u16, to: Ipv4Addr) -> Vec<u8> {
    let header = UdpRepr { src_port: from_port, dst_port: 9 };
    frame(GUEST, to, IpProtocol::Udp, 8 + 4, |payload| {
        let ends = (GUEST.into(), to.into());
        let mut packet = UdpPacket::new_unchecked(payload);
        header.emit(&mut packet, &ends.0, &ends.1, 4, |bytes| bytes.fill(1), &ChecksumCapabilities::default());
    })
}

fn network(host: Silent) -> UserNetwork<Silent> {
    UserNetwork::new(host, Settings { card: common::CARD, ..Settings::default() })
}

#[test]
fn connections_are_bounded_and_those_that_are_not_made_are_given_up() {
    let host = Silent::default();
    let mut network = network(host.clone());
    for port in 1..=5000 {
        network.send(&first_of_connection(port, Ipv4Addr::new(198, 51, 100, 7)));
        if port % 100 == 0 {
            network.exchange();
        }
    }
    assert_eq!(host.0.borrow().most, MOST_CONNECTIONS);
    let mut refused = 0;
    while network.frame().is_some() {
        network.took();
        refused += 1;
    }
    assert_eq!(refused, MOST_FRAMES, "those beyond are refused, as long as the answers fit");
    host.0.borrow_mut().clock += Duration::from_secs(31);
    network.exchange();
    assert_eq!(host.0.borrow().now, 0);
}

#[test]
fn sockets_for_datagrams_are_bounded_and_given_up_when_nothing_uses_them() {
    let host = Silent::default();
    let mut network = network(host.clone());
    for port in 1..=5000 {
        network.send(&datagram(port, Ipv4Addr::new(198, 51, 100, 7)));
    }
    assert!(host.0.borrow().most <= MOST_FLOWS + 1, "one more only while it takes another's place");
    assert_eq!(host.0.borrow().now, MOST_FLOWS);
    host.0.borrow_mut().clock += Duration::from_secs(61);
    network.exchange();
    assert_eq!(host.0.borrow().now, 0);
}

#[test]
fn frames_that_the_guest_does_not_take_are_bounded() {
    let mut network = network(Silent::default());
    for port in 1..=5000 {
        // Nothing there: each is refused by a packet.
        network.send(&first_of_connection(port, Ipv4Addr::new(10, 0, 2, 99)));
        network.exchange();
    }
    let frames = std::iter::from_fn(|| {
        network.frame()?;
        network.took();
        Some(())
    });
    assert_eq!(frames.count(), MOST_FRAMES);
}

/// The name of the gateway, groups and others' addresses are no sources of the guest's.
#[test]
fn forged_sources_get_nothing() {
    let host = Silent::default();
    let mut network = network(host.clone());
    for from in [GATEWAY, Ipv4Addr::LOCALHOST, Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::BROADCAST] {
        let header = UdpRepr { src_port: 1, dst_port: 9 };
        let ends = (from.into(), GATEWAY.into());
        network.send(&frame(from, GATEWAY, IpProtocol::Udp, 12, |payload| {
            let mut packet = UdpPacket::new_unchecked(payload);
            header.emit(&mut packet, &ends.0, &ends.1, 4, |bytes| bytes.fill(1), &ChecksumCapabilities::default());
        }));
    }
    network.exchange();
    assert_eq!(host.0.borrow().most, 0);
    assert!(network.frame().is_none());
}
