//! Reading a kernel's file, and where its parts, the root file system and the device tree go.
//!
//! Two formats: ELF for RV64, and Linux's flat `Image` (Linux, `Documentation/arch/riscv/boot-image-header.rst`). Everything of the file
//! is checked before a byte is written to the guest.

use object::elf::{EM_RISCV, FileHeader64, PT_LOAD};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Architecture, FileKind, LittleEndian};
use types::Gpa;

/// Where RAM begins.
const RAM: u64 = devices::map::RAM_BASE.0;

/// Room for the device tree, at the end of RAM.
const TREE_ROOM: u64 = 1 << 20;

/// A kernel whose file was understood.
#[derive(Debug)]
pub(crate) struct Kernel<'f> {
    /// Where its first instruction is.
    pub(crate) entry: Gpa,
    /// Its parts: where each goes, and the bytes. RAM is zero elsewhere.
    pub(crate) parts: Vec<(Gpa, &'f [u8])>,
    /// The end of what it occupies, memory that its file leaves out (BSS) included.
    pub(crate) end: Gpa,
}

/// Where the parts that are not the kernel's go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Placement {
    /// The root file system.
    pub(crate) initrd: Gpa,
    /// The device tree.
    pub(crate) tree: Gpa,
}

/// Why a guest cannot be loaded.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// Neither ELF nor Image.
    #[error("{0}: not a kernel: neither an ELF file nor a RISC-V Image")]
    Format(String),
    /// A kernel for something else.
    #[error("{file}: a kernel for {machine}, not for 64-bit RISC-V")]
    Machine {
        /// The file.
        file: String,
        /// What it is for.
        machine: String,
    },
    /// Shorter than it says.
    #[error("{file}: truncated: {part} needs {needed} bytes, the file has {has}")]
    Truncated {
        /// The file.
        file: String,
        /// Which part.
        part: String,
        /// Bytes that should be there.
        needed: u64,
        /// Bytes that are.
        has: u64,
    },
    /// Its headers contradict themselves.
    #[error("{file}: {problem}")]
    Header {
        /// The file.
        file: String,
        /// What is wrong.
        problem: String,
    },
    /// A part outside RAM.
    #[error("{file}: {part} lies at {from:#x}–{to:#x}, outside RAM ({ram:#x}–{ram_end:#x})", ram = RAM)]
    OutsideRam {
        /// The file.
        file: String,
        /// Which part.
        part: String,
        /// Its first byte.
        from: u64,
        /// The byte after its last.
        to: u64,
        /// The end of RAM.
        ram_end: u64,
    },
    /// Too little memory.
    #[error("{what} needs {needed} MiB of memory, and the guest has {has} MiB")]
    Memory {
        /// What needs it.
        what: String,
        /// Least MiB.
        needed: u64,
        /// MiB there are.
        has: u64,
    },
}

/// Reads the kernel in `bytes`, the content of `file`, for a guest with RAM up to `ram_end`.
///
/// # Errors
/// [`LoadError`], naming the file and the part.
pub(crate) fn read<'f>(file: &str, bytes: &'f [u8], ram_end: Gpa) -> Result<Kernel<'f>, LoadError> {
    let kernel = if bytes.starts_with(b"\x7fELF") { elf(file, bytes, ram_end)? } else { image(file, bytes, ram_end)? };
    Ok(kernel)
}

/// Places the root file system and the device tree at the end of RAM.
///
/// # Errors
/// [`LoadError::Memory`], if they do not fit behind the kernel.
pub(crate) fn place(kernel: &Kernel<'_>, initrd: u64, ram_end: Gpa) -> Result<Placement, LoadError> {
    const ALIGNMENT: u64 = 4096;
    let tree = ram_end.0.saturating_sub(TREE_ROOM) & !(ALIGNMENT - 1);
    let start = tree.saturating_sub(initrd) & !(ALIGNMENT - 1);
    if start < kernel.end.0 {
        let needed = kernel.end.0 - RAM + initrd + TREE_ROOM + 2 * ALIGNMENT;
        return Err(LoadError::Memory {
            what: "the kernel with its root file system".to_owned(),
            needed: needed.div_ceil(1 << 20),
            has: (ram_end.0 - RAM) >> 20,
        });
    }
    Ok(Placement { initrd: Gpa(start), tree: Gpa(tree) })
}

/// The part `from..from + bytes` of guest memory, if it lies in RAM.
fn in_ram(file: &str, part: &str, from: u64, bytes: u64, ram_end: Gpa) -> Result<u64, LoadError> {
    let to = from.saturating_add(bytes);
    if from < RAM || to > ram_end.0 {
        let (file, part) = (file.to_owned(), part.to_owned());
        return Err(LoadError::OutsideRam { file, part, from, to, ram_end: ram_end.0 });
    }
    Ok(to)
}

fn elf<'f>(file: &str, bytes: &'f [u8], ram_end: Gpa) -> Result<Kernel<'f>, LoadError> {
    let wrong = |problem: &str| LoadError::Header { file: file.to_owned(), problem: problem.to_owned() };
    let foreign = |machine: &str| LoadError::Machine { file: file.to_owned(), machine: machine.to_owned() };
    if FileKind::parse(bytes).ok() != Some(FileKind::Elf64) {
        return Err(if bytes.get(4) == Some(&1) { foreign("a 32-bit machine") } else { wrong("not a whole ELF header") });
    }
    let header = FileHeader64::<LittleEndian>::parse(bytes)
        .map_err(|_| foreign("a big-endian machine"))?;
    let endian = LittleEndian;
    if header.e_machine(endian) != EM_RISCV {
        let machine = match header.e_machine(endian) {
            object::elf::EM_X86_64 => format!("{:?}", Architecture::X86_64),
            object::elf::EM_AARCH64 => format!("{:?}", Architecture::Aarch64),
            other => format!("ELF machine {other}"),
        };
        return Err(foreign(&machine));
    }
    let segments = header.program_headers(endian, bytes).map_err(|error| wrong(&error.to_string()))?;
    let mut parts: Vec<(Gpa, &[u8])> = Vec::new();
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for (number, segment) in segments.iter().enumerate().filter(|(_, segment)| segment.p_type(endian) == PT_LOAD) {
        let name = format!("segment {number}");
        let (from, in_file, in_memory) = (segment.p_paddr(endian), segment.p_filesz(endian), segment.p_memsz(endian));
        if in_file > in_memory {
            return Err(wrong(&format!("{name} is larger in the file than in memory")));
        }
        let to = in_ram(file, &name, from, in_memory, ram_end)?;
        let data = segment.data(endian, bytes).map_err(|()| LoadError::Truncated {
            file: file.to_owned(),
            part: name.clone(),
            needed: segment.p_offset(endian).saturating_add(in_file),
            has: bytes.len() as u64,
        })?;
        if spans.iter().any(|&(other_from, other_to)| from < other_to && other_from < to) {
            return Err(wrong(&format!("{name} overlaps another segment")));
        }
        spans.push((from, to));
        parts.push((Gpa(from), data));
    }
    let entry = header.e_entry(endian);
    if !spans.iter().any(|&(from, to)| (from..to).contains(&entry)) {
        return Err(wrong(&format!("the entry point {entry:#x} is in no loaded segment")));
    }
    let end = spans.iter().map(|&(_, to)| to).max().unwrap_or(RAM);
    Ok(Kernel { entry: Gpa(entry), parts, end: Gpa(end) })
}

fn image<'f>(file: &str, bytes: &'f [u8], ram_end: Gpa) -> Result<Kernel<'f>, LoadError> {
    const HEADER: usize = 64;
    let machine = |machine: &str| Err(LoadError::Machine { file: file.to_owned(), machine: machine.to_owned() });
    if bytes.get(0x38..0x3c) == Some(b"ARM\x64") {
        return machine("64-bit ARM");
    }
    if bytes.get(0x202..0x206) == Some(b"HdrS") {
        return machine("x86");
    }
    if bytes.get(0x38..0x3c) != Some(b"RSC\x05") {
        return Err(LoadError::Format(file.to_owned()));
    }
    let Some(header) = bytes.get(..HEADER) else {
        let (needed, has) = (HEADER as u64, bytes.len() as u64);
        return Err(LoadError::Truncated { file: file.to_owned(), part: "the header".to_owned(), needed, has });
    };
    let field = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().expect("eight bytes"));
    let (offset, size, flags) = (field(0x08), field(0x10), field(0x18));
    if flags & 1 != 0 {
        return machine("big-endian RISC-V");
    }
    // The size covers the BSS, which the file leaves out; what the file must have is told by the PE header that EFI kernels carry.
    let in_file = pe_size(bytes).unwrap_or(bytes.len() as u64);
    if in_file > bytes.len() as u64 {
        let has = bytes.len() as u64;
        return Err(LoadError::Truncated { file: file.to_owned(), part: "the image".to_owned(), needed: in_file, has });
    }
    let from = RAM.saturating_add(offset);
    let end = in_ram(file, "the image", from, size.max(bytes.len() as u64), ram_end)?;
    Ok(Kernel { entry: Gpa(from), parts: vec![(Gpa(from), bytes)], end: Gpa(end) })
}

/// Bytes that an EFI kernel's file must have: the end of the last section of its PE header.
fn pe_size(bytes: &[u8]) -> Option<u64> {
    let half = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    if !bytes.starts_with(b"MZ") {
        return None;
    }
    let pe = word(0x3c)? as usize;
    if bytes.get(pe..pe + 4)? != b"PE\0\0" {
        return None;
    }
    let sections = usize::from(half(pe + 6)?);
    let table = pe + 24 + usize::from(half(pe + 20)?);
    (0..sections).filter_map(|number| {
        let at = table + 40 * number;
        Some(u64::from(word(at + 16)?) + u64::from(word(at + 20)?))
    }).max()
}

#[cfg(test)]
mod tests;
