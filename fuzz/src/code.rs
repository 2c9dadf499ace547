//! Instructions that guests of fuzz targets are made of, and the file of a kernel.

/// Where kernels are loaded and entered.
pub(crate) const ENTRY: u64 = 0x8020_0000;

pub(crate) const ECALL: u32 = 0x73;
pub(crate) const EBREAK: u32 = 0x0010_0073;
pub(crate) const SRET: u32 = 0x1020_0073;
pub(crate) const WFI: u32 = 0x1050_0073;
pub(crate) const FENCE_I: u32 = 0x100f;

/// `slti x0, x0, 0x100`: the run ends with status 0.
pub(crate) const FINISH: u32 = 0x1000_2013;

fn immediate_form(opcode: u32, function: u32, to: u32, from: u32, immediate: i32) -> u32 {
    (immediate as u32) << 20 | from << 15 | function << 12 | to << 7 | opcode
}

/// `addi to, from, immediate`.
pub(crate) fn addi(to: u32, from: u32, immediate: i32) -> u32 {
    immediate_form(0x13, 0, to, from, immediate)
}

/// `slli to, from, by`.
pub(crate) fn slli(to: u32, from: u32, by: i32) -> u32 {
    immediate_form(0x13, 1, to, from, by)
}

/// `add to, one, two`.
pub(crate) fn add(to: u32, one: u32, two: u32) -> u32 {
    two << 20 | one << 15 | to << 7 | 0x33
}

/// `ld to, offset(from)`.
pub(crate) fn ld(to: u32, from: u32, offset: i32) -> u32 {
    immediate_form(0x03, 3, to, from, offset)
}

/// `sd value, offset(to)`.
pub(crate) fn sd(value: u32, to: u32, offset: i32) -> u32 {
    let offset = offset as u32;
    (offset >> 5 & 0x7f) << 25 | value << 20 | to << 15 | 3 << 12 | (offset & 0x1f) << 7 | 0x23
}

/// `auipc to, pages`.
pub(crate) fn auipc(to: u32, pages: u32) -> u32 {
    pages << 12 | to << 7 | 0x17
}

/// `beq one, two, distance`.
pub(crate) fn beq(one: u32, two: u32, distance: i32) -> u32 {
    let at = distance as u32;
    let (high, low) = ((at >> 12 & 1) << 6 | at >> 5 & 0x3f, (at >> 1 & 0xf) << 1 | at >> 11 & 1);
    high << 25 | two << 20 | one << 15 | low << 7 | 0x63
}

/// `jal x0, distance`.
pub(crate) fn jump(distance: i32) -> u32 {
    let at = distance as u32;
    (at >> 20 & 1) << 31 | (at >> 1 & 0x3ff) << 21 | (at >> 11 & 1) << 20 | (at >> 12 & 0xff) << 12 | 0x6f
}

/// One of the six instructions that access a CSR, by its function: 1 to 3 with a register, 5 to 7 with a number.
pub(crate) fn csr(function: u32, to: u32, csr: u32, from: u32) -> u32 {
    csr << 20 | from << 15 | function << 12 | to << 7 | 0x73
}

/// `sfence.vma address, asid`.
pub(crate) fn sfence_vma(address: u32, asid: u32) -> u32 {
    0x09 << 25 | asid << 20 | address << 15 | 0x73
}

/// The bytes of `words`.
pub(crate) fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// An ELF executable with one segment, `content` at [`ENTRY`], where it is entered.
pub(crate) fn kernel(content: &[u8]) -> Vec<u8> {
    const HEADERS: u64 = 64 + 56;
    let mut file = Vec::new();
    file.extend(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    // An executable for RISC-V, version 1.
    file.extend([2, 0, 243, 0, 1, 0, 0, 0]);
    for word in [ENTRY, 64, 0] {
        file.extend(word.to_le_bytes());
    }
    // No flags; sizes and numbers of headers: 64 bytes, one program header of 56, no section.
    file.extend([0, 0, 0, 0, 64, 0, 56, 0, 1, 0, 64, 0, 0, 0, 0, 0]);
    // To be loaded, readable, writable and executable.
    file.extend([1, 0, 0, 0, 7, 0, 0, 0]);
    let length = content.len() as u64;
    for word in [HEADERS, ENTRY, ENTRY, length, length, 4096] {
        file.extend(word.to_le_bytes());
    }
    file.extend(content);
    file
}
