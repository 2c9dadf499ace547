//! What is behind a virtio disk: an image file, and what becomes of writes to it.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of a virtio disk's sector, whatever the disk's own block size (section 5.2.4).
pub(crate) const SECTOR_BYTES: u64 = 512;

/// Bytes of an overlay's unit: a guest page, so that most writes replace whole units.
const UNIT_BYTES: u64 = 4096;

/// What becomes of a guest's writes to its disk.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub enum ImageMode {
    /// They go to a temporary file that is gone with the machine; the image is never altered.
    #[default]
    Overlay,
    /// They go to the image.
    WriteThrough,
    /// There are none: the guest sees a read-only disk.
    ReadOnly,
    /// There is no image: the disk is this many bytes of zeroes, in a temporary file that is gone with the machine.
    Blank(u64),
    /// The same, with something at its beginning.
    Filled {
        /// Bytes of the disk.
        bytes: u64,
        /// What it begins with; of what is beyond the disk's end, the guest sees nothing.
        content: Arc<[u8]>,
    },
}

/// A disk to open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlockConfig {
    /// The image, or for a blank disk what it is called: raw, of at least one sector (512 bytes). Bytes after the last whole sector are not part of the disk.
    pub path: PathBuf,
    /// What becomes of writes.
    pub mode: ImageMode,
    /// The name that the guest reads with "get ID", cut to 20 bytes; Linux shows it as `/sys/block/vda/serial`.
    pub id: String,
}

/// Why a disk cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// The image cannot be opened, or its length not be had.
    #[error("disk image {}: {source}", path.display())]
    Image {
        /// The image.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The image is a directory, a pipe or the like.
    #[error("disk image {}: neither a file nor a block device", path.display())]
    Kind {
        /// The image.
        path: PathBuf,
    },
    /// The image is shorter than a sector.
    #[error("disk image {}: not even one sector of 512 bytes", path.display())]
    Empty {
        /// The image.
        path: PathBuf,
    },
    /// The temporary file for the guest's writes cannot be made.
    #[error("temporary file for writes to disk image {}: {source}", path.display())]
    Overlay {
        /// The image.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// An open image.
#[derive(Debug)]
pub(crate) struct Disk {
    image: File,
    bytes: u64,
    writes: Writes,
}

#[derive(Debug)]
enum Writes {
    Overlay(Overlay),
    Through,
    Refused,
}

impl Disk {
    /// Opens the image at `path`.
    pub(crate) fn open(path: &Path, mode: &ImageMode) -> Result<Self, DiskError> {
        let image_error = |source| DiskError::Image { path: path.to_owned(), source };
        let filled: Option<(u64, &[u8])> = match mode {
            ImageMode::Blank(bytes) => Some((*bytes, &[])),
            ImageMode::Filled { bytes, content } => Some((*bytes, content)),
            ImageMode::Overlay | ImageMode::WriteThrough | ImageMode::ReadOnly => None,
        };
        if let Some((bytes, content)) = filled {
            return Self::filled(bytes, content)
                .map_err(|source| DiskError::Overlay { path: path.to_owned(), source })?
                .whole(path);
        }
        // Before it is opened: to open a pipe would wait for its other end.
        let kind = std::fs::metadata(path).map_err(image_error)?.file_type();
        if !kind.is_file() && !kind.is_block_device() {
            return Err(DiskError::Kind { path: path.to_owned() });
        }
        let mut image =
            File::options().read(true).write(*mode == ImageMode::WriteThrough).open(path).map_err(image_error)?;
        // The end of the file, not its metadata's length: a block device has only the former.
        let end = io::Seek::seek(&mut image, io::SeekFrom::End(0)).map_err(image_error)?;
        let writes = match mode {
            ImageMode::Overlay => {
                Writes::Overlay(Overlay::new().map_err(|source| DiskError::Overlay { path: path.to_owned(), source })?)
            }
            ImageMode::WriteThrough | ImageMode::Blank(_) | ImageMode::Filled { .. } => Writes::Through,
            ImageMode::ReadOnly => Writes::Refused,
        };
        Self { image, bytes: end - end % SECTOR_BYTES, writes }.whole(path)
    }

    /// `content` and then zeroes, in a sparse temporary file.
    fn filled(bytes: u64, content: &[u8]) -> io::Result<Self> {
        let image = tempfile::tempfile()?;
        let bytes = bytes - bytes % SECTOR_BYTES;
        image.write_all_at(content, 0)?;
        image.set_len(bytes)?;
        Ok(Self { image, bytes, writes: Writes::Through })
    }

    fn whole(self, path: &Path) -> Result<Self, DiskError> {
        if self.bytes == 0 { Err(DiskError::Empty { path: path.to_owned() }) } else { Ok(self) }
    }

    /// Length in sectors.
    pub(crate) fn sectors(&self) -> u64 {
        self.bytes / SECTOR_BYTES
    }

    /// Whether writes are refused.
    pub(crate) fn is_read_only(&self) -> bool {
        matches!(self.writes, Writes::Refused)
    }

    /// Reads `into` from `offset`; the range lies within the disk.
    pub(crate) fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        match &self.writes {
            Writes::Overlay(overlay) => overlay.read(&self.image, offset, into),
            Writes::Through | Writes::Refused => self.image.read_exact_at(into, offset),
        }
    }

    /// Writes `from` at `offset`; the range lies within the disk.
    pub(crate) fn write(&mut self, offset: u64, from: &[u8]) -> io::Result<()> {
        match &mut self.writes {
            Writes::Overlay(overlay) => overlay.write(&self.image, self.bytes, offset, from),
            Writes::Through => self.image.write_all_at(from, offset),
            Writes::Refused => Err(io::ErrorKind::ReadOnlyFilesystem.into()),
        }
    }

    /// Makes earlier writes durable; those to an overlay are never meant to be.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        match self.writes {
            Writes::Through => self.image.sync_data(),
            Writes::Overlay(_) | Writes::Refused => Ok(()),
        }
    }
}

/// The units that were written, in a sparse temporary file at the image's own offsets.
#[derive(Debug)]
struct Overlay {
    file: File,
    /// One bit for each unit that `file` holds; grows to the last of them.
    held: Vec<u64>,
}

impl Overlay {
    fn new() -> io::Result<Self> {
        Ok(Self { file: tempfile::tempfile()?, held: Vec::new() })
    }

    fn holds(&self, unit: u64) -> bool {
        self.held.get((unit / 64) as usize).is_some_and(|word| word >> (unit % 64) & 1 != 0)
    }

    fn hold(&mut self, unit: u64) {
        let word = (unit / 64) as usize;
        if self.held.len() <= word {
            self.held.resize(word + 1, 0);
        }
        self.held[word] |= 1 << (unit % 64);
    }

    fn read(&self, image: &File, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let mut done = 0;
        for piece in pieces(offset, into.len()) {
            let source = if self.holds(piece.unit) { &self.file } else { image };
            source.read_exact_at(&mut into[done..done + piece.bytes], piece.offset)?;
            done += piece.bytes;
        }
        Ok(())
    }

    /// A unit counts as held only once all of it is in the file, so that a full host disk loses no earlier data.
    fn write(&mut self, image: &File, image_bytes: u64, offset: u64, from: &[u8]) -> io::Result<()> {
        let mut done = 0;
        for piece in pieces(offset, from.len()) {
            let start = piece.unit * UNIT_BYTES;
            let unit_bytes = UNIT_BYTES.min(image_bytes - start) as usize;
            if !self.holds(piece.unit) && piece.bytes < unit_bytes {
                let mut unit = [0; UNIT_BYTES as usize];
                image.read_exact_at(&mut unit[..unit_bytes], start)?;
                self.file.write_all_at(&unit[..unit_bytes], start)?;
            }
            self.file.write_all_at(&from[done..done + piece.bytes], piece.offset)?;
            self.hold(piece.unit);
            done += piece.bytes;
        }
        Ok(())
    }
}

/// A part of a range that lies within one unit.
struct Piece {
    unit: u64,
    offset: u64,
    bytes: usize,
}

fn pieces(offset: u64, bytes: usize) -> impl Iterator<Item = Piece> {
    let end = offset + bytes as u64;
    let mut next = offset;
    std::iter::from_fn(move || {
        let (start, unit) = (next, next / UNIT_BYTES);
        next = end.min((unit + 1) * UNIT_BYTES);
        (start < end).then(|| Piece { unit, offset: start, bytes: (next - start) as usize })
    })
}

#[cfg(test)]
mod tests;
