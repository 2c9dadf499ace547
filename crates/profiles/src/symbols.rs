//! Tables of symbols: which function or variable lies at an address.

use super::lines::Lines;
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{LittleEndian, Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind, elf};
use std::sync::Arc;

/// The most bytes of a symbol whose table does not say its size.
const MOST_WITHOUT_SIZE: u64 = 1 << 16;

/// What a symbol names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Kind {
    /// Code.
    Code,
    /// Data.
    Data,
}

/// A symbol.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Symbol {
    pub(crate) start: u64,
    /// Its size; 0 where the table does not say it: then it ends where the next one begins.
    pub(crate) bytes: u64,
    pub(crate) kind: Kind,
    pub(crate) name: String,
}

/// A part of a program that is loaded at another physical address than it is linked for.
#[derive(Clone, Copy, Debug)]
struct Segment {
    linked: u64,
    loaded: u64,
    bytes: u64,
}

/// The symbols of a program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Symbols {
    /// By kind: sorted by address.
    code: Vec<Symbol>,
    data: Vec<Symbol>,
    segments: Vec<Segment>,
    /// Shared, because they are large.
    lines: Option<Arc<Lines>>,
}

impl Symbols {
    /// Of symbols in any order. One of those at the same address remains: the longest, and of these the first by name.
    pub(crate) fn new(symbols: impl IntoIterator<Item = Symbol>) -> Self {
        let (mut code, mut data): (Vec<Symbol>, Vec<Symbol>) =
            symbols.into_iter().partition(|symbol| symbol.kind == Kind::Code);
        for list in [&mut code, &mut data] {
            list.sort_by(|one, other| {
                (one.start, std::cmp::Reverse(one.bytes), &one.name).cmp(&(
                    other.start,
                    std::cmp::Reverse(other.bytes),
                    &other.name,
                ))
            });
            list.dedup_by_key(|symbol| symbol.start);
        }
        Self { code, data, segments: Vec::new(), lines: None }
    }

    /// Of the lines that `guests/Makefile` writes: address and size in hexadecimal, `f` or `d`, name, and the source file of what is local to one.
    pub(crate) fn of_lines(text: &str) -> Self {
        let lines: Vec<(Symbol, Option<&str>)> = text.lines().filter_map(line).collect();
        let repeated = |name: &str| lines.iter().filter(|(symbol, _)| symbol.name == name).count() > 1;
        Self::new(lines.iter().map(|(symbol, file)| match file {
            Some(file) if repeated(&symbol.name) => {
                Symbol { name: format!("{} ({file})", symbol.name), ..symbol.clone() }
            }
            _ => symbol.clone(),
        }))
    }

    /// Of an ELF file for RISC-V; `None` of any other file, and of one without symbols.
    pub(crate) fn of_elf(file: &[u8]) -> Option<Self> {
        let parsed = ElfFile64::<LittleEndian>::parse(file).ok()?;
        let header = parsed.elf_header();
        let endian = LittleEndian;
        if header.e_machine.get(endian) != elf::EM_RISCV {
            return None;
        }
        // What is stripped still has the symbols that others link to.
        let all = parsed.symbols().chain(parsed.dynamic_symbols());
        let symbols = all.filter(ObjectSymbol::is_definition).filter_map(|symbol| {
            let kind = match symbol.kind() {
                SymbolKind::Text => Kind::Code,
                SymbolKind::Data | SymbolKind::Tls => Kind::Data,
                // An assembler's labels have no type.
                _ => {
                    let section = parsed.section_by_index(symbol.section_index()?).ok()?;
                    (section.kind() == SectionKind::Text).then_some(Kind::Code)?
                }
            };
            let name = symbol.name().ok().filter(|name| is_name(name))?;
            Some(Symbol { start: symbol.address(), bytes: symbol.size(), kind, name: printable(name) })
        });
        let mut symbols = Self::new(symbols);
        if symbols.is_empty() {
            return None;
        }
        symbols.lines = Lines::of_elf(&parsed).map(Arc::new);
        let headers = parsed.elf_program_headers().iter();
        symbols.segments = headers
            .filter(|segment| {
                segment.p_type(endian) == elf::PT_LOAD && segment.p_vaddr(endian) != segment.p_paddr(endian)
            })
            .map(|segment| Segment {
                linked: segment.p_vaddr(endian),
                loaded: segment.p_paddr(endian),
                bytes: segment.p_memsz(endian),
            })
            .collect();
        Some(symbols)
    }

    /// Of an ELF file that is loaded where it is linked; `None` also of one that may be loaded anywhere.
    pub(crate) fn of_fixed_elf(file: &[u8]) -> Option<Self> {
        let parsed = ElfFile64::<LittleEndian>::parse(file).ok()?;
        (parsed.elf_header().e_type.get(LittleEndian) == elf::ET_EXEC).then(|| Self::of_elf(file)).flatten()
    }

    /// The same for a program that is also executed where it is loaded, `bytes` bytes from `loaded` on.
    pub(crate) fn loaded_at(mut self, linked: u64, loaded: u64, bytes: u64) -> Self {
        self.segments.push(Segment { linked, loaded, bytes });
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.code.is_empty() && self.data.is_empty()
    }

    /// The function at an address, and how far behind its beginning that is.
    pub(crate) fn function(&self, at: u64) -> Option<(&str, u64)> {
        self.at(at, |at| containing(&self.code, at).map(|symbol| (symbol.name.as_str(), at - symbol.start)))
    }

    /// The line of source code of the instruction at an address, where the program has such information.
    pub(crate) fn line(&self, at: u64) -> Option<String> {
        let lines = self.lines.as_ref()?;
        self.at(at, |at| lines.at(at))
    }

    /// What is found at an address, or else at the address that what is loaded there is linked for.
    fn at<T>(&self, at: u64, find: impl Fn(u64) -> Option<T>) -> Option<T> {
        find(at).or_else(|| {
            let inside = |segment: &&Segment| at.wrapping_sub(segment.loaded) < segment.bytes;
            let segment = self.segments.iter().find(inside)?;
            find(at - segment.loaded + segment.linked)
        })
    }

    /// The variable that has most of the bytes from `start` to `end`.
    pub(crate) fn variable(&self, start: u64, end: u64) -> Option<&str> {
        let first = self.data.partition_point(|symbol| symbol.start < start).saturating_sub(1);
        let near = self.data[first.min(self.data.len())..].iter().take_while(|symbol| symbol.start < end);
        let overlap = |symbol: &Symbol| {
            symbol.start.saturating_add(symbol.bytes).min(end).saturating_sub(symbol.start.max(start))
        };
        // Of equals the first.
        let largest = near.map(|symbol| (overlap(symbol), symbol)).filter(|(bytes, _)| *bytes > 0);
        let largest = largest.reduce(|best, other| if other.0 > best.0 { other } else { best })?;
        Some(&largest.1.name)
    }
}

fn line(text: &str) -> Option<(Symbol, Option<&str>)> {
    let mut words = text.split_whitespace();
    let start = u64::from_str_radix(words.next()?, 16).ok()?;
    let bytes = u64::from_str_radix(words.next()?, 16).ok()?;
    let kind = match words.next()? {
        "f" => Kind::Code,
        "d" => Kind::Data,
        _ => return None,
    };
    let name = words.next()?.to_owned();
    Some((Symbol { start, bytes, kind, name }, words.next()))
}

/// Whether a name is one for people: not one of the assembler's own marks of sections and instruction sets.
fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('$') && !name.starts_with(".L")
}

/// A name that breaks no line and no terminal.
fn printable(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// The symbol that holds `at`. One without a size ends where the next begins, and holds no more than an assembler's function may have.
fn containing(symbols: &[Symbol], at: u64) -> Option<&Symbol> {
    let symbol = &symbols[symbols.partition_point(|symbol| symbol.start <= at).checked_sub(1)?];
    let bytes = if symbol.bytes == 0 { MOST_WITHOUT_SIZE } else { symbol.bytes };
    (at - symbol.start < bytes).then_some(symbol)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "1000 20 f run gups.c\n1020 40 f run bfs.c\n2000 0 f last\n3000 8 d small\n3008 1ff8 d table\n";

    #[test]
    fn functions_are_found_by_their_bytes() {
        let symbols = Symbols::of_lines(LINES);
        assert_eq!(symbols.function(0x1000), Some(("run (gups.c)", 0)));
        assert_eq!(symbols.function(0x105f), Some(("run (bfs.c)", 0x3f)));
        assert_eq!(symbols.function(0x1060), None);
        assert_eq!(symbols.function(0xfff), None);
        assert_eq!(symbols.function(0x9999), Some(("last", 0x7999)));
        assert_eq!(symbols.function(0x1_2000), None);
    }

    #[test]
    fn a_page_is_of_the_variable_that_has_most_of_it() {
        let symbols = Symbols::of_lines(LINES);
        assert_eq!(symbols.variable(0x3000, 0x4000), Some("table"));
        assert_eq!(symbols.variable(0x4000, 0x5000), Some("table"));
        assert_eq!(symbols.variable(0x5000, 0x6000), None);
        assert_eq!(symbols.variable(0x2000, 0x3000), None);
        assert_eq!(Symbols::default().variable(0, 0x1000), None);
    }

    #[test]
    fn a_program_is_known_where_it_is_loaded_as_well() {
        let symbols = Symbols::of_lines(LINES).loaded_at(0x1000, 0x8000_0000, 0x100);
        assert_eq!(symbols.function(0x8000_0024), Some(("run (bfs.c)", 4)));
        assert_eq!(symbols.function(0x8000_0100), None);
    }
}
