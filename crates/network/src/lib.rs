//! User-mode networking: what a guest's network card sends goes out through ordinary sockets of the host, without any privilege.
//!
//! The guest is alone on a network of its own, with the addresses of [`plan`]. This crate answers for all others there: ARP, DHCP and echo
//! requests by itself, and everything else with the sockets of a [`Host`]:
//!
//! * A TCP connection of the guest ends in `smoltcp`, a TCP stack in this process. A connection of the host goes on from there, and what one
//!   receives the other sends ([`tcp`]).
//! * A UDP datagram goes out through a socket that is connected to its destination, and so do the answers come in ([`udp`]).
//! * A [`Forward`] is a port of the host from which connections or datagrams go into the guest.
//!
//! The guest is hostile. All that is kept for it is bounded: connections, sockets, buffers, and frames that it has not taken yet. What does not
//! fit is dropped, as on any network, or refused.
#![forbid(unsafe_code)]

mod arp;
mod dhcp;
mod forward;
mod frame;
mod host;
mod icmp;
mod outbox;
pub mod plan;
mod resolver;
mod sockets;
mod stack;
mod tcp;
mod udp;
mod user;

pub use forward::{Forward, Protocol};
pub use host::{Datagrams, Host, Stream};
pub use outbox::MOST_FRAMES;
pub use resolver::resolvers;
pub use sockets::{ForwardError, HostSockets, Listeners};
pub use tcp::MOST_CONNECTIONS;
pub use udp::MOST_FLOWS;
pub use user::{Settings, UserNetwork};
