//! What a guest's memory begins with, where that is in a file: a snapshot.
//!
//! Memory is cut into chunks of 2 MiB. Those that hold nothing but zeroes are not in the file; the others follow one another there. A chunk that a
//! whole run of frames takes is mapped from the file, so that its pages are read when they are touched, and copied when they are written to; a
//! page that gets a frame by itself is copied at once.

use crate::{HostMemory, PageSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use types::{Hpa, PageSize};

const PAGE: u64 = PageSize::Size4K.bytes();

/// Pages that follow one another in memory, in frames that follow one another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImageRun {
    /// Of the first page, from the start of memory.
    pub offset: u64,
    /// The first frame.
    pub frame: Hpa,
    /// Whole pages.
    pub bytes: u64,
}

/// The first contents of a guest's memory, in a file. The file must not change while this is in use.
#[derive(Debug)]
pub struct MemoryImage {
    file: File,
    /// Where the first chunk is in the file; a multiple of 4 KiB.
    start: u64,
    /// Length of the memory.
    bytes: u64,
    /// The chunks that are in the file, by number, ascending.
    chunks: Vec<u32>,
    /// The pages that hold anything but zeroes, if that is known: no other is read.
    used: Option<PageSet>,
}

impl MemoryImage {
    /// Bytes of a chunk; the last may be shorter.
    pub const CHUNK: u64 = PageSize::Size2M.bytes();

    /// The contents of `bytes` bytes of memory: `chunks`, ascending, which are in `file` from `start` on. `None` if that cannot be.
    #[must_use]
    pub fn new(file: File, start: u64, bytes: u64, chunks: Vec<u32>) -> Option<Self> {
        let ascending = chunks.windows(2).all(|pair| pair[0] < pair[1]);
        let inside = chunks.last().is_none_or(|&last| u64::from(last) < bytes.div_ceil(Self::CHUNK));
        let whole = start.is_multiple_of(PAGE) && bytes.is_multiple_of(PAGE);
        (ascending && inside && whole).then_some(Self { file, start, bytes, chunks, used: None })
    }

    /// The same, where all pages but `used` hold zeroes.
    #[must_use]
    pub fn with_used_pages(self, used: PageSet) -> Self {
        Self { used: Some(used), ..self }
    }

    /// The pages that hold anything but zeroes, if that was said.
    #[must_use]
    pub const fn used_pages(&self) -> Option<&PageSet> {
        self.used.as_ref()
    }

    /// Length of the memory.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The chunks that are in the file: number, offset in the file, length.
    pub fn pieces(&self) -> impl Iterator<Item = (u32, u64, u64)> {
        self.chunks.iter().zip(0..).map(|(&chunk, place)| (chunk, self.start + place * Self::CHUNK, self.length(chunk)))
    }

    /// Where the last chunk ends in the file.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.pieces().last().map_or(self.start, |(_, at, bytes)| at + bytes)
    }

    /// Reads a part of the file.
    ///
    /// # Errors
    /// As the host's system says.
    pub fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(into, at)
    }

    /// Gives frames, all zero, the contents of memory: whole pages. Those in `placed` have had theirs before and stay zero; all are in it afterwards.
    ///
    /// # Errors
    /// As the host's system says: the file cannot be read.
    pub fn place(&self, memory: &HostMemory, run: ImageRun, placed: &mut PageSet) -> io::Result<()> {
        self.place_run(memory, run, placed, &mut Pages::alone())
    }

    /// Does what [`place`](Self::place) does for each of `runs`. Where they follow one another in memory, their frames may lie anywhere: pages are read
    /// many at a time.
    ///
    /// # Errors
    /// Those of [`place`](Self::place).
    pub fn place_all(&self, memory: &HostMemory, runs: &[ImageRun], placed: &mut PageSet) -> io::Result<()> {
        let mut pages = Pages::with_neighbours();
        runs.iter().try_for_each(|&run| self.place_run(memory, run, placed, &mut pages))
    }

    fn place_run(&self, memory: &HostMemory, run: ImageRun, placed: &mut PageSet, pages: &mut Pages) -> io::Result<()> {
        let ImageRun { offset, frame, bytes } = run;
        let end = (offset + bytes).min(self.bytes);
        let first = self.chunks.partition_point(|&chunk| u64::from(chunk + 1) * Self::CHUNK <= offset);
        for (place, &chunk) in (first as u64..).zip(&self.chunks[first..]) {
            let chunk_start = u64::from(chunk) * Self::CHUNK;
            let (from, to) = (offset.max(chunk_start), end.min(chunk_start + Self::CHUNK));
            if from >= to {
                break;
            }
            let at = self.start + place * Self::CHUNK + (from - chunk_start);
            let part = ImageRun { offset: from, frame: frame.wrapping_add(from - offset), bytes: to - from };
            let whole = part.bytes == self.length(chunk) && !placed.contains_any(from, to);
            // Where the system maps no more pieces of files, copies do as well.
            if !whole || memory.map_file(part.frame, part.bytes, &self.file, at).is_err() {
                self.copy(memory, part, at, placed, pages)?;
            }
            placed.insert(from, to);
        }
        Ok(())
    }

    /// Copies the contents of one page to `hpa`, even if they were placed before.
    ///
    /// # Errors
    /// Those of [`place`](Self::place).
    pub fn copy_page(&self, memory: &HostMemory, offset: u64, hpa: Hpa) -> io::Result<()> {
        let Ok(place) = self.chunks.binary_search(&((offset / Self::CHUNK) as u32)) else { return Ok(()) };
        let at = self.start + place as u64 * Self::CHUNK + offset % Self::CHUNK;
        let run = ImageRun { offset, frame: hpa, bytes: PAGE };
        self.copy(memory, run, at, &PageSet::default(), &mut Pages::alone())
    }

    /// Copies those pages of `run`, which is at `at` in the file, that are not placed yet.
    fn copy(&self, memory: &HostMemory, run: ImageRun, at: u64, placed: &PageSet, pages: &mut Pages) -> io::Result<()> {
        for done in (0..run.bytes).step_by(PAGE as usize) {
            let offset = run.offset + done;
            let is_zero = self.used.as_ref().is_some_and(|used| !used.contains(offset));
            if is_zero || placed.contains(offset) {
                continue;
            }
            let page = pages.page(self, offset, at + done)?;
            if !is_zero_page(page) {
                memory.write_slice(run.frame.wrapping_add(done), page).map_err(io::Error::other)?;
            }
        }
        Ok(())
    }

    /// How many pages from that at `offset` on lie in one chunk and hold anything, as far as that is known: at least one, and `most`.
    fn neighbours(&self, offset: u64, most: u64) -> u64 {
        let Some(used) = &self.used else { return 1 };
        let chunk_end = (offset / Self::CHUNK + 1) * Self::CHUNK;
        let rest = (offset + PAGE..chunk_end.min(self.bytes)).step_by(PAGE as usize);
        1 + rest.take(most as usize - 1).take_while(|&offset| used.contains(offset)).count() as u64
    }

    fn length(&self, chunk: u32) -> u64 {
        Self::CHUNK.min(self.bytes - u64::from(chunk) * Self::CHUNK)
    }
}

/// Pages of an image that were read last.
struct Pages {
    /// The most that are read at a time.
    most: u64,
    /// Where they are in the file.
    at: u64,
    bytes: Vec<u8>,
}

impl Pages {
    /// One at a time.
    const fn alone() -> Self {
        Self { most: 1, at: 0, bytes: Vec::new() }
    }

    /// Each with those behind it that hold anything, up to 256 KiB: a call of the system for each page took as long as its copy.
    const fn with_neighbours() -> Self {
        Self { most: 64, at: 0, bytes: Vec::new() }
    }

    /// The page of `image` at `offset`, which is at `at` in the file.
    fn page(&mut self, image: &MemoryImage, offset: u64, at: u64) -> io::Result<&[u8]> {
        let held = self.at..self.at + self.bytes.len() as u64;
        if !held.contains(&at) {
            self.bytes.resize((image.neighbours(offset, self.most) * PAGE) as usize, 0);
            self.at = at;
            if let Err(error) = image.file.read_exact_at(&mut self.bytes, at) {
                self.bytes.clear();
                return Err(error);
            }
        }
        let start = (at - self.at) as usize;
        Ok(&self.bytes[start..start + PAGE as usize])
    }
}

/// Whether a page, or a part of one, holds zeroes alone. A page is looked at in pieces that are compared without a branch for each byte.
#[must_use]
pub fn is_zero_page(page: &[u8]) -> bool {
    page.chunks(64).all(|piece| piece.iter().fold(0, |all, byte| all | byte) == 0)
}

#[cfg(test)]
mod tests;
