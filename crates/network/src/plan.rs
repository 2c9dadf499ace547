//! The addresses of the guest's network: those of QEMU's user network, which guests and their users know.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The address that the guest gets by DHCP.
pub const GUEST: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 15);

/// The gateway. A port of it is the port of the host's loopback address.
pub const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);

/// The name server, behind which are those of the host.
pub const NAME_SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 3);

/// The mask of the network.
pub const MASK: Ipv4Addr = Ipv4Addr::new(255, 255, 255, 0);

/// Bits of the network's number.
pub const PREFIX: u8 = 24;

/// The hardware address of gateway and name server.
pub const GATEWAY_MAC: [u8; 6] = [0x52, 0x55, 10, 0, 2, 2];

/// The port of name servers.
const DOMAIN: u16 = 53;

/// Whether `address` is on the guest's network.
pub(crate) fn is_local(address: Ipv4Addr) -> bool {
    address.octets()[..3] == GUEST.octets()[..3]
}

/// Whether the guest may send from `address`.
pub(crate) fn is_guest(address: Ipv4Addr) -> bool {
    is_local(address) && address != GATEWAY && address != NAME_SERVER && !matches!(address.octets()[3], 0 | 255)
}

/// Whether port `port` of `to` is the name server's.
pub(crate) fn is_name_server(to: Ipv4Addr, port: u16) -> bool {
    to == NAME_SERVER && port == DOMAIN
}

/// Where the host sends what the guest sends to `to`; `resolver` is the host's name server. `None`: nowhere.
///
/// A guest reaches the host's loopback through the gateway alone, and neither groups nor addresses that are reserved.
pub(crate) fn destination(to: Ipv4Addr, port: u16, resolver: Option<SocketAddr>) -> Option<SocketAddr> {
    if port == 0 {
        return None;
    }
    if to == GATEWAY {
        return Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    if is_name_server(to, port) {
        return resolver;
    }
    let first = to.octets()[0];
    let nowhere = is_local(to) || first == 0 || to.is_loopback() || to.is_link_local() || first >= 224;
    (!nowhere).then(|| SocketAddr::new(IpAddr::V4(to), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gateway_is_the_hosts_loopback_and_nothing_else_is() {
        let resolver = "192.0.2.1:53".parse().ok();
        let there = |to: &str, port| destination(to.parse().unwrap(), port, resolver).map(|to| to.to_string());
        assert_eq!(there("10.0.2.2", 80).as_deref(), Some("127.0.0.1:80"));
        assert_eq!(there("10.0.2.3", 53).as_deref(), Some("192.0.2.1:53"));
        assert_eq!(there("198.51.100.7", 443).as_deref(), Some("198.51.100.7:443"));
        for nowhere in
            ["127.0.0.1", "10.0.2.15", "10.0.2.9", "0.0.0.0", "224.0.0.1", "255.255.255.255", "169.254.169.254"]
        {
            assert_eq!(there(nowhere, 80), None, "{nowhere}");
        }
        assert_eq!(there("10.0.2.3", 80), None);
        assert_eq!(there("198.51.100.7", 0), None);
        assert_eq!(destination(NAME_SERVER, 53, None), None);
    }

    #[test]
    fn the_guest_sends_from_its_own_network_and_not_as_the_gateway() {
        assert!(is_guest(GUEST) && is_guest(Ipv4Addr::new(10, 0, 2, 77)));
        for other in [GATEWAY, NAME_SERVER, Ipv4Addr::new(10, 0, 2, 255), Ipv4Addr::new(10, 0, 3, 15)] {
            assert!(!is_guest(other), "{other}");
        }
    }
}
