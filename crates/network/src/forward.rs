//! A port of the host that leads into the guest, as a user writes it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

/// What is forwarded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// Connections.
    Tcp,
    /// Datagrams.
    Udp,
}

/// A port of the host that leads into the guest: `[HOSTADDR:]HOSTPORT:GUESTPORT[/udp]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Forward {
    /// Where the host listens. Without an address: at loopback.
    pub host: SocketAddr,
    /// The port of the guest.
    pub guest: u16,
    /// What is forwarded.
    pub protocol: Protocol,
}

impl fmt::Display for Forward {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.protocol {
            Protocol::Tcp => "",
            Protocol::Udp => "/udp",
        };
        write!(f, "{}:{}{suffix}", self.host, self.guest)
    }
}

impl FromStr for Forward {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || format!("`{text}` is not [HOSTADDR:]HOSTPORT:GUESTPORT[/udp]");
        let (ends, protocol) = match text.rsplit_once('/') {
            None => (text, Protocol::Tcp),
            Some((ends, "tcp")) => (ends, Protocol::Tcp),
            Some((ends, "udp")) => (ends, Protocol::Udp),
            Some(_) => return Err(wrong()),
        };
        let (host, guest) = ends.rsplit_once(':').ok_or_else(wrong)?;
        let guest = guest.parse().ok().filter(|&port| port != 0).ok_or_else(wrong)?;
        let host = match host.parse::<u16>() {
            Ok(port) => SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port),
            Err(_) => host.parse().map_err(|_| wrong())?,
        };
        if host.port() == 0 {
            return Err(wrong());
        }
        Ok(Self { host, guest, protocol })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forward_is_at_loopback_unless_it_says_otherwise() {
        for (text, expected) in [
            ("2222:22", "127.0.0.1:2222:22"),
            ("0.0.0.0:8080:80", "0.0.0.0:8080:80"),
            ("[::1]:8080:80/tcp", "[::1]:8080:80"),
            ("5353:53/udp", "127.0.0.1:5353:53/udp"),
        ] {
            assert_eq!(text.parse::<Forward>().map(|forward| forward.to_string()), Ok(expected.to_owned()));
        }
        for text in
            ["", "22", "2222:", ":22", "2222:0", "0:22", "2222:22/sctp", "example.org:1:2", "70000:1", "::1:8080:80"]
        {
            assert!(text.parse::<Forward>().is_err(), "{text}");
        }
    }
}
