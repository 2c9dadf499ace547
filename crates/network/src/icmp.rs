//! ICMP: gateway and name server answer echo requests, and a datagram that the host's system refuses is reported.

use crate::frame;
use crate::plan::{GATEWAY, NAME_SERVER};
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{Icmpv4DstUnreachable, Icmpv4Packet, Icmpv4Repr, IpProtocol, Ipv4Repr};
use std::net::{Ipv4Addr, SocketAddrV4};

/// The answer to an ICMP packet from `from` to `to`, if there is one.
pub(crate) fn answer(card: [u8; 6], from: Ipv4Addr, to: Ipv4Addr, packet: &[u8]) -> Option<Vec<u8>> {
    if ![GATEWAY, NAME_SERVER].contains(&to) || packet.len() > frame::MTU - 20 {
        return None;
    }
    let packet = Icmpv4Packet::new_checked(packet).ok()?;
    let Icmpv4Repr::EchoRequest { ident, seq_no, data } =
        Icmpv4Repr::parse(&packet, &ChecksumCapabilities::default()).ok()?
    else {
        return None;
    };
    let answer = Icmpv4Repr::EchoReply { ident, seq_no, data };
    Some(whole(card, to, from, &answer))
}

/// The message that no program listens at `to`, where a datagram of so many bytes from `from` went.
pub(crate) fn unreachable(card: [u8; 6], from: SocketAddrV4, to: SocketAddrV4) -> Vec<u8> {
    // The header of the datagram (RFC 792); its length and checksum are of no use to who reads it.
    let mut datagram = [0; 8];
    datagram[..2].copy_from_slice(&from.port().to_be_bytes());
    datagram[2..4].copy_from_slice(&to.port().to_be_bytes());
    datagram[5] = 8;
    let header = Ipv4Repr {
        src_addr: *from.ip(),
        dst_addr: *to.ip(),
        next_header: IpProtocol::Udp,
        payload_len: datagram.len(),
        hop_limit: 64,
    };
    let message = Icmpv4Repr::DstUnreachable { reason: Icmpv4DstUnreachable::PortUnreachable, header, data: &datagram };
    whole(card, *to.ip(), *from.ip(), &message)
}

fn whole(card: [u8; 6], from: Ipv4Addr, to: Ipv4Addr, message: &Icmpv4Repr<'_>) -> Vec<u8> {
    frame::ipv4(card, (from, to), IpProtocol::Icmp, message.buffer_len(), |packet| {
        message.emit(&mut Icmpv4Packet::new_unchecked(packet), &ChecksumCapabilities::default());
    })
}
