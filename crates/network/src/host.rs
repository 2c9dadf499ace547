//! What this crate needs of the host: sockets that never block, and a clock.

use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// The host's sockets.
pub trait Host {
    /// A connection.
    type Stream: Stream;
    /// A socket for datagrams that is connected to one address.
    type Datagrams: Datagrams;

    /// Begins a connection.
    ///
    /// # Errors
    /// As the host's system says. What is known later [`Stream::is_connected`] tells.
    fn connect(&mut self, to: SocketAddr) -> io::Result<Self::Stream>;

    /// A socket that sends datagrams to `to`, and receives those that come from there.
    ///
    /// # Errors
    /// As the host's system says.
    fn datagrams(&mut self, to: SocketAddr) -> io::Result<Self::Datagrams>;

    /// The next connection to the port of the forward of this number, if there is one.
    fn accept(&mut self, forward: usize) -> Option<Self::Stream>;

    /// The next datagram to the port of the forward of this number, if there is one: its bytes in `buffer`, and whose it is.
    fn receive(&mut self, forward: usize, buffer: &mut [u8]) -> Option<(usize, SocketAddr)>;

    /// Sends a datagram from the port of the forward of this number. One that cannot be sent is lost.
    fn send(&mut self, forward: usize, bytes: &[u8], to: SocketAddr);

    /// The sockets that listen for the forwards; none where it has no real ones.
    fn listening(&self) -> Vec<BorrowedFd<'_>>;

    /// Time since the beginning.
    fn now(&self) -> Duration;
}

/// A connection of the host. No call waits: one that would have to fails with [`io::ErrorKind::WouldBlock`].
pub trait Stream {
    /// Whether the connection is made.
    ///
    /// # Errors
    /// Why it could not be made.
    fn is_connected(&mut self) -> io::Result<bool>;

    /// Reads what has come; 0 at the end.
    ///
    /// # Errors
    /// As the host's system says.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Writes as much as there is room for.
    ///
    /// # Errors
    /// As the host's system says.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Nothing more will be written.
    fn end_writing(&mut self);

    /// The socket; `None` of one that is not real.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;
}

/// A socket for datagrams. No call waits.
pub trait Datagrams {
    /// Sends a datagram. One that cannot be sent is lost.
    fn send(&mut self, bytes: &[u8]);

    /// Receives a datagram.
    ///
    /// # Errors
    /// As the host's system says: [`io::ErrorKind::ConnectionRefused`] where no program listens.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize>;

    /// The socket; `None` of one that is not real.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;
}
