//! The parts of a kernel's half of the address space (Linux `Documentation/arch/riscv/vm-layout.rst` and `arch/riscv/include/asm/pgtable.h`).

use crate::kallsyms::LINKED_AT;
use crate::linux::Linux;
use crate::memory::{KernelMemory, pointer};
use types::{Gva, PagingMode};

/// A part of a kernel's half of the address space, up to the next one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelArea {
    /// Its first byte.
    pub start: Gva,
    /// What it is called.
    pub name: &'static str,
}

/// Modules lie below the kernel's end, within the reach of its calls.
const MODULES: u64 = LINKED_AT - (2 << 30);
/// Bytes of `struct page`, as a power of two (`STRUCT_PAGE_MAX_SHIFT`), and of a page.
const STRUCT_PAGE_SHIFT: u32 = 6;
const PAGE_SHIFT: u32 = 12;

/// The parts, in the order of addresses; `None` while the kernel does not know them itlinux.
pub fn kernel_areas(linux: &Linux, memory: &impl KernelMemory, mode: PagingMode) -> Option<Vec<KernelArea>> {
    let offset = pointer(memory, linux.kernel_map.wrapping_add(linux.layout.kernel_page_offset))?;
    let bits = match mode {
        PagingMode::Bare => return None,
        PagingMode::Sv39 => 39,
        PagingMode::Sv48 => 48,
        PagingMode::Sv57 => 57,
    };
    // `KERN_VIRT_SIZE` is half of the kernel's half, and `VMALLOC_SIZE` is half of that.
    let vmalloc = offset.checked_sub(1 << (bits - 3))?;
    let vmemmap = vmalloc.checked_sub(1 << (bits - PAGE_SHIFT - 1 + STRUCT_PAGE_SHIFT))?;
    let areas = [
        (vmemmap, "[vmemmap]"),
        (vmalloc, "[vmalloc]"),
        (offset, "[direct map]"),
        (MODULES, "[modules]"),
        (LINKED_AT, "[kernel]"),
    ];
    let sorted = areas.is_sorted_by(|one, other| one.0 < other.0);
    sorted.then(|| areas.map(|(start, name)| KernelArea { start: Gva(start), name }).to_vec())
}
