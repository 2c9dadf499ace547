//! A kernel of whatever format, read as parts to be copied.

use super::parts::Kernel;
use super::{elf, elf::ElfProblem, flat, flat::FlatProblem, raw, raw::RawProblem};
use crate::file_kind;
use core::ops::Range;
use types::Gpa;

/// Why a file is no kernel for this machine.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum KernelProblem {
    /// No bytes.
    #[error("the file is empty")]
    Empty,
    /// Neither format; what it is instead.
    #[error("{0}: neither a RISC-V Linux Image nor an ELF file; a flat binary needs --load-address")]
    Unknown(String),
    /// A kernel for another processor.
    #[error("a kernel for {0}; this machine is RISC-V")]
    Architecture(&'static str),
    /// A kernel that would have to be unpacked first.
    #[error("a file compressed with {0}; unpack it first")]
    Compressed(&'static str),
    /// A flat Image that cannot be loaded.
    #[error("RISC-V Linux Image: {0}")]
    Flat(#[from] FlatProblem),
    /// An ELF file that cannot be loaded.
    #[error("ELF: {0}")]
    Elf(#[from] ElfProblem),
    /// A flat binary that cannot be loaded where the user says.
    #[error(transparent)]
    Raw(#[from] RawProblem),
}

/// Files that are often tried: bytes at an offset, and what they say.
const FOREIGN: [(usize, &[u8], KernelProblem); 9] = [
    (0x38, b"ARM\x64", KernelProblem::Architecture("64-bit ARM")),
    (0x24, &[0x18, 0x28, 0x6f, 0x01], KernelProblem::Architecture("32-bit ARM")),
    (0x202, b"HdrS", KernelProblem::Architecture("x86")),
    (0x38, &[0xcd, 0x23, 0x82, 0x81], KernelProblem::Architecture("LoongArch")),
    (0, &[0x1f, 0x8b], KernelProblem::Compressed("gzip")),
    (0, b"\xfd7zXZ", KernelProblem::Compressed("xz")),
    (0, &[0x28, 0xb5, 0x2f, 0xfd], KernelProblem::Compressed("zstd")),
    (0, b"BZh", KernelProblem::Compressed("bzip2")),
    (4, b"zimg", KernelProblem::Compressed("an EFI zboot wrapper")),
];

impl<'f> Kernel<'f> {
    /// Reads a kernel's file, for a guest with `ram`. `load_address` is for a flat binary without a header alone.
    ///
    /// # Errors
    /// [`KernelProblem`].
    pub fn parse(file: &'f [u8], load_address: Option<Gpa>, ram: &Range<Gpa>) -> Result<Self, KernelProblem> {
        if file.is_empty() {
            return Err(KernelProblem::Empty);
        }
        if let Some(at) = load_address {
            return Ok(raw::place(file, at, ram)?);
        }
        if file.starts_with(elf::MAGIC) {
            return Ok(elf::parse(file, ram)?);
        }
        if flat::is_flat(file) {
            return Ok(flat::parse(file, ram)?);
        }
        let foreign =
            FOREIGN.into_iter().find(|(at, magic, _)| file.get(*at..).is_some_and(|rest| rest.starts_with(magic)));
        Err(foreign.map_or_else(|| KernelProblem::Unknown(file_kind::describe(file)), |(_, _, problem)| problem))
    }
}
