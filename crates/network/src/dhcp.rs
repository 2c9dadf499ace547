//! DHCP (RFC 2131): the guest gets the one address that there is for it.

use crate::frame;
use crate::plan::{GATEWAY, GUEST, MASK, NAME_SERVER};
use smoltcp::wire::{DhcpMessageType, DhcpOption, DhcpPacket, DhcpRepr};
use std::net::{Ipv4Addr, SocketAddrV4};

/// The server's port.
pub(crate) const SERVER_PORT: u16 = 67;

/// The client's port.
const CLIENT_PORT: u16 = 68;

/// How long the address is the guest's, in seconds.
const LEASE: u32 = 86400;

/// The number of the option that lists name servers (RFC 2132).
const NAME_SERVERS: u8 = 6;

/// The answer to a client's message, if there is one.
pub(crate) fn answer(message: &[u8]) -> Option<Vec<u8>> {
    let packet = DhcpPacket::new_checked(message).ok()?;
    let asked = DhcpRepr::parse(&packet).ok()?;
    let message_type = match asked.message_type {
        DhcpMessageType::Discover => DhcpMessageType::Offer,
        // Another server's offer was taken.
        DhcpMessageType::Request if asked.server_identifier.is_some_and(|server| server != GATEWAY) => return None,
        DhcpMessageType::Request => match asked.requested_ip.unwrap_or(asked.client_ip) {
            GUEST => DhcpMessageType::Ack,
            _ => DhcpMessageType::Nak,
        },
        DhcpMessageType::Inform => DhcpMessageType::Ack,
        _ => return None,
    };
    let leases = matches!(asked.message_type, DhcpMessageType::Discover | DhcpMessageType::Request)
        && message_type != DhcpMessageType::Nak;
    let configures = message_type != DhcpMessageType::Nak;
    let name_server = NAME_SERVER.octets();
    let name_servers = [DhcpOption { kind: NAME_SERVERS, data: &name_server }];
    let answer = DhcpRepr {
        message_type,
        transaction_id: asked.transaction_id,
        secs: 0,
        client_hardware_address: asked.client_hardware_address,
        client_ip: Ipv4Addr::UNSPECIFIED,
        your_ip: if leases { GUEST } else { Ipv4Addr::UNSPECIFIED },
        server_ip: GATEWAY,
        router: configures.then_some(GATEWAY),
        subnet_mask: configures.then_some(MASK),
        relay_agent_ip: Ipv4Addr::UNSPECIFIED,
        broadcast: asked.broadcast,
        requested_ip: None,
        client_identifier: None,
        server_identifier: Some(GATEWAY),
        parameter_request_list: None,
        dns_servers: None,
        max_size: None,
        lease_duration: leases.then_some(LEASE),
        renew_duration: None,
        rebind_duration: None,
        additional_options: if configures { &name_servers } else { &[] },
    };
    let mut bytes = vec![0; answer.buffer_len()];
    answer.emit(&mut DhcpPacket::new_unchecked(&mut bytes)).ok()?;
    let to = SocketAddrV4::new(Ipv4Addr::BROADCAST, CLIENT_PORT);
    frame::datagram(asked.client_hardware_address.0, SocketAddrV4::new(GATEWAY, SERVER_PORT), to, &bytes)
}
