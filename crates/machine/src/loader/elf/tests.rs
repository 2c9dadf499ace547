use super::*;
use crate::loader::kernel::KernelProblem;
use object::elf::EM_X86_64;
use proptest::prelude::*;

const RAM: Range<Gpa> = Gpa(0x8000_0000)..Gpa(0x8800_0000);
const VIRTUAL: u64 = 0xffff_ffc0_0000_0000;
const HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;

/// A program header: type, file offset, physical address, bytes in the file and in memory. Linked at [`VIRTUAL`] + physical.
#[derive(Clone, Copy)]
struct Part(u32, u64, u64, u64, u64);

fn elf(entry: u64, parts: &[Part]) -> Vec<u8> {
    let mut file = vec![0; 0x1000];
    let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, b"\x7fELF\x02\x01\x01");
    put(16, &ET_EXEC.to_le_bytes());
    put(18, &EM_RISCV.to_le_bytes());
    put(20, &1_u32.to_le_bytes());
    put(24, &entry.to_le_bytes());
    put(32, &(HEADER as u64).to_le_bytes());
    put(52, &(HEADER as u16).to_le_bytes());
    put(54, &(PROGRAM_HEADER as u16).to_le_bytes());
    put(56, &(parts.len() as u16).to_le_bytes());
    for (number, &Part(kind, offset, at, file, memory)) in parts.iter().enumerate() {
        let header = HEADER + number * PROGRAM_HEADER;
        put(header, &kind.to_le_bytes());
        for (field, value) in [(8, offset), (16, at.wrapping_add(VIRTUAL)), (24, at), (32, file), (40, memory)] {
            put(header + field, &value.to_le_bytes());
        }
    }
    file
}

const TEXT: Part = Part(PT_LOAD, 0x400, 0x8020_0000, 0x200, 0x200);
const DATA: Part = Part(PT_LOAD, 0x800, 0x8040_0000, 8, 0x7000);

#[test]
fn segments_go_to_their_physical_addresses() {
    let file = elf(0x8020_0010, &[DATA, TEXT, Part(PT_LOAD, 0, 0, 0, 0)]);
    let kernel = Kernel::parse(&file, None, &RAM).unwrap();
    assert_eq!(
        kernel.segments,
        [
            Segment { at: Gpa(0x8020_0000), bytes: &file[0x400..0x600], memory: 0x200 },
            Segment { at: Gpa(0x8040_0000), bytes: &file[0x800..0x808], memory: 0x7000 },
        ]
    );
    assert_eq!((kernel.entry, kernel.end), (Gpa(0x8020_0010), Gpa(0x8040_7000)));
}

#[test]
fn the_entry_point_may_be_virtual() {
    let kernel = |entry| parse(&elf(entry, &[TEXT, DATA]), &RAM).map(|kernel| kernel.entry);
    assert_eq!(kernel(VIRTUAL + 0x8020_01fe), Ok(Gpa(0x8020_01fe)));
    for outside in [0, 0x8020_0200, VIRTUAL, u64::MAX] {
        assert_eq!(kernel(outside), Err(ElfProblem::Entry(outside)));
    }
}

#[test]
fn our_own_kernel_loads() {
    let vos = include_bytes!("../../../../../guests/vos/vos.elf");
    let kernel = Kernel::parse(vos, None, &RAM).unwrap();
    assert_eq!(kernel.entry, Gpa(0x8020_0000));
    assert!(kernel.segments.len() >= 2);
}

#[test]
fn a_linux_program_is_no_kernel() {
    let program = include_bytes!("../../../../../guests/workloads/pagewalk-workloads");
    assert!(matches!(parse(program, &RAM), Err(ElfProblem::OutsideRam { segment: 0 | 1, .. })));
    let dynamic = elf(0x8020_0000, &[Part(PT_INTERP, 0x400, 0, 16, 16), TEXT]);
    assert_eq!(parse(&dynamic, &RAM), Err(ElfProblem::Program));
}

#[test]
fn bad_segments_are_named() {
    let problem = |parts: &[Part]| parse(&elf(0x8020_0000, parts), &RAM).unwrap_err();
    assert_eq!(problem(&[]), ElfProblem::NoSegments);
    let long = Part(PT_LOAD, 0xf00, 0x8020_0000, 0x200, 0x200);
    assert_eq!(problem(&[TEXT, long]), ElfProblem::Truncated { segment: 1, end: 0x1100, file: 0x1000 });
    let endless = Part(PT_LOAD, u64::MAX, 0x8020_0000, u64::MAX, u64::MAX);
    assert!(matches!(problem(&[endless]), ElfProblem::Truncated { .. }));
    let shrinking = Part(PT_LOAD, 0x400, 0x8020_0000, 0x200, 0x1ff);
    assert_eq!(problem(&[shrinking]), ElfProblem::Sizes { segment: 0, file: 0x200, memory: 0x1ff });
    for (at, memory) in [(0x7fff_f000, 0x2000), (0x87ff_f000, 0x1001), (0, 0x200), (u64::MAX - 0xfff, 0x2000)] {
        let outside = problem(&[TEXT, Part(PT_LOAD, 0x400, at, 0x200, memory)]);
        assert_eq!(outside, ElfProblem::OutsideRam { segment: 1, at: Gpa(at), memory, ram: RAM });
    }
    let overlapping = Part(PT_LOAD, 0x400, 0x8020_01ff, 1, 1);
    assert_eq!(problem(&[overlapping, TEXT]), ElfProblem::Overlap(Gpa(0x8020_01ff)));
}

#[test]
fn other_machines_and_kinds_are_named() {
    let changed = |at: usize, bytes: &[u8]| {
        let mut file = elf(0x8020_0000, &[TEXT]);
        file[at..at + bytes.len()].copy_from_slice(bytes);
        parse(&file, &RAM).unwrap_err()
    };
    assert_eq!(changed(4, &[1]), ElfProblem::Class);
    assert_eq!(changed(5, &[2]), ElfProblem::Class);
    assert_eq!(changed(18, &EM_X86_64.to_le_bytes()), ElfProblem::Machine(EM_X86_64));
    assert!(changed(18, &EM_X86_64.to_le_bytes()).to_string().contains("x86-64"));
    assert_eq!(changed(16, &[1, 0]), ElfProblem::Type(1));
    assert!(matches!(changed(54, &[1, 0]), ElfProblem::Headers(_)));
    assert_eq!(changed(32, &[0xff; 8]), ElfProblem::HeadersTruncated(0x1000));
    for length in [4, 5, 20, 63, 64, 64 + 55] {
        let truncated = ElfProblem::HeadersTruncated(length as u64);
        assert_eq!(Kernel::parse(&elf(0, &[TEXT])[..length], None, &RAM), Err(KernelProblem::Elf(truncated)));
    }
}

proptest! {
    /// Whatever stands in the headers: no panic, and what is accepted lies in RAM, in order, apart.
    #[test]
    fn headers_may_hold_anything(
        damage in prop::collection::vec((4_usize..0x100, any::<u8>()), 0..8),
        cut in 0_usize..0x1000,
    ) {
        let mut file = elf(0x8020_0000, &[TEXT, DATA]);
        for (at, byte) in damage {
            file[at] = byte;
        }
        file.truncate(0x1000 - cut);
        if let Ok(kernel) = Kernel::parse(&file, None, &RAM) {
            let ranges: Vec<_> = kernel.segments.iter().map(|segment| segment.range(&RAM).unwrap()).collect();
            prop_assert!(ranges.windows(2).all(|pair| pair[0].end <= pair[1].start));
            prop_assert!(ranges.iter().any(|range| range.contains(&kernel.entry)));
            prop_assert!(ranges.iter().all(|range| range.end <= kernel.end));
        }
    }
}
