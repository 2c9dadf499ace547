//! The program that marks that the guest is ready: three instructions, as a static ELF file.

/// `slti x0, x0, 5`: the marker.
const MARKER: u32 = 5 << 20 | 0b010 << 12 | 0x13;

/// `addi a0, x0, 0`: the status.
const STATUS: u32 = 10 << 7 | 0x13;

/// `addi a7, x0, 93`: `exit` of Linux.
const NUMBER: u32 = 93 << 20 | 17 << 7 | 0x13;

const ECALL: u32 = 0x73;

/// Where the file is mapped, and the instructions in it.
const ADDRESS: u64 = 0x10000;
const HEADERS: u64 = 64 + 56;

/// The program.
pub(in crate::guest) fn program() -> Vec<u8> {
    let code = [MARKER, STATUS, NUMBER, ECALL].map(u32::to_le_bytes).concat();
    let bytes = HEADERS + code.len() as u64;
    let mut elf = Vec::with_capacity(bytes as usize);
    // 64-bit, little-endian, version 1, System V; executable, RISC-V, version 1.
    elf.extend_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    elf.extend_from_slice(&2_u16.to_le_bytes());
    elf.extend_from_slice(&243_u16.to_le_bytes());
    elf.extend_from_slice(&1_u32.to_le_bytes());
    for word in [ADDRESS + HEADERS, 64, 0] {
        elf.extend_from_slice(&u64::to_le_bytes(word));
    }
    // No flags; one program header and no sections.
    elf.extend_from_slice(&0_u32.to_le_bytes());
    for half in [64_u16, 56, 1, 64, 0, 0] {
        elf.extend_from_slice(&half.to_le_bytes());
    }
    // All of the file is loaded, readable and executable.
    elf.extend_from_slice(&1_u32.to_le_bytes());
    elf.extend_from_slice(&5_u32.to_le_bytes());
    for word in [0, ADDRESS, ADDRESS, bytes, bytes, 0x1000] {
        elf.extend_from_slice(&u64::to_le_bytes(word));
    }
    elf.extend_from_slice(&code);
    elf
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::{Object, ObjectSegment};

    #[test]
    fn the_program_is_an_elf_file_whose_entry_is_the_marker() {
        let program = program();
        let elf = object::File::parse(program.as_slice()).unwrap();
        assert_eq!(elf.architecture(), object::Architecture::Riscv64);
        let segment = elf.segments().next().unwrap();
        let at = (elf.entry() - segment.address()) as usize;
        assert_eq!(segment.data().unwrap()[at..at + 4], MARKER.to_le_bytes());
        assert_eq!(MARKER, 0x0050_2013);
    }
}
