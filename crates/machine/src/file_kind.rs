//! What a file holds, as far as its first bytes tell: for messages about a file of the wrong kind.

use object::elf::{
    EM_386, EM_AARCH64, EM_ARM, EM_LOONGARCH, EM_MIPS, EM_PPC64, EM_RISCV, EM_S390, EM_X86_64, ET_CORE, ET_DYN,
    ET_EXEC, ET_REL,
};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Bytes from a file's start that are enough to tell what it is.
const ENOUGH: usize = 4096;

/// Formats that begin with, or have at an offset, bytes of their own.
const MARKS: [(usize, &[u8], &str); 21] = [
    (0, b"PAWSNAP\0", "a snapshot of Pagewalk"),
    (0x38, b"RSC\x05", "a RISC-V kernel Image"),
    (0x30, b"RISCV\0\0\0", "the start of a RISC-V kernel Image"),
    (0x38, b"ARM\x64", "a kernel Image for 64-bit ARM"),
    (0x202, b"HdrS", "a Linux kernel for x86"),
    (0, b"\x1f\x8b", "a file compressed with gzip"),
    (0, b"\xfd7zXZ", "a file compressed with xz"),
    (0, b"\x28\xb5\x2f\xfd", "a file compressed with zstd"),
    (0, b"\x04\x22\x4d\x18", "a file compressed with lz4"),
    (0, b"\x02\x21\x4c\x18", "a file compressed with lz4"),
    (0, b"BZh", "a file compressed with bzip2"),
    (0, b"PK\x03\x04", "a zip archive"),
    (0, b"070701", "a cpio archive"),
    (0, b"070702", "a cpio archive"),
    (257, b"ustar", "a tar archive"),
    (0, b"!<arch>\n", "a Debian package or an archive of object files"),
    (0, b"QFI\xfb", "a qcow2 disk image"),
    (0, b"KDMV", "a VMDK disk image"),
    (0x438, b"\x53\xef", "an ext2, ext3 or ext4 file system"),
    (0x1fe, b"\x55\xaa", "a disk image with a boot sector"),
    (0, b"#!", "a script"),
];

/// What the file at `path` holds, such as `a snapshot of Pagewalk` or `an ELF program for x86-64`.
///
/// # Errors
/// As the host's system says.
pub fn of_path(path: &Path) -> io::Result<String> {
    let mut start = Vec::new();
    File::open(path)?.take(ENOUGH as u64).read_to_end(&mut start)?;
    Ok(describe(&start))
}

/// The same of a file that is read already: all of it, or its first 4096 bytes.
#[must_use]
pub fn describe(file: &[u8]) -> String {
    let start = &file[..file.len().min(ENOUGH)];
    if start.is_empty() {
        return "an empty file".to_owned();
    }
    if let Some(Elf { machine, kind }) = elf(start) {
        return format!("an ELF {kind} for {}", machine_name(machine));
    }
    let is_at = |at: usize, mark: &[u8]| start.get(at..).is_some_and(|rest| rest.starts_with(mark));
    if let Some((_, _, what)) = MARKS.iter().find(|(at, mark, _)| is_at(*at, mark)) {
        return (*what).to_owned();
    }
    match text(start) {
        Some(text) => of_text(text).to_owned(),
        None => "a binary file".to_owned(),
    }
}

/// The architecture of an ELF program that is not for RISC-V.
#[must_use]
pub fn foreign_program(file: &[u8]) -> Option<String> {
    let Elf { machine, kind } = elf(file)?;
    (machine != EM_RISCV && kind != "core dump").then(|| machine_name(machine))
}

struct Elf {
    machine: u16,
    kind: &'static str,
}

/// The parts of an ELF header that are where they are whatever its class (System V ABI, chapter 4).
fn elf(file: &[u8]) -> Option<Elf> {
    let header = file.strip_prefix(b"\x7fELF").and_then(|_| file.get(..20))?;
    let half = |at: usize| {
        let bytes = [header[at], header[at + 1]];
        if header[5] == 2 { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
    };
    let kind = match half(16) {
        ET_EXEC | ET_DYN => "program",
        ET_REL => "object file",
        ET_CORE => "core dump",
        _ => "file",
    };
    Some(Elf { machine: half(18), kind })
}

/// The name of a processor's architecture, by its number in ELF files.
pub(crate) fn machine_name(machine: u16) -> String {
    match machine {
        EM_386 => "x86".to_owned(),
        EM_X86_64 => "x86-64".to_owned(),
        EM_ARM => "32-bit ARM".to_owned(),
        EM_AARCH64 => "64-bit ARM".to_owned(),
        EM_PPC64 => "64-bit PowerPC".to_owned(),
        EM_S390 => "s390".to_owned(),
        EM_MIPS => "MIPS".to_owned(),
        EM_LOONGARCH => "LoongArch".to_owned(),
        EM_RISCV => "RISC-V".to_owned(),
        other => format!("machine {other}"),
    }
}

/// The bytes as text, if they are some; a character that is cut off at the end is none of it.
fn text(start: &[u8]) -> Option<&str> {
    let text = match str::from_utf8(start) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => str::from_utf8(&start[..error.valid_up_to()]).ok()?,
        Err(_) => return None,
    };
    text.chars().all(|c| !c.is_control() || c.is_ascii_whitespace() || c == '\x1b').then_some(text)
}

fn of_text(text: &str) -> &'static str {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let Some(first) = lines.next() else { return "a text file" };
    let begins_json = |rest: &str| {
        let next = rest.trim_start().chars().next().or_else(|| lines.next()?.chars().next());
        next.is_none_or(|c| "\"{[]}-".contains(c) || c.is_ascii_digit())
    };
    if first.strip_prefix(['{', '[']).is_some_and(begins_json) && !first.starts_with("[[") {
        return "JSON";
    }
    let lower = first.to_ascii_lowercase();
    if ["<!doctype html", "<html"].iter().any(|tag| lower.starts_with(tag)) {
        return "an HTML page";
    }
    let is_key = |key: &str| !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    let is_toml = first.starts_with('[') || first.split_once('=').is_some_and(|(key, _)| is_key(key.trim()));
    if is_toml { "TOML" } else { "a text file" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_file_is_told_apart() {
        let mut tar = vec![b'a'; 600];
        tar[257..262].copy_from_slice(b"ustar");
        let elf = |class: u8, kind: u8, machine: u8| {
            [b"\x7fELF", &[class, 1, 1][..], &[0; 9], &[kind, 0, machine, 0]].concat()
        };
        for (content, what) in [
            (&b""[..], "an empty file"),
            (b"PAWSNAP\0\x01", "a snapshot of Pagewalk"),
            (&elf(2, 3, 62), "an ELF program for x86-64"),
            (&elf(1, 2, 3), "an ELF program for x86"),
            (&elf(2, 1, 243), "an ELF object file for RISC-V"),
            (b"\x1f\x8b\x08", "a file compressed with gzip"),
            (&tar, "a tar archive"),
            (b"#!/bin/sh\n", "a script"),
            (b"{\n  \"runs\": [", "JSON"),
            (b"[1, 2]", "JSON"),
            (b"[]", "JSON"),
            (b"# a comment\n[mmu]\nnested_tlb = 1\n", "TOML"),
            (b"[[guest]]\nname = 'a'\n", "TOML"),
            (b"harts = 2\n", "TOML"),
            (b"<!DOCTYPE html>\n<html>", "an HTML page"),
            ("Zeit ist Geld: \u{e4}\n".as_bytes(), "a text file"),
            (b"# only a comment\n", "a text file"),
            (b"\x00\x01\x02", "a binary file"),
        ] {
            assert_eq!(describe(content), what);
        }
    }

    #[test]
    fn a_program_for_another_processor_is_found() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(
            foreign_program(&own),
            (!cfg!(target_arch = "riscv64")).then(|| machine_name(elf(&own).unwrap().machine))
        );
        assert_eq!(foreign_program(b"#!/bin/sh\n"), None);
    }
}
