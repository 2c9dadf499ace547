//! A shape that is no tree: a hashed table of base pages, with open addressing. No hardware here walks it: the test fixture looks pages up in it.

use crate::table::{Displaced, Leaf, LeafBits, Removed, ShadowFormat, ShadowShape};
use memory::{FrameAllocator, FrameRange, HostMemory, OutOfFrames};
use mmu::SecondStage;
use std::collections::BTreeMap;
use types::{Gpa, Gva, Hpa, PageSize, PagingMode, TranslationContext};

/// Entries, of a tag and a page each.
const ENTRIES: u64 = 1 << 9;
/// How far an entry may lie from where its hash says.
const PROBES: u64 = 4;

/// Hashed tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hashed;

impl ShadowFormat for Hashed {
    fn table(
        &self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        mode: PagingMode,
    ) -> Result<Box<dyn ShadowShape>, OutOfFrames> {
        let frames = frames.allocate_contiguous(memory, ENTRIES * 16, PageSize::Size4K)?;
        Ok(Box::new(HashedTable { frames, mode, pieces: BTreeMap::new() }))
    }

    fn largest_page(&self) -> PageSize {
        PageSize::Size4K
    }
}

#[derive(Debug)]
struct HashedTable {
    frames: FrameRange,
    mode: PagingMode,
    /// Guest pages that lie, or lay, here in pieces: their size, by their first address.
    pieces: BTreeMap<u64, PageSize>,
}

impl HashedTable {
    /// Where entries of a page may be.
    fn slots(&self, gva: Gva) -> impl Iterator<Item = Hpa> + use<> {
        let (start, hash) = (self.frames.start(), gva.number().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48);
        (0..PROBES).map(move |probe| start.wrapping_add((hash + probe) % ENTRIES * 16))
    }

    /// A tag is the address of the page, plus one; and then its page, with its bits.
    fn at(memory: &HostMemory, slot: Hpa) -> Option<(Gva, Leaf)> {
        let [tag, entry] = [0, 8].map(|word| memory.read::<u64>(slot.wrapping_add(word)).unwrap());
        let leaf = Leaf { page: Hpa(entry & !0xfff), size: PageSize::Size4K, bits: LeafBits::of_entry(entry) };
        (tag != 0).then(|| (Gva(tag - 1), leaf))
    }

    fn write(memory: &HostMemory, slot: Hpa, words: [u64; 2]) {
        memory.write(slot, words[0]).unwrap();
        memory.write(slot.wrapping_add(8), words[1]).unwrap();
    }

    fn find(&self, memory: &HostMemory, gva: Gva) -> Option<(Hpa, Leaf)> {
        let page = self.canonical(gva).page(PageSize::Size4K);
        let found = |slot| Self::at(memory, slot).filter(|(tag, _)| *tag == page).map(|(_, leaf)| (slot, leaf));
        self.slots(page).find_map(found)
    }

    /// Removes the entries of pages that `goes` names.
    fn remove(&self, memory: &HostMemory, goes: impl Fn(Gva) -> bool) -> Removed {
        let slots = (0..ENTRIES).map(|index| self.frames.start().wrapping_add(index * 16));
        let gone = slots.filter(|&slot| Self::at(memory, slot).is_some_and(|(gva, _)| goes(gva)));
        let cleared = gone.map(|slot| Self::write(memory, slot, [0, 0])).count() as u64;
        Removed { touched: ENTRIES, cleared, pieces: true }
    }
}

impl ShadowShape for HashedTable {
    fn mode(&self) -> PagingMode {
        self.mode
    }

    fn context(&self, guest: &TranslationContext) -> TranslationContext {
        *guest
    }

    fn second_stage(&self) -> SecondStage {
        SecondStage::Constant { ram: Gpa(0)..Gpa(0), offset: 0 }
    }

    fn levels(&self) -> u32 {
        1
    }

    fn frames(&self) -> u64 {
        self.frames.bytes() / PageSize::Size4K.bytes()
    }

    fn lookup(&self, memory: &HostMemory, gva: Gva) -> Option<Leaf> {
        self.find(memory, gva).map(|(_, leaf)| leaf)
    }

    fn leaves(&self, memory: &HostMemory) -> Vec<(Gva, Leaf)> {
        let slots = (0..ENTRIES).map(|index| self.frames.start().wrapping_add(index * 16));
        let mut leaves: Vec<_> = slots.filter_map(|slot| Self::at(memory, slot)).collect();
        leaves.sort_by_key(|(gva, _)| *gva);
        leaves
    }

    fn place(
        &mut self,
        memory: &HostMemory,
        _: &mut FrameAllocator,
        gva: Gva,
        leaf: Leaf,
        guest_page: PageSize,
    ) -> Result<Displaced, OutOfFrames> {
        assert_eq!(leaf.size, PageSize::Size4K);
        let page = self.canonical(gva).page(PageSize::Size4K);
        if guest_page > PageSize::Size4K {
            let size = self.pieces.entry(page.page(guest_page).0).or_insert(guest_page);
            *size = guest_page.max(*size);
        }
        let own = self.find(memory, page);
        let free = || self.slots(page).find(|&slot| Self::at(memory, slot).is_none());
        let (slot, displaced) = match (own, free()) {
            (Some((slot, old)), _) => (slot, Displaced::Page(old)),
            (None, Some(slot)) => (slot, Displaced::Nothing),
            // Another page makes room, which TLBs may have.
            (None, None) => (self.slots(page).next().unwrap(), Displaced::Larger),
        };
        Self::write(memory, slot, [page.0 + 1, leaf.page.0 | leaf.bits.value()]);
        Ok(displaced)
    }

    fn set_bits(&mut self, memory: &HostMemory, gva: Gva, bits: LeafBits) {
        if let Some((slot, leaf)) = self.find(memory, gva) {
            memory.write(slot.wrapping_add(8), leaf.page.0 | bits.value()).unwrap();
        }
    }

    fn invalidate(&mut self, memory: &HostMemory, gva: Gva, holds: &dyn Fn(&Leaf) -> bool) -> Removed {
        let gva = self.canonical(gva);
        let pieces = [PageSize::Size64K, PageSize::Size2M, PageSize::Size1G];
        if let Some(size) = pieces.into_iter().rev().find(|&size| self.pieces.get(&gva.page(size).0) == Some(&size)) {
            return self.remove(memory, |other| other.page(size) == gva.page(size));
        }
        let found = self.find(memory, gva).filter(|(_, leaf)| holds(leaf));
        if let Some((slot, _)) = found {
            Self::write(memory, slot, [0, 0]);
        }
        Removed { touched: 1, cleared: u64::from(found.is_some()), pieces: false }
    }

    fn invalidate_span(&mut self, memory: &HostMemory, gva: Gva, span: u32) -> Removed {
        let (gva, size) = (self.canonical(gva), PageSize::of_level(span));
        let larger = self.invalidate(memory, gva, &|_| true);
        let mut removed = self.remove(memory, |other| other.page(size) == gva.page(size));
        removed.add(larger);
        removed
    }

    fn clear(&mut self, memory: &HostMemory) -> Removed {
        self.remove(memory, |_| true)
    }

    fn release(&mut self, memory: &HostMemory) -> Vec<FrameRange> {
        let _ = self.clear(memory);
        Vec::new()
    }

    fn dissolve(self: Box<Self>, _: &HostMemory) -> Vec<FrameRange> {
        vec![self.frames]
    }
}
