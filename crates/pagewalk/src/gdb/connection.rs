//! The connection to a debugger: one, made before the sandbox closes.

use crate::cleanup::TemporaryPath;
use crate::cli::GdbAddress;
use crate::error::Failure;
use crate::interrupt;
use crate::output::warn;
use gdbstub::conn::{Connection, ConnectionExt};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::time::Duration;

/// Why the connection is of no use any more.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectionError {
    /// The debugger is gone.
    #[error("the debugger closed the connection without detaching")]
    Closed,
    /// A signal asked Pagewalk to end.
    #[error("interrupted")]
    Interrupted,
    /// The system says so.
    #[error("{0}")]
    Io(#[from] Errno),
}

/// A connection to a debugger.
#[derive(Debug)]
pub(crate) struct Debugger {
    stream: OwnedFd,
    input: VecDeque<u8>,
    output: Vec<u8>,
}

impl Debugger {
    /// Waits for a debugger at `address`. A line on standard error says where, and who waits.
    ///
    /// # Errors
    /// [`Failure::Run`]: nothing can listen there.
    pub(crate) fn accept(address: &GdbAddress, waiting: &str) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::Run(format!("--gdb {address}: {error}"));
        let stream: OwnedFd = match address {
            GdbAddress::Port(port) => {
                // A client of the port controls the run, so the port is for this host alone.
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).map_err(failed)?;
                wait_at(waiting, &listener.local_addr().map_err(failed)?);
                let (stream, _) = listener.accept().map_err(failed)?;
                stream.set_nodelay(true).and_then(|()| stream.set_nonblocking(true)).map_err(failed)?;
                stream.into()
            }
            GdbAddress::Unix(path) => {
                let listener = UnixListener::bind(path).map_err(failed)?;
                let _removed = TemporaryPath::remove_later(path.clone());
                wait_at(waiting, &path.display());
                let (stream, _) = listener.accept().map_err(failed)?;
                stream.set_nonblocking(true).map_err(failed)?;
                stream.into()
            }
        };
        Ok(Self { stream, input: VecDeque::new(), output: Vec::new() })
    }

    /// Whether the debugger has sent something, or waits until it does: for `patience` at the most, or for ever.
    pub(super) fn is_heard(&self, patience: Option<Duration>) -> Result<bool, ConnectionError> {
        if !self.input.is_empty() {
            return Ok(true);
        }
        self.wait(PollFlags::IN, patience)
    }

    fn wait(&self, what: PollFlags, patience: Option<Duration>) -> Result<bool, ConnectionError> {
        let mut ready = vec![PollFd::new(&self.stream, what)];
        let wake = interrupt::descriptor();
        ready.extend(wake.as_ref().map(|wake| PollFd::new(wake, PollFlags::IN)));
        let timeout = patience.map(|patience| Timespec {
            tv_sec: patience.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: patience.subsec_nanos().into(),
        });
        match poll(&mut ready, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let heard = !ready[0].revents().is_empty();
        match interrupt::requested() {
            Some(_) => Err(ConnectionError::Interrupted),
            None => Ok(heard),
        }
    }

    /// Takes what has come, if anything has.
    fn fetch(&mut self) -> Result<(), ConnectionError> {
        let mut buffer = [0; 4096];
        match rustix::io::read(&self.stream, &mut buffer) {
            Ok(0) | Err(Errno::CONNRESET) => Err(ConnectionError::Closed),
            Ok(bytes) => {
                self.input.extend(&buffer[..bytes]);
                Ok(())
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn wait_at(waiting: &str, place: &impl std::fmt::Display) {
    warn(&format!("{waiting} for a debugger: target remote {place}"));
}

impl Connection for Debugger {
    type Error = ConnectionError;

    fn write(&mut self, byte: u8) -> Result<(), ConnectionError> {
        self.output.push(byte);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ConnectionError> {
        let output = std::mem::take(&mut self.output);
        let mut left = &output[..];
        while !left.is_empty() {
            match rustix::io::write(&self.stream, left) {
                Ok(bytes) => left = &left[bytes..],
                Err(Errno::AGAIN) => {
                    self.wait(PollFlags::OUT, None)?;
                }
                Err(Errno::INTR) => {}
                Err(Errno::PIPE | Errno::CONNRESET) => return Err(ConnectionError::Closed),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

impl ConnectionExt for Debugger {
    fn read(&mut self) -> Result<u8, ConnectionError> {
        loop {
            if let Some(byte) = self.input.pop_front() {
                return Ok(byte);
            }
            if self.is_heard(None)? {
                self.fetch()?;
            }
        }
    }

    fn peek(&mut self) -> Result<Option<u8>, ConnectionError> {
        if self.input.is_empty() && self.is_heard(Some(Duration::ZERO))? {
            self.fetch()?;
        }
        Ok(self.input.front().copied())
    }
}
