//! The file of a snapshot.
//!
//! | at | bytes | |
//! |---|---|---|
//! | 0 | 8 | `PAWSNAP` and a zero |
//! | 8 | 4 | version of the format, 2 |
//! | 12 | 4 | 0 |
//! | 16 | 8 | where the description is |
//! | 24 | 8 | its length: there the file ends |
//! | 32 | 32 | SHA-256 of the first 4096 bytes, these 32 taken as zero, and the description |
//! | 64 | | 0 |
//! | 4096 | | chunks of memory, 2 MiB each but perhaps the last, without those that are all zero; a page of zeroes is a hole |
//! | | | description: JSON; shape, state, and the number and CRC-32 of each chunk |
//!
//! All numbers are little-endian. Each byte of the file is covered by one of the checks, and all of them are looked at before anything else is.

use super::shape::ARCHITECTURE;
use super::{About, Shape, State};
use crate::file_kind;
use config::{Config, ConfigError};
use memory::{MemoryImage, PageSet, is_zero_page};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const MAGIC: [u8; 8] = *b"PAWSNAP\0";
const VERSION: u32 = 2;
const HEADER: u64 = 4096;
const PAGE: usize = 4096;
/// Where the digest is.
const DIGEST: core::ops::Range<usize> = 32..64;
/// More than any description has.
const LONGEST_DESCRIPTION: u64 = 256 << 20;

/// Why a file is no snapshot that can be gone on with.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", .path.display())]
pub struct SnapshotError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: SnapshotProblem,
}

/// See [`SnapshotError`].
#[derive(Debug, thiserror::Error)]
pub enum SnapshotProblem {
    /// It cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is something else: what.
    #[error("{0}, not a snapshot, which `pagewalk boot --snapshot` writes")]
    NotOne(String),
    /// It is of another version of Pagewalk.
    #[error("the snapshot has format {0}, but this Pagewalk reads format {VERSION}")]
    Version(u32),
    /// It is of another architecture.
    #[error("a snapshot of a {0} guest")]
    Architecture(String),
    /// It ends too early, or goes on too long.
    #[error("damaged: {is} bytes long instead of {expected}")]
    Length {
        /// As it is.
        is: u64,
        /// As it says.
        expected: u64,
    },
    /// A checksum is wrong.
    #[error("damaged: the checksum of {0} is wrong")]
    Checksum(String),
    /// What it says cannot be.
    #[error("damaged: {0}")]
    Content(String),
}

/// The description in the file.
#[derive(Serialize, Deserialize)]
struct Description {
    shape: Shape,
    about: About,
    state: State,
    chunks: Vec<Chunk>,
}

/// Number and CRC-32 of a chunk.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Chunk(u32, u32);

/// A snapshot that was read and found whole.
#[derive(Debug)]
pub struct Snapshot {
    shape: Shape,
    about: About,
    state: State,
    image: Arc<MemoryImage>,
    digest: [u8; 32],
}

impl Snapshot {
    /// The version of the format that is read and written.
    pub const FORMAT: u32 = VERSION;

    /// Reads the snapshot in the file at `path`, and checks all of it.
    ///
    /// # Errors
    /// [`SnapshotError`].
    pub fn open(path: &Path) -> Result<Self, SnapshotError> {
        Self::read(path).map_err(|problem| SnapshotError { path: path.to_owned(), problem })
    }

    fn read(path: &Path) -> Result<Self, SnapshotProblem> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(SnapshotProblem::NotOne("a directory".to_owned()));
        }
        if !metadata.is_file() {
            return Err(SnapshotProblem::NotOne("a device or a pipe".to_owned()));
        }
        let mut header = [0; HEADER as usize];
        if metadata.len() < 12 || file.read_exact_at(&mut header[..12], 0).is_err() || header[..8] != MAGIC {
            return Err(SnapshotProblem::NotOne(file_kind::of_path(path)?));
        }
        let version = u32::from_le_bytes([header[8], header[9], header[10], header[11]]);
        if version != VERSION {
            return Err(SnapshotProblem::Version(version));
        }
        let is = metadata.len();
        if is < HEADER {
            return Err(SnapshotProblem::Length { is, expected: HEADER });
        }
        file.read_exact_at(&mut header, 0)?;
        let number = |at: usize| u64::from_le_bytes(core::array::from_fn(|byte| header[at + byte]));
        let (at, length) = (number(16), number(24));
        let expected = at.saturating_add(length);
        if is != expected {
            return Err(SnapshotProblem::Length { is, expected });
        }
        if at < HEADER || length > LONGEST_DESCRIPTION {
            return Err(SnapshotProblem::Checksum("the header".to_owned()));
        }
        let mut text = vec![0; length as usize];
        file.read_exact_at(&mut text, at)?;
        let digest = digest(&header, &text);
        if digest != header[DIGEST] {
            return Err(SnapshotProblem::Checksum("the header and the description".to_owned()));
        }
        let content = |problem: String| SnapshotProblem::Content(problem);
        let Description { shape, about, state, chunks } =
            serde_json::from_slice(&text).map_err(|error| content(error.to_string()))?;
        if shape.architecture != ARCHITECTURE {
            return Err(SnapshotProblem::Architecture(shape.architecture));
        }
        if let Some(problem) = state.problem(shape.harts as usize, shape.memory.0) {
            return Err(content(problem.to_owned()));
        }
        let numbers = chunks.iter().map(|chunk| chunk.0).collect();
        let image = MemoryImage::new(file, HEADER, shape.memory.0, numbers)
            .filter(|image| image.end() == at)
            .ok_or_else(|| content("memory is not as long as it says".to_owned()))?;
        let used = check_chunks(&image, &chunks)?;
        Ok(Self { shape, about, state, image: Arc::new(image.with_used_pages(used)), digest })
    }

    /// What it is about.
    #[must_use]
    pub const fn about(&self) -> &About {
        &self.about
    }

    /// What a machine has to be like to go on with it.
    #[must_use]
    pub const fn shape(&self) -> &Shape {
        &self.shape
    }

    pub(super) const fn state(&self) -> &State {
        &self.state
    }

    pub(super) const fn image(&self) -> &Arc<MemoryImage> {
        &self.image
    }

    /// The pages of memory that hold anything but zeroes.
    pub(super) fn used_pages(&self) -> impl Iterator<Item = u64> {
        self.image.used_pages().into_iter().flat_map(PageSet::iter)
    }

    /// A hash of all of it: two snapshots with the same are the same.
    #[must_use]
    pub const fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// Whether a machine with this configuration can go on with it.
    ///
    /// # Errors
    /// [`ConfigError::Range`], naming the key.
    pub fn check(&self, config: &Config) -> Result<(), ConfigError> {
        let region = self.state.region.as_ref().map(|region| {
            let memory = region.memory();
            memory.end.0 - memory.start.0
        });
        self.shape.check(&self.about, region, config)
    }
}

/// Compares every chunk with its checksum, on all of the host's processors. Returns the pages that hold anything but zeroes.
fn check_chunks(image: &MemoryImage, chunks: &[Chunk]) -> Result<PageSet, SnapshotProblem> {
    let pieces: Vec<_> = image.pieces().zip(chunks).collect();
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, core::num::NonZero::get).min(pieces.len().max(1));
    let check = || -> Result<PageSet, SnapshotProblem> {
        let mut used = PageSet::default();
        let mut buffer = vec![0; MemoryImage::CHUNK as usize];
        while let Some(&((number, at, bytes), chunk)) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
            let buffer = &mut buffer[..bytes as usize];
            let offset = u64::from(number) * MemoryImage::CHUNK;
            image.read(at, buffer)?;
            for (page, at) in buffer.chunks(PAGE).zip((offset..).step_by(PAGE)) {
                if !is_zero_page(page) {
                    used.insert(at, at + PAGE as u64);
                }
            }
            if crc32fast::hash(buffer) != chunk.1 {
                return Err(SnapshotProblem::Checksum(format!("memory from {offset:#x} on")));
            }
        }
        Ok(used)
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (1..threads).map(|_| scope.spawn(check)).collect();
        let own = check();
        let all = workers.into_iter().map(|worker| worker.join().expect("reading panics nowhere"));
        all.fold(own, |sum, part| {
            let (mut sum, part) = (sum?, part?);
            sum.add(&part);
            Ok(sum)
        })
    })
}

fn digest(header: &[u8; HEADER as usize], description: &[u8]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(&header[..DIGEST.start]);
    hash.update([0; 32]);
    hash.update(&header[DIGEST.end..]);
    hash.update(description);
    hash.finalize().into()
}

/// Writes a snapshot: chunks in their order, then the rest.
pub(super) struct Writer<'f> {
    file: &'f File,
    /// Of the next chunk.
    number: u32,
    end: u64,
    chunks: Vec<Chunk>,
}

impl<'f> Writer<'f> {
    pub(super) fn new(mut file: &'f File) -> io::Result<Self> {
        file.seek(SeekFrom::Start(HEADER))?;
        Ok(Self { file, number: 0, end: HEADER, chunks: Vec::new() })
    }

    /// Writes the next chunk of memory.
    pub(super) fn chunk(&mut self, bytes: &[u8]) -> io::Result<()> {
        let number = self.number;
        self.number += 1;
        if bytes.chunks(PAGE).all(is_zero_page) {
            return Ok(());
        }
        for (page, at) in bytes.chunks(PAGE).zip((self.end..).step_by(PAGE)) {
            if !is_zero_page(page) {
                self.file.write_all_at(page, at)?;
            }
        }
        self.end += bytes.len() as u64;
        self.chunks.push(Chunk(number, crc32fast::hash(bytes)));
        Ok(())
    }

    /// Writes everything else.
    pub(super) fn finish(self, shape: Shape, about: About, state: State) -> io::Result<()> {
        let description = Description { shape, about, state, chunks: self.chunks };
        let text = serde_json::to_vec(&description)?;
        let mut header = [0; HEADER as usize];
        header[..8].copy_from_slice(&MAGIC);
        header[8..12].copy_from_slice(&VERSION.to_le_bytes());
        header[16..24].copy_from_slice(&self.end.to_le_bytes());
        header[24..32].copy_from_slice(&(text.len() as u64).to_le_bytes());
        let digest = digest(&header, &text);
        header[DIGEST].copy_from_slice(&digest);
        self.file.write_all_at(&text, self.end)?;
        self.file.write_all_at(&header, 0)?;
        let mut file = self.file;
        file.flush()
    }
}

#[cfg(test)]
mod tests;
