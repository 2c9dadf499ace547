//! One connection: lines come in, and replies go out. Neither is waited for.

use rustix::event::PollFlags;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

/// The longest line, in bytes.
const LONGEST_LINE: usize = 4096;

/// Bytes of replies that a client may leave unread before its next request is read.
const MOST_UNREAD: usize = 1 << 16;

/// A client.
#[derive(Debug)]
pub(super) struct Client {
    connection: File,
    /// What came and is not a whole line yet, or was not asked for.
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// More lines may come.
    Open,
    /// No more come. Its replies are still to be sent.
    Ending,
    /// It is gone.
    Closed,
}

/// What comes next from a client.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A line, without its end.
    Line(Vec<u8>),
    /// A line that is too long; the connection ends.
    TooLong,
    /// Nothing yet.
    Nothing,
}

impl Client {
    pub(super) fn new(connection: File) -> Self {
        Self { connection, incoming: Vec::new(), outgoing: Vec::new(), state: State::Open }
    }

    /// The next line, if a whole one is there.
    pub(super) fn next(&mut self) -> Next {
        if self.outgoing.len() > MOST_UNREAD {
            return Next::Nothing;
        }
        loop {
            if let Some(end) = self.incoming.iter().position(|&byte| byte == b'\n') {
                let mut line: Vec<u8> = self.incoming.drain(..=end).collect();
                line.pop();
                return Next::Line(line);
            }
            if self.incoming.len() > LONGEST_LINE {
                self.incoming.clear();
                self.state = State::Ending;
                return Next::TooLong;
            }
            if self.state != State::Open {
                return Next::Nothing;
            }
            let mut buffer = [0; LONGEST_LINE];
            match self.connection.read(&mut buffer) {
                Ok(0) => {
                    self.incoming.clear();
                    self.state = State::Ending;
                }
                Ok(length) => self.incoming.extend_from_slice(&buffer[..length]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Next::Nothing,
                Err(_) => self.state = State::Closed,
            }
        }
    }

    /// Sends `reply` as a line, now or as soon as the client takes it.
    pub(super) fn reply(&mut self, reply: &str) {
        self.outgoing.extend_from_slice(reply.as_bytes());
        self.outgoing.push(b'\n');
        self.send();
    }

    /// Sends what the client takes.
    pub(super) fn send(&mut self) {
        while !self.outgoing.is_empty() && self.state != State::Closed {
            match self.connection.write(&self.outgoing) {
                Ok(length) => drop(self.outgoing.drain(..length)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => self.state = State::Closed,
            }
        }
        if self.state == State::Ending && self.outgoing.is_empty() {
            self.state = State::Closed;
        }
    }

    /// Takes no more lines.
    pub(super) fn end(&mut self) {
        self.state = State::Ending;
        self.send();
    }

    /// Whether nothing more comes from it or goes to it.
    pub(super) fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// What it is worth to wait for.
    pub(super) fn awaited(&self) -> PollFlags {
        let takes = if self.outgoing.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
        if self.state == State::Open && self.outgoing.len() <= MOST_UNREAD { takes | PollFlags::IN } else { takes }
    }
}

impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.connection.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    fn pair() -> (UnixStream, Client) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        theirs.set_nonblocking(true).unwrap();
        (ours, Client::new(File::from(OwnedFd::from(theirs))))
    }

    #[test]
    fn lines_come_whole() {
        let (mut ours, mut client) = pair();
        ours.write_all(b"one\ntw").unwrap();
        assert_eq!(client.next(), Next::Line(b"one".to_vec()));
        assert_eq!(client.next(), Next::Nothing);
        ours.write_all(b"o\n").unwrap();
        assert_eq!(client.next(), Next::Line(b"two".to_vec()));
        drop(ours);
        assert_eq!(client.next(), Next::Nothing);
        client.send();
        assert!(client.is_closed());
    }

    #[test]
    fn a_line_without_end_ends_the_connection() {
        let (mut ours, mut client) = pair();
        ours.write_all(&[b'x'; 2 * LONGEST_LINE]).unwrap();
        assert_eq!(client.next(), Next::TooLong);
        client.reply("no");
        assert!(client.is_closed());
    }

    #[test]
    fn a_client_that_reads_no_replies_is_not_waited_for() {
        let (mut ours, mut client) = pair();
        let reply = "x".repeat(1 << 16);
        (0..100).for_each(|_| client.reply(&reply));
        ours.write_all(b"more\n").unwrap();
        assert_eq!(client.next(), Next::Nothing, "its requests wait");
        assert!(!client.is_closed() && client.awaited() == PollFlags::OUT);
    }
}
