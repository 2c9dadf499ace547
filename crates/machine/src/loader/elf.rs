//! ELF executables, loaded at their physical addresses (System V ABI, chapter 5; RISC-V ELF psABI 1.0).

use super::parts::{Format, Kernel, Segment};
use crate::file_kind::machine_name;
use core::ops::Range;
use object::LittleEndian;
use object::elf::{
    ELFCLASS64, ELFDATA2LSB, EM_RISCV, ET_DYN, ET_EXEC, FileHeader64, PT_INTERP, PT_LOAD, ProgramHeader64,
};
use object::read::elf::{FileHeader as _, ProgramHeader as _};
use types::Gpa;

pub(super) const MAGIC: &[u8] = b"\x7fELF";

/// Why an ELF file cannot be loaded. Segments are numbered as `readelf -l` lists them, from 0.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ElfProblem {
    /// The headers are cut off or contradict themselves.
    #[error("bad headers: {0}")]
    Headers(String),
    /// The file ends before its headers do.
    #[error("truncated: the file of {0} bytes ends within its headers")]
    HeadersTruncated(u64),
    /// Of 32 bits, or big-endian.
    #[error("not a 64-bit little-endian file")]
    Class,
    /// For another processor.
    #[error("for {}; this machine is RISC-V", machine_name(*.0))]
    Machine(u16),
    /// An object file, a core dump.
    #[error("not an executable (type {0})")]
    Type(u16),
    /// A program that runs under an operating system.
    #[error("a dynamically linked program, not a kernel")]
    Program,
    /// Nothing is to be loaded.
    #[error("no segment to load")]
    NoSegments,
    /// A segment's bytes are not all in the file.
    #[error("truncated: segment {segment} ends at byte {end} of a file of {file}")]
    Truncated {
        /// The segment.
        segment: usize,
        /// Its end in the file.
        end: u64,
        /// The file's length.
        file: u64,
    },
    /// A segment has more bytes in the file than in memory.
    #[error("segment {segment} has {file} bytes in the file and {memory} in memory")]
    Sizes {
        /// The segment.
        segment: usize,
        /// In the file.
        file: u64,
        /// In memory.
        memory: u64,
    },
    /// A segment does not lie in the guest's RAM.
    #[error("segment {segment}, {memory:#x} bytes at {at}, is not in the guest's memory {}..{}", .ram.start, .ram.end)]
    OutsideRam {
        /// The segment.
        segment: usize,
        /// Its physical address.
        at: Gpa,
        /// Its length in memory.
        memory: u64,
        /// RAM.
        ram: Range<Gpa>,
    },
    /// Two segments share addresses.
    #[error("two segments overlap at {0}")]
    Overlap(Gpa),
    /// The entry point is in no segment.
    #[error("the entry point {0:#x} is in no segment")]
    Entry(u64),
}

type Header = FileHeader64<LittleEndian>;
const ENDIAN: LittleEndian = LittleEndian;

pub(super) fn parse<'f>(file: &'f [u8], ram: &Range<Gpa>) -> Result<Kernel<'f>, ElfProblem> {
    let bad = |error: object::Error| ElfProblem::Headers(error.to_string());
    let truncated = ElfProblem::HeadersTruncated(file.len() as u64);
    check_ident(file)?;
    if file.len() < size_of::<Header>() {
        return Err(truncated);
    }
    let header = Header::parse(file).map_err(bad)?;
    let machine = header.e_machine(ENDIAN);
    if machine != EM_RISCV {
        return Err(ElfProblem::Machine(machine));
    }
    // A position-independent kernel is of type DYN, and is loaded where it says as well.
    let kind = header.e_type(ENDIAN);
    if ![ET_EXEC, ET_DYN].contains(&kind) {
        return Err(ElfProblem::Type(kind));
    }
    let table = size_of::<ProgramHeader64<LittleEndian>>() as u64 * u64::from(header.e_phnum(ENDIAN));
    if header.e_phoff(ENDIAN).saturating_add(table) > file.len() as u64 {
        return Err(truncated);
    }
    let headers = header.program_headers(ENDIAN, file).map_err(bad)?;
    if headers.iter().any(|header| header.p_type(ENDIAN) == PT_INTERP) {
        return Err(ElfProblem::Program);
    }
    let mut segments = Vec::new();
    for (number, header) in headers.iter().enumerate() {
        if header.p_type(ENDIAN) == PT_LOAD && header.p_memsz(ENDIAN) != 0 {
            segments.push(segment(number, header, file, ram)?);
        }
    }
    segments.sort_by_key(|segment: &Segment<'_>| segment.at);
    let ends: Vec<Gpa> = segments.iter().map(|segment| segment.at.wrapping_add(segment.memory)).collect();
    if let Some(second) = segments.iter().skip(1).zip(&ends).find(|(segment, end)| segment.at < **end) {
        return Err(ElfProblem::Overlap(second.0.at));
    }
    let end = *ends.last().ok_or(ElfProblem::NoSegments)?;
    Ok(Kernel { entry: entry(header.e_entry(ENDIAN), headers)?, segments, end, format: Format::Elf })
}

/// Class and byte order, before any of the fields is read that depend on them.
fn check_ident(file: &[u8]) -> Result<(), ElfProblem> {
    match file.get(4..6) {
        Some(&[ELFCLASS64, ELFDATA2LSB]) => Ok(()),
        Some(_) => Err(ElfProblem::Class),
        None => Err(ElfProblem::HeadersTruncated(file.len() as u64)),
    }
}

fn segment<'f>(
    number: usize,
    header: &ProgramHeader64<LittleEndian>,
    file: &'f [u8],
    ram: &Range<Gpa>,
) -> Result<Segment<'f>, ElfProblem> {
    let (start, length) = header.file_range(ENDIAN);
    let end = start.saturating_add(length);
    let bytes = usize::try_from(start)
        .ok()
        .zip(usize::try_from(end).ok())
        .and_then(|(start, end)| file.get(start..end))
        .ok_or(ElfProblem::Truncated { segment: number, end, file: file.len() as u64 })?;
    let (at, memory) = (Gpa(header.p_paddr(ENDIAN)), header.p_memsz(ENDIAN));
    if memory < length {
        return Err(ElfProblem::Sizes { segment: number, file: length, memory });
    }
    let segment = Segment { at, bytes, memory };
    match segment.range(ram) {
        Some(_) => Ok(segment),
        None => Err(ElfProblem::OutsideRam { segment: number, at, memory, ram: ram.clone() }),
    }
}

/// The entry point as a physical address: kernels are linked at virtual ones, and name it as either.
fn entry(entry: u64, headers: &[ProgramHeader64<LittleEndian>]) -> Result<Gpa, ElfProblem> {
    let within = |start: fn(&ProgramHeader64<LittleEndian>) -> u64| {
        headers.iter().filter(|header| header.p_type(ENDIAN) == PT_LOAD).find_map(|header| {
            let offset = entry.checked_sub(start(header))?;
            (offset < header.p_memsz(ENDIAN)).then(|| Gpa(header.p_paddr(ENDIAN)).wrapping_add(offset))
        })
    };
    within(|header| header.p_paddr(ENDIAN))
        .or_else(|| within(|header| header.p_vaddr(ENDIAN)))
        .ok_or(ElfProblem::Entry(entry))
}

#[cfg(test)]
mod tests;
