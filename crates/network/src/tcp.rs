//! Connections: each is one of the guest with this process, and one of the host with whomever the guest asked for, or who asked for the guest.
//!
//! A connection of the guest is taken once the host's is made. Until then the guest waits, and where the host's fails, the guest's is refused.

use crate::host::{Host, Stream};
use crate::outbox::Outbox;
use crate::plan::{self, GATEWAY, GUEST};
use crate::stack::Stack;
use rustix::event::{PollFd, PollFlags};
use smoltcp::iface::SocketHandle;
use smoltcp::socket::tcp::{Socket, State};
use smoltcp::wire::TcpPacket;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::Duration;

/// Connections at the same time, those that are not made yet among them; more are refused.
pub const MOST_CONNECTIONS: usize = 256;

/// How long the host may take to make a connection.
const PATIENCE: Duration = Duration::from_secs(30);

/// The ports from which forwarded connections come.
const FORWARDED_PORTS: std::ops::RangeInclusive<u16> = 49152..=65535;

/// Who talks to whom: the guest's end, and the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Ends {
    guest: SocketAddrV4,
    other: SocketAddrV4,
}

/// How far a connection is.
enum Stage {
    /// The host connects; the guest's first packet waits.
    Connecting { first: Vec<u8>, since: Duration },
    /// The guest has a connection, or is about to.
    Open { handle: SocketHandle, host: Reading },
    /// The host's end has failed; the next packets that are sent reset the guest's connection.
    Broken { handle: SocketHandle },
}

/// Whether the host's end can be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reading {
    /// More may come.
    Open,
    /// It has ended.
    Ended,
}

struct Connection<S> {
    ends: Ends,
    stream: S,
    stage: Stage,
    /// The host's end was told that nothing more comes from the guest.
    guest_ended: bool,
}

/// What follows from a look at a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Keep,
    Remove,
}

/// All connections.
pub(crate) struct Connections<S> {
    stack: Stack,
    all: Vec<Connection<S>>,
    next_port: u16,
}

impl<S: Stream> Connections<S> {
    pub(crate) fn new(seed: u64) -> Self {
        Self { stack: Stack::new(seed), all: Vec::new(), next_port: *FORWARDED_PORTS.start() }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// The guest sends `packet`, whose payload is `segment`.
    pub(crate) fn take<H: Host<Stream = S>>(
        &mut self,
        host: &mut H,
        (from, to): (Ipv4Addr, Ipv4Addr),
        (packet, segment): (&[u8], &[u8]),
        resolver: Option<SocketAddr>,
    ) {
        let Ok(header) = TcpPacket::new_checked(segment) else { return };
        let begins = header.syn() && !header.ack() && !header.rst();
        let ends =
            Ends { guest: SocketAddrV4::new(from, header.src_port()), other: SocketAddrV4::new(to, header.dst_port()) };
        if begins {
            if self.all.iter().any(|connection| connection.ends == ends) {
                // The same once more: the first is being worked on.
                return;
            }
            if ends.guest.port() != 0 && self.all.len() < MOST_CONNECTIONS {
                let there = plan::destination(to, ends.other.port(), resolver);
                if let Some(Ok(stream)) = there.map(|there| host.connect(there)) {
                    let stage = Stage::Connecting { first: packet.to_vec(), since: host.now() };
                    self.all.push(Connection { ends, stream, stage, guest_ended: false });
                    return;
                }
            }
        }
        // What belongs to no connection the stack refuses.
        self.stack.take(packet);
    }

    /// The host has a connection to a port of the guest.
    pub(crate) fn forward(&mut self, stream: S, port: u16) {
        if self.all.len() >= MOST_CONNECTIONS {
            return;
        }
        let guest = SocketAddrV4::new(GUEST, port);
        let ends = Ends { guest, other: SocketAddrV4::new(GATEWAY, self.free_port(guest)) };
        if let Some(handle) = self.stack.connect(ends.other, ends.guest) {
            // A guest that does not answer at all does not keep it for ever.
            self.stack
                .socket(handle)
                .set_timeout(Some(smoltcp::time::Duration::from_millis(PATIENCE.as_millis() as u64)));
            let stage = Stage::Open { handle, host: Reading::Open };
            self.all.push(Connection { ends, stream, stage, guest_ended: false });
        }
    }

    /// A port of the gateway from which no connection to `guest` comes. There are more ports than connections.
    fn free_port(&mut self, guest: SocketAddrV4) -> u16 {
        loop {
            let port = self.next_port;
            self.next_port = port.checked_add(1).unwrap_or(*FORWARDED_PORTS.start());
            let ends = Ends { guest, other: SocketAddrV4::new(GATEWAY, port) };
            if self.all.iter().all(|connection| connection.ends != ends) {
                return port;
            }
        }
    }

    /// Moves whatever can be moved, in both directions.
    pub(crate) fn exchange(&mut self, now: Duration, card: [u8; 6], outbox: &mut Outbox) {
        self.stack.poll(now, card, outbox);
        let Self { stack, all, .. } = self;
        all.retain_mut(|connection| {
            let verdict = match connection.stage {
                Stage::Connecting { .. } => connection.connect(stack, now, card, outbox),
                Stage::Open { .. } => connection.carry(stack),
                Stage::Broken { handle } => {
                    stack.remove(handle);
                    Verdict::Remove
                }
            };
            verdict == Verdict::Keep
        });
        // What was moved is sent, and room is made known.
        self.stack.poll(now, card, outbox);
    }

    /// What is waited for: sockets with something to do, if that comes.
    pub(crate) fn awaited(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.all.iter().filter_map(|connection| {
            let flags = connection.awaits(&self.stack);
            let descriptor = connection.stream.descriptor().filter(|_| !flags.is_empty())?;
            Some(PollFd::from_borrowed_fd(descriptor, flags))
        })
    }

    /// In how long there is something to do by time alone.
    pub(crate) fn delay(&mut self, now: Duration) -> Option<Duration> {
        let connecting = self.all.iter().filter_map(|connection| match connection.stage {
            Stage::Connecting { since, .. } => Some((since + PATIENCE).saturating_sub(now)),
            Stage::Open { .. } | Stage::Broken { .. } => None,
        });
        connecting.chain(self.stack.delay(now)).min()
    }
}

impl<S: Stream> Connection<S> {
    /// Whether the host has made its connection: then the guest gets its own, or is refused.
    fn connect(&mut self, stack: &mut Stack, now: Duration, card: [u8; 6], outbox: &mut Outbox) -> Verdict {
        let Stage::Connecting { first, since } = &mut self.stage else { return Verdict::Keep };
        let made = match self.stream.is_connected() {
            Ok(false) if now.saturating_sub(*since) < PATIENCE => return Verdict::Keep,
            Ok(true) => true,
            Ok(false) | Err(_) => false,
        };
        let first = std::mem::take(first);
        let handle = if made { stack.listen(self.ends.other) } else { None };
        stack.take(&first);
        stack.poll(now, card, outbox);
        let Some(handle) = handle else { return Verdict::Remove };
        let socket = stack.socket(handle);
        if socket.is_listening() || !socket.is_open() {
            // The packet was no beginning of a connection after all, or found no room.
            stack.remove(handle);
            return Verdict::Remove;
        }
        self.stage = Stage::Open { handle, host: Reading::Open };
        Verdict::Keep
    }

    /// Carries bytes from one end to the other, as far as both go along.
    fn carry(&mut self, stack: &mut Stack) -> Verdict {
        let Stage::Open { handle, host } = &mut self.stage else { return Verdict::Keep };
        let handle = *handle;
        let socket = stack.socket(handle);
        let carried = to_host(socket, &mut self.stream).and_then(|()| {
            if *host == Reading::Open {
                *host = to_guest(socket, &mut self.stream)?;
            }
            Ok(())
        });
        if carried.is_err() {
            socket.abort();
            self.stage = Stage::Broken { handle };
            return Verdict::Keep;
        }
        if *host == Reading::Ended && socket.may_send() {
            socket.close();
        }
        if !self.guest_ended && has_ended(socket) && socket.recv_queue() == 0 {
            self.stream.end_writing();
            self.guest_ended = true;
        }
        if socket.state() == State::Established {
            socket.set_timeout(None);
        }
        // Nothing is on its way any more that a closed connection would have to wait for.
        if matches!(socket.state(), State::Closed | State::TimeWait) {
            stack.remove(handle);
            return Verdict::Remove;
        }
        Verdict::Keep
    }

    fn awaits(&self, stack: &Stack) -> PollFlags {
        let (handle, host) = match self.stage {
            Stage::Connecting { .. } => return PollFlags::OUT,
            Stage::Open { handle, host } => (handle, host),
            Stage::Broken { .. } => return PollFlags::empty(),
        };
        let socket = stack.look(handle);
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::IN, host == Reading::Open && socket.can_send());
        flags.set(PollFlags::OUT, socket.can_recv());
        flags
    }
}

/// Whether the guest has said that it sends no more.
fn has_ended(socket: &Socket<'_>) -> bool {
    matches!(socket.state(), State::CloseWait | State::Closing | State::LastAck | State::TimeWait | State::Closed)
}

/// What the guest has sent goes to the host's end.
fn to_host(socket: &mut Socket<'_>, stream: &mut impl Stream) -> io::Result<()> {
    while socket.can_recv() {
        let written = socket.recv(|bytes| match stream.write(bytes) {
            Ok(count) => (count.min(bytes.len()), Ok(count)),
            Err(error) => (0, Err(error)),
        });
        match written {
            Ok(Ok(0)) | Err(_) => return Ok(()),
            Ok(Ok(_)) => {}
            Ok(Err(error)) if waits(&error) => return Ok(()),
            Ok(Err(error)) => return Err(error),
        }
    }
    Ok(())
}

/// What has come at the host's end goes to the guest.
fn to_guest(socket: &mut Socket<'_>, stream: &mut impl Stream) -> io::Result<Reading> {
    while socket.can_send() {
        let read = socket.send(|buffer| {
            if buffer.is_empty() {
                return (0, Err(io::ErrorKind::WouldBlock.into()));
            }
            match stream.read(buffer) {
                Ok(count) => (count.min(buffer.len()), Ok(count)),
                Err(error) => (0, Err(error)),
            }
        });
        match read {
            Ok(Ok(0)) => return Ok(Reading::Ended),
            Ok(Ok(_)) => {}
            Ok(Err(error)) if waits(&error) => return Ok(Reading::Open),
            Ok(Err(error)) => return Err(error),
            Err(_) => return Ok(Reading::Open),
        }
    }
    Ok(Reading::Open)
}

/// Whether a call failed only because it would have to wait.
fn waits(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
