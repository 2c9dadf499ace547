//! Kernels of a few instructions, as flat Images.

/// Bytes from the beginning of an [`image`] to its code.
pub(crate) const CODE: u64 = 0x40;
/// Where the code of an [`image`] lies in a guest: RAM's beginning, the text offset and [`CODE`].
pub(crate) const CODE_ADDRESS: u64 = 0x8000_0000 + 0x20_0000 + CODE;

pub(crate) const ECALL: u32 = 0x73;
pub(crate) const A0: u32 = 10;
pub(crate) const A1: u32 = 11;
pub(crate) const A6: u32 = 16;
pub(crate) const A7: u32 = 17;

/// `addi to, from, value`.
pub(crate) fn addi(to: u32, from: u32, value: i32) -> u32 {
    (value as u32) << 20 | from << 15 | to << 7 | 0x13
}

/// `lui to, value`.
pub(crate) fn lui(to: u32, value: u32) -> u32 {
    value << 12 | to << 7 | 0x37
}

/// `j offset`, this many bytes from the jump on, backwards.
pub(crate) fn jump_back(bytes: u32) -> u32 {
    let o = bytes.wrapping_neg();
    (o >> 20 & 1) << 31 | (o >> 1 & 0x3ff) << 21 | (o >> 11 & 1) << 20 | (o >> 12 & 0xff) << 12 | 0x6f
}

/// A flat Image that executes `code` in S-mode, with a hart's ID in `a0`.
pub(crate) fn image(code: &[u32]) -> Vec<u8> {
    const JUMP_TO_CODE: u32 = 0x0400_006f;
    let mut image = vec![0; 4096];
    image[..4].copy_from_slice(&JUMP_TO_CODE.to_le_bytes());
    image[0x08..0x10].copy_from_slice(&0x20_0000u64.to_le_bytes());
    image[0x10..0x18].copy_from_slice(&4096u64.to_le_bytes());
    image[0x30..0x38].copy_from_slice(b"RISCV\0\0\0");
    image[0x38..0x3c].copy_from_slice(b"RSC\x05");
    for (at, word) in image[CODE as usize..].chunks_mut(4).zip(code) {
        at.copy_from_slice(&word.to_le_bytes());
    }
    image
}
