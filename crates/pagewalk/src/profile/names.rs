//! What the addresses of a guest are called.

use super::kallsyms;
use super::symbols::Symbols;
use crate::guest::{
    PROGRAM_SYMBOLS, SHELL_PROGRAM_SYMBOLS, SHELL_VOS, SHELL_VOS_SYMBOLS, VALIDATION_PROGRAM_SYMBOLS, VALIDATION_VOS,
    VALIDATION_VOS_SYMBOLS, VOS, VOS_SYMBOLS,
};

/// The size of the pages that profiles have.
const PAGE: u64 = 4096;
/// Where the upper half of the smallest address space begins: a kernel's half.
const UPPER_HALF: u64 = 0xffff_ffc0_0000_0000;
/// Guest physical address 0 in the linear map of `vos` (guests/vos/layout.h).
const VOS_LINEAR: u64 = 0xffff_ffc0_0000_0000;
/// Where RAM begins, and `vos` is loaded near.
const RAM: u64 = 0x8000_0000;

/// The parts of the address spaces of `vos` (guests/vos/layout.h), each from its first byte on.
const VOS_LAYOUT: [(u64, &str); 9] = [
    (0, "program"),
    (0x10_0000_0000, "heap"),
    (0x1f_ff80_0000, "stack"),
    (0x20_0000_0000, "sections"),
    (0x30_0000_0000, "segment of the space"),
    (0x38_0000_0000, "common segment"),
    (0x40_0000_0000, "[user]"),
    (VOS_LINEAR, "linear map of vos"),
    (u64::MAX, "linear map of vos"),
];

/// Which guest it is, as far as its address spaces are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Layout {
    Vos,
    Unknown,
}

/// A program of a guest.
#[derive(Clone, Debug)]
pub(crate) enum Program {
    /// Our workloads.
    Workloads,
    /// A file of the user's.
    File(Vec<u8>),
}

/// What the addresses of a guest are called.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    layout: Layout,
    /// What the guest's kernel is called.
    kernel_name: String,
    kernel: Symbols,
    programs: Vec<Symbols>,
}

impl Names {
    /// Of the guest with this kernel, and with these programs.
    pub(crate) fn of(kernel_name: &str, kernel: &[u8], programs: &[Program]) -> Self {
        let own = [
            (VOS, VOS_SYMBOLS, PROGRAM_SYMBOLS),
            (VALIDATION_VOS, VALIDATION_VOS_SYMBOLS, VALIDATION_PROGRAM_SYMBOLS),
            (SHELL_VOS, SHELL_VOS_SYMBOLS, SHELL_PROGRAM_SYMBOLS),
        ];
        let kernel_name = kernel_name.to_owned();
        if let Some((_, kernel, program)) = own.into_iter().find(|(image, ..)| *image == kernel) {
            // It begins with translation off, at physical addresses.
            let kernel = Symbols::of_lines(kernel).loaded_at(VOS_LINEAR + RAM, RAM, 1 << 30);
            return Self { layout: Layout::Vos, kernel_name, kernel, programs: vec![Symbols::of_lines(program)] };
        }
        let programs = programs.iter().filter_map(|program| match program {
            Program::Workloads => Some(Symbols::of_lines(PROGRAM_SYMBOLS)),
            Program::File(file) => Symbols::of_fixed_elf(file),
        });
        let programs = programs.collect();
        let kernel = Symbols::of_elf(kernel).or_else(|| of_linux(kernel)).unwrap_or_default();
        Self { layout: Layout::Unknown, kernel_name, kernel, programs }
    }

    /// What the kernel is called.
    pub(super) fn kernel_name(&self) -> &str {
        &self.kernel_name
    }

    /// The tables of a side.
    fn tables(&self, side: Side) -> &[Symbols] {
        match side {
            Side::Kernel => std::slice::from_ref(&self.kernel),
            Side::User => &self.programs,
        }
    }

    /// The line of source code of the instruction at an address, as `file:line`, of the program that its function is of.
    pub(super) fn line(&self, at: u64, side: Side) -> Option<String> {
        self.tables(side).iter().find(|table| table.function(at).is_some())?.line(at)
    }

    /// The function at an address, and how far behind its beginning; or else its page.
    pub(super) fn function(&self, at: u64, side: Side) -> (String, u64) {
        match self.tables(side).iter().find_map(|table| table.function(at)) {
            Some((name, offset)) => (name.to_owned(), offset),
            None => (format!("{} {:#x}", side.name(), at & !(PAGE - 1)), at & (PAGE - 1)),
        }
    }

    /// What a page of data is a part of, as far as no name was given to it.
    pub(super) fn object(&self, page: u64) -> String {
        let side = if page >= UPPER_HALF { Side::Kernel } else { Side::User };
        let end = page.saturating_add(PAGE);
        let mut tables = std::iter::once(&self.kernel).chain(self.programs.iter().filter(|_| side == Side::User));
        if let Some(name) = tables.find_map(|table| table.variable(page, end)) {
            return name.to_owned();
        }
        match self.layout {
            Layout::Vos => {
                let part = VOS_LAYOUT.partition_point(|(start, _)| *start <= page) - 1;
                VOS_LAYOUT[part].1.to_owned()
            }
            Layout::Unknown => side.name().to_owned(),
        }
    }
}

/// The symbols of a Linux kernel, which begins with translation off.
fn of_linux(image: &[u8]) -> Option<Symbols> {
    const TEXT_OFFSET: u64 = 2 << 20;
    let symbols = Symbols::new(kallsyms::symbols(image)?);
    Some(symbols.loaded_at(kallsyms::LINKED_AT, RAM + TEXT_OFFSET, image.len() as u64))
}

/// A side of an address space.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Side {
    Kernel,
    User,
}

impl Side {
    const fn name(self) -> &'static str {
        match self {
            Self::Kernel => "[kernel]",
            Self::User => "[user]",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vos_and_its_programs_have_symbols() {
        let names = Names::of("vos", VOS, &[]);
        assert_eq!(names.function(0xffff_ffc0_8020_0000, Side::Kernel), ("boot_start".to_owned(), 0));
        assert_eq!(names.function(0x8020_0002, Side::Kernel), ("boot_start".to_owned(), 2));
        assert_eq!(names.function(0x10_0000_0000, Side::User), ("[user] 0x1000000000".to_owned(), 0));
        let validation = Names::of("vos", VALIDATION_VOS, &[]);
        assert_eq!(validation.function(0xffff_ffc0_8020_0000, Side::Kernel).0, "boot_start");
    }

    #[test]
    fn the_parts_of_a_space_of_vos_have_names() {
        let names = Names::of("vos", VOS, &[]);
        let objects = [0x10_0000_0000, 0x1f_ffff_f000, 0x20_0000_0000, 0x38_0000_0000, 0xffff_ffc1_0000_0000]
            .map(|page| names.object(page));
        assert_eq!(objects, ["heap", "stack", "sections", "common segment", "linear map of vos"]);
        assert_eq!(Names::of("own", b"", &[]).object(0x10_0000_0000), "[user]");
        assert_eq!(Names::of("own", b"", &[]).object(0xffff_ffff_8000_0000), "[kernel]");
    }
}
