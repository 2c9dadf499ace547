//! The seam between stages: a map translates addresses of one space to another, for the length of one walk.

use super::policy::Policy;
use crate::fault::{Fault, Purpose};
use crate::memory::TableMemory;
use crate::pte::Pte;
use crate::rights::Rights;
use crate::statistics::MmuStatistics;
use core::marker::PhantomData;
use types::{Access, Gpa, Gva, Hpa, PageSize};

/// A kind of address that stages translate, or at which their tables lie.
pub(crate) trait Address: Copy + PartialEq {
    /// The address of that many bytes.
    fn of(bits: u64) -> Self;

    /// Its bytes.
    fn bits(self) -> u64;

    /// Where the entry at this address leads: to a table or to a page. A kind of address of several modes says here in which the walk goes on.
    fn behind(self, entry: Pte) -> u64;

    /// The fault where the entry at this address refuses. A kind of address of several modes says here whose table refuses.
    #[inline(always)]
    fn refusal(self, fault: Fault) -> Fault {
        fault
    }
}

/// A kind of address at which a first stage finds its tables and pages.
pub(crate) trait GuestAddress: Address {
    /// A guest physical address; `None` of one with more bits than any second stage translates, which has no name.
    fn of_gpa(gpa: Gpa) -> Option<Self>;

    /// The guest physical address, where a walk knows it: a shadow table leads past it, to a host physical one.
    fn gpa(self) -> Option<Gpa>;

    /// The address that a TLB keeps beside the host physical one.
    #[inline(always)]
    fn kept(self) -> Gpa {
        self.gpa().unwrap_or(Gpa(self.bits()))
    }
}

impl GuestAddress for Gpa {
    #[inline(always)]
    fn of_gpa(gpa: Gpa) -> Option<Self> {
        Some(gpa)
    }

    #[inline(always)]
    fn gpa(self) -> Option<Gpa> {
        Some(self)
    }
}

macro_rules! address {
    ($($name:ident),*) => {$(
        impl Address for $name {
            #[inline(always)]
            fn of(bits: u64) -> Self {
                Self(bits)
            }

            #[inline(always)]
            fn bits(self) -> u64 {
                self.0
            }

            #[inline(always)]
            fn behind(self, entry: Pte) -> u64 {
                entry.address()
            }
        }
    )*};
}

address!(Gva, Gpa, Hpa);

/// What a walk is made on.
pub(crate) struct Ports<'a, M> {
    pub(crate) memory: &'a mut M,
    pub(crate) statistics: &'a mut MmuStatistics,
}

/// A request to a map for the translation of an address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<A> {
    pub(crate) address: A,
    pub(crate) access: Access,
    pub(crate) purpose: Purpose,
    /// The caller has no use for a larger page.
    pub(crate) limit: PageSize,
}

impl<A> Request<A> {
    /// To read the entry of a table.
    #[inline(always)]
    pub(crate) const fn of_table(address: A) -> Self {
        Self { address, access: Access::Read, purpose: Purpose::Table, limit: PageSize::Size4K }
    }

    /// To set A or D of that entry.
    #[inline(always)]
    pub(crate) const fn of_update(address: A) -> Self {
        Self { address, access: Access::Write, purpose: Purpose::Table, limit: PageSize::Size4K }
    }
}

/// What a page is backed by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Backing {
    /// What the host's memory says.
    Host,
    /// A device, whatever the host's memory has at that address.
    Device,
}

/// A translation, in one word, so that it passes between stages in a register: the bits below the page's first byte, of which every page has
/// twelve, are its size, its rights and its backing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(transparent)]
pub(crate) struct Mapping<A> {
    bits: u64,
    address: PhantomData<A>,
}

impl<A: Address> Mapping<A> {
    const SIZE: u64 = (1 << Self::RIGHTS_SHIFT) - 1;
    const RIGHTS_SHIFT: u32 = 3;
    const DEVICE: u64 = 1 << 9;
    const OFFSET: u64 = (1 << 12) - 1;

    /// The page that begins at `page`, which its size divides. `rights` are what it leaves of the rights that the stages above give.
    #[inline(always)]
    pub(crate) fn new(page: A, size: PageSize, rights: Rights, backing: Backing) -> Self {
        debug_assert_eq!(page.bits() & Self::OFFSET, 0, "a page begins at a multiple of 4 KiB");
        let device = if backing == Backing::Device { Self::DEVICE } else { 0 };
        let attributes = size as u64 | u64::from(rights.bits()) << Self::RIGHTS_SHIFT | device;
        // The mask tells the compiler that the page has none of the attributes' bits, so that it knows a constant size again when it is read.
        Self { bits: page.bits() & !Self::OFFSET | attributes, address: PhantomData }
    }

    /// The mapping with its size and backing as constants. The caller knows that it is a base page of memory.
    #[inline(always)]
    pub(crate) const fn as_base_page(&self) -> Self {
        Self { bits: self.bits & !(Self::SIZE | Self::DEVICE), address: PhantomData }
    }

    /// Start of the page.
    #[cfg(test)]
    pub(crate) fn page(&self) -> A {
        A::of(self.bits & !Self::OFFSET)
    }

    /// Its size.
    #[inline(always)]
    pub(crate) const fn size(&self) -> PageSize {
        PageSize::of_index(self.bits as u8)
    }

    /// What it leaves of the rights that the stages above give.
    #[inline(always)]
    pub(crate) const fn rights(&self) -> Rights {
        Rights::of_bits((self.bits >> Self::RIGHTS_SHIFT) as u8 & Rights::ALL.bits())
    }

    /// What the page is backed by.
    #[inline(always)]
    pub(crate) const fn backing(&self) -> Backing {
        if self.bits & Self::DEVICE == 0 { Backing::Host } else { Backing::Device }
    }

    /// Where an address of the page leads.
    #[inline(always)]
    pub(crate) fn target(&self, from: impl Address) -> A {
        A::of(self.bits & !Self::OFFSET | from.bits() & (self.size().bytes() - 1))
    }
}

/// A stage of translation, or several that are composed.
pub(crate) trait Map {
    /// Addresses that it translates.
    type In: Address;
    /// Addresses that it translates them to.
    type Out: Address;

    /// Whether a translation records nothing: then it may be made, found to be of no use, and made again.
    const TRACELESS: bool;

    /// Translates an address and does `then` where it leads. What the translation has used is recorded as the policy says: by the general one
    /// in any case, by the fast path if `then` succeeds.
    fn reach<P: Policy, M: TableMemory, R>(
        &mut self,
        ports: &mut Ports<'_, M>,
        request: Request<Self::In>,
        then: impl FnOnce(&mut Ports<'_, M>, &Mapping<Self::Out>) -> Result<R, P::Stop>,
    ) -> Result<R, P::Stop>;

    /// Translates the address of an entry that was just read to set A or D there.
    fn reach_update<M: TableMemory>(
        &mut self,
        ports: &mut Ports<'_, M>,
        at: Self::In,
    ) -> Result<Mapping<Self::Out>, Fault>;
}

/// A stage behind a borrow.
impl<S: Map> Map for &mut S {
    type In = S::In;
    type Out = S::Out;

    const TRACELESS: bool = S::TRACELESS;

    #[inline(always)]
    fn reach<P: Policy, M: TableMemory, R>(
        &mut self,
        ports: &mut Ports<'_, M>,
        request: Request<S::In>,
        then: impl FnOnce(&mut Ports<'_, M>, &Mapping<S::Out>) -> Result<R, P::Stop>,
    ) -> Result<R, P::Stop> {
        (**self).reach::<P, M, R>(ports, request, then)
    }

    #[inline(always)]
    fn reach_update<M: TableMemory>(&mut self, ports: &mut Ports<'_, M>, at: S::In) -> Result<Mapping<S::Out>, Fault> {
        (**self).reach_update(ports, at)
    }
}
