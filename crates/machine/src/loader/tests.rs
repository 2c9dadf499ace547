use super::*;

const VOS: &[u8] = include_bytes!("../../../../guests/vos/vos.elf");
const END: Gpa = Gpa(RAM + (1 << 30));

fn problem(bytes: &[u8]) -> String {
    read("k", bytes, END).unwrap_err().to_string()
}

#[test]
fn vos_is_read_whole() {
    let kernel = read("vos", VOS, END).unwrap();
    assert_eq!(kernel.entry, Gpa(0x8020_0000));
    assert!(kernel.end > kernel.entry);
    assert!(kernel.parts.iter().any(|(at, bytes)| *at == kernel.entry && !bytes.is_empty()));
}

#[test]
fn a_truncated_elf_file_is_refused_at_every_length() {
    for length in (0..VOS.len() - 1).step_by(97) {
        // A cut in what no segment needs (the section headers) is none.
        if let Ok(kernel) = read("k", &VOS[..length], END) {
            let whole = read("k", VOS, END).unwrap();
            assert_eq!(kernel.parts, whole.parts);
        }
    }
    assert!(problem(&VOS[..VOS.len() / 2]).contains("truncated"));
}

#[test]
fn kernels_for_other_machines_are_named() {
    let mut other = VOS.to_vec();
    other[18] = 62;
    assert!(problem(&other).contains("X86_64"));
    other[4] = 1;
    assert!(problem(&other).contains("32-bit"));
    let mut arm = vec![0; 4096];
    arm[0x38..0x3c].copy_from_slice(b"ARM\x64");
    assert!(problem(&arm).contains("ARM"));
    let mut x86 = vec![0; 4096];
    x86[0x202..0x206].copy_from_slice(b"HdrS");
    assert!(problem(&x86).contains("x86"));
    assert!(problem(b"#!/bin/sh\n").contains("not a kernel"));
    assert!(problem(b"").contains("not a kernel"));
}

/// `vos` with eight bytes of its first loaded segment's header replaced.
fn with_field(field: usize, value: u64) -> Vec<u8> {
    let mut bytes = VOS.to_vec();
    let table = u64::from_le_bytes(bytes[32..40].try_into().unwrap()) as usize;
    let count = u16::from_le_bytes(bytes[56..58].try_into().unwrap()) as usize;
    let load = (0..count).map(|number| table + 56 * number).find(|&at| bytes[at..at + 4] == [1, 0, 0, 0]).unwrap();
    bytes[load + field..load + field + 8].copy_from_slice(&value.to_le_bytes());
    bytes
}

#[test]
fn bad_segments_are_named() {
    assert!(problem(&with_field(24, 0x1000)).contains("outside RAM"), "physical address");
    assert!(problem(&with_field(24, u64::MAX - 4)).contains("outside RAM"));
    assert!(problem(&with_field(32, 1 << 40)).contains("segment"), "size in the file");
    assert!(problem(&with_field(40, 1 << 40)).contains("outside RAM"), "size in memory");
    assert!(problem(&with_field(40, 0)).contains("larger in the file"));
    let mut entry = VOS.to_vec();
    entry[24..32].copy_from_slice(&0x10_u64.to_le_bytes());
    assert!(problem(&entry).contains("entry point"));
}

fn image_of(size: u64, flags: u64) -> Vec<u8> {
    let mut image = vec![0; 8192];
    image[0x08..0x10].copy_from_slice(&0x20_0000_u64.to_le_bytes());
    image[0x10..0x18].copy_from_slice(&size.to_le_bytes());
    image[0x18..0x20].copy_from_slice(&flags.to_le_bytes());
    image[0x38..0x3c].copy_from_slice(b"RSC\x05");
    image
}

#[test]
fn images_occupy_what_their_header_says() {
    let image = image_of(1 << 20, 0);
    let kernel = read("k", &image, END).unwrap();
    assert_eq!((kernel.entry, kernel.end), (Gpa(0x8020_0000), Gpa(0x8030_0000)));
    assert!(problem(&image_of(1 << 40, 0)).contains("outside RAM"));
    assert!(problem(&image_of(1 << 20, 1)).contains("big-endian"));
}

#[test]
fn what_does_not_fit_behind_the_kernel_is_refused_with_the_numbers() {
    let image = image_of(16 << 20, 0);
    let end = Gpa(RAM + (32 << 20));
    let kernel = read("k", &image, end).unwrap();
    let placement = place(&kernel, 4 << 20, end).unwrap();
    assert!(placement.initrd.0 + (4 << 20) <= placement.tree.0 && placement.initrd >= kernel.end);
    let refused = place(&kernel, 14 << 20, end).unwrap_err().to_string();
    assert!(refused.contains("has 32 MiB"), "{refused}");
}
