//! A Linux kernel, as far as it describes itself.

use crate::btf::Btf;
use crate::kallsyms::{KernelSymbol, kernel_symbols};
use crate::layout::Layout;

/// Where an Image says how much memory it takes, and its two magic numbers (Linux `Documentation/arch/riscv/boot-image-header.rst`).
const SIZE: usize = 16;
const MAGIC: (usize, &[u8]) = (48, b"RISCV\0\0\0");
const MAGIC2: (usize, &[u8]) = (56, b"RSC\x05");
/// More bytes than any kernel has.
const LARGEST: u64 = 256 << 20;

/// A Linux kernel, as far as it describes itself.
#[derive(Clone, Debug)]
pub struct Linux {
    pub(crate) layout: Layout,
    /// Where its first task is: the head of the list of processes.
    pub(crate) init_task: u64,
    /// Where it has the places of its parts.
    pub(crate) kernel_map: u64,
    /// What tells a mapping that the kernel makes itself.
    pub(crate) special_operations: u64,
}

impl Linux {
    /// The kernel of an Image; `None` of one that has no symbols and types, or has other ones than are known here.
    #[must_use]
    pub fn of_image(image: &[u8]) -> Option<Self> {
        let layout = Layout::of(&Btf::find(image)?)?;
        let symbols = kernel_symbols(image)?;
        let symbol = |name: &str| {
            let found = symbols.iter().find(|symbol: &&KernelSymbol| symbol.name == name)?;
            Some(found.start)
        };
        Some(Self {
            layout,
            init_task: symbol("init_task")?,
            kernel_map: symbol("kernel_map")?,
            special_operations: symbol("special_mapping_vmops")?,
        })
    }
}

/// The bytes of memory that an Image takes which begins so; `None` of anything else.
#[must_use]
pub fn image_bytes(header: &[u8; 64]) -> Option<u64> {
    let has = |(at, bytes): (usize, &[u8])| header[at..].starts_with(bytes);
    let bytes = u64::from_le_bytes(header[SIZE..SIZE + 8].try_into().ok()?);
    (has(MAGIC) && has(MAGIC2) && bytes <= LARGEST).then_some(bytes)
}

#[cfg(test)]
mod tests;
