//! What a process has mapped at an address: an area of its address space (`struct vm_area_struct`).

use crate::layout::Layout;
use crate::linux::Linux;
use crate::maple;
use crate::memory::{KernelMemory, non_null, pointer, string};
use crate::path;
use crate::process::Process;
use types::Gva;

/// The longest name that is read of a mapping.
const LONGEST_NAME: u64 = 80;
const PAGE: u64 = 4096;

/// What a process has mapped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mapping {
    /// Its first byte.
    pub start: Gva,
    /// The first byte behind it.
    pub end: Gva,
    /// What is there.
    pub contents: Contents,
}

/// What a mapping has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Contents {
    /// A file.
    File {
        /// Its path in the guest.
        path: String,
        /// The byte of it at the beginning of the mapping.
        offset: u64,
    },
    /// The heap, which `brk` makes larger.
    Heap,
    /// The stack of the first thread.
    Stack,
    /// What the kernel maps itself, with its name: `[vdso]`.
    Kernel(String),
    /// Memory of no file, with the name that the process has given to it (`PR_SET_VMA_ANON_NAME`), if it has.
    Anonymous(Option<String>),
}

impl Linux {
    /// What a process has mapped at `at`.
    pub fn mapping(&self, memory: &impl KernelMemory, process: &Process, at: Gva) -> Option<Mapping> {
        let layout = &self.layout;
        let root = pointer(memory, process.mm.wrapping_add(layout.mm_areas))?;
        let area = maple::find(memory, &layout.maple, root, at.0)?;
        let start = pointer(memory, area.wrapping_add(layout.area_start))?;
        let end = pointer(memory, area.wrapping_add(layout.area_end))?;
        let contents = self.contents(memory, process.mm, area, (start, end))?;
        (start <= at.0 && at.0 < end).then_some(Mapping { start: Gva(start), end: Gva(end), contents })
    }

    fn contents(&self, memory: &impl KernelMemory, mm: u64, area: u64, (start, end): (u64, u64)) -> Option<Contents> {
        let layout = &self.layout;
        let file = pointer(memory, area.wrapping_add(layout.area_file))?;
        if file != 0 {
            let offset = pointer(memory, area.wrapping_add(layout.area_pages))?.wrapping_mul(PAGE);
            return Some(Contents::File { path: path::of_file(memory, layout, file)?, offset });
        }
        if pointer(memory, area.wrapping_add(layout.area_operations))? == self.special_operations {
            let special = non_null(memory, area.wrapping_add(layout.area_private))?;
            let name = non_null(memory, special.wrapping_add(layout.special_name))?;
            return Some(Contents::Kernel(string(memory, name, LONGEST_NAME)?));
        }
        let of_process = |offset: u64| pointer(memory, mm.wrapping_add(offset));
        let (heap, heap_end) = (of_process(layout.mm_start_brk)?, of_process(layout.mm_brk)?);
        if start < heap_end && heap < end {
            return Some(Contents::Heap);
        }
        if (start..end).contains(&of_process(layout.mm_start_stack)?) {
            return Some(Contents::Stack);
        }
        Some(Contents::Anonymous(name(memory, layout, area)))
    }
}

/// The name that a process has given to memory of no file.
fn name(memory: &impl KernelMemory, layout: &Layout, area: u64) -> Option<String> {
    let name = non_null(memory, area.wrapping_add(layout.area_name?))?;
    string(memory, name.wrapping_add(layout.anonymous_name?), LONGEST_NAME)
}
