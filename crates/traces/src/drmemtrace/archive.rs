//! The chunks of an archive, read as one stream.
//!
//! The files of an archive follow each other in the order of its directory, as `DynamoRIO` reads them. Each is decompressed while it is read, so an
//! archive of any size takes the same memory.

use crate::error::TraceError;
use crc32fast::Hasher;
use flate2::read::DeflateDecoder;
use std::io::{self, Read, Seek, SeekFrom, Take};
use std::vec::IntoIter;
use zip::{CompressionMethod, ZipArchive};

/// Where a chunk is in the archive.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    start: u64,
    /// Bytes in the archive.
    bytes: u64,
    deflated: bool,
    checksum: u32,
}

/// The chunks that are still to be read.
pub(crate) struct Chunks<R: Read + Seek> {
    left: IntoIter<Chunk>,
    state: State<R>,
}

enum State<R: Read + Seek> {
    Between(R),
    Within {
        from: Content<R>,
        found: Hasher,
        expected: u32,
    },
    /// A chunk could not be read.
    Failed,
}

enum Content<R: Read> {
    Stored(Take<R>),
    Deflated(Box<DeflateDecoder<Take<R>>>),
}

impl<R: Read> Content<R> {
    fn into_inner(self) -> R {
        match self {
            Self::Stored(content) => content.into_inner(),
            Self::Deflated(content) => content.into_inner().into_inner(),
        }
    }
}

impl<R: Read> Read for Content<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Stored(content) => content.read(to),
            Self::Deflated(content) => content.read(to),
        }
    }
}

impl<R: Read + Seek> Chunks<R> {
    /// Begins with the first chunk of an archive.
    ///
    /// # Errors
    /// [`TraceError`]: the directory of the archive cannot be read, or names what no trace has.
    pub(crate) fn new(file: R) -> Result<Self, TraceError> {
        let mut archive = ZipArchive::new(file).map_err(io::Error::from)?;
        let mut chunks = Vec::new();
        for index in 0..archive.len() {
            let file = archive.by_index_raw(index).map_err(io::Error::from)?;
            let deflated = match file.compression() {
                CompressionMethod::Stored => false,
                CompressionMethod::Deflated => true,
                _ => return Err(TraceError::Archive("a file of it is compressed by another method than deflate")),
            };
            if file.encrypted() {
                return Err(TraceError::Archive("a file of it is encrypted"));
            }
            let start = file.data_start().ok_or(TraceError::Archive("a file of it has no place"))?;
            chunks.push(Chunk { start, bytes: file.compressed_size(), deflated, checksum: file.crc32() });
        }
        Ok(Self { left: chunks.into_iter(), state: State::Between(archive.into_inner()) })
    }
}

impl<R: Read + Seek> Read for Chunks<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        loop {
            match std::mem::replace(&mut self.state, State::Failed) {
                State::Between(mut file) => {
                    let Some(chunk) = self.left.next() else {
                        self.state = State::Between(file);
                        return Ok(0);
                    };
                    file.seek(SeekFrom::Start(chunk.start))?;
                    let content = file.take(chunk.bytes);
                    let from = if chunk.deflated {
                        Content::Deflated(Box::new(DeflateDecoder::new(content)))
                    } else {
                        Content::Stored(content)
                    };
                    self.state = State::Within { from, found: Hasher::new(), expected: chunk.checksum };
                }
                State::Within { mut from, mut found, expected } => {
                    let bytes = from.read(to)?;
                    if bytes > 0 || to.is_empty() {
                        found.update(&to[..bytes]);
                        self.state = State::Within { from, found, expected };
                        return Ok(bytes);
                    }
                    if found.finalize() != expected {
                        return Err(io::Error::new(
                            io::ErrorKind::InvalidData,
                            "a chunk is damaged: its checksum differs",
                        ));
                    }
                    self.state = State::Between(from.into_inner());
                }
                State::Failed => return Err(io::Error::other("an earlier chunk could not be read")),
            }
        }
    }
}
