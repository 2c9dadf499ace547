//! Frames and page tables for the pages of a trace: what replaces the operating system, which a trace does not have.
//!
//! Guest physical memory has the tables first, then the frames of large pages, then those of small ones. An entry has all rights, and its A and D bits
//! are set, as a kernel sets them that maps a page at its first use.

use crate::tables::Tree;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::str::FromStr;
use types::{Gpa, PagingMode};

/// Bits of an address within a page of 4K.
pub(crate) const SMALL: u32 = 12;
/// Bits of an address within a page of 2M.
pub(crate) const LARGE: u32 = 21;
/// Pages of 4K in one of 2M.
const PER_LARGE: u64 = 512;
/// Where the tables begin, from the beginning of RAM on. The image of the guest, which is empty, is below.
pub(crate) const TABLES: u64 = 4 << 20;
/// V, R, W, X, U, A and D.
pub(crate) const LEAF: u64 = 0xdf;
/// The most pages of 4K that a trace may touch: 64 GiB.
pub(crate) const MOST_PAGES: usize = 1 << 24;
/// The most tables, of 4 KiB each.
pub(crate) const MOST_TABLES: usize = 1 << 17;
/// A region of 2M gets a large page under [`Policy::Thp`] if so many of its pages are touched.
const THP_PAGES: u32 = 256;

/// The sizes of pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// All have 4K.
    Small,
    /// All have 2M.
    Large,
    /// A region of 2M of which half or more is touched has a page of 2M, as transparent huge pages would give it. Others have pages of 4K.
    Thp,
}

impl Policy {
    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Small => "4K",
            Self::Large => "2M",
            Self::Thp => "thp",
        }
    }
}

impl FromStr for Policy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = [Self::Small, Self::Large, Self::Thp].into_iter().find(|policy| policy.name() == text);
        named.ok_or_else(|| format!("{text}: it is 4K, 2M or thp"))
    }
}

/// Which frame a page gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frames {
    /// The next one, in the order of first touch.
    FirstTouch,
    /// A random one, by a seed.
    Random(u64),
}

impl Frames {
    /// As the command line has it.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::FirstTouch => "first-touch".to_owned(),
            Self::Random(seed) => format!("random:{seed}"),
        }
    }
}

impl FromStr for Frames {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let seed = || text.strip_prefix("random:")?.parse().ok().map(Self::Random);
        let parsed = if text == "first-touch" { Some(Self::FirstTouch) } else { seed() };
        parsed.ok_or_else(|| format!("{text}: it is first-touch or random:SEED"))
    }
}

/// Why there is no mapping.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MappingError {
    /// An address is beyond what Sv57 translates.
    #[error("address {0:#x} is in no address space of RISC-V")]
    Address(u64),
    /// The pages lie so far apart that their tables take more than 512 MiB.
    #[error("its pages lie too far apart: their tables take more than 512 MiB")]
    Sparse,
    /// It touches an address that no page of the map from virtual to physical pages has.
    #[error("it touches address {0:#x}, which no page of the map has")]
    Unmapped(u64),
    /// The map has a page of so many bytes.
    #[error("the map has a page of {0} bytes: sizes are 4K, 2M and 1G")]
    Size(u64),
    /// The map's physical pages lie more than 64 GiB apart.
    #[error("physical pages of the map lie more than 64 GiB apart")]
    Scattered,
}

/// Frames and tables.
#[derive(Debug)]
pub struct Mapping {
    /// The paging mode: the smallest one with all pages.
    pub mode: PagingMode,
    /// The root table.
    pub root: Gpa,
    /// The tables, the root first: the number of a page of guest physical memory, and its content.
    pub tables: Vec<(u64, Box<[u64; 512]>)>,
    /// Pages of 4K of guest physical memory, by number: the tables, and the frames that have been given to pages.
    pub used: Vec<Range<u64>>,
    /// Bytes of RAM from its beginning to the end of these.
    pub bytes: u64,
    /// Pages of 4K.
    pub small: u64,
    /// Pages of 2M.
    pub large: u64,
    /// Pages of 1G.
    pub huge: u64,
}

impl Mapping {
    /// Maps pages of 4K, by their numbers in the order of first touch, in RAM that begins at `ram`.
    ///
    /// # Errors
    /// [`MappingError`].
    pub fn new(ram: Gpa, pages: &[u64], policy: Policy, frames: Frames) -> Result<Self, MappingError> {
        let mode = mode_of(pages)?;
        let (large, small) = sized(pages, policy);
        let levels = mode.levels();
        let mut tree = Tree::new(levels);
        for (pages, shift, level) in [(&large, LARGE, 1), (&small, SMALL, 0)] {
            for &page in pages {
                tree.table(page, shift, level);
                if tree.len() > MOST_TABLES {
                    return Err(MappingError::Sparse);
                }
            }
        }
        let tables = TABLES;
        let large_base = (tables + (tree.len() as u64) * 4096).next_multiple_of(1 << LARGE);
        let small_base = large_base + ((large.len() as u64) << LARGE);
        let mut random = match frames {
            Frames::FirstTouch => None,
            Frames::Random(seed) => Some(SplitMix(seed)),
        };
        let first_table = ram.0 + tables;
        for (pages, base, shift, level) in [(&large, large_base, LARGE, 1), (&small, small_base, SMALL, 0)] {
            for (&page, frame) in pages.iter().zip(order(pages.len() as u64, random.as_mut())) {
                let at = ram.0 + base + (frame << shift);
                tree.map(page, shift, level, at >> 2 | LEAF);
            }
        }
        let bytes = (small_base + ((small.len() as u64) << SMALL)).next_multiple_of(1 << LARGE);
        Ok(Self {
            mode,
            root: Gpa(first_table),
            tables: tree.into_tables(first_table),
            used: std::iter::once(first_table >> SMALL..(ram.0 + bytes) >> SMALL).collect(),
            bytes,
            small: small.len() as u64,
            large: large.len() as u64,
            huge: 0,
        })
    }
}

/// The smallest mode whose addresses have all pages.
pub(crate) fn mode_of(pages: &[u64]) -> Result<PagingMode, MappingError> {
    let fits = |mode: PagingMode, page: u64| {
        let unused = u64::BITS - mode.address_bits();
        let address = (page << SMALL) as i64;
        address << unused >> unused == address
    };
    let modes = [PagingMode::Sv39, PagingMode::Sv48, PagingMode::Sv57];
    let found = modes.into_iter().find(|&mode| pages.iter().all(|&page| fits(mode, page)));
    found.ok_or_else(|| {
        let beyond = pages.iter().find(|&&page| !fits(PagingMode::Sv57, page));
        MappingError::Address(beyond.map_or(0, |page| page << SMALL))
    })
}

/// The pages of 2M, by their numbers, and those of 4K, in the order of first touch.
fn sized(pages: &[u64], policy: Policy) -> (Vec<u64>, Vec<u64>) {
    let mut touched: BTreeMap<u64, u32> = BTreeMap::new();
    for page in pages {
        *touched.entry(page / PER_LARGE).or_default() += 1;
    }
    let is_large = |page: u64| match policy {
        Policy::Small => false,
        Policy::Large => true,
        Policy::Thp => touched.get(&(page / PER_LARGE)).is_some_and(|&pages| pages >= THP_PAGES),
    };
    let mut seen = BTreeSet::new();
    let (mut large, mut small) = (Vec::new(), Vec::new());
    for &page in pages {
        if !is_large(page) {
            small.push(page);
        } else if seen.insert(page / PER_LARGE) {
            large.push(page / PER_LARGE);
        }
    }
    (large, small)
}

/// The numbers below `count`, in order or at random.
fn order(count: u64, random: Option<&mut SplitMix>) -> Vec<u64> {
    let mut numbers: Vec<u64> = (0..count).collect();
    if let Some(random) = random {
        for last in (1..numbers.len()).rev() {
            let other = random.next() % (last as u64 + 1);
            numbers.swap(last, other as usize);
        }
    }
    numbers
}

/// A generator of random numbers (Steele, Lea and Flood 2014).
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::walk;

    const RAM: Gpa = Gpa(0x8000_0000);

    #[test]
    fn every_page_has_a_frame_of_its_own() {
        let pages: Vec<u64> =
            (0..700).map(|number| number * 3 % 1024).chain([1 << 40 >> SMALL, u64::MAX >> SMALL]).collect();
        let mut unique = BTreeSet::new();
        let pages: Vec<u64> = pages.into_iter().filter(|&page| unique.insert(page)).collect();
        for policy in [Policy::Small, Policy::Large, Policy::Thp] {
            for frames in [Frames::FirstTouch, Frames::Random(7)] {
                let mapping = Mapping::new(RAM, &pages, policy, frames).unwrap();
                let mut places = BTreeSet::new();
                for &page in &pages {
                    let at = walk(&mapping.tables, (mapping.root.0, mapping.mode.levels()), page).unwrap();
                    assert!(at >= RAM.0 + TABLES && at < RAM.0 + mapping.bytes, "{at:#x}");
                    assert!(mapping.tables.iter().all(|(number, _)| *number != at >> SMALL), "a frame is a table");
                    assert!(places.insert(at), "two pages have one frame");
                }
            }
        }
    }

    #[test]
    fn the_mode_is_the_smallest_that_has_all_addresses() {
        let mode =
            |address: u64| Mapping::new(RAM, &[address >> SMALL], Policy::Small, Frames::FirstTouch).map(|m| m.mode);
        assert_eq!(mode(0x3f_ffff_f000), Ok(PagingMode::Sv39));
        assert_eq!(mode(0xffff_ffc0_0000_0000), Ok(PagingMode::Sv39));
        assert_eq!(mode(0x7fff_ffff_f000), Ok(PagingMode::Sv48));
        assert_eq!(mode(0xff_ffff_ffff_f000), Ok(PagingMode::Sv57));
        assert_eq!(mode(0x8000_0000_0000_0000), Err(MappingError::Address(0x8000_0000_0000_0000)));
    }

    #[test]
    fn half_of_a_region_makes_a_large_page() {
        let pages: Vec<u64> = (0..256).chain(512..767).collect();
        let mapping = Mapping::new(RAM, &pages, Policy::Thp, Frames::FirstTouch).unwrap();
        assert_eq!((mapping.large, mapping.small), (1, 255));
    }
}
