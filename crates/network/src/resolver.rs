//! The host's name servers, as resolv.conf(5) lists them.

use std::net::{IpAddr, SocketAddr};

/// Name servers that are asked at the most, as the C library has it.
const MOST: usize = 3;

/// The name servers in the text of a resolv.conf(5).
#[must_use]
pub fn resolvers(text: &str) -> Vec<SocketAddr> {
    let servers = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        // A scope, as in fe80::1%eth0, names an interface: such a server is left out.
        let address: IpAddr = words.next().filter(|&word| word == "nameserver").and(words.next())?.parse().ok()?;
        Some(SocketAddr::new(address, 53))
    });
    servers.take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_servers_are_listed_and_the_rest_is_not() {
        let text = "# nameserver 192.0.2.9\nsearch example.org\nnameserver 192.0.2.1\nnameserver fe80::1%eth0\nnameserver 2001:db8::1\n";
        let servers: Vec<String> = resolvers(text).iter().map(ToString::to_string).collect();
        assert_eq!(servers, ["192.0.2.1:53", "[2001:db8::1]:53"]);
    }
}
