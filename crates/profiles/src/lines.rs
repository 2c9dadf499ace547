//! Lines of source code, by the DWARF information of a program.

use addr2line::Context;
use gimli::{Dwarf, EndianArcSlice, LittleEndian, SectionId};
use object::read::elf::ElfFile64;
use object::{Object, ObjectSection};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The lines of a program. The library reads a compilation unit when it is first looked up, and keeps it.
pub(crate) struct Lines(Mutex<Context<EndianArcSlice<LittleEndian>>>);

impl Lines {
    /// Of an ELF file; `None` of one without DWARF information, or with one that is compressed or cannot be read.
    pub(crate) fn of_elf(file: &ElfFile64<object::LittleEndian>) -> Option<Self> {
        let content = |name: &str| file.section_by_name(name).and_then(|section| section.uncompressed_data().ok());
        content(SectionId::DebugLine.name())?;
        let section = |id: SectionId| -> Result<_, gimli::Error> {
            let bytes = content(id.name()).unwrap_or_default();
            Ok(EndianArcSlice::new(Arc::from(&*bytes), LittleEndian))
        };
        Context::from_dwarf(Dwarf::load(section).ok()?).ok().map(|context| Self(Mutex::new(context)))
    }

    /// The file and the line of the instruction at an address.
    pub(crate) fn at(&self, address: u64) -> Option<String> {
        let context = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let location = context.find_location(address).ok()??;
        let file: String = location.file?.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        Some(format!("{file}:{}", location.line?))
    }
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lines")
    }
}
