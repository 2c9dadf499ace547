//! A shadow table: from guest virtual to host physical addresses (the 2-0-translation table).
//!
//! What the hypervisor derives from a guest's table has a shape of its own, behind [`ShadowShape`]: the rest of the hypervisor names guest virtual
//! addresses and pages, and the shape knows where their entries lie and what the hardware is shown of them. [`Radix`] is a tree in the mode of
//! the guest, which an ordinary walker walks. A guest's kernel knows nothing of the shape, so that a format which no kernel has can be run under
//! an unmodified one.

use super::entry::{Leaf, LeafBits};
use memory::{FrameAllocator, FrameRange, HostMemory, OutOfFrames};
use mmu::SecondStage;
use types::{Gva, Hpa, PageSize, PagingMode, TranslationContext};

mod radix;
pub use radix::Radix;

/// Makes tables of one shape.
pub trait ShadowFormat: core::fmt::Debug + Sync {
    /// A table that maps nothing, for a guest in a mode that translates.
    ///
    /// # Errors
    /// [`OutOfFrames`].
    fn table(
        &self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        mode: PagingMode,
    ) -> Result<Box<dyn ShadowShape>, OutOfFrames>;

    /// The largest page that a table can map.
    fn largest_page(&self) -> PageSize {
        PageSize::Size1G
    }
}

/// One shadow table, whatever its shape. It owns the frames of its own, not those of the pages that it maps.
///
/// A table is edited while processors use it. Code that removes an entry fences their TLBs; frames that an edit returns are free after that.
pub trait ShadowShape: core::fmt::Debug + Send {
    /// Mode of the guest's table.
    fn mode(&self) -> PagingMode;

    /// What the hardware translates in, in place of `guest`.
    fn context(&self, guest: &TranslationContext) -> TranslationContext;

    /// The second stage that goes with it.
    fn second_stage(&self) -> SecondStage;

    /// Entries that software reads to find a page.
    fn levels(&self) -> u32;

    /// Frames that the table takes.
    fn frames(&self) -> u64;

    /// The page that holds `gva`.
    fn lookup(&self, memory: &HostMemory, gva: Gva) -> Option<Leaf>;

    /// Every page that is mapped, by ascending translated address.
    fn leaves(&self, memory: &HostMemory) -> Vec<(Gva, Leaf)>;

    /// Maps `leaf`, of 4K, 2M or 1G, around `gva`: a page or a piece of a guest page of `guest_page`.
    ///
    /// # Errors
    /// [`OutOfFrames`]: what was mapped before still is.
    fn place(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        gva: Gva,
        leaf: Leaf,
        guest_page: PageSize,
    ) -> Result<Displaced, OutOfFrames>;

    /// Gives the page that holds `gva` other bits.
    fn set_bits(&mut self, memory: &HostMemory, gva: Gva, bits: LeafBits);

    /// Takes away what holds `gva`, if `holds` says so of it: its page, or all pieces of a guest page.
    fn invalidate(&mut self, memory: &HostMemory, gva: Gva, holds: &dyn Fn(&Leaf) -> bool) -> Removed;

    /// Takes away everything in the span of one entry of the guest's level `span` around `gva`; a larger page that holds the span goes as a whole.
    fn invalidate_span(&mut self, memory: &HostMemory, gva: Gva, span: u32) -> Removed;

    /// Takes everything away.
    fn clear(&mut self, memory: &HostMemory) -> Removed;

    /// Takes everything away, and gives up the frames that an empty table does not need. They are the caller's.
    fn release(&mut self, memory: &HostMemory) -> Vec<FrameRange>;

    /// Gives up all frames. They are the caller's.
    fn dissolve(self: Box<Self>, memory: &HostMemory) -> Vec<FrameRange>;

    /// Lets the 2M around `gva` be mapped by a section's leaf table, which stays its owner's; the guest has a page of `guest_page` there, or base
    /// pages all over. `None` where the shape links no tables.
    ///
    /// # Errors
    /// [`OutOfFrames`].
    fn link(
        &mut self,
        _memory: &HostMemory,
        _frames: &mut FrameAllocator,
        _gva: Gva,
        _table: Hpa,
        _guest_page: PageSize,
    ) -> Result<Option<Displaced>, OutOfFrames> {
        Ok(None)
    }

    /// Lets hardware go on nested, in a table of the guest, where a walk for `gva` comes to what this table has of it: agile paging. `None` where the
    /// shape has no such entries.
    ///
    /// # Errors
    /// [`OutOfFrames`].
    fn switch(
        &mut self,
        _memory: &HostMemory,
        _frames: &mut FrameAllocator,
        _gva: Gva,
        _to: GuestTable,
    ) -> Result<Option<Displaced>, OutOfFrames> {
        Ok(None)
    }

    /// Where such an entry on the way to `gva` leads, if there is one.
    fn switch_at(&self, _memory: &HostMemory, _gva: Gva) -> Option<GuestTable> {
        None
    }

    /// Every such entry, with the first address that it is for.
    fn switches(&self, _memory: &HostMemory) -> Vec<(Gva, GuestTable)> {
        Vec::new()
    }

    /// Whether links were taken out since the last call.
    fn take_unlinked(&mut self) -> bool {
        false
    }

    /// The address with these translated bits: those above repeat the topmost.
    fn canonical(&self, gva: Gva) -> Gva {
        let unused = 64 - self.mode().address_bits();
        Gva(((gva.0 << unused).cast_signed() >> unused).cast_unsigned())
    }
}

/// A table of the guest, in the host's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GuestTable {
    /// Where it is.
    pub table: Hpa,
    /// Its level.
    pub level: u32,
}

/// What stood where a leaf was placed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Displaced {
    /// Nothing.
    Nothing,
    /// A page of the same size.
    Page(Leaf),
    /// A larger page, whose place a table takes now.
    Larger,
    /// Tables of smaller pages. Their frames are the caller's, to free when no walk cache leads there any more.
    Smaller(Vec<FrameRange>),
}

/// What an invalidation did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Removed {
    /// Leaf entries that it looked at.
    pub touched: u64,
    /// Valid ones among them, which it cleared.
    pub cleared: u64,
    /// Whether pages were among them that are not those of the address alone.
    pub pieces: bool,
}

impl Removed {
    pub(crate) fn add(&mut self, other: Self) {
        self.touched += other.touched;
        self.cleared += other.cleared;
        self.pieces |= other.pieces;
    }
}

/// What a shadow leaf has of a guest's leaf and of the host's page, before anything is said about writes: readable, executable, user and
/// global as the guest has it, where the host permits; and A and D set, as they are never read.
pub(crate) fn composed_bits(guest: u64, global: bool, host: LeafBits) -> LeafBits {
    let kinds = LeafBits::READ | LeafBits::EXECUTE;
    let bits = LeafBits::of_entry(guest).and(kinds).and(host) | LeafBits::of_entry(guest).and(LeafBits::USER);
    let bits = bits | LeafBits::ACCESSED | LeafBits::DIRTY;
    if global { bits | LeafBits::GLOBAL } else { bits }
}
