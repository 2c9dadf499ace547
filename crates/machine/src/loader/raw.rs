//! A flat binary without a header, such as a boot loader's `u-boot.bin`. Nothing in it says where it belongs: the user names its load
//! address, and its first byte is its entry point.

use super::parts::{Format, Kernel, Segment};
use super::{elf, flat};
use core::ops::Range;
use types::Gpa;

/// An entry point lies on a boundary of so many bytes: harts without the C extension take no less.
const ALIGNMENT: u64 = 4;

/// Why a flat binary cannot be loaded where the user says.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RawProblem {
    /// The file has a load address of its own.
    #[error("{0} has its own load address; leave --load-address out")]
    HasHeader(&'static str),
    /// No instruction can lie there.
    #[error("load address {0} is not a multiple of 4")]
    Misaligned(Gpa),
    /// The binary does not lie in the guest's RAM.
    #[error("{bytes:#x} bytes at load address {at} are not in the guest's memory {}..{}", .ram.start, .ram.end)]
    OutsideRam {
        /// The load address.
        at: Gpa,
        /// The file's length.
        bytes: u64,
        /// RAM.
        ram: Range<Gpa>,
    },
}

pub(super) fn place<'f>(file: &'f [u8], at: Gpa, ram: &Range<Gpa>) -> Result<Kernel<'f>, RawProblem> {
    if file.starts_with(elf::MAGIC) {
        return Err(RawProblem::HasHeader("an ELF file"));
    }
    if flat::is_flat(file) {
        return Err(RawProblem::HasHeader("a RISC-V Linux Image"));
    }
    if !at.is_aligned(ALIGNMENT) {
        return Err(RawProblem::Misaligned(at));
    }
    let segment = Segment { at, bytes: file, memory: file.len() as u64 };
    let Some(range) = segment.range(ram) else {
        return Err(RawProblem::OutsideRam { at, bytes: segment.memory, ram: ram.clone() });
    };
    Ok(Kernel { entry: at, segments: vec![segment], end: range.end, format: Format::Raw })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAM: Range<Gpa> = Gpa(0x8000_0000)..Gpa(0x8010_0000);

    #[test]
    fn a_flat_binary_without_a_header_is_loaded_where_the_user_says() {
        let file = [0x13; 64];
        let kernel = place(&file, Gpa(0x8002_0000), &RAM).unwrap();
        assert_eq!((kernel.entry, kernel.end), (Gpa(0x8002_0000), Gpa(0x8002_0040)));
        assert_eq!(kernel.segments, [Segment { at: Gpa(0x8002_0000), bytes: &file, memory: 64 }]);
        assert!(place(&file, Gpa(0x800f_ffc0), &RAM).is_ok(), "the last place");
    }

    #[test]
    fn a_load_address_that_cannot_be_is_named() {
        let error = |file: &[u8], at| place(file, Gpa(at), &RAM).unwrap_err().to_string();
        let file = [0x13; 64];
        assert!(error(&file, 0x8000_0002).contains("0x80000002"));
        for outside in [0x800f_ffc4, 0x7fff_fffc, 0, 0xffff_ffff_ffff_fffc] {
            assert!(error(&file, outside).contains("not in the guest's memory"), "{outside:#x}");
        }
        let image = flat::tests::image(0x1000, 0x20_0000, 0x5000);
        assert!(error(&image, 0x8000_0000).contains("Linux Image has its own"));
        assert!(error(b"\x7fELF\x02\x01", 0x8000_0000).contains("ELF file has its own"));
    }
}
