//! Datagrams: each pair of a port of the guest and a destination has a socket of the host, which is connected to the destination, so that no
//! other host can answer.

use crate::frame;
use crate::host::{Datagrams, Host};
use crate::icmp;
use crate::outbox::Outbox;
use crate::plan::{self, GATEWAY, GUEST};
use rustix::event::{PollFd, PollFlags};
use std::io;
use std::net::{SocketAddr, SocketAddrV4};
use std::time::Duration;

/// Pairs of a port of the guest and a destination at the same time. One more takes the place of that which was used least recently.
pub const MOST_FLOWS: usize = 128;

/// Senders of forwarded datagrams that are remembered, so that answers reach them.
const MOST_PEERS: usize = 64;

/// Ports of the gateway from which forwarded datagrams come: one for each sender.
const FIRST_PEER_PORT: u16 = 49152;

/// How long a socket that nothing uses is kept.
const PATIENCE: Duration = Duration::from_secs(60);

/// Datagrams of one socket that are taken at once.
const MOST_AT_ONCE: usize = 32;

/// The longest datagram.
const LONGEST: usize = 64 << 10;

/// A port of the guest, a destination, and the socket for both.
struct Flow<D> {
    guest: SocketAddrV4,
    other: SocketAddrV4,
    socket: D,
    used: Duration,
    /// Datagrams that were sent since one came.
    unanswered: usize,
}

/// A sender of forwarded datagrams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Peer {
    forward: usize,
    guest: u16,
    address: SocketAddr,
    used: Duration,
}

/// All sockets for datagrams.
pub(crate) struct Flows<D> {
    flows: Vec<Flow<D>>,
    /// By port.
    peers: Vec<Peer>,
    buffer: Vec<u8>,
}

impl<D: Datagrams> Flows<D> {
    pub(crate) fn new() -> Self {
        Self { flows: Vec::new(), peers: Vec::new(), buffer: vec![0; LONGEST] }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.flows.len()
    }

    /// The guest sends a datagram.
    pub(crate) fn take<H: Host<Datagrams = D>>(
        &mut self,
        host: &mut H,
        (from, to): (SocketAddrV4, SocketAddrV4),
        payload: &[u8],
        resolvers: &[SocketAddr],
    ) {
        if let Some(peer) = self.peer(from, to) {
            host.send(peer.forward, payload, peer.address);
            return;
        }
        let now = host.now();
        let known = self.flows.iter().position(|flow| (flow.guest, flow.other) == (from, to));
        let unanswered = known.map_or(0, |index| self.flows[index].unanswered);
        // A guest that repeats its query has had no answer: the query goes to the host's next name server.
        let is_name_server = plan::is_name_server(*to.ip(), to.port());
        let index = match known {
            Some(index) if !(is_name_server && unanswered > 0 && resolvers.len() > 1) => index,
            _ => {
                let resolver = (!resolvers.is_empty()).then(|| resolvers[unanswered % resolvers.len()]);
                let Some(there) = plan::destination(*to.ip(), to.port(), resolver) else { return };
                let Ok(socket) = host.datagrams(there) else { return };
                let flow = Flow { guest: from, other: to, socket, used: now, unanswered };
                self.place(known, flow)
            }
        };
        let flow = &mut self.flows[index];
        flow.used = now;
        flow.unanswered = flow.unanswered.saturating_add(1);
        flow.socket.send(payload);
    }

    /// Puts a flow in the place of `known`, or of that which was used least recently where there are too many.
    fn place(&mut self, known: Option<usize>, flow: Flow<D>) -> usize {
        let oldest = || self.flows.iter().enumerate().min_by_key(|(_, flow)| flow.used).map(|(index, _)| index);
        let index = known.or_else(|| if self.flows.len() < MOST_FLOWS { None } else { oldest() });
        match index {
            Some(index) => {
                self.flows[index] = flow;
                index
            }
            None => {
                self.flows.push(flow);
                self.flows.len() - 1
            }
        }
    }

    /// Takes what has come, and forgets what is no longer used. `ports` are the guest's ports of the forwards, `None` of one for connections.
    pub(crate) fn exchange<H: Host<Datagrams = D>>(
        &mut self,
        host: &mut H,
        ports: &[Option<u16>],
        card: [u8; 6],
        outbox: &mut Outbox,
    ) {
        let now = host.now();
        let Self { flows, buffer, .. } = self;
        for flow in flows.iter_mut() {
            for _ in 0..MOST_AT_ONCE {
                match flow.socket.receive(buffer) {
                    Ok(bytes) => {
                        (flow.used, flow.unanswered) = (now, 0);
                        let frame = frame::datagram(card, flow.other, flow.guest, &buffer[..bytes.min(LONGEST)]);
                        frame.into_iter().for_each(|frame| outbox.push(frame));
                    }
                    Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                        outbox.push(icmp::unreachable(card, flow.guest, flow.other));
                    }
                    Err(_) => break,
                }
            }
        }
        flows.retain(|flow| now.saturating_sub(flow.used) < PATIENCE);
        for (forward, guest) in ports.iter().enumerate().filter_map(|(forward, port)| Some((forward, (*port)?))) {
            for _ in 0..MOST_AT_ONCE {
                let Some((bytes, address)) = host.receive(forward, &mut self.buffer) else { break };
                let port = self.port_of(Peer { forward, guest, address, used: now });
                let (from, to) = (SocketAddrV4::new(GATEWAY, port), SocketAddrV4::new(GUEST, guest));
                let frame = frame::datagram(card, from, to, &self.buffer[..bytes.min(LONGEST)]);
                frame.into_iter().for_each(|frame| outbox.push(frame));
            }
        }
    }

    /// The sender whose datagrams come from `to` for the guest, as the guest sees it.
    fn peer(&self, from: SocketAddrV4, to: SocketAddrV4) -> Option<Peer> {
        let index = to.port().checked_sub(FIRST_PEER_PORT).filter(|_| *to.ip() == GATEWAY)?;
        self.peers.get(usize::from(index)).copied().filter(|peer| peer.guest == from.port())
    }

    /// The gateway's port for a sender: that which it has, or a new one, or that of the sender that was heard least recently.
    fn port_of(&mut self, peer: Peer) -> u16 {
        let same = |other: &Peer| (other.forward, other.address) == (peer.forward, peer.address);
        let oldest = || self.peers.iter().enumerate().min_by_key(|(_, peer)| peer.used).map(|(index, _)| index);
        let known = self.peers.iter().position(same);
        let index = match known.or_else(|| if self.peers.len() < MOST_PEERS { None } else { oldest() }) {
            Some(index) => {
                self.peers[index] = peer;
                index
            }
            None => {
                self.peers.push(peer);
                self.peers.len() - 1
            }
        };
        FIRST_PEER_PORT + index as u16
    }

    /// What is waited for.
    pub(crate) fn awaited(&self) -> impl Iterator<Item = PollFd<'_>> {
        let descriptors = self.flows.iter().filter_map(|flow| flow.socket.descriptor());
        descriptors.map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN))
    }
}
