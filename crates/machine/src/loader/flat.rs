//! The flat Image of RISC-V Linux (Linux 6.12, `Documentation/arch/riscv/boot-image-header.rst`).
//!
//! ```text
//!  0x00 code, 8 bytes     0x10 image_size    0x20 version      0x30 "RISCV\0\0\0"   0x3c offset of the PE header, or 0
//!  0x08 text_offset       0x18 flags         0x24 reserved     0x38 "RSC\x05"       (all little-endian)
//! ```
//! Nothing in this header tells how long the file is: `image_size` counts the BSS. But a kernel with an EFI stub, as every
//! distribution builds it, is a PE file as well, and that header's sections say which bytes there must be.

use super::parts::{Format, Kernel, Segment};
use core::ops::Range;
use types::{Gpa, PageSize};

const MAGIC: &[u8] = b"RSC\x05";
const MAGIC_AT: usize = 0x38;
const HEADER: usize = 0x40;

/// Flags, bit 0.
const BIG_ENDIAN: u64 = 1;

/// The kernel maps itself with pages of this size, and says so by its offset.
const ALIGNMENT: PageSize = PageSize::Size2M;

/// Why a flat Image cannot be loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FlatProblem {
    /// The file ends too early.
    #[error("truncated: {have} bytes of {need}")]
    Truncated {
        /// Bytes that there are.
        have: u64,
        /// Bytes that its headers speak of.
        need: u64,
    },
    /// Data are big-endian.
    #[error("built for a big-endian machine")]
    BigEndian,
    /// It is to be loaded at an odd place.
    #[error("text_offset {0:#x} is not a multiple of 2M")]
    Offset(u64),
    /// Its size is zero or less than the file's.
    #[error("image_size {size:#x} is less than the {file} bytes of the file")]
    Size {
        /// What the header says.
        size: u64,
        /// The file's length.
        file: u64,
    },
    /// It does not fit.
    #[error("{need} bytes of memory are needed for the kernel, and the guest has {have}")]
    NoRoom {
        /// From the start of RAM to the kernel's end.
        need: u64,
        /// Size of RAM.
        have: u64,
    },
}

/// Whether the file calls itself such an image.
pub(super) fn is_flat(file: &[u8]) -> bool {
    file.get(MAGIC_AT..).is_some_and(|rest| rest.starts_with(MAGIC))
}

pub(super) fn parse<'f>(file: &'f [u8], ram: &Range<Gpa>) -> Result<Kernel<'f>, FlatProblem> {
    let have = file.len() as u64;
    let header = file.first_chunk::<HEADER>().ok_or(FlatProblem::Truncated { have, need: HEADER as u64 })?;
    let field = |at: usize| long(header, at).unwrap_or_default();
    let (text_offset, image_size, flags) = (field(0x08), field(0x10), field(0x18));
    if flags & BIG_ENDIAN != 0 {
        return Err(FlatProblem::BigEndian);
    }
    let need = pe_extent(file);
    if need > have {
        return Err(FlatProblem::Truncated { have, need });
    }
    if image_size < have {
        return Err(FlatProblem::Size { size: image_size, file: have });
    }
    if !text_offset.is_multiple_of(ALIGNMENT.bytes()) {
        return Err(FlatProblem::Offset(text_offset));
    }
    let no_room = FlatProblem::NoRoom { need: text_offset.saturating_add(image_size), have: ram.end.0 - ram.start.0 };
    let at = ram.start.checked_add(text_offset).ok_or(no_room)?;
    let segment = Segment { at, bytes: file, memory: image_size };
    let range = segment.range(ram).ok_or(no_room)?;
    Ok(Kernel { entry: at, segments: vec![segment], end: range.end, format: Format::Image })
}

/// How long the file is by its PE header; 0 where it has none.
fn pe_extent(file: &[u8]) -> u64 {
    /// Signature and COFF header.
    const COFF: usize = 4 + 20;
    const SECTION: usize = 40;
    let extent = || {
        let start = file.starts_with(b"MZ").then(|| int(file, 0x3c))?? as usize;
        match file.get(start..start + COFF) {
            // The file names a place for the header that it does not reach.
            None if start != 0 => return Some((start + COFF) as u64),
            Some(header) if header.starts_with(b"PE\0\0") => {}
            None | Some(_) => return None,
        }
        let sections = usize::from(short(file, start + 6)?);
        let first = start + COFF + usize::from(short(file, start + 20)?);
        // A header that is cut off itself still says how long the table of sections is.
        let table = (first + sections * SECTION) as u64;
        let ends = (0..sections).filter_map(|section| {
            let at = first + section * SECTION;
            Some(u64::from(int(file, at + 16)?) + u64::from(int(file, at + 20)?))
        });
        Some(ends.fold(table, u64::max))
    };
    extent().unwrap_or(0)
}

fn bytes<const N: usize>(file: &[u8], at: usize) -> Option<[u8; N]> {
    file.get(at..)?.first_chunk().copied()
}

fn short(file: &[u8], at: usize) -> Option<u16> {
    bytes(file, at).map(u16::from_le_bytes)
}

fn int(file: &[u8], at: usize) -> Option<u32> {
    bytes(file, at).map(u32::from_le_bytes)
}

fn long(file: &[u8], at: usize) -> Option<u64> {
    bytes(file, at).map(u64::from_le_bytes)
}

#[cfg(test)]
pub(super) mod tests;
