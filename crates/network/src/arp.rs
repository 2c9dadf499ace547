//! ARP: gateway and name server have one hardware address, and the network has no other hosts.

use crate::frame;
use crate::plan::{GATEWAY, GATEWAY_MAC, NAME_SERVER};
use smoltcp::wire::{ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetProtocol};

/// The answer to an ARP packet of the guest, if there is one.
pub(crate) fn answer(packet: &[u8]) -> Option<Vec<u8>> {
    let packet = ArpPacket::new_checked(packet).ok()?;
    let ArpRepr::EthernetIpv4 {
        operation: ArpOperation::Request,
        source_hardware_addr,
        source_protocol_addr,
        target_protocol_addr,
        ..
    } = ArpRepr::parse(&packet).ok()?
    else {
        return None;
    };
    if ![GATEWAY, NAME_SERVER].contains(&target_protocol_addr) {
        return None;
    }
    let answer = ArpRepr::EthernetIpv4 {
        operation: ArpOperation::Reply,
        source_hardware_addr: EthernetAddress(GATEWAY_MAC),
        source_protocol_addr: target_protocol_addr,
        target_hardware_addr: source_hardware_addr,
        target_protocol_addr: source_protocol_addr,
    };
    Some(frame::ethernet(source_hardware_addr.0, EthernetProtocol::Arp, answer.buffer_len(), |packet| {
        answer.emit(&mut ArpPacket::new_unchecked(packet));
    }))
}
