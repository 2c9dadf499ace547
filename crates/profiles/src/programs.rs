//! The programs and libraries of a Linux guest, where its processes have loaded them.

use super::archive;
use super::symbols::Symbols;
use machine::{Contents, Profile, Space, SpaceMapping};
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{LittleEndian, elf};
use std::collections::HashMap;
use std::sync::Arc;

const PAGE: u64 = 4096;

/// Where the guest has our workloads, whose symbols are in a file of their own.
pub(crate) const WORKLOADS: &str = "/usr/bin/pagewalk-workloads";

/// A part of a file that is loaded.
#[derive(Clone, Copy, Debug)]
struct Segment {
    offset: u64,
    bytes: u64,
    address: u64,
    end: u64,
}

/// A program or library: its symbols, and which of its bytes are for which address.
#[derive(Debug)]
struct ElfProgram {
    symbols: Symbols,
    segments: Vec<Segment>,
}

impl ElfProgram {
    fn of(path: &str, file: &[u8], workloads: &str) -> Option<Self> {
        let parsed = ElfFile64::<LittleEndian>::parse(file).ok()?;
        let loaded = parsed.elf_program_headers().iter().filter(|header| header.p_type(LittleEndian) == elf::PT_LOAD);
        let segments = loaded.map(|header| Segment {
            offset: header.p_offset(LittleEndian),
            bytes: header.p_filesz(LittleEndian),
            address: header.p_vaddr(LittleEndian),
            end: header.p_vaddr(LittleEndian).saturating_add(header.p_memsz(LittleEndian)),
        });
        let segments: Vec<Segment> = segments.collect();
        let symbols = Symbols::of_elf(file);
        let symbols = if path == WORKLOADS { Some(Symbols::of_lines(workloads)) } else { symbols };
        (!segments.is_empty()).then(|| Self { symbols: symbols.unwrap_or_default(), segments })
    }

    /// How far behind the address that it is linked for a byte of the file lies, which is mapped at `at`.
    fn bias(&self, offset: u64, at: u64) -> Option<u64> {
        let has = |segment: &&Segment| {
            let first = segment.offset & !(PAGE - 1);
            (first..segment.offset.saturating_add(segment.bytes)).contains(&offset)
        };
        let segment = self.segments.iter().find(has)?;
        Some(at.wrapping_sub(offset.wrapping_sub(segment.offset).wrapping_add(segment.address)))
    }

    /// The first address that it is linked for.
    fn start(&self) -> u64 {
        self.segments.iter().map(|segment| segment.address).min().unwrap_or(0)
    }

    /// The first address behind it.
    fn end(&self) -> u64 {
        self.segments.iter().map(|segment| segment.end).max().unwrap_or(0)
    }
}

/// A program or library in an address space.
#[derive(Clone, Debug)]
struct Loaded {
    start: u64,
    end: u64,
    bias: u64,
    name: String,
    program: Arc<ElfProgram>,
}

/// What an address space has mapped.
#[derive(Debug, Default)]
struct SpaceMap {
    /// In the order of addresses.
    mappings: Vec<SpaceMapping>,
    loaded: Vec<Loaded>,
}

/// What the address spaces of a guest have mapped.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    spaces: HashMap<Space, SpaceMap>,
}

impl Programs {
    /// Of a guest with this root file system; `workloads` are the symbols of our workloads.
    pub(crate) fn of(profile: &Profile, archive: &[u8], workloads: &str) -> Self {
        let mut files: HashMap<&str, Option<Arc<ElfProgram>>> = HashMap::new();
        let mut spaces: HashMap<Space, SpaceMap> = HashMap::new();
        for found in &profile.mappings {
            let map = spaces.entry(found.space).or_default();
            map.mappings.push(found.clone());
            let Contents::File { path, offset } = &found.mapping.contents else { continue };
            let program = files.entry(path).or_insert_with(|| {
                let content = archive::find(archive, path)?;
                ElfProgram::of(path, content, workloads).map(Arc::new)
            });
            let Some(program) = program else { continue };
            let Some(bias) = program.bias(*offset, found.mapping.start.0) else { continue };
            let known = |loaded: &&Loaded| loaded.bias == bias && Arc::ptr_eq(&loaded.program, program);
            if map.loaded.iter().find(known).is_none() {
                map.loaded.push(Loaded {
                    start: bias.wrapping_add(program.start()),
                    end: bias.wrapping_add(program.end()),
                    bias,
                    name: file_name(path).to_owned(),
                    program: program.clone(),
                });
            }
        }
        Self { spaces }
    }

    /// The function at an address of a space, and how far behind its beginning; of code without symbols, its page in the file. `None` where nothing is known
    /// to be mapped.
    pub(crate) fn function(&self, space: Space, at: u64) -> Option<(String, u64)> {
        let map = self.spaces.get(&space)?;
        let mapping = map.mapping(at)?;
        let of_symbol = map.loaded_at(at).and_then(|loaded| {
            let (name, offset) = loaded.program.symbols.function(at.wrapping_sub(loaded.bias))?;
            Some((name.to_owned(), offset))
        });
        Some(of_symbol.unwrap_or_else(|| match &mapping.mapping.contents {
            Contents::File { path, offset } => {
                let in_file = (at - mapping.mapping.start.0).wrapping_add(*offset);
                (format!("[{}] {:#x}", file_name(path), in_file & !(PAGE - 1)), at & (PAGE - 1))
            }
            other => (format!("{} {:#x}", name(other), at & !(PAGE - 1)), at & (PAGE - 1)),
        }))
    }

    /// Whether it is known what a space has mapped at an address.
    pub(crate) fn knows(&self, space: Space, at: u64) -> bool {
        self.spaces.get(&space).is_some_and(|map| map.mapping(at).is_some())
    }

    /// The line of source code of an instruction.
    pub(crate) fn line(&self, space: Space, at: u64) -> Option<String> {
        let loaded = self.spaces.get(&space)?.loaded_at(at)?;
        loaded.program.symbols.line(at.wrapping_sub(loaded.bias))
    }

    /// What a page of a space is a part of. `None` where nothing is known to be mapped.
    pub(crate) fn object(&self, space: Space, page: u64) -> Option<String> {
        let map = self.spaces.get(&space)?;
        let mapping = map.mapping(page)?;
        if let Some(loaded) = map.loaded_at(page) {
            let linked = page.wrapping_sub(loaded.bias);
            if let Some(variable) = loaded.program.symbols.variable(linked, linked.saturating_add(PAGE)) {
                return Some(variable.to_owned());
            }
            // Behind the bytes of its file.
            if matches!(mapping.mapping.contents, Contents::Anonymous(None)) {
                return Some(loaded.name.clone());
            }
        }
        Some(name(&mapping.mapping.contents))
    }
}

impl SpaceMap {
    fn mapping(&self, at: u64) -> Option<&SpaceMapping> {
        let behind = self.mappings.partition_point(|found| found.mapping.start.0 <= at);
        let found = &self.mappings[behind.checked_sub(1)?];
        (at < found.mapping.end.0).then_some(found)
    }

    fn loaded_at(&self, at: u64) -> Option<&Loaded> {
        self.loaded.iter().find(|loaded| loaded.start <= at && at < loaded.end)
    }
}

/// What a mapping is called, as in `/proc/PID/maps` of Linux; a file without its directories.
pub(crate) fn name(contents: &Contents) -> String {
    match contents {
        Contents::File { path, .. } => file_name(path).to_owned(),
        Contents::Heap => "[heap]".to_owned(),
        Contents::Stack => "[stack]".to_owned(),
        Contents::Kernel(name) => name.clone(),
        Contents::Anonymous(None) => "[anonymous]".to_owned(),
        Contents::Anonymous(Some(name)) => format!("[anon:{name}]"),
    }
}

/// A path without its directories.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(path)
}
