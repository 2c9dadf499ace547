//! The sockets of the host that this process runs on.

use crate::forward::{Forward, Protocol};
use crate::host::{Datagrams, Host, Stream};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, ipproto, socket_with, sockopt};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::{Duration, Instant};

/// Why a port of the host cannot be forwarded.
#[derive(Debug, thiserror::Error)]
#[error("{forward}: {error}")]
pub struct ForwardError {
    forward: Forward,
    error: io::Error,
}

/// The sockets of the forwards, which are there before the guest.
#[derive(Debug, Default)]
pub struct Listeners {
    sockets: Vec<(Forward, Listener)>,
}

#[derive(Debug)]
enum Listener {
    Tcp(TcpListener),
    Udp(UdpSocket),
}

impl Listeners {
    /// Listens for each forward.
    ///
    /// # Errors
    /// [`ForwardError`], with the forward that could not be had.
    pub fn open(forwards: &[Forward]) -> Result<Self, ForwardError> {
        let sockets = forwards.iter().map(|&forward| {
            let opened = Listener::open(&forward).map_err(|error| ForwardError { forward, error })?;
            Ok((forward, opened))
        });
        Ok(Self { sockets: sockets.collect::<Result<_, _>>()? })
    }

    /// The forwards, in the order of their numbers.
    pub fn forwards(&self) -> impl Iterator<Item = &Forward> {
        self.sockets.iter().map(|(forward, _)| forward)
    }

    /// The numbers of the sockets for connections and of those for datagrams, as the process knows them.
    #[must_use]
    pub fn numbers(&self) -> (Vec<i32>, Vec<i32>) {
        let (mut tcp, mut udp) = (Vec::new(), Vec::new());
        for (_, listener) in &self.sockets {
            match listener {
                Listener::Tcp(socket) => tcp.push(socket.as_raw_fd()),
                Listener::Udp(socket) => udp.push(socket.as_raw_fd()),
            }
        }
        (tcp, udp)
    }
}

impl Listener {
    fn open(forward: &Forward) -> io::Result<Self> {
        Ok(match forward.protocol {
            Protocol::Tcp => {
                let socket = TcpListener::bind(forward.host)?;
                socket.set_nonblocking(true)?;
                Self::Tcp(socket)
            }
            Protocol::Udp => {
                let socket = UdpSocket::bind(forward.host)?;
                socket.set_nonblocking(true)?;
                Self::Udp(socket)
            }
        })
    }
}

/// The host's sockets.
#[derive(Debug)]
pub struct HostSockets {
    listeners: Listeners,
    began: Instant,
}

impl HostSockets {
    /// Those of this host, with the forwards of `listeners`.
    #[must_use]
    pub fn new(listeners: Listeners) -> Self {
        Self { listeners, began: Instant::now() }
    }

    fn listener(&self, forward: usize) -> Option<&Listener> {
        self.listeners.sockets.get(forward).map(|(_, listener)| listener)
    }
}

/// A socket that never blocks and is connected, or about to be, to `to`.
fn connected(to: SocketAddr, kind: SocketType) -> io::Result<std::os::fd::OwnedFd> {
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let protocol = if kind == SocketType::STREAM { ipproto::TCP } else { ipproto::UDP };
    let socket = socket_with(family, kind, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, Some(protocol))?;
    match connect(&socket, &to) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(error.into()),
    }
}

impl Host for HostSockets {
    type Stream = Connected;
    type Datagrams = UdpSocket;

    fn connect(&mut self, to: SocketAddr) -> io::Result<Connected> {
        connected(to, SocketType::STREAM).map(|socket| Connected { stream: socket.into(), made: false })
    }

    fn datagrams(&mut self, to: SocketAddr) -> io::Result<UdpSocket> {
        connected(to, SocketType::DGRAM).map(UdpSocket::from)
    }

    fn accept(&mut self, forward: usize) -> Option<Connected> {
        let Some(Listener::Tcp(socket)) = self.listener(forward) else { return None };
        let accepted = rustix::net::accept_with(socket, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC).ok()?;
        Some(Connected { stream: accepted.into(), made: true })
    }

    fn receive(&mut self, forward: usize, buffer: &mut [u8]) -> Option<(usize, SocketAddr)> {
        let Some(Listener::Udp(socket)) = self.listener(forward) else { return None };
        socket.recv_from(buffer).ok()
    }

    fn send(&mut self, forward: usize, bytes: &[u8], to: SocketAddr) {
        if let Some(Listener::Udp(socket)) = self.listener(forward) {
            // A datagram may be lost.
            let _ = socket.send_to(bytes, to);
        }
    }

    fn listening(&self) -> Vec<BorrowedFd<'_>> {
        let sockets = self.listeners.sockets.iter().map(|(_, listener)| match listener {
            Listener::Tcp(socket) => socket.as_fd(),
            Listener::Udp(socket) => socket.as_fd(),
        });
        sockets.collect()
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }
}

/// A connection, made or about to be.
#[derive(Debug)]
pub struct Connected {
    stream: TcpStream,
    made: bool,
}

impl Stream for Connected {
    fn is_connected(&mut self) -> io::Result<bool> {
        if !self.made {
            if let Err(error) = sockopt::socket_error(&self.stream)? {
                return Err(error.into());
            }
            // Until it is made, the other end has no name.
            match rustix::net::getpeername(&self.stream) {
                Ok(_) => self.made = true,
                Err(Errno::NOTCONN) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(self.made)
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.read(buffer)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn end_writing(&mut self) {
        // One that is closed already needs no word.
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.stream.as_fd())
    }
}

impl Datagrams for UdpSocket {
    fn send(&mut self, bytes: &[u8]) {
        // A datagram may be lost.
        let _ = UdpSocket::send(self, bytes);
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.recv(buffer)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.as_fd())
    }
}
