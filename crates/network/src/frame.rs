//! Frames for the guest: an Ethernet header, and what is in it.

use crate::plan::GATEWAY_MAC;
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    EthernetAddress, EthernetFrame, EthernetProtocol, EthernetRepr, IpAddress, IpProtocol, Ipv4Packet, Ipv4Repr,
    UdpPacket, UdpRepr,
};
use std::net::{Ipv4Addr, SocketAddrV4};

/// The most bytes of an IP packet on the guest's network.
pub(crate) const MTU: usize = 1500;

/// Bytes of the headers of a datagram.
const DATAGRAM_HEADERS: usize = 28;

/// How far a packet may still go: it has come to its end.
const HOP_LIMIT: u8 = 64;

/// A frame from the gateway to the card at `card`.
pub(crate) fn ethernet(
    card: [u8; 6],
    protocol: EthernetProtocol,
    bytes: usize,
    fill: impl FnOnce(&mut [u8]),
) -> Vec<u8> {
    let header =
        EthernetRepr { src_addr: EthernetAddress(GATEWAY_MAC), dst_addr: EthernetAddress(card), ethertype: protocol };
    let mut frame = vec![0; header.buffer_len() + bytes];
    let mut writer = EthernetFrame::new_unchecked(&mut frame);
    header.emit(&mut writer);
    fill(writer.payload_mut());
    frame
}

/// A frame with an IPv4 packet whose payload has so many bytes.
pub(crate) fn ipv4(
    card: [u8; 6],
    (from, to): (Ipv4Addr, Ipv4Addr),
    protocol: IpProtocol,
    bytes: usize,
    fill: impl FnOnce(&mut [u8]),
) -> Vec<u8> {
    let header =
        Ipv4Repr { src_addr: from, dst_addr: to, next_header: protocol, payload_len: bytes, hop_limit: HOP_LIMIT };
    ethernet(card, EthernetProtocol::Ipv4, header.buffer_len() + bytes, |packet| {
        let mut packet = Ipv4Packet::new_unchecked(packet);
        header.emit(&mut packet, &ChecksumCapabilities::default());
        fill(packet.payload_mut());
    })
}

/// A frame with a UDP datagram; `None` if it does not fit into one packet, because nothing here makes fragments.
pub(crate) fn datagram(card: [u8; 6], from: SocketAddrV4, to: SocketAddrV4, payload: &[u8]) -> Option<Vec<u8>> {
    if payload.len() > MTU - DATAGRAM_HEADERS {
        return None;
    }
    let header = UdpRepr { src_port: from.port(), dst_port: to.port() };
    let bytes = header.header_len() + payload.len();
    let ends = (IpAddress::Ipv4(*from.ip()), IpAddress::Ipv4(*to.ip()));
    Some(ipv4(card, (*from.ip(), *to.ip()), IpProtocol::Udp, bytes, |packet| {
        let mut packet = UdpPacket::new_unchecked(packet);
        let write = |buffer: &mut [u8]| buffer.copy_from_slice(payload);
        header.emit(&mut packet, &ends.0, &ends.1, payload.len(), write, &ChecksumCapabilities::default());
    }))
}
