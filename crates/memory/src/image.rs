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
        (ascending && inside && whole).then_some(Self { file, start, bytes, chunks })
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

    /// Gives the `bytes` bytes of frames at `hpa`, all zero, the contents of memory at `offset`: whole pages. Those in `placed` have had theirs
    /// before and stay zero; all are in it afterwards.
    ///
    /// # Errors
    /// As the host's system says: the file cannot be read.
    pub fn place(
        &self,
        memory: &HostMemory,
        offset: u64,
        hpa: Hpa,
        bytes: u64,
        placed: &mut PageSet,
    ) -> io::Result<()> {
        let end = (offset + bytes).min(self.bytes);
        let first = self.chunks.partition_point(|&chunk| u64::from(chunk + 1) * Self::CHUNK <= offset);
        for (place, &chunk) in (first as u64..).zip(&self.chunks[first..]) {
            let chunk_start = u64::from(chunk) * Self::CHUNK;
            let (from, to) = (offset.max(chunk_start), end.min(chunk_start + Self::CHUNK));
            if from >= to {
                break;
            }
            let (at, frames) =
                (self.start + place * Self::CHUNK + (from - chunk_start), hpa.wrapping_add(from - offset));
            let whole = to - from == self.length(chunk) && !placed.contains_any(from, to);
            // Where the system maps no more pieces of files, copies do as well.
            if !whole || memory.map_file(frames, to - from, &self.file, at).is_err() {
                self.copy(memory, from..to, at, frames, placed)?;
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
        let mut nothing = PageSet::default();
        let Ok(place) = self.chunks.binary_search(&((offset / Self::CHUNK) as u32)) else { return Ok(()) };
        let at = self.start + place as u64 * Self::CHUNK + offset % Self::CHUNK;
        self.copy(memory, offset..offset + PAGE, at, hpa, &mut nothing)
    }

    /// Copies those pages of `range`, which is at `at` in the file, that are not placed yet.
    fn copy(
        &self,
        memory: &HostMemory,
        range: core::ops::Range<u64>,
        at: u64,
        hpa: Hpa,
        placed: &mut PageSet,
    ) -> io::Result<()> {
        let mut page = [0; PAGE as usize];
        for offset in (range.start..range.end).step_by(PAGE as usize) {
            if placed.contains(offset) {
                continue;
            }
            let done = offset - range.start;
            self.file.read_exact_at(&mut page, at + done)?;
            if page.iter().any(|&byte| byte != 0) {
                memory.write_slice(hpa.wrapping_add(done), &page).map_err(io::Error::other)?;
            }
        }
        Ok(())
    }

    fn length(&self, chunk: u32) -> u64 {
        Self::CHUNK.min(self.bytes - u64::from(chunk) * Self::CHUNK)
    }
}

#[cfg(test)]
mod tests;
