use super::*;
use crate::maple::{MapleLayout, NodeLayout};
use crate::{Contents, KernelMemory, Process, kernel_areas};
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::HashMap;
use types::{Gpa, Gva, PagingMode};

/// Where each field of the kernel of these tests is.
fn layout() -> Layout {
    let nodes = |slots, count| NodeLayout { pivots: 8, slots, count };
    Layout {
        task_tasks: 16,
        task_mm: 32,
        task_tgid: 44,
        task_comm: 50,
        mm_pgd: 0,
        mm_areas: 8,
        mm_start_brk: 16,
        mm_brk: 24,
        mm_start_stack: 32,
        maple: MapleLayout { range: nodes(32, 4), range_with_gaps: nodes(24, 3) },
        area_start: 0,
        area_end: 8,
        area_pages: 16,
        area_file: 24,
        area_operations: 32,
        area_private: 40,
        area_name: Some(48),
        anonymous_name: Some(4),
        special_name: 0,
        file_mount: 0,
        file_dentry: 8,
        dentry_parent: 0,
        dentry_name: 8,
        mount_vfs: 32,
        mount_parent: 0,
        mount_mountpoint: 8,
        vfs_root: 0,
        kernel_page_offset: 0,
    }
}

const KERNEL_MAP: u64 = 0x100;
const INIT_TASK: u64 = 0x1000;
const SPECIAL: u64 = 0x500;

fn linux() -> Linux {
    Linux { layout: layout(), init_task: INIT_TASK, kernel_map: KERNEL_MAP, special_operations: SPECIAL }
}

/// Memory whose words have been set. Physical addresses are the virtual ones less a constant.
#[derive(Default)]
struct Memory(HashMap<u64, u64>);

const PHYSICAL: u64 = 0x1_0000;

impl Memory {
    fn set(&mut self, at: u64, words: &[u64]) {
        self.0.extend(words.iter().enumerate().map(|(index, &word)| (at + 8 * index as u64, word)));
    }

    fn text(&mut self, at: u64, text: &str) {
        for (index, byte) in text.bytes().chain([0]).enumerate() {
            let (at, shift) = ((at + index as u64) & !7, 8 * ((at + index as u64) & 7));
            let word = self.0.entry(at).or_default();
            *word = *word & !(0xff << shift) | u64::from(byte) << shift;
        }
    }
}

impl KernelMemory for Memory {
    fn physical(&self, at: Gva) -> Option<Gpa> {
        at.0.checked_sub(PHYSICAL).map(Gpa)
    }

    fn word(&self, at: Gva) -> Option<u64> {
        self.0.get(&at.0).copied()
    }
}

/// A kernel with a thread of its own and one process, whose areas are in a tree of two levels.
fn memory() -> Memory {
    let mut memory = Memory::default();
    let (thread, task, mm, inner, leaf) = (0x2000, 0x3000, 0x4000, 0x5000, 0x5100);
    let list = |task: u64| task + 16;
    memory.set(KERNEL_MAP, &[0xffff_ffd6_0000_0000]);
    memory.set(list(INIT_TASK), &[list(thread), 0, 0]);
    memory.set(list(thread), &[list(task), 0, 0]);
    memory.set(list(task), &[list(INIT_TASK), 0, mm, 7 << 32]);
    memory.text(task + 50, "server");
    memory.set(mm, &[0x9000 + PHYSICAL, inner | 3 << 3 | 2, 0x7000, 0x9000, 0x3fff_f100]);
    // Addresses up to 0x8fff are in the leaf, and above it one node has one part.
    memory.set(inner + 8, &[0x8fff, 0]);
    memory.set(inner + 24, &[leaf | 1 << 3, (leaf + 0x100) | 1 << 3]);
    memory.set(leaf + 8, &[0x0fff, 0x2fff, 0x6fff]);
    let areas = [0u64, 0x6000, 0x6100, 0x6200];
    memory.set(leaf + 32, &areas);
    memory.set(leaf + 0x108, &[0x2000_0fff, 0x2fff_ffff, 0x3fff_ffff]);
    memory.set(leaf + 0x120, &[0x6300, 0x6400, 0x6500, 1]);
    // A file at 0x1000, names at 0x3000, the heap at 0x7000.
    memory.set(0x6000, &[0x1000, 0x3000, 2, 0x6800, 0, 0, 0]);
    memory.set(0x6100, &[0x3000, 0x7000, 0, 0, 0, 0, 0x6f00]);
    memory.set(0x6200, &[0x7000, 0x9000, 0, 0, 0, 0, 0]);
    memory.set(0x6300, &[0x2000_0000, 0x2000_1000, 0, 0, SPECIAL, 0x6e00, 0]);
    memory.set(0x6400, &[0x2000_1000, 0x3000_0000, 0, 0, 0, 0, 0]);
    memory.set(0x6500, &[0x3fff_0000, 0x4000_0000, 0, 0, 0, 0, 0]);
    memory.set(0x6e00, &[0x6e80]);
    memory.text(0x6e80, "[vdso]");
    memory.set(0x6f00, &[0]);
    memory.text(0x6f04, "cache\x1b[1m");
    // The file `/usr/lib/a.so`: `usr` is where a second file system is mounted on the first.
    let (inner_mount, outer_mount) = (0x7000, 0x7100);
    memory.set(0x6800, &[inner_mount + 32, 0x7200]);
    memory.set(inner_mount, &[outer_mount, 0x7500, 0, 0, 0x7400]);
    memory.set(outer_mount, &[outer_mount, 0, 0, 0, 0x7600]);
    for (dentry, parent, name, text) in [
        (0x7200, 0x7300, 0x7700, "a.so"),
        (0x7300, 0x7400, 0x7710, "lib"),
        (0x7400, 0x7400, 0x7720, "/"),
        (0x7500, 0x7600, 0x7730, "usr"),
        (0x7600, 0x7600, 0x7740, "/"),
    ] {
        memory.set(dentry, &[parent, name]);
        memory.text(name, text);
    }
    memory
}

fn process(memory: &Memory) -> Process {
    linux().process(memory, Gpa(0x9000), None).expect("a process")
}

#[test]
fn a_process_is_found_by_its_root_table() {
    let memory = memory();
    let found = process(&memory);
    assert_eq!((found.pid, found.name.as_str()), (7, "server"));
    assert_eq!(linux().process(&memory, Gpa(0x9000), Some(&found)), Some(found));
    assert_eq!(linux().process(&memory, Gpa(0x8000), None), None);
}

/// A process that is known is looked for again once its memory is another's.
#[test]
fn a_process_that_has_ended_is_not_found_any_more() {
    let mut memory = memory();
    let found = process(&memory);
    memory.set(0x3020, &[0]);
    assert_eq!(linux().process(&memory, Gpa(0x9000), Some(&found)), None);
}

#[test]
fn mappings_have_their_contents() {
    let memory = memory();
    let process = process(&memory);
    let at = |at| linux().mapping(&memory, &process, Gva(at));
    let file = at(0x1234).expect("a mapping");
    assert_eq!((file.start, file.end), (Gva(0x1000), Gva(0x3000)));
    assert_eq!(file.contents, Contents::File { path: "/usr/lib/a.so".to_owned(), offset: 0x2000 });
    let contents = |address| at(address).map(|mapping| mapping.contents);
    assert_eq!(contents(0x3000), Some(Contents::Anonymous(Some("cache?[1m".to_owned()))));
    assert_eq!(contents(0x8fff), Some(Contents::Heap));
    assert_eq!(contents(0x2000_0000), Some(Contents::Kernel("[vdso]".to_owned())));
    assert_eq!(contents(0x2fff_0000), Some(Contents::Anonymous(None)));
    assert_eq!(contents(0x3fff_f000), Some(Contents::Stack));
    // Nothing is mapped there: an empty part, and one that is kept free.
    assert_eq!([contents(0xfff), contents(0x5000_0000)], [None, None]);
}

#[test]
fn the_kernels_half_has_its_parts() {
    let areas = |mode| kernel_areas(&linux(), &memory(), mode);
    let sv39 = areas(PagingMode::Sv39).expect("areas");
    let found: Vec<(u64, &str)> = sv39.iter().map(|area| (area.start.0, area.name)).collect();
    // Linux `Documentation/arch/riscv/vm-layout.rst`, with the direct map where Linux 6.12 has it.
    assert_eq!(
        found,
        [
            (0xffff_ffc5_0000_0000, "[vmemmap]"),
            (0xffff_ffc6_0000_0000, "[vmalloc]"),
            (0xffff_ffd6_0000_0000, "[direct map]"),
            (0xffff_ffff_0000_0000, "[modules]"),
            (0xffff_ffff_8000_0000, "[kernel]"),
        ]
    );
    assert_eq!(areas(PagingMode::Bare), None);
}

/// Memory whose every word is drawn from its address, mostly one that may be a pointer. Reads are counted.
struct Hostile {
    seed: u64,
    reads: Cell<u64>,
}

impl KernelMemory for Hostile {
    fn physical(&self, at: Gva) -> Option<Gpa> {
        (!at.0.is_multiple_of(5)).then_some(Gpa(at.0 & 0x3000))
    }

    fn word(&self, at: Gva) -> Option<u64> {
        self.reads.set(self.reads.get() + 1);
        let mut word = (at.0 ^ self.seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        word ^= word >> 29;
        match word % 16 {
            0 => None,
            1 => Some(0),
            2 => Some(word),
            // A few places, so that lists and trees are circles.
            _ => Some((word & 0x7ff8) | self.seed & 0x1e),
        }
    }
}

proptest! {
    #[test]
    fn hostile_memory_ends_every_question(seed: u64, root in 0u64..4, at: u64) {
        let memory = Hostile { seed, reads: Cell::new(0) };
        let linux = linux();
        let found = linux.process(&memory, Gpa(root << 12), None);
        let process = found.unwrap_or_else(|| Process::at(seed & 0x7ff8));
        if let Some(mapping) = linux.mapping(&memory, &process, Gva(at)) {
            prop_assert!(mapping.start.0 <= at && at < mapping.end.0);
        }
        let _ = kernel_areas(&linux, &memory, PagingMode::Sv48);
        prop_assert!(memory.reads.get() < 200_000, "{} reads", memory.reads.get());
    }

    #[test]
    fn any_bytes_are_an_image_or_none(bytes in prop::collection::vec(any::<u8>(), 0..4096)) {
        prop_assert!(Linux::of_image(&bytes).is_none());
    }
}
