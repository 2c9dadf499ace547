//! The map from virtual to physical pages beside a trace: `v2p.textproto`, as Google's workload traces and `DynamoRIO`'s simulators have it.
//!
//! ```text
//! address_mapping_group {
//!   page_size: 0x1000
//!   address_mapping {
//!     virtual_address: 0x10000
//!     physical_address: 0x80400000
//!   }
//!   information { page_count: 1 bytes_mapped: 4096 }
//! }
//! information { page_count: 1 bytes_mapped: 4096 }
//! ```
//!
//! It is text of protocol buffers: an address that is missing is 0, a comment begins with `#`. Each group has pages of one size.

use crate::error::TraceError;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Read, Write};

/// The most bytes of a line.
const LONGEST_LINE: u64 = 4096;
/// The most pages of a map.
const MOST_PAGES: usize = 1 << 24;
/// The most blocks within each other.
const DEEPEST: usize = 64;

/// A page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Page {
    /// Where it begins in virtual memory.
    pub virtual_address: u64,
    /// Where it begins in physical memory.
    pub physical_address: u64,
    /// Its size in bytes.
    pub bytes: u64,
}

/// Why a page is in no map.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PageError {
    /// No page has this size.
    #[error("a size of a page is a power of two, 4096 or more")]
    Size,
    /// An address is no multiple of the size.
    #[error("a page does not begin at a multiple of its size")]
    Address,
    /// Its addresses are those of another page.
    #[error("two pages have the same virtual addresses")]
    Twice,
}

/// A map from virtual to physical pages.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PageMap {
    /// By virtual address: the physical one, and the size.
    pages: BTreeMap<u64, (u64, u64)>,
}

impl PageMap {
    /// Adds a page. The same page may come again.
    ///
    /// # Errors
    /// [`PageError`]: the map is as before.
    pub fn insert(&mut self, page: Page) -> Result<(), PageError> {
        let Page { virtual_address, physical_address, bytes } = page;
        if !bytes.is_power_of_two() {
            return Err(PageError::Size);
        }
        if bytes < 4096 {
            return Err(PageError::Size);
        }
        if (virtual_address | physical_address) & (bytes - 1) != 0 {
            return Err(PageError::Address);
        }
        let last = virtual_address | (bytes - 1);
        match self.pages.range(..=last).next_back() {
            Some((&at, &there)) if (at, there) == (virtual_address, (physical_address, bytes)) => Ok(()),
            Some((&at, &(_, size))) if at | (size - 1) >= virtual_address => Err(PageError::Twice),
            _ => {
                self.pages.insert(virtual_address, (physical_address, bytes));
                Ok(())
            }
        }
    }

    /// The page that has an address.
    #[must_use]
    pub fn page_of(&self, address: u64) -> Option<Page> {
        let (&virtual_address, &(physical_address, bytes)) = self.pages.range(..=address).next_back()?;
        (virtual_address | (bytes - 1) >= address).then_some(Page { virtual_address, physical_address, bytes })
    }

    /// How many pages it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Whether it has no pages.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Reads a map.
    ///
    /// # Errors
    /// [`TraceError::Line`]: it is no such map, or contradicts itself.
    pub fn read(mut from: impl BufRead) -> Result<Self, TraceError> {
        let mut parser = Parser::default();
        let mut text = Vec::new();
        for line in 1_u64.. {
            text.clear();
            let wrong = |problem| TraceError::Line { line, problem };
            let bytes = (&mut from).take(LONGEST_LINE).read_until(b'\n', &mut text)?;
            if bytes == 0 {
                return parser.finish().map_err(|problem| TraceError::Line { line, problem });
            }
            if bytes as u64 == LONGEST_LINE {
                return Err(wrong("too long"));
            }
            let text = str::from_utf8(&text).map_err(|_| wrong("it is no text"))?;
            parser.line(text).map_err(wrong)?;
        }
        Ok(parser.map)
    }

    /// Writes it: a group for each size of pages, the smallest first.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let sizes: BTreeSet<u64> = self.pages.values().map(|&(_, bytes)| bytes).collect();
        for size in sizes {
            writeln!(to, "address_mapping_group {{\n  page_size: {size:#x}")?;
            let mut count = 0;
            for (virtual_address, &(physical_address, _)) in self.pages.iter().filter(|(_, page)| page.1 == size) {
                writeln!(to, "  address_mapping {{")?;
                writeln!(
                    to,
                    "    virtual_address: {virtual_address:#x}\n    physical_address: {physical_address:#x}\n  }}"
                )?;
                count += 1;
            }
            let mapped = u128::from(size) * count;
            writeln!(to, "  information {{\n    page_count: {count:#x}\n    bytes_mapped: {mapped:#x}\n  }}\n}}")?;
        }
        let mapped: u128 = self.pages.values().map(|&(_, bytes)| u128::from(bytes)).sum();
        writeln!(to, "information {{\n  page_count: {:#x}\n  bytes_mapped: {mapped:#x}\n}}", self.pages.len())
    }
}

/// A block, between braces.
#[derive(Clone, Copy, Debug)]
enum Block {
    Group { size: Option<u64> },
    Mapping { virtual_address: u64, physical_address: u64 },
    Other,
}

/// What the next word is.
#[derive(Debug, Default)]
enum Expected {
    /// The name of a field, or the end of a block.
    #[default]
    Name,
    /// A colon, or the beginning of the block of this name.
    Content(String),
    /// The value of the field of this name, or the beginning of its block.
    Value(String),
}

#[derive(Debug, Default)]
struct Parser {
    blocks: Vec<Block>,
    expected: Expected,
    map: PageMap,
}

const FORM: &str =
    "it is no map from virtual to physical pages: `address_mapping_group { page_size: .. address_mapping { .. } }`";

impl Parser {
    fn line(&mut self, line: &str) -> Result<(), &'static str> {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let length = match first {
                '#' => return Ok(()),
                '{' | '}' | ':' | ',' | ';' => 1,
                '"' | '\'' => 2 + rest[1..].find(first).ok_or("a text does not end in its line")?,
                _ => rest.find(|c: char| c.is_whitespace() || "{}:,;#\"'".contains(c)).unwrap_or(rest.len()),
            };
            let (word, behind) = rest.split_at(length);
            self.word(word)?;
            rest = behind.trim_start();
        }
        Ok(())
    }

    fn word(&mut self, word: &str) -> Result<(), &'static str> {
        self.expected = match (std::mem::take(&mut self.expected), word) {
            (Expected::Name, "}") => {
                self.close()?;
                Expected::Name
            }
            (Expected::Name, "," | ";") => Expected::Name,
            (Expected::Content(name), ":") => Expected::Value(name),
            (Expected::Content(name) | Expected::Value(name), "{") => {
                self.open(&name)?;
                Expected::Name
            }
            (_, "{" | "}" | ":" | "," | ";") => return Err(FORM),
            (Expected::Name, name) => Expected::Content(name.to_owned()),
            (Expected::Content(_), _) => return Err(FORM),
            (Expected::Value(name), value) => {
                self.field(&name, value)?;
                Expected::Name
            }
        };
        Ok(())
    }

    fn open(&mut self, name: &str) -> Result<(), &'static str> {
        if self.blocks.len() == DEEPEST {
            return Err("its blocks lie too deep in each other");
        }
        self.blocks.push(match (self.blocks.last(), name) {
            (None, "address_mapping_group") => Block::Group { size: None },
            (Some(Block::Group { .. }), "address_mapping") => {
                Block::Mapping { virtual_address: 0, physical_address: 0 }
            }
            _ => Block::Other,
        });
        Ok(())
    }

    fn field(&mut self, name: &str, value: &str) -> Result<(), &'static str> {
        match (self.blocks.last_mut(), name) {
            (Some(Block::Group { size }), "page_size") => *size = Some(number(value)?),
            (Some(Block::Mapping { virtual_address, .. }), "virtual_address") => *virtual_address = number(value)?,
            (Some(Block::Mapping { physical_address, .. }), "physical_address") => *physical_address = number(value)?,
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), &'static str> {
        let Some(Block::Mapping { virtual_address, physical_address }) = self.blocks.pop() else {
            return Ok(());
        };
        let Some(&Block::Group { size: Some(bytes) }) = self.blocks.last() else {
            return Err("the group has pages before it has a page_size");
        };
        if self.map.len() == MOST_PAGES {
            return Err("a map has at most 16 million pages");
        }
        self.map.insert(Page { virtual_address, physical_address, bytes }).map_err(|error| match error {
            PageError::Size => "a size of a page is a power of two, 4096 or more",
            PageError::Address => "a page does not begin at a multiple of its size",
            PageError::Twice => "two pages have the same virtual addresses",
        })
    }

    fn finish(self) -> Result<PageMap, &'static str> {
        match self.expected {
            Expected::Name if self.blocks.is_empty() => Ok(self.map),
            _ => Err("the map is cut off"),
        }
    }
}

/// A number, decimal, hexadecimal or octal, as protocol buffers have it.
fn number(text: &str) -> Result<u64, &'static str> {
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let (digits, radix) = match (hexadecimal, text.strip_prefix('0')) {
        (Some(digits), _) => (digits, 16),
        (None, Some(digits)) if !digits.is_empty() => (digits, 8),
        _ => (text, 10),
    };
    if digits.starts_with('+') {
        return Err("it is no number");
    }
    u64::from_str_radix(digits, radix).map_err(|_| "it is no number of 64 bits")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        PageMap::read(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn a_map_reads_back_equal() {
        let mut map = PageMap::default();
        for (virtual_address, physical_address, bytes) in [
            (0x1000, 0x8000_1000, 4096),
            (0, 0x8000_7000, 4096),
            (0x20_0000, 0x4020_0000, 2 << 20),
            (0xffff_ffff_ffff_f000, 0, 4096),
        ] {
            map.insert(Page { virtual_address, physical_address, bytes }).unwrap();
        }
        let mut text = Vec::new();
        map.write(&mut text).unwrap();
        assert_eq!(PageMap::read(&text[..]).unwrap(), map);
        assert_eq!(map.page_of(0x3f_ffff).unwrap().physical_address, 0x4020_0000);
        assert_eq!(map.page_of(0x40_0000), None);
        assert_eq!(map.page_of(u64::MAX).unwrap().bytes, 4096);
    }

    #[test]
    fn a_missing_address_is_0_and_what_is_unknown_is_left_out() {
        let text = "# VirtualToPhysical\naddress_mapping_group    { name: \"a } b\" page_size: 4096\naddress_mapping: { physical_address: 8192 }\n\
            address_mapping { virtual_address: 010000, flags { x: 1 }; }\ninformation { page_count: 2 } }\n";
        let map = PageMap::read(text.as_bytes()).unwrap();
        assert_eq!(map.page_of(0).unwrap(), Page { virtual_address: 0, physical_address: 8192, bytes: 4096 });
        assert_eq!(map.page_of(0x1234).unwrap(), Page { virtual_address: 0x1000, physical_address: 0, bytes: 4096 });
        assert_eq!(map.len(), 2);
    }

    #[test]
    fn contradictions_are_named_with_their_line() {
        let group = |pages: &str| format!("address_mapping_group {{\npage_size: 0x200000\n{pages}}}\n");
        let page = |at: u64, to: u64| format!("address_mapping {{ virtual_address: {at} physical_address: {to} }}\n");
        assert_eq!(
            problem(&group(&(page(0x20_0000, 0x40_0000) + &page(0x20_0000, 0x60_0000)))),
            "line 4: two pages have the same virtual addresses"
        );
        assert_eq!(problem(&group(&page(0x1000, 0))), "line 3: a page does not begin at a multiple of its size");
        let small = "address_mapping_group { page_size: 4096 address_mapping { virtual_address: 0x3ff000 } }";
        assert!(problem(&(group(&page(0x20_0000, 0)) + small)).starts_with("line 5: two pages"));
        assert_eq!(
            problem("address_mapping_group { page_size: 1000 address_mapping { } }"),
            "line 1: a size of a page is a power of two, 4096 or more"
        );
        assert_eq!(
            problem("address_mapping_group { address_mapping { } }"),
            "line 1: the group has pages before it has a page_size"
        );
        assert_eq!(problem("address_mapping_group {"), "line 2: the map is cut off");
        assert_eq!(problem("address_mapping_group { page_size: ten }"), "line 1: it is no number of 64 bits");
        assert!(problem("{").starts_with("line 1: it is no map"));
    }
}
