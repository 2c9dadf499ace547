//! A guest's page tables as they are, read by the hypervisor without any effect: no page gets a frame, no A or D bit is set, nothing is
//! counted. Tables in pages that have no frame now cannot be read.
//!
//! The tables are the guest's own, so they may be circular or map all of the address space. [`VmMemory::guest_leaves`] therefore reads no more
//! tables than the guest has pages, and reports no more than a few leaves for each page.

use crate::vm::VmMemory;
use memory::HostMemory;
use mmu::{AdPolicy, Fault, SoftwareLeaf, SoftwareRules, SoftwareTables, software_walk};
use types::{Access, Gpa, Gva, Hpa, PageSize, PagingMode, TranslationContext};

/// Entries of a table.
const ENTRIES: u64 = 512;

/// Leaves that are reported for each page of the guest's RAM. Linux maps a page twice (in its own linear map, and in a process); a few
/// more are shared memory.
const LEAVES_PER_PAGE: usize = 4;

const V: u64 = 1;
const R: u64 = 1 << 1;
const X: u64 = 1 << 3;
const U: u64 = 1 << 4;
const A: u64 = 1 << 6;
const PPN: u64 = (1 << 44) - 1;
/// N: the entry maps 16 pages together, and the low bits of its page number say so (Svnapot).
const N: u64 = 1 << 63;

/// A valid leaf entry of a guest's table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GuestLeaf {
    /// The first address that the entry translates.
    pub gva: Gva,
    /// Where that is in guest physical memory.
    pub gpa: Gpa,
    /// How much it translates: the size that one entry of its level spans.
    pub size: PageSize,
    entry: u64,
}

impl GuestLeaf {
    /// Whether A is set: the page was used, or the guest has said that it may be.
    #[must_use]
    pub const fn is_accessed(&self) -> bool {
        self.entry & A != 0
    }

    /// Whether it is a page of user mode.
    #[must_use]
    pub const fn is_user(&self) -> bool {
        self.entry & U != 0
    }

    /// An access that it permits.
    #[must_use]
    pub const fn access(&self) -> Access {
        if self.entry & R != 0 { Access::Read } else { Access::Execute }
    }
}

/// Why a guest's memory cannot be read without an effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PeekError {
    /// No RAM and no section is there.
    #[error("no memory is there")]
    NotMemory,
    /// The page is swapped out, or has not been brought from its snapshot.
    #[error("the page has no frame now")]
    NoFrame,
}

/// A guest's tables, read only.
pub(crate) struct Peek<'m> {
    vm: &'m VmMemory,
    memory: &'m HostMemory,
    /// A table is in a page that has no frame.
    pub(crate) absent: bool,
    /// Whether A and D bits may look as if they were set.
    pretends: bool,
}

impl<'m> Peek<'m> {
    pub(crate) const fn new(vm: &'m VmMemory, memory: &'m HostMemory) -> Self {
        Self { vm, memory, absent: false, pretends: false }
    }
}

impl SoftwareTables for Peek<'_> {
    fn read(&mut self, at: Gpa) -> Option<u64> {
        let entry = self.vm.peek(self.memory, at);
        self.absent |= entry.is_none() && self.vm.is_ram(at, 8);
        entry
    }

    fn compare_exchange(&mut self, _: Gpa, old: u64, _: u64) -> Option<u64> {
        // Bits that are to be set make the walk fault, unless it is only to look as if they were.
        self.pretends.then_some(old)
    }
}

impl VmMemory {
    /// The double word at `at`, a multiple of 8; `None` where nothing has a frame.
    #[must_use]
    pub fn peek(&self, memory: &HostMemory, at: Gpa) -> Option<u64> {
        let leaf = self.mapped(memory, at)?;
        memory.read(Hpa(leaf.page.0 | at.offset(leaf.size))).ok()
    }

    /// Where the guest's tables, as they are, lead for an access that they permit without setting A or D.
    ///
    /// # Errors
    /// The fault that the access would meet, [`Fault::Access`] among others where a table has no frame.
    pub fn peek_guest(
        &self,
        memory: &HostMemory,
        context: &TranslationContext,
        gva: Gva,
        access: Access,
    ) -> Result<SoftwareLeaf, Fault> {
        // A 64K entry that the guest must not use yet is refused by the MMU.
        let rules = SoftwareRules { ad: AdPolicy::Fault, svnapot: true };
        software_walk(&mut Peek::new(self, memory), rules, context, gva, access)
    }

    /// Where the guest's tables lead for a load in `context`, whether A is set or not. Nothing is set.
    ///
    /// # Errors
    /// The fault that the load would meet, [`Fault::Access`] among others where a table has no frame.
    pub fn look_up(&self, memory: &HostMemory, context: &TranslationContext, gva: Gva) -> Result<SoftwareLeaf, Fault> {
        let rules = SoftwareRules { ad: AdPolicy::Update, svnapot: true };
        let mut tables = Peek { pretends: true, ..Peek::new(self, memory) };
        software_walk(&mut tables, rules, context, gva, Access::Read)
    }

    /// Copies the bytes at `gpa` to `to`, up to the end of their 4 KiB page at the most; returns how many. A page of RAM that was never touched reads
    /// as zeroes.
    ///
    /// # Errors
    /// [`PeekError`].
    pub fn peek_bytes(&self, memory: &HostMemory, gpa: Gpa, to: &mut [u8]) -> Result<usize, PeekError> {
        let left = PageSize::Size4K.bytes() - gpa.offset(PageSize::Size4K);
        let bytes = usize::try_from(left).map_or(to.len(), |left| left.min(to.len()));
        let to = &mut to[..bytes];
        match self.anywhere(memory, gpa) {
            Some(leaf) => {
                let hpa = Hpa(leaf.page.0 | gpa.offset(leaf.size));
                memory.read_slice(hpa, to).map_err(|_| PeekError::NotMemory)?;
            }
            None if !self.is_ram(gpa, 1) => return Err(PeekError::NotMemory),
            None if self.is_supplied() => return Err(PeekError::NoFrame),
            None => to.fill(0),
        }
        Ok(bytes)
    }

    /// Replaces the content of the page of RAM at `page`, for a machine that replays a recording. It is as silent as a look: shadow tables and
    /// TLBs learn nothing of it. A page without a frame has zeroes already, and takes nothing else.
    ///
    /// # Errors
    /// [`PeekError`].
    pub fn put_page(&self, memory: &HostMemory, page: Gpa, words: &[u64; ENTRIES as usize]) -> Result<(), PeekError> {
        let Some(leaf) = self.anywhere(memory, page) else {
            let zeroes = words.iter().all(|&word| word == 0);
            return if zeroes { Ok(()) } else { Err(PeekError::NoFrame) };
        };
        let first = Hpa(leaf.page.0 | page.page(PageSize::Size4K).offset(leaf.size));
        for (number, &word) in words.iter().enumerate() {
            memory.write(first.wrapping_add(number as u64 * 8), word).map_err(|_| PeekError::NotMemory)?;
        }
        Ok(())
    }

    /// Whether the page of RAM at `gpa` has a frame.
    #[must_use]
    pub fn has_frame(&self, memory: &HostMemory, gpa: Gpa) -> bool {
        self.mapped(memory, gpa).is_some()
    }

    /// The valid leaf entries below the guest's root table at `root`, in the order of addresses, as far as the tables have frames.
    /// There are none without translation.
    #[must_use]
    pub fn guest_leaves(&self, memory: &HostMemory, mode: PagingMode, root: Gpa) -> Vec<GuestLeaf> {
        let ram = self.ram();
        let pages = ((ram.end.0 - ram.start.0) / PageSize::Size4K.bytes()) as usize;
        let mut search = Search {
            vm: self,
            memory,
            mode,
            tables: pages,
            most: pages.saturating_mul(LEAVES_PER_PAGE),
            found: Vec::new(),
        };
        if let Some(level) = mode.levels().checked_sub(1) {
            search.table(root, 0, level);
        }
        search.found
    }
}

/// A search for leaves.
struct Search<'m> {
    vm: &'m VmMemory,
    memory: &'m HostMemory,
    mode: PagingMode,
    /// Tables that may still be read.
    tables: usize,
    /// The most leaves.
    most: usize,
    found: Vec<GuestLeaf>,
}

impl Search<'_> {
    /// Looks at the table at `at`, of `level`, whose first entry translates `base`.
    fn table(&mut self, at: Gpa, base: u64, level: u32) {
        let Some(left) = self.tables.checked_sub(1) else { return };
        self.tables = left;
        let at = at.page(PageSize::Size4K);
        let Some(page) = self.vm.mapped(self.memory, at) else { return };
        let first = Hpa(page.page.0 | at.offset(page.size));
        let size = PageSize::of_level(level);
        for index in 0..ENTRIES {
            let Ok(entry) = self.memory.read::<u64>(first.wrapping_add(index * 8)) else { return };
            if entry & V == 0 || self.found.len() >= self.most {
                continue;
            }
            let (base, target) = (base + (index << size.shift()), (entry >> 10 & PPN) << 12);
            if entry & (R | X) != 0 {
                let gpa = if entry & N == 0 { target } else { target & !0xffff | base & 0xf000 };
                self.found.push(GuestLeaf { gva: self.canonical(base), gpa: Gpa(gpa), size, entry });
            } else if let Some(below) = level.checked_sub(1) {
                self.table(Gpa(target), base, below);
            }
        }
    }

    /// The address with the bits above the translated ones as they must be.
    const fn canonical(&self, address: u64) -> Gva {
        let unused = 64 - self.mode.address_bits();
        Gva(((address << unused).cast_signed() >> unused).cast_unsigned())
    }
}

#[cfg(test)]
mod tests;
