//! Loads that do not wait for each other, each followed by a branch by its value.

use super::mapping::Mapping;
use crate::random::Random;

/// A word in each line of memory, which says where a branch goes.
#[derive(Debug)]
pub(crate) struct Branches<'m> {
    words: &'m [u64],
    words_of_line: usize,
    lines: usize,
    /// The places of loads.
    random: Random,
}

impl<'m> Branches<'m> {
    /// With these ways, by the number of the line.
    pub(crate) fn new(memory: &'m mut Mapping, line: usize, mut taken: impl FnMut() -> bool) -> Self {
        let words_of_line = line / size_of::<u64>();
        let words = memory.words();
        let lines = words.len() / words_of_line;
        for word in words.iter_mut().step_by(words_of_line) {
            *word = u64::from(taken());
        }
        Self { words, words_of_line, lines, random: Random::new(1) }
    }

    /// Makes so many loads, of lines in random order. `None`: this program has no branch of this processor.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
    pub(crate) fn visit(&mut self, loads: u64) -> Option<()> {
        for _ in 0..loads {
            let line = self.random.below(self.lines);
            branch_by(self.words[line * self.words_of_line]);
        }
        Some(())
    }

    /// Other processors.
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
    pub(crate) fn visit(&mut self, _: u64) -> Option<()> {
        None
    }
}

/// A branch over two instructions, by bit 0 of a value. Some processors make no branch of one over a single instruction.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn branch_by(value: u64) {
    // SAFETY: it reads a register that is declared; memory and stack are not touched, and both ways meet at once.
    unsafe {
        core::arch::asm!("test {value}, 1", "jz 2f", "nop", "nop", "2:", value = in(reg) value, options(nomem, nostack));
    }
}

/// The same.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn branch_by(value: u64) {
    // SAFETY: as above.
    unsafe {
        core::arch::asm!("tbz {value}, #0, 2f", "nop", "nop", "2:", value = in(reg) value, options(nomem, nostack));
    }
}

/// The same.
#[cfg(target_arch = "riscv64")]
#[inline(always)]
fn branch_by(value: u64) {
    // SAFETY: it reads and writes a register that is declared; memory and stack are not touched, and both ways meet at once.
    unsafe {
        core::arch::asm!("andi {value}, {value}, 1", "beqz {value}, 2f", "nop", "nop", "2:", value = inout(reg) value => _, options(nomem, nostack));
    }
}
