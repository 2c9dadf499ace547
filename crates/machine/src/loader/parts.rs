//! A kernel as parts to be copied, whatever its format.

use core::ops::Range;
use types::Gpa;

/// A part of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment<'f> {
    /// Where it goes.
    pub at: Gpa,
    /// What is copied there.
    pub bytes: &'f [u8],
    /// Its length in memory, at least that of `bytes`; the rest is zero.
    pub memory: u64,
}

impl Segment<'_> {
    /// The addresses that it takes, if it lies in `ram`.
    pub(super) fn range(&self, ram: &Range<Gpa>) -> Option<Range<Gpa>> {
        let end = self.at.checked_add(self.memory)?;
        (self.at >= ram.start && end <= ram.end).then_some(self.at..end)
    }
}

/// The format of a kernel's file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// A RISC-V Linux Image.
    Image,
    /// An ELF file.
    Elf,
    /// A flat binary without a header.
    Raw,
}

/// A kernel that fits in the RAM it was parsed for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kernel<'f> {
    /// Where the first hart starts, in S-mode without translation.
    pub entry: Gpa,
    /// Its parts, by address; they do not overlap.
    pub segments: Vec<Segment<'f>>,
    /// The end of the last.
    pub end: Gpa,
    /// What it was read from.
    pub format: Format,
}
