//! Frames and page tables as a map from virtual to physical pages has them.

use crate::mapping::{LARGE, LEAF, MOST_PAGES, MOST_TABLES, Mapping, MappingError, SMALL, TABLES, mode_of};
use crate::tables::Tree;
use crate::v2p::{Page, PageMap};
use std::collections::BTreeMap;
use std::ops::Range;
use types::Gpa;

/// Bits of an address within a page of 1G.
const HUGE: u32 = 30;
/// The most bytes from the first physical page to the beginning of the last one: 64 GiB.
const MOST_BYTES: u64 = (MOST_PAGES as u64) << SMALL;

impl Mapping {
    /// Maps pages of 4K as a map from virtual to physical pages has them, in RAM that begins at `ram`. Only the pages of the map that have some of them
    /// are mapped. Physical pages are behind the tables. They keep their distances from each other, and their alignment.
    ///
    /// # Errors
    /// [`MappingError`].
    pub fn given(ram: Gpa, pages: &[u64], map: &PageMap) -> Result<Self, MappingError> {
        let mode = mode_of(pages)?;
        let mut chosen: BTreeMap<u64, Page> = BTreeMap::new();
        for &page in pages {
            let address = page << SMALL;
            let page = map.page_of(address).ok_or(MappingError::Unmapped(address))?;
            chosen.insert(page.virtual_address, page);
        }
        let mut tree = Tree::new(mode.levels());
        let mut counts = [0; 3];
        for page in chosen.values() {
            let (shift, level) = place_of(page)?;
            counts[level as usize] += 1;
            tree.table(page.virtual_address >> shift, shift, level);
            if tree.len() > MOST_TABLES {
                return Err(MappingError::Sparse);
            }
        }
        let largest = chosen.values().map(|page| page.bytes).max().unwrap_or(1 << SMALL).max(1 << LARGE);
        let lowest = chosen.values().map(|page| page.physical_address).min().unwrap_or(0) & !(largest - 1);
        let first_table = ram.0 + TABLES;
        let end_of_tables = first_table + (tree.len() as u64) * 4096;
        let base = end_of_tables.next_multiple_of(largest);
        let mut end = base;
        let mut frames: Vec<Range<u64>> = Vec::with_capacity(chosen.len());
        for page in chosen.values() {
            let distance = page.physical_address - lowest;
            if distance >= MOST_BYTES {
                return Err(MappingError::Scattered);
            }
            let at = base + distance;
            end = end.max(at + page.bytes);
            frames.push(at >> SMALL..(at + page.bytes) >> SMALL);
            let (shift, level) = place_of(page)?;
            tree.map(page.virtual_address >> shift, shift, level, at >> 2 | LEAF);
        }
        let used = std::iter::once(first_table >> SMALL..end_of_tables >> SMALL).chain(joined(frames)).collect();
        let [small, large, huge] = counts;
        Ok(Self {
            mode,
            root: Gpa(first_table),
            tables: tree.into_tables(first_table),
            used,
            bytes: (end - ram.0).next_multiple_of(1 << LARGE),
            small,
            large,
            huge,
        })
    }
}

/// The bits of an address within a page, and the level of its entry.
fn place_of(page: &Page) -> Result<(u32, u32), MappingError> {
    match page.bytes.trailing_zeros() {
        SMALL => Ok((SMALL, 0)),
        LARGE => Ok((LARGE, 1)),
        HUGE => Ok((HUGE, 2)),
        _ => Err(MappingError::Size(page.bytes)),
    }
}

/// The same numbers, in order, each once.
fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::walk;

    const RAM: Gpa = Gpa(0x8000_0000);

    #[test]
    fn a_map_gives_sizes_and_physical_pages() {
        let mut map = PageMap::default();
        let pages = [
            (0x1000, 0x1_0000_3000, 1 << SMALL),
            (0x20_0000, 0x1_0060_0000, 1 << LARGE),
            (1 << HUGE, 0x1_4000_0000, 1 << HUGE),
        ];
        for (virtual_address, physical_address, bytes) in pages {
            map.insert(Page { virtual_address, physical_address, bytes }).unwrap();
        }
        // A second name of the first page.
        map.insert(Page { virtual_address: 0x2000, physical_address: 0x1_0000_3000, bytes: 1 << SMALL }).unwrap();
        let mapping = Mapping::given(RAM, &[1, 2, 0x2ff, (1 << HUGE >> SMALL) + 5], &map).unwrap();
        assert_eq!((mapping.small, mapping.large, mapping.huge), (2, 1, 1));
        let at = |page: u64| walk(&mapping.tables, (mapping.root.0, mapping.mode.levels()), page).unwrap();
        assert_eq!(at(1), at(2), "one frame has two names");
        assert_eq!(at(0x2ff) - at(1), 0x1_0060_0000 + (0xff << SMALL) - 0x1_0000_3000, "distances are kept");
        assert_eq!(at((1 << HUGE >> SMALL) + 5) % (1 << HUGE), 5 << SMALL, "so is alignment");
        assert!(mapping.used.iter().any(|range| range.contains(&(at(1) >> SMALL))));
        let given = |pages: &[u64]| Mapping::given(RAM, pages, &map).map(|mapping| mapping.small);
        assert_eq!(given(&[1, 0x10]), Err(MappingError::Unmapped(0x1_0000)));
        map.insert(Page { virtual_address: 0x1_0000, physical_address: 1 << 40, bytes: 1 << SMALL }).unwrap();
        map.insert(Page { virtual_address: 0x2_0000, physical_address: 0, bytes: 1 << 16 }).unwrap();
        let given = |pages: &[u64]| Mapping::given(RAM, pages, &map).map(|mapping| mapping.small);
        assert_eq!(given(&[1, 0x10]), Err(MappingError::Scattered));
        assert_eq!(given(&[0x20]), Err(MappingError::Size(1 << 16)));
    }
}
