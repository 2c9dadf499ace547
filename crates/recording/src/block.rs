//! Blocks of a recording's file.
//!
//! The file begins with the magic bytes `PAWREC\0\0` and the number of the format, of 4 bytes. Blocks follow. All numbers are little-endian.
//!
//! | bytes | of a block |
//! |---|---|
//! | 4 | kind: 1 description, 2 attachment, 3 frame, 4 end |
//! | 4 | bytes of the content |
//! | 4 | bytes of the content, compressed by zstd |
//! | 4 | CRC-32 of the compressed bytes |
//! | 8 | events in a frame, or 0 |
//! | 8 | instructions that the guest has retired at the end of a frame, or 0 |
//!
//! A reader goes from header to header without reading what is between. So it finds any frame, by its events or instructions.

use crate::error::ReadError;
use std::io::{self, Read, Write};

/// The first bytes of the file.
pub(crate) const MAGIC: [u8; 8] = *b"PAWREC\0\0";
/// The format that is written and read. Format 1 had no columns.
pub(crate) const FORMAT: u32 = 2;
/// Bytes of a block's header.
pub(crate) const HEADER: usize = 32;

/// The most bytes of a description.
pub(crate) const MOST_ABOUT: u32 = 1 << 20;
/// The most bytes of an attachment.
pub(crate) const MOST_ATTACHMENT: u32 = 1 << 29;
/// The most bytes of a frame.
pub(crate) const MOST_FRAME: u32 = 1 << 21;
/// The most bytes of an end.
pub(crate) const MOST_END: u32 = 256;

/// What a block has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// What the recording is of, in JSON.
    About,
    /// A file that belongs to it.
    Attachment,
    /// Events.
    Frame,
    /// The summary.
    End,
}

impl Kind {
    const fn code(self) -> u32 {
        match self {
            Self::About => 1,
            Self::Attachment => 2,
            Self::Frame => 3,
            Self::End => 4,
        }
    }

    const fn of_code(code: u32) -> Option<Self> {
        Some(match code {
            1 => Self::About,
            2 => Self::Attachment,
            3 => Self::Frame,
            4 => Self::End,
            _ => return None,
        })
    }

    /// The most bytes of its content.
    pub(crate) const fn most(self) -> u32 {
        match self {
            Self::About => MOST_ABOUT,
            Self::Attachment => MOST_ATTACHMENT,
            Self::Frame => MOST_FRAME,
            Self::End => MOST_END,
        }
    }
}

/// The header of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    /// Bytes of the content.
    pub(crate) bytes: u32,
    /// The same, compressed.
    pub(crate) stored: u32,
    pub(crate) checksum: u32,
    pub(crate) events: u64,
    pub(crate) instructions: u64,
}

impl Header {
    pub(crate) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        for number in [self.kind.code(), self.bytes, self.stored, self.checksum] {
            to.write_all(&number.to_le_bytes())?;
        }
        to.write_all(&self.events.to_le_bytes())?;
        to.write_all(&self.instructions.to_le_bytes())
    }

    /// Reads the header of block number `block`.
    pub(crate) fn read(from: &mut impl Read, block: u64) -> Result<Self, ReadError> {
        let mut bytes = [0; HEADER];
        fill(from, &mut bytes)?;
        let (words, _) = bytes.as_chunks::<4>();
        let word = |number: usize| u32::from_le_bytes(words[number]);
        let long = |number: usize| u64::from(word(number)) | u64::from(word(number + 1)) << 32;
        let damaged = |problem| ReadError::Block { block, problem };
        let kind = Kind::of_code(word(0)).ok_or(damaged("unknown kind"))?;
        let header =
            Self { kind, bytes: word(1), stored: word(2), checksum: word(3), events: long(4), instructions: long(6) };
        // What does not compress is a little larger.
        if header.bytes > kind.most() || header.stored > kind.most() + kind.most() / 128 + 1024 {
            return Err(damaged("too long"));
        }
        // An event has a byte at the least.
        if header.events > u64::from(header.bytes) {
            return Err(damaged("more events than bytes"));
        }
        Ok(header)
    }

    /// Reads the content behind the header.
    pub(crate) fn content(&self, from: &mut impl Read, block: u64) -> Result<Vec<u8>, ReadError> {
        let damaged = |problem| ReadError::Block { block, problem };
        // The length is a claim: no memory is taken for more than there is.
        let mut stored = Vec::new();
        from.take(u64::from(self.stored)).read_to_end(&mut stored)?;
        if stored.len() != self.stored as usize {
            return Err(ReadError::CutOff);
        }
        if crc32fast::hash(&stored) != self.checksum {
            return Err(damaged("wrong checksum"));
        }
        let mut content = Vec::new();
        let decoder = zstd::stream::read::Decoder::new(&stored[..]).map_err(|_| damaged("not compressed by zstd"))?;
        let read = decoder.take(u64::from(self.bytes) + 1).read_to_end(&mut content);
        if read.is_err() || content.len() != self.bytes as usize {
            return Err(damaged("not the bytes that its header says"));
        }
        Ok(content)
    }
}

/// Reads all of `bytes`.
pub(crate) fn fill(from: &mut impl Read, bytes: &mut [u8]) -> Result<(), ReadError> {
    from.read_exact(bytes).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => ReadError::CutOff,
        _ => ReadError::Io(error),
    })
}
