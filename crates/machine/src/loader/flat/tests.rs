use super::*;
use crate::loader::kernel::KernelProblem;
use proptest::prelude::*;

const RAM: Range<Gpa> = Gpa(0x8000_0000)..Gpa(0x8800_0000);

/// An image of `length` bytes with an EFI stub whose last section ends with the file.
pub(in crate::loader) fn image(length: usize, text_offset: u64, image_size: u64) -> Vec<u8> {
    const PE: usize = 0x40;
    let mut file = vec![0; length];
    let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, b"MZ");
    put(0x08, &text_offset.to_le_bytes());
    put(0x10, &image_size.to_le_bytes());
    put(0x20, &2_u32.to_le_bytes());
    put(0x30, b"RISCV\0\0\0RSC\x05");
    put(0x3c, &(PE as u32).to_le_bytes());
    put(PE, b"PE\0\0dP");
    put(PE + 6, &2_u16.to_le_bytes());
    put(PE + 20, &0xa0_u16.to_le_bytes());
    let sections = PE + 24 + 0xa0;
    for (section, (size, start)) in [(0x100, 0x200), (length as u32 - 0x300, 0x300)].into_iter().enumerate() {
        put(sections + section * 40 + 16, &u32::to_le_bytes(size));
        put(sections + section * 40 + 20, &u32::to_le_bytes(start));
    }
    file
}

#[test]
fn an_image_goes_to_its_offset_and_takes_its_bss() {
    let file = image(0x1000, 0x20_0000, 0x5000);
    let kernel = Kernel::parse(&file, None, &RAM).unwrap();
    let at = Gpa(0x8020_0000);
    assert_eq!(kernel.segments, [Segment { at, bytes: &file, memory: 0x5000 }]);
    assert_eq!((kernel.entry, kernel.end), (at, Gpa(0x8020_5000)));
}

#[test]
fn a_truncated_image_is_known_by_its_pe_sections() {
    let file = image(0x1000, 0x20_0000, 0x5000);
    for have in [0x3c, 0x3f, 0x40, 0x60, 0x100, 0x200, 0xfff] {
        let error = parse(&file[..have], &RAM).unwrap_err();
        match error {
            FlatProblem::Truncated { have: had, need } => assert!(had == have as u64 && need <= 0x1000, "{error}"),
            other => panic!("{have:#x}: {other}"),
        }
    }
    assert_eq!(parse(&file[..0xfff], &RAM), Err(FlatProblem::Truncated { have: 0xfff, need: 0x1000 }));
    // Cut inside the second magic number, the first still says what it was; cut before both, nothing does.
    let unknown = |what: &str| Err(KernelProblem::Unknown(what.to_owned()));
    assert_eq!(Kernel::parse(&file[..0x3b], None, &RAM), unknown("the start of a RISC-V kernel Image"));
    assert_eq!(Kernel::parse(&file[..0x37], None, &RAM), unknown("a binary file"));
}

#[test]
fn an_image_without_efi_stub_is_taken_as_it_is() {
    let mut file = image(0x1000, 0, 0x5000);
    file[0] = 0;
    assert!(parse(&file, &RAM).is_ok());
    assert!(parse(&file[..0x800], &RAM).is_ok());
}

#[test]
fn bad_headers_are_named() {
    let good = image(0x1000, 0x20_0000, 0x5000);
    let with = |at: usize, value: u64| {
        let mut file = good.clone();
        file[at..at + 8].copy_from_slice(&value.to_le_bytes());
        parse(&file, &RAM).unwrap_err()
    };
    assert_eq!(with(0x18, 1), FlatProblem::BigEndian);
    assert_eq!(with(0x08, 0x1000), FlatProblem::Offset(0x1000));
    assert_eq!(with(0x10, 0), FlatProblem::Size { size: 0, file: 0x1000 });
    let room = 128 << 20;
    assert_eq!(with(0x10, room), FlatProblem::NoRoom { need: room + (2 << 20), have: room });
    assert_eq!(with(0x08, 1 << 63), FlatProblem::NoRoom { need: (1 << 63) + 0x5000, have: room });
    assert_eq!(with(0x10, u64::MAX), FlatProblem::NoRoom { need: u64::MAX, have: room });
}

proptest! {
    /// Whatever stands in the headers: no panic, and what is accepted lies in RAM.
    #[test]
    fn headers_may_hold_anything(
        length in 0x300_usize..0x1000,
        cut in 0_usize..0x1000,
        damage in prop::collection::vec((0_usize..0x200, any::<u8>()), 0..8),
    ) {
        let mut file = image(length, 0x20_0000, 0x5000);
        for (at, byte) in damage {
            file[at] = byte;
        }
        file.truncate(length - cut.min(length));
        if let Ok(kernel) = Kernel::parse(&file, None, &RAM) {
            prop_assert!(kernel.segments.iter().all(|segment| segment.range(&RAM).is_some()));
            prop_assert!(kernel.end <= RAM.end && RAM.contains(&kernel.entry));
        }
    }
}
