//! What the addresses of a guest are called.

use super::programs::Programs;
use super::symbols::{Kind, Symbol, Symbols};
use introspection::{KernelSymbolKind, LINKED_AT, kernel_symbols};
use machine::{KernelArea, Profile, Space};
use std::sync::Arc;

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
pub enum Program {
    /// Our workloads.
    Workloads,
    /// A file of the user's.
    File(Vec<u8>),
}

/// What the addresses of a guest are called.
#[derive(Clone, Debug)]
pub struct Names {
    layout: Layout,
    /// What the guest's kernel is called.
    kernel_name: String,
    kernel: Symbols,
    programs: Vec<Symbols>,
    /// Its root file system, if there is one in memory.
    archive: Arc<[u8]>,
    /// Whether the command is one of our workloads.
    of_workload: bool,
    /// The symbols of our workloads.
    workloads: &'static str,
}

/// What the addresses of a guest are called in a run of it.
pub(crate) struct NamesOfRun<'n> {
    names: &'n Names,
    programs: Programs,
    areas: &'n [KernelArea],
}

/// The symbols of Pagewalk's own guests, which are in files beside their images.
#[derive(Clone, Copy, Debug)]
pub struct OwnGuests {
    /// Each `vos`: its image, its symbols, and those of its programs.
    pub vos: &'static [(&'static [u8], &'static str, &'static str)],
    /// The symbols of the workloads in Linux.
    pub workloads: &'static str,
}

impl Names {
    /// Of the guest with this kernel, with these programs, and with this root file system.
    #[must_use]
    pub fn of(own: &OwnGuests, kernel_name: &str, kernel: &[u8], programs: &[Program], archive: Arc<[u8]>) -> Self {
        let kernel_name = kernel_name.to_owned();
        if let Some((_, kernel, program)) = own.vos.iter().find(|(image, ..)| *image == kernel) {
            // It begins with translation off, at physical addresses.
            let kernel = Symbols::of_lines(kernel).loaded_at(VOS_LINEAR + RAM, RAM, 1 << 30);
            let (programs, workloads) = (vec![Symbols::of_lines(program)], own.workloads);
            return Self { layout: Layout::Vos, kernel_name, kernel, programs, archive, of_workload: true, workloads };
        }
        let of_workload = programs.iter().any(|program| matches!(program, Program::Workloads));
        let programs = programs.iter().filter_map(|program| match program {
            Program::Workloads => Some(Symbols::of_lines(own.workloads)),
            Program::File(file) => Symbols::of_fixed_elf(file),
        });
        let programs = programs.collect();
        let kernel = Symbols::of_elf(kernel).or_else(|| of_linux(kernel)).unwrap_or_default();
        let workloads = own.workloads;
        Self { layout: Layout::Unknown, kernel_name, kernel, programs, archive, of_workload, workloads }
    }

    /// With what the processes of a run have mapped.
    pub(crate) fn of_run<'n>(&'n self, profile: &'n Profile) -> NamesOfRun<'n> {
        NamesOfRun {
            names: self,
            programs: Programs::of(profile, &self.archive, self.workloads),
            areas: &profile.areas,
        }
    }

    /// Whether the command is one of our workloads.
    pub(crate) const fn of_workload(&self) -> bool {
        self.of_workload
    }

    /// What the kernel is called.
    pub(crate) fn kernel_name(&self) -> &str {
        &self.kernel_name
    }

    /// The tables of a side.
    fn tables(&self, side: Side) -> &[Symbols] {
        match side {
            Side::Kernel => std::slice::from_ref(&self.kernel),
            Side::User => &self.programs,
        }
    }
}

impl NamesOfRun<'_> {
    /// The line of source code of the instruction at an address, as `file:line`, of the program that its function is of.
    pub(crate) fn line(&self, space: Option<Space>, at: u64, side: Side) -> Option<String> {
        let known = space.filter(|&space| side == Side::User && self.programs.knows(space, at));
        if let Some(space) = known {
            return self.programs.line(space, at);
        }
        self.names.tables(side).iter().find(|table| table.function(at).is_some())?.line(at)
    }

    /// The function at an address, and how far behind its beginning; or else its page.
    pub(crate) fn function(&self, space: Option<Space>, at: u64, side: Side) -> (String, u64) {
        if let Some(found) = space.filter(|_| side == Side::User).and_then(|space| self.programs.function(space, at)) {
            return found;
        }
        match self.names.tables(side).iter().find_map(|table| table.function(at)) {
            Some((name, offset)) => (name.to_owned(), offset),
            None => (format!("{} {:#x}", side.name(), at & !(PAGE - 1)), at & (PAGE - 1)),
        }
    }

    /// What a page of data is a part of, as far as no name was given to it.
    pub(crate) fn object(&self, space: Option<Space>, page: u64) -> String {
        let side = if page >= UPPER_HALF { Side::Kernel } else { Side::User };
        if let Some(found) = space.and_then(|space| self.programs.object(space, page)) {
            return found;
        }
        let end = page.saturating_add(PAGE);
        let names = self.names;
        let mut tables = std::iter::once(&names.kernel).chain(names.programs.iter().filter(|_| side == Side::User));
        if let Some(name) = tables.find_map(|table| table.variable(page, end)) {
            return name.to_owned();
        }
        match names.layout {
            Layout::Vos => {
                let part = VOS_LAYOUT.partition_point(|(start, _)| *start <= page) - 1;
                VOS_LAYOUT[part].1.to_owned()
            }
            Layout::Unknown => self.area(page).unwrap_or(side.name()).to_owned(),
        }
    }

    /// The part of the kernel's half that a page is in.
    fn area(&self, page: u64) -> Option<&'static str> {
        let below = self.areas.partition_point(|area| area.start.0 <= page).checked_sub(1)?;
        Some(self.areas[below].name)
    }
}

/// The symbols of a Linux kernel, which begins with translation off.
fn of_linux(image: &[u8]) -> Option<Symbols> {
    const TEXT_OFFSET: u64 = 2 << 20;
    let symbols = kernel_symbols(image)?.into_iter().map(|symbol| Symbol {
        start: symbol.start,
        bytes: symbol.bytes,
        kind: match symbol.kind {
            KernelSymbolKind::Code => Kind::Code,
            KernelSymbolKind::Data => Kind::Data,
        },
        name: symbol.name,
    });
    Some(Symbols::new(symbols).loaded_at(LINKED_AT, RAM + TEXT_OFFSET, image.len() as u64))
}

/// A side of an address space.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Side {
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

    const VOS: &[u8] = b"an image";
    const OWN: OwnGuests = OwnGuests {
        vos: &[(VOS, "ffffffc080200000 40 f boot_start", "10000 20 f main"), (b"2", "", ""), (b"3", "", "")],
        workloads: "",
    };

    fn names(kernel_name: &str, kernel: &[u8]) -> Names {
        Names::of(&OWN, kernel_name, kernel, &[], Arc::default())
    }

    fn of_run(names: &Names) -> NamesOfRun<'_> {
        NamesOfRun { names, programs: Programs::default(), areas: &[] }
    }

    #[test]
    fn vos_and_its_programs_have_symbols() {
        let names_of_vos = names("vos", VOS);
        let function = |at, side| of_run(&names_of_vos).function(None, at, side);
        assert_eq!(function(0xffff_ffc0_8020_0000, Side::Kernel), ("boot_start".to_owned(), 0));
        assert_eq!(function(0x8020_0002, Side::Kernel), ("boot_start".to_owned(), 2));
        assert_eq!(function(0x1_0004, Side::User), ("main".to_owned(), 4));
        assert_eq!(function(0x10_0000_0000, Side::User), ("[user] 0x1000000000".to_owned(), 0));
    }

    #[test]
    fn the_parts_of_a_space_of_vos_have_names() {
        let names_of_vos = names("vos", VOS);
        let objects = [0x10_0000_0000, 0x1f_ffff_f000, 0x20_0000_0000, 0x38_0000_0000, 0xffff_ffc1_0000_0000]
            .map(|page| of_run(&names_of_vos).object(None, page));
        assert_eq!(objects, ["heap", "stack", "sections", "common segment", "linear map of vos"]);
        let own = names("own", b"");
        assert_eq!(of_run(&own).object(None, 0x10_0000_0000), "[user]");
        assert_eq!(of_run(&own).object(None, 0xffff_ffff_8000_0000), "[kernel]");
    }
}
