//! The memory of a guest, by the addresses that its kernel uses.

use types::{Gpa, Gva};

/// The memory of a guest, by the addresses that its kernel uses.
pub trait KernelMemory {
    /// Where an address lies in guest physical memory; `None` where it is not translated.
    fn physical(&self, at: Gva) -> Option<Gpa>;

    /// The double word at an address, which is a multiple of 8; `None` where nothing can be read.
    fn word(&self, at: Gva) -> Option<u64>;
}

/// The pointer, or other double word, at `at`. Linux aligns them, so that nothing else is one.
pub(crate) fn pointer(memory: &impl KernelMemory, at: u64) -> Option<u64> {
    if at.is_multiple_of(8) { memory.word(Gva(at)) } else { None }
}

/// The pointer at `at`, unless it is null.
pub(crate) fn non_null(memory: &impl KernelMemory, at: u64) -> Option<u64> {
    pointer(memory, at).filter(|&pointer| pointer != 0)
}

/// The byte at `at`.
fn byte(memory: &impl KernelMemory, at: u64) -> Option<u8> {
    let word = memory.word(Gva(at & !7))?;
    Some(word.to_le_bytes()[(at & 7) as usize])
}

/// The word of 32 bits at `at`.
pub(crate) fn half(memory: &impl KernelMemory, at: u64) -> Option<u32> {
    let word = memory.word(Gva(at & !7))?;
    at.is_multiple_of(4).then(|| (word >> (8 * (at & 7))) as u32)
}

/// The string at `at`, up to a zero byte or `most` bytes. What is no printable character becomes `?`.
pub(crate) fn string(memory: &impl KernelMemory, at: u64, most: u64) -> Option<String> {
    let mut text = Vec::new();
    for offset in 0..most {
        match byte(memory, at.wrapping_add(offset))? {
            0 => break,
            byte => text.push(byte),
        }
    }
    let text = String::from_utf8_lossy(&text);
    Some(text.chars().map(|character| if character.is_control() { '?' } else { character }).collect())
}
