//! The primary region of a guest (paper 002, slide 12; Basu et al., ISCA 2013): guest physical memory outside of what the guest's kernel
//! manages, in one piece, and the segment registers through which processes reach it without page tables.
//!
//! Registers belong to a hart. There are two ways to set them:
//!
//! * a kernel that knows them sets those of its own hart at each change of address space ([`PrimaryRegion::set`]);
//! * a process of a kernel that does not sets them through a page of device registers ([`PrimaryRegion::claim`]). Then they belong to the
//!   address space from which that was done, and to it only while it still maps the register page where it did then: that is looked at
//!   whenever a hart loads an address space ([`PrimaryRegion::switch`]), so that a root page which another process uses later inherits nothing.
//!
//! A guest's segment leads nowhere but into its own region, whatever is asked for: what else is refused, with a [`Refusal`].

use crate::sbi::SbiError;
use core::ops::Range;
use mmu::Segment;
use types::{Gpa, Gva, PageSize, PagingMode, TranslationContext};

/// What registers are to hold: `range` is at `target` and above. An empty range turns them off.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SegmentRequest {
    /// BASE and LIMIT.
    pub range: Range<Gva>,
    /// Where BASE leads.
    pub target: Gpa,
}

/// Why segment registers are not set. They are as they were.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// The guest has no primary region.
    #[error("the guest has no primary region")]
    NoRegion,
    /// BASE, LIMIT or target is no multiple of 4K.
    #[error("base, limit and target must be multiples of 4K")]
    Misaligned,
    /// LIMIT is below BASE, or what it leads to passes the end of all addresses.
    #[error("the segment goes beyond the end of the address space")]
    Wraps,
    /// Virtual addresses of the kernel's half, or such as no address space has.
    #[error("the segment overlaps the kernel's addresses")]
    Kernel,
    /// Guest physical memory outside of the region: the kernel's, or none.
    #[error("the segment translates to addresses outside the primary region")]
    OutsideRegion,
    /// The region belongs to another address space.
    #[error("the primary region belongs to another process")]
    NotOwner,
    /// The register page was reached by an address that is no process's.
    #[error("the registers are set from the kernel's addresses, or without translation")]
    NoProcess,
}

impl Refusal {
    /// Its number in the register page's status, from [`RegionStatus::REFUSED`](devices::RegionStatus::REFUSED) on.
    #[must_use]
    pub const fn code(self) -> u64 {
        match self {
            Self::NoRegion => 0,
            Self::Misaligned => 1,
            Self::Wraps => 2,
            Self::Kernel => 3,
            Self::OutsideRegion => 4,
            Self::NotOwner => 5,
            Self::NoProcess => 6,
        }
    }
}

impl From<Refusal> for SbiError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NoRegion => Self::NotSupported,
            Refusal::Misaligned | Refusal::Wraps => Self::InvalidParam,
            Refusal::Kernel | Refusal::OutsideRegion => Self::InvalidAddress,
            Refusal::NotOwner | Refusal::NoProcess => Self::Denied,
        }
    }
}

/// The address space that has the region, by way of the register page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Owner {
    root: Gpa,
    mode: PagingMode,
    /// Where it maps the register page.
    page: Gva,
    segment: Segment,
}

/// The primary region of a guest and the segment registers of its processes.
#[derive(Clone, Debug)]
pub struct PrimaryRegion {
    memory: Range<Gpa>,
    /// By hart.
    registers: Vec<Segment>,
    owner: Option<Owner>,
    /// How often it has come to an owner.
    owners: u64,
}

impl PrimaryRegion {
    /// A region without an owner, of a guest with this many harts.
    #[must_use]
    pub fn new(memory: Range<Gpa>, harts: usize) -> Self {
        Self { memory, registers: vec![Segment::default(); harts], owner: None, owners: 0 }
    }

    /// Its guest physical memory.
    #[must_use]
    pub fn memory(&self) -> Range<Gpa> {
        self.memory.clone()
    }

    /// It has grown by this many bytes, at its end.
    pub fn grow(&mut self, bytes: u64) {
        self.memory.end = self.memory.end.wrapping_add(bytes);
    }

    /// What the registers of a hart hold.
    #[must_use]
    pub fn registers(&self, hart: usize) -> Segment {
        self.registers.get(hart).copied().unwrap_or_default()
    }

    /// How often the region has come to an owner: where it was more than once, its memory may hold what another process left.
    #[must_use]
    pub const fn owners(&self) -> u64 {
        self.owners
    }

    /// The kernel sets the registers of `hart`.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn set(&mut self, hart: usize, mode: PagingMode, request: &SegmentRequest) -> Result<(), Refusal> {
        let segment = self.check(mode, request)?;
        if let Some(registers) = self.registers.get_mut(hart) {
            *registers = segment;
        }
        Ok(())
    }

    /// A process asks for the region: `page` is where it reached the register page, in address space `context`, on `hart`. `maps` says
    /// whether an address space maps the register page at an address.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn claim(
        &mut self,
        hart: usize,
        context: &TranslationContext,
        page: Gva,
        request: &SegmentRequest,
        maps: impl FnOnce(&TranslationContext, Gva) -> bool,
    ) -> Result<(), Refusal> {
        let page = page.page(PageSize::Size4K);
        if context.mode == PagingMode::Bare || page.0 >= user_end(context.mode) {
            return Err(Refusal::NoProcess);
        }
        let segment = self.check(context.mode, request)?;
        if let Some(owner) = self.owner.filter(|owner| owner.root != context.root) {
            let of_owner = TranslationContext { mode: owner.mode, root: owner.root, ..*context };
            if maps(&of_owner, owner.page) {
                return Err(Refusal::NotOwner);
            }
            self.give_up();
        }
        self.owners += u64::from(self.owner.is_none());
        self.owner = Some(Owner { root: context.root, mode: context.mode, page, segment });
        if let Some(registers) = self.registers.get_mut(hart) {
            *registers = segment;
        }
        Ok(())
    }

    /// `hart` loads an address space: what its registers are to hold in it. `maps` is as for [`Self::claim`]. Whether they have changed.
    pub fn switch(
        &mut self,
        hart: usize,
        context: &TranslationContext,
        maps: impl FnOnce(&TranslationContext, Gva) -> bool,
    ) -> bool {
        let Some(owner) = self.owner else { return false };
        let before = self.registers(hart);
        let own = owner.root == context.root && owner.mode == context.mode;
        if own && !maps(context, owner.page) {
            self.give_up();
        }
        let segment = if own && self.owner.is_some() { owner.segment } else { Segment::default() };
        if let Some(registers) = self.registers.get_mut(hart) {
            *registers = segment;
        }
        segment != before
    }

    /// The hart starts again.
    pub fn reset(&mut self, hart: usize) {
        if let Some(registers) = self.registers.get_mut(hart) {
            *registers = Segment::default();
        }
    }

    /// Whether an address space has it by way of the register page.
    #[must_use]
    pub const fn is_owned(&self) -> bool {
        self.owner.is_some()
    }

    fn give_up(&mut self) {
        self.owner = None;
        self.registers.fill(Segment::default());
    }

    fn check(&self, mode: PagingMode, request: &SegmentRequest) -> Result<Segment, Refusal> {
        let SegmentRequest { range, target } = request;
        if range.start == range.end {
            return Ok(Segment::default());
        }
        if (range.start.0 | range.end.0 | target.0) % PageSize::Size4K.bytes() != 0 {
            return Err(Refusal::Misaligned);
        }
        let bytes = range.end.0.checked_sub(range.start.0).ok_or(Refusal::Wraps)?;
        let end = target.checked_add(bytes).ok_or(Refusal::Wraps)?;
        if range.end.0 > user_end(mode) {
            return Err(Refusal::Kernel);
        }
        if *target < self.memory.start || end > self.memory.end {
            return Err(Refusal::OutsideRegion);
        }
        Segment::of_guest(range.clone(), *target).ok_or(Refusal::Wraps)
    }
}

/// The end of the lower half of virtual addresses, which is the processes'.
fn user_end(mode: PagingMode) -> u64 {
    match mode {
        PagingMode::Bare => 0,
        mode => 1 << (mode.address_bits() - 1),
    }
}

mod state;
#[cfg(test)]
mod tests;

pub use state::PrimaryRegionState;
