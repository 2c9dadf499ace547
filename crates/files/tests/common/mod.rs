//! A guest's side of the protocol: messages as Linux writes them (`linux/fuse.h`).
#![allow(dead_code, reason = "each test binary uses its part")]

use files::{Access, Root, Server};
use std::path::Path;

pub(crate) const LOOKUP: u32 = 1;
pub(crate) const FORGET: u32 = 2;
pub(crate) const GETATTR: u32 = 3;
pub(crate) const SETATTR: u32 = 4;
pub(crate) const READLINK: u32 = 5;
pub(crate) const SYMLINK: u32 = 6;
pub(crate) const MKNOD: u32 = 8;
pub(crate) const MKDIR: u32 = 9;
pub(crate) const UNLINK: u32 = 10;
pub(crate) const RMDIR: u32 = 11;
pub(crate) const RENAME: u32 = 12;
pub(crate) const LINK: u32 = 13;
pub(crate) const OPEN: u32 = 14;
pub(crate) const READ: u32 = 15;
pub(crate) const WRITE: u32 = 16;
pub(crate) const STATFS: u32 = 17;
pub(crate) const RELEASE: u32 = 18;
pub(crate) const INIT: u32 = 26;
pub(crate) const OPENDIR: u32 = 27;
pub(crate) const READDIR: u32 = 28;
pub(crate) const CREATE: u32 = 35;

pub(crate) const ENOENT: i32 = 2;
pub(crate) const EPERM: i32 = 1;
pub(crate) const EBADF: i32 = 9;
pub(crate) const ENOTDIR: i32 = 20;
pub(crate) const EINVAL: i32 = 22;
pub(crate) const EMFILE: i32 = 24;
pub(crate) const EROFS: i32 = 30;
pub(crate) const ENOSYS: i32 = 38;
pub(crate) const ELOOP: i32 = 40;
pub(crate) const ESTALE: i32 = 116;

pub(crate) const ROOT: u64 = 1;

/// The kernel of a guest.
pub(crate) struct Client(pub(crate) Server);

/// A request with its header.
pub(crate) fn message(opcode: u32, node: u64, body: &[u8]) -> Vec<u8> {
    let mut message = Vec::new();
    message.extend((40 + body.len() as u32).to_le_bytes());
    message.extend(opcode.to_le_bytes());
    message.extend(7_u64.to_le_bytes());
    message.extend(node.to_le_bytes());
    message.extend([0; 16]);
    message.extend(body);
    message
}

/// Numbers of four bytes, then text.
pub(crate) fn words(words: &[u32], text: &[u8]) -> Vec<u8> {
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.extend(text);
    bytes
}

/// Numbers of eight bytes, then text.
pub(crate) fn longs(longs: &[u64], text: &[u8]) -> Vec<u8> {
    let mut bytes: Vec<u8> = longs.iter().flat_map(|long| long.to_le_bytes()).collect();
    bytes.extend(text);
    bytes
}

/// The number of eight bytes at `at`.
pub(crate) fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// The number of four bytes at `at`.
pub(crate) fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

impl Client {
    /// Of a directory, after `FUSE_INIT`.
    pub(crate) fn new(path: &Path, access: Access) -> Self {
        let mut client = Self(Server::new(Root::open(path, access).unwrap()));
        let answer = client.ask(INIT, 0, &words(&[7, 41, 1 << 17, u32::MAX], &[0; 48])).unwrap();
        assert_eq!((answer.len(), word(&answer, 0)), (64, 7));
        client
    }

    /// The body of an answer, or its error.
    pub(crate) fn ask(&mut self, opcode: u32, node: u64, body: &[u8]) -> Result<Vec<u8>, i32> {
        let answer = self.0.answer(&message(opcode, node, body), 1 << 20).unwrap();
        assert_eq!((word(&answer, 0) as usize, long(&answer, 8)), (answer.len(), 7));
        match word(&answer, 4) as i32 {
            0 => Ok(answer[16..].to_vec()),
            error => {
                assert_eq!(answer.len(), 16);
                Err(-error)
            }
        }
    }

    /// The node of an entry of a directory.
    pub(crate) fn look_up(&mut self, parent: u64, name: &str) -> Result<u64, i32> {
        let answer = self.ask(LOOKUP, parent, &[name.as_bytes(), b"\0"].concat())?;
        assert_eq!(answer.len(), 128);
        Ok(long(&answer, 0))
    }

    /// The node of a path.
    pub(crate) fn walk(&mut self, path: &str) -> Result<u64, i32> {
        path.split('/').try_fold(ROOT, |node, name| self.look_up(node, name))
    }

    /// `struct fuse_attr` of a node.
    pub(crate) fn attributes(&mut self, node: u64) -> Result<Vec<u8>, i32> {
        self.ask(GETATTR, node, &[0; 16]).map(|answer| answer[16..].to_vec())
    }

    /// A handle.
    pub(crate) fn open(&mut self, node: u64, flags: u32) -> Result<u64, i32> {
        self.ask(OPEN, node, &words(&[flags, 0], &[])).map(|answer| long(&answer, 0))
    }

    /// Bytes of a file.
    pub(crate) fn read(&mut self, handle: u64, offset: u64, length: u32) -> Result<Vec<u8>, i32> {
        let body = [longs(&[handle, offset], &[]), words(&[length, 0, 0, 0, 0, 0], &[])].concat();
        self.ask(READ, 0, &body)
    }

    /// Writes to a file.
    pub(crate) fn write(&mut self, handle: u64, offset: u64, bytes: &[u8]) -> Result<u32, i32> {
        let head = [longs(&[handle, offset], &[]), words(&[bytes.len() as u32, 0, 0, 0, 0, 0], &[])].concat();
        self.ask(WRITE, 0, &[&head, bytes].concat()).map(|answer| word(&answer, 0))
    }

    /// Makes a file and opens it; its node and its handle.
    pub(crate) fn create(&mut self, parent: u64, name: &str, mode: u32) -> Result<(u64, u64), i32> {
        let body = words(&[0o101 | 0o100, mode, 0, 0], &[name.as_bytes(), b"\0"].concat());
        self.ask(CREATE, parent, &body).map(|answer| (long(&answer, 0), long(&answer, 128)))
    }

    /// Names and inode numbers of a directory, read with room for `room` bytes at a time.
    pub(crate) fn list(&mut self, node: u64, room: u32) -> Result<Vec<(String, u64)>, i32> {
        let handle = long(&self.ask(OPENDIR, node, &[0; 8])?, 0);
        let (mut found, mut offset) = (Vec::new(), 0);
        loop {
            let body = [longs(&[handle, offset], &[]), words(&[room, 0, 0, 0, 0, 0], &[])].concat();
            let entries = self.ask(READDIR, node, &body)?;
            assert!(entries.len() <= room as usize);
            if entries.is_empty() {
                return Ok(found);
            }
            let mut at = 0;
            while at < entries.len() {
                let length = word(&entries, at + 16) as usize;
                let name = String::from_utf8(entries[at + 24..at + 24 + length].to_vec()).unwrap();
                found.push((name, long(&entries, at)));
                offset = long(&entries, at + 8);
                at += 24 + length.next_multiple_of(8);
            }
        }
    }
}
