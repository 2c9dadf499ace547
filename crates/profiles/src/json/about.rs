//! What the parts of a profile are.

use crate::attribution::{Attribution, Entry};
use crate::programs;
use machine::{Contents, Space, SpaceMapping, Touched};
use serde::{Serialize, Serializer};
use types::{Access, PagingMode};

#[derive(Serialize)]
pub(super) struct AboutSpace<'a> {
    space: usize,
    name: &'a str,
    mode: Option<&'static str>,
    root: Option<Hexadecimal>,
    asid: Option<u16>,
    pid: Option<u32>,
}

impl<'a> AboutSpace<'a> {
    pub(super) fn of(profile: &'a Attribution, space: usize) -> Self {
        let named = &profile.spaces[space];
        let of = named.space;
        Self {
            space,
            name: &named.name,
            mode: of.map(|Space { mode, .. }| mode_name(mode)),
            root: of.map(|Space { root, .. }| Hexadecimal(root.0)),
            asid: of.map(|Space { asid, .. }| asid.0),
            pid: named.pid,
        }
    }
}

/// A function or an object.
#[derive(Serialize)]
pub(super) struct NameInSpace<'a> {
    pub(super) space: usize,
    pub(super) name: &'a str,
    pub(super) most_missed: Option<Hexadecimal>,
}

/// An instruction: its space, address, function, offset there, and line.
pub(super) type InstructionKey = (usize, Option<u64>, usize, u64, Option<usize>);

pub(super) const fn instruction_of(entry: &Entry) -> InstructionKey {
    (entry.space, entry.pc, entry.symbol, entry.offset, entry.line)
}

#[derive(Serialize)]
pub(super) struct AboutInstruction<'a> {
    space: usize,
    pc: Option<Hexadecimal>,
    symbol: &'a str,
    offset: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<&'a str>,
}

impl<'a> AboutInstruction<'a> {
    pub(super) fn of(profile: &'a Attribution, (space, pc, symbol, offset, line): InstructionKey) -> Self {
        let line = line.map(|line| profile.lines.name(line));
        Self { space, pc: pc.map(Hexadecimal), symbol: profile.symbols.name(symbol), offset, line }
    }
}

/// A page: its space, address, kind of access, and object.
pub(super) type PageKey = (usize, Option<u64>, &'static str, usize);

pub(super) const fn page_of(entry: &Entry) -> PageKey {
    let (page, access) = match entry.touched {
        Touched::Page(page, Access::Read) => (Some(page.0), "load"),
        Touched::Page(page, Access::Write) => (Some(page.0), "store"),
        Touched::Page(page, Access::Execute) => (Some(page.0), "fetch"),
        Touched::Nothing => (None, "none"),
        Touched::Others => (None, "other"),
    };
    (entry.space, page, access, entry.object)
}

#[derive(Serialize)]
pub(super) struct AboutPage<'a> {
    space: usize,
    page: Option<Hexadecimal>,
    access: &'static str,
    object: &'a str,
}

impl<'a> AboutPage<'a> {
    pub(super) fn of(profile: &'a Attribution, (space, page, access, object): PageKey) -> Self {
        Self { space, page: page.map(Hexadecimal), access, object: profile.objects.name(object) }
    }
}

#[derive(Serialize)]
pub(super) struct AboutSymbolAndObject<'a> {
    pub(super) space: usize,
    pub(super) symbol: &'a str,
    pub(super) object: &'a str,
}

#[derive(Serialize)]
pub(super) struct AboutLine<'a> {
    pub(super) space: usize,
    pub(super) symbol: &'a str,
    pub(super) line: Option<&'a str>,
}

#[derive(Serialize)]
pub(super) struct AboutStack<'a> {
    pub(super) space: usize,
    pub(super) functions: Vec<&'a str>,
    pub(super) object: &'a str,
}

/// What a process has mapped.
#[derive(Serialize)]
pub(super) struct AboutMapping<'a> {
    space: usize,
    start: Hexadecimal,
    end: Hexadecimal,
    name: String,
    #[serde(flatten)]
    file: Option<AboutFile<'a>>,
}

#[derive(Serialize)]
struct AboutFile<'a> {
    path: &'a str,
    offset: Hexadecimal,
}

impl<'a> AboutMapping<'a> {
    pub(super) fn of(space: usize, SpaceMapping { mapping, .. }: &'a SpaceMapping) -> Self {
        let file = match &mapping.contents {
            Contents::File { path, offset } => Some(AboutFile { path, offset: Hexadecimal(*offset) }),
            _ => None,
        };
        let (start, end) = (Hexadecimal(mapping.start.0), Hexadecimal(mapping.end.0));
        Self { space, start, end, name: programs::name(&mapping.contents), file }
    }
}

/// An address. It is a string because it has more bits than a number of JSON has for most readers.
#[derive(Clone, Copy)]
pub(super) struct Hexadecimal(pub(super) u64);

impl Serialize for Hexadecimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:#x}", self.0))
    }
}

const fn mode_name(mode: PagingMode) -> &'static str {
    match mode {
        PagingMode::Bare => "bare",
        PagingMode::Sv39 => "sv39",
        PagingMode::Sv48 => "sv48",
        PagingMode::Sv57 => "sv57",
    }
}
