//! The file system device (section 5.11): FUSE messages in, their answers out.

use super::device::{ConfigSpace, Device, QueueKind};
use super::queue::{MAX_REQUEST_BYTES, QueueFault, Request};
use std::fmt;
use std::io::{Read, Write};
use virtio_bindings::virtio_ids::VIRTIO_ID_FS;

/// Bytes of the tag in the configuration space (section 5.11.4).
pub const TAG_BYTES: usize = 36;

/// What answers a guest's messages.
pub trait FileServer: Send {
    /// Carries out `message`, a whole request with its FUSE header. Returns its answer with its header, of at most `room` bytes, and no bytes to a
    /// message that has no answer; `None` to one that is malformed.
    fn answer(&mut self, message: &[u8], room: usize) -> Option<Vec<u8>>;
}

/// A virtio file system.
pub struct FileSystem {
    tag: [u8; TAG_BYTES],
    server: Box<dyn FileServer>,
    message: Vec<u8>,
}

impl fmt::Debug for FileSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileSystem").field("tag", &String::from_utf8_lossy(&self.tag)).finish_non_exhaustive()
    }
}

impl FileSystem {
    /// A file system that the guest mounts by `tag`, of which the first [`TAG_BYTES`] bytes count.
    #[must_use]
    pub fn new(tag: &str, server: Box<dyn FileServer>) -> Self {
        let mut bytes = [0; TAG_BYTES];
        bytes.iter_mut().zip(tag.bytes()).for_each(|(to, from)| *to = from);
        Self { tag: bytes, server, message: Vec::new() }
    }
}

impl Device for FileSystem {
    fn name(&self) -> &'static str {
        "file system"
    }

    fn id(&self) -> u32 {
        VIRTIO_ID_FS
    }

    fn features(&self) -> u64 {
        0
    }

    /// One for urgent messages, which are those that have no answer, and one for the others (section 5.11.2).
    fn queues(&self) -> &'static [QueueKind] {
        &[QueueKind::Served, QueueKind::Served]
    }

    fn longest_request(&self) -> u64 {
        MAX_REQUEST_BYTES
    }

    fn config(&self) -> ConfigSpace {
        let mut config = [0; 64];
        config[..TAG_BYTES].copy_from_slice(&self.tag);
        // Queues for requests.
        config[TAG_BYTES] = 1;
        config
    }

    fn serve(&mut self, _queue: usize, request: &mut Request<'_>) -> Result<u32, QueueFault> {
        self.message.resize(request.readable.available_bytes(), 0);
        request.readable.read_exact(&mut self.message).map_err(|_| QueueFault::Request)?;
        let room = request.writable.available_bytes();
        let answer = self.server.answer(&self.message, room).filter(|answer| answer.len() <= room);
        let answer = answer.ok_or(QueueFault::Request)?;
        request.writable.write_all(&answer).map_err(|_| QueueFault::Request)?;
        Ok(answer.len() as u32)
    }
}
