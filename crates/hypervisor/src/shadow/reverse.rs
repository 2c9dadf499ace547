//! The reverse map: which shadow entries may map a guest physical page.
//!
//! It is a list of hints. An entry that goes leaves its hint behind, so that an invalidation does not have to look for it; code that uses a hint
//! looks whether the entry is still there. A list that grows is cleared of what is out of date when it has doubled.

use core::ops::Range;
use std::collections::BTreeMap;
use types::{Gpa, Gva, PageSize};

/// Where an entry may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) table: u32,
    /// Any address of the page.
    pub(super) gva: Gva,
}

/// Lists begin to be cleared at this length.
const FIRST_LIMIT: u16 = 16;
/// How far a list is searched for the hint that is to be added.
const SEARCH: usize = 8;

#[derive(Clone, Copy, Default)]
struct Head {
    /// Index of the first node, plus one.
    first: u32,
    length: u16,
    limit: u16,
}

#[derive(Clone, Copy)]
struct Node {
    place: Place,
    next: u32,
}

type Heads = Box<[Head; 512]>;

/// For each guest physical page, hints of the shadow entries that may map it.
pub(super) struct ReverseMap {
    ram: Range<Gpa>,
    /// Lists of 4K pages of RAM, by page number from its first on.
    heads: Vec<Option<Heads>>,
    nodes: Vec<Node>,
    /// First node that is free, plus one.
    free: u32,
    /// Lists of larger pages, and of pages of sections, by size and first page number.
    others: BTreeMap<(PageSize, u64), Vec<Place>>,
}

impl core::fmt::Debug for ReverseMap {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "ReverseMap({} hints)", self.nodes.len())
    }
}

impl ReverseMap {
    /// Nothing is mapped in `ram`, or behind it.
    pub(super) fn new(ram: Range<Gpa>) -> Self {
        Self { ram, heads: Vec::new(), nodes: Vec::new(), free: 0, others: BTreeMap::new() }
    }

    /// Notes that `place` maps the page of `size` that holds `gpa`. `holds` says whether a hint is still good.
    pub(super) fn add(&mut self, gpa: Gpa, size: PageSize, place: Place, holds: impl Fn(Place) -> bool) {
        if size > PageSize::Size4K || !self.ram.contains(&gpa) {
            let list = self.others.entry((size, gpa.page(size).number())).or_default();
            if !list.contains(&place) {
                if list.len() >= usize::from(FIRST_LIMIT) && list.len().is_power_of_two() {
                    list.retain(|&place| holds(place));
                }
                list.push(place);
            }
            return;
        }
        let (block, index) = self.index(gpa);
        if self.heads.len() <= block {
            self.heads.resize_with(block + 1, || None);
        }
        let head = self.heads[block].get_or_insert_with(|| Box::new([Head::default(); 512]))[index];
        if self.walk(head).take(SEARCH).any(|known| known == place) {
            return;
        }
        let head = if head.length >= head.limit.max(FIRST_LIMIT) { self.prune(head, holds) } else { head };
        let first = self.node(place, head.first);
        if let Some(heads) = &mut self.heads[block] {
            heads[index] = Head { first, length: head.length.saturating_add(1), limit: head.limit };
        }
    }

    /// Every hint for the 4K page that holds `gpa`: its own, and those of larger pages around it.
    pub(super) fn of(&self, gpa: Gpa) -> Vec<Place> {
        let mut places: Vec<Place> = if self.ram.contains(&gpa) {
            let (block, index) = self.index(gpa);
            let head = self.heads.get(block).and_then(Option::as_ref).map_or(Head::default(), |heads| heads[index]);
            self.walk(head).collect()
        } else {
            Vec::new()
        };
        if !self.others.is_empty() {
            for size in [PageSize::Size4K, PageSize::Size2M, PageSize::Size1G] {
                places.extend(self.others.get(&(size, gpa.page(size).number())).into_iter().flatten());
            }
        }
        places
    }

    fn index(&self, gpa: Gpa) -> (usize, usize) {
        let page = gpa.number().saturating_sub(self.ram.start.number());
        ((page / 512) as usize, (page % 512) as usize)
    }

    fn walk(&self, head: Head) -> impl Iterator<Item = Place> {
        let mut next = head.first;
        core::iter::from_fn(move || {
            let node = self.nodes.get(next.checked_sub(1)? as usize)?;
            next = node.next;
            Some(node.place)
        })
    }

    fn node(&mut self, place: Place, next: u32) -> u32 {
        let node = Node { place, next };
        match self.free.checked_sub(1) {
            Some(index) => {
                let free = &mut self.nodes[index as usize];
                self.free = core::mem::replace(free, node).next;
                index + 1
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as u32
            }
        }
    }

    /// The list without hints that are out of date. It may double before it is looked through again.
    fn prune(&mut self, head: Head, holds: impl Fn(Place) -> bool) -> Head {
        let (mut next, mut kept) = (head.first, Head::default());
        while let Some(index) = next.checked_sub(1) {
            let Node { place, next: following } = self.nodes[index as usize];
            if holds(place) {
                self.nodes[index as usize].next = kept.first;
                kept.first = next;
                kept.length += 1;
            } else {
                self.nodes[index as usize].next = self.free;
                self.free = next;
            }
            next = following;
        }
        Head { limit: kept.length.saturating_mul(2).max(FIRST_LIMIT), ..kept }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Gpa = Gpa(0x8000_0000);

    fn place(number: u64) -> Place {
        Place { table: 1, gva: Gva(number << 12) }
    }

    #[test]
    fn hints_of_every_size_are_found_once() {
        let mut map = ReverseMap::new(BASE..BASE.wrapping_add(1 << 30));
        let page = BASE.wrapping_add(0x20_5000);
        for _ in 0..2 {
            map.add(page, PageSize::Size4K, place(1), |_| true);
            map.add(page, PageSize::Size2M, place(2), |_| true);
            map.add(page, PageSize::Size4K, place(3), |_| true);
        }
        let mut found = map.of(page);
        found.sort_by_key(|place| place.gva);
        assert_eq!(found, [place(1), place(2), place(3)]);
        assert_eq!(map.of(BASE.wrapping_add(0x20_6000)), [place(2)], "the larger page's alone");
        assert_eq!(map.of(BASE), []);
    }

    #[test]
    fn pages_at_the_same_place_of_two_large_pages_have_lists_of_their_own() {
        let mut map = ReverseMap::new(BASE..BASE.wrapping_add(1 << 30));
        let pages = [BASE.wrapping_add(0x5000), BASE.wrapping_add((7 << 21) + 0x5000)];
        map.add(pages[0], PageSize::Size4K, place(1), |_| true);
        map.add(pages[1], PageSize::Size4K, place(2), |_| true);
        assert_eq!(pages.map(|page| map.of(page)), [vec![place(1)], vec![place(2)]]);
    }

    #[test]
    fn a_list_is_cleared_of_what_is_out_of_date() {
        let mut map = ReverseMap::new(BASE..BASE.wrapping_add(1 << 30));
        for number in 0..10_000 {
            map.add(BASE, PageSize::Size4K, place(number), |place| place.gva.number() % 1000 == 0);
        }
        assert!(map.nodes.len() < 64, "{} nodes for 10 entries", map.nodes.len());
        let found = map.of(BASE);
        assert!((0..10_000).step_by(1000).all(|number| found.contains(&place(number))));
    }
}
