//! The guest's tables, and walks through them.

use crate::obstacle::Obstacle;
use core::ops::Range;
use mmu::{Groups, Pte, PteKind};
use recording::TABLE_WORDS;
use types::{Access, PageSize, PagingMode, TranslationContext};

/// log2 of the bytes of a page.
const PAGE: u32 = 12;
/// Pointers of a walk: those of the levels 1 to 4.
pub(crate) const POINTERS: usize = 4;
/// Of all paging modes.
const MOST_GPA: u64 = 1 << 56;

/// A pointer to a table, with whether it or one above is global.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Pointer {
    pub(crate) table: u64,
    pub(crate) global: bool,
}

/// What a walk has read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walked {
    /// Level of the root's entries.
    pub(crate) root: u32,
    /// Level of the entry that was read last.
    pub(crate) last: u32,
    /// The pointers that were read, by level − 1.
    pub(crate) pointers: [Pointer; POINTERS],
    /// The page, if the entry is a leaf.
    pub(crate) leaf: Option<Leaf>,
}

/// A page of the guest's tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaf {
    /// Where its entry is; `None` without translation.
    at: Option<u64>,
    /// The entry.
    pub(crate) entry: Pte,
    pub(crate) global: bool,
    /// Size at which TLBs hold it.
    pub(crate) size: PageSize,
    /// Guest physical address of the byte that was walked to.
    pub(crate) gpa: u64,
}

impl Leaf {
    /// Whether the entry permits an access, whatever its A and D bits are.
    pub(crate) const fn permits(&self, context: &TranslationContext, access: Access) -> bool {
        self.at.is_none() || self.entry.allows(context, access)
    }

    /// Whether the entry has the A bit, and the D bit for a store.
    pub(crate) fn is_touched(&self, access: Access) -> bool {
        self.at.is_none() || self.entry.touched(access) == self.entry
    }

    /// Whether TLBs may permit stores by it.
    pub(crate) const fn is_dirty(&self) -> bool {
        self.at.is_none() || self.entry.0 & Pte::D != 0
    }
}

/// The tables of a guest, and its memory.
#[derive(Debug)]
pub(crate) struct Tables {
    ram: Range<u64>,
    groups: Groups,
    /// Pages of tables, by their number in the memory. Pages without an entry here hold no table.
    pages: Vec<Option<Box<[u64; TABLE_WORDS]>>>,
}

impl Tables {
    /// No tables in a memory.
    pub(crate) fn new(ram: Range<u64>, groups: Groups) -> Self {
        Self { ram, groups, pages: Vec::new() }
    }

    /// Whether an address is memory.
    pub(crate) fn is_ram(&self, gpa: u64) -> bool {
        self.ram.contains(&gpa)
    }

    fn index(&self, gpa: u64) -> Result<usize, Obstacle> {
        if self.ram.contains(&gpa) {
            Ok(((gpa - self.ram.start) >> PAGE) as usize)
        } else {
            Err(Obstacle::Unknown("a table is outside of memory"))
        }
    }

    /// A page has become a table.
    pub(crate) fn put(&mut self, page: u64, words: &[u64; TABLE_WORDS]) -> Result<(), Obstacle> {
        let index = self.index(page << PAGE)?;
        if index >= self.pages.len() {
            self.pages.resize(index + 1, None);
        }
        self.pages[index] = Some(Box::new(*words));
        Ok(())
    }

    /// The word of a table at `gpa`.
    fn word(&mut self, gpa: u64) -> Result<&mut u64, Obstacle> {
        let index = self.index(gpa)?;
        let words = self.pages.get_mut(index).and_then(Option::as_mut);
        let words = words.ok_or(Obstacle::Unknown("a page that is walked is no table"))?;
        Ok(&mut words[(gpa >> 3) as usize % TABLE_WORDS])
    }

    /// Stores the low bytes of a value where they are in a table; whether that changes it.
    pub(crate) fn store(&mut self, gpa: u64, bytes: u64, value: u64) -> Result<bool, Obstacle> {
        let mut changes = false;
        for (byte, at) in (0..bytes).zip(gpa..) {
            let index = self.index(at)?;
            let Some(words) = self.pages.get_mut(index).and_then(Option::as_mut) else { continue };
            let word = &mut words[(at >> 3) as usize % TABLE_WORDS];
            let shift = at % 8 * 8;
            let new = *word & !(0xff << shift) | (value >> (8 * byte) & 0xff) << shift;
            changes |= new != *word;
            *word = new;
        }
        Ok(changes)
    }

    /// The size at which TLBs hold what is at `gpa`, of a page of that size: the largest piece of it that is all memory, or none of it.
    fn homogeneous(&self, gpa: u64, mut size: PageSize) -> PageSize {
        loop {
            let first = gpa & !(size.bytes() - 1);
            let last = first | (size.bytes() - 1);
            let within = self.ram.start <= first && last < self.ram.end;
            let outside = last < self.ram.start || self.ram.end <= first;
            match size.smaller() {
                Some(smaller) if !within && !outside => size = smaller,
                Some(_) | None => return size,
            }
        }
    }

    /// Walks to an address, which is canonical. It sets no bits.
    pub(crate) fn walk(&mut self, context: &TranslationContext, gva: u64) -> Result<Walked, Obstacle> {
        let pointers = [Pointer::default(); POINTERS];
        if context.mode == PagingMode::Bare {
            if gva >= MOST_GPA {
                return Err(Obstacle::Unknown("a physical address has 56 bits"));
            }
            let size = self.homogeneous(gva, PageSize::Size256T);
            let leaf = Leaf { at: None, entry: Pte(0), global: false, size, gpa: gva };
            return Ok(Walked { root: 0, last: 0, pointers, leaf: Some(leaf) });
        }
        let root = context.mode.levels() - 1;
        let mut walked = Walked { root, last: root, pointers, leaf: None };
        let (mut table, mut global) = (context.root.0 & (MOST_GPA - 1) & !0xfff, false);
        loop {
            let level = walked.last;
            let at = table + (gva >> (PAGE + 9 * level) & 0x1ff) * 8;
            let entry = Pte(*self.word(at)?);
            let Ok(kind) = entry.decode(level, self.groups) else { return Ok(walked) };
            global |= entry.is_global();
            match kind {
                PteKind::Leaf(size) => {
                    let offset = size.bytes() - 1;
                    let gpa = entry.address() & !offset | gva & offset;
                    let size = self.homogeneous(gpa, size);
                    walked.leaf = Some(Leaf { at: Some(at), entry, global, size, gpa });
                    return Ok(walked);
                }
                PteKind::Pointer => table = entry.address(),
            }
            walked.pointers[level as usize - 1] = Pointer { table, global };
            walked.last = level - 1;
        }
    }

    /// Sets the A bit of a page that is accessed, and the D bit if it is stored to.
    pub(crate) fn touch(&mut self, leaf: &mut Leaf, access: Access) -> Result<(), Obstacle> {
        if let Some(at) = leaf.at {
            leaf.entry = leaf.entry.touched(access);
            *self.word(at)? = leaf.entry.0;
        }
        Ok(())
    }
}
