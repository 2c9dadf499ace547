//! Static programs of the user's, which no preload library reaches: they get an interpreter that brings their memory into the primary region
//! (docs/segments.md, `guests/static`).

use object::elf::{
    DF_1_PIE, DT_FLAGS_1, EM_RISCV, ET_DYN, ET_EXEC, FileHeader64, PT_DYNAMIC, PT_GNU_RELRO, PT_GNU_STACK, PT_INTERP,
    PT_NOTE, ProgramHeader64,
};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::{LittleEndian, U32, U64};

/// Where the guest has the interpreter.
pub(super) const LOADER: &str = "usr/lib/pagewalk-static-loader";

/// Where RISC-V linkers tell tools the extensions of a program (RISC-V ELF psABI, "Program Header Table").
const PT_RISCV_ATTRIBUTES: u32 = 0x7000_0003;

/// Kinds of headers that a static program runs without, those that matter least first: what only tools read, then what makes memory less
/// writable or less executable than it is without.
const EXPENDABLE: [u32; 4] = [PT_RISCV_ATTRIBUTES, PT_NOTE, PT_GNU_RELRO, PT_GNU_STACK];

/// `program` with [`LOADER`] as its interpreter, if it is a static program for RISC-V that has room to say so; else `None`.
///
/// The kernel asks for an interpreter where a program header names one. A header that the program can do
/// without ([`EXPENDABLE`]) gives way, and the name stands behind all else
/// in the file, so that what the kernel maps stays as it is.
pub(super) fn with_loader(program: &[u8]) -> Option<Vec<u8>> {
    let header = FileHeader64::<LittleEndian>::parse(program).ok()?;
    let segments = header.program_headers(LittleEndian, program).ok()?;
    let machine = header.e_machine.get(LittleEndian);
    if machine != EM_RISCV || !is_static(header, segments, program) {
        return None;
    }
    let of = |kind: u32| segments.iter().position(|segment| segment.p_type(LittleEndian) == kind);
    let given_up = EXPENDABLE.into_iter().find_map(of)?;
    let name = [b"/", LOADER.as_bytes(), b"\0"].concat();
    let (at, length) = (program.len() as u64, name.len() as u64);
    let (file, memory) = (U64::new(LittleEndian, length), U64::new(LittleEndian, length));
    let interpreter = ProgramHeader64::<LittleEndian> {
        p_type: U32::new(LittleEndian, PT_INTERP),
        p_offset: U64::new(LittleEndian, at),
        p_filesz: file,
        p_memsz: memory,
        ..segments[given_up]
    };
    let place = usize::try_from(header.e_phoff.get(LittleEndian)).ok()? + given_up * size_of_val(&interpreter);
    let mut content = [program, &name].concat();
    let bytes = object::pod::bytes_of(&interpreter);
    content.get_mut(place..place + bytes.len())?.copy_from_slice(bytes);
    Some(content)
}

/// Whether the kernel alone starts such a program: it asks for no interpreter, and is no shared library.
fn is_static(header: &FileHeader64<LittleEndian>, segments: &[ProgramHeader64<LittleEndian>], program: &[u8]) -> bool {
    if segments.iter().any(|segment| segment.p_type(LittleEndian) == PT_INTERP) {
        return false;
    }
    // A position-independent program looks like a library, but says that it is none.
    let flags = || {
        let dynamic = segments.iter().find(|segment| segment.p_type(LittleEndian) == PT_DYNAMIC)?;
        let entries = dynamic.dynamic(LittleEndian, program).ok()??;
        entries.iter().find(|entry| entry.tag32(LittleEndian) == Some(DT_FLAGS_1))?.val32(LittleEndian)
    };
    match header.e_type.get(LittleEndian) {
        ET_EXEC => true,
        ET_DYN => flags().is_some_and(|flags| flags & DF_1_PIE != 0),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::images::{REGION_LIBRARY, WORKLOADS};
    use super::*;

    fn interpreter(program: &[u8]) -> Option<String> {
        let header = FileHeader64::<LittleEndian>::parse(program).unwrap();
        let segments = header.program_headers(LittleEndian, program).unwrap();
        let name = segments.iter().find_map(|segment| segment.interpreter(LittleEndian, program).unwrap());
        name.map(|name| String::from_utf8(name.to_vec()).unwrap())
    }

    #[test]
    fn a_static_program_gets_an_interpreter_and_keeps_its_segments() {
        let loaded = with_loader(WORKLOADS).expect("the workloads are a static program");
        assert_eq!((interpreter(WORKLOADS), interpreter(&loaded)), (None, Some(format!("/{LOADER}"))));
        assert_eq!(loaded.len(), WORKLOADS.len() + LOADER.len() + 2);
        let changed = WORKLOADS.iter().zip(&loaded).filter(|(before, after)| before != after).count();
        assert!(changed <= size_of::<ProgramHeader64<LittleEndian>>(), "{changed} bytes");
        assert_eq!(with_loader(&loaded), None, "it has one now");
    }

    #[test]
    fn what_is_no_static_program_stays_as_it_is() {
        for other in [REGION_LIBRARY, b"#!/bin/sh\n", b"", &WORKLOADS[..100]] {
            assert_eq!(with_loader(other), None);
        }
    }
}
