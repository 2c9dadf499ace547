//! What happens on the miss path, told to observers: statistics, profilers, prefetchers.
//!
//! An MMU has one [`Observer`] as a type parameter ([`Mmu::observed`](crate::Mmu::observed)), and a pair of observers is one. The calls are static.
//! Where [`Observer::OBSERVES`] is false, as for [`NoObserver`], events are neither made nor looked at. Where it is true, every miss takes the
//! general path, which finds the same and counts the same as the fast one. Hits of an L1 are no events: the hart makes them by itself.
//!
//! One access tells its events in this order: a miss of the L1, a miss of the L2, the walk, and for the L2 and then the L1 an eviction, if a page gave
//! way, and the fill.

mod classify;
mod counts;

pub(crate) use classify::Classifier;
pub use classify::MissClass;
pub use counts::{EventCounts, LevelCounts};

use crate::fault::Fault;
use types::{Access, Gpa, Gva, Hpa, PageSize, TranslationContext, Vmid};

/// A level of the TLBs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TlbLevel {
    /// First level, loads and stores.
    L1d,
    /// First level, fetches.
    L1i,
    /// Second level.
    L2,
}

impl TlbLevel {
    /// The first level that answers an access.
    #[must_use]
    pub const fn first(access: Access) -> Self {
        match access {
            Access::Read | Access::Write => Self::L1d,
            Access::Execute => Self::L1i,
        }
    }
}

/// An access that a level does not answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Miss {
    /// The level.
    pub level: TlbLevel,
    /// The virtual machine.
    pub vmid: Vmid,
    /// The address.
    pub gva: Gva,
    /// What is done there.
    pub access: Access,
}

/// What answered where an L1 missed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// Direct segments in both dimensions.
    Segments,
    /// The L2.
    L2,
    /// A level behind the L2.
    Outer,
    /// A walk.
    Walk,
}

/// A translation that is put into a level.
#[derive(Clone, Copy, Debug)]
pub struct Fill<'a> {
    /// The level.
    pub level: TlbLevel,
    /// Where it comes from.
    pub source: Source,
    /// The virtual machine.
    pub vmid: Vmid,
    /// The context in which the access was made.
    pub context: &'a TranslationContext,
    /// The access that missed.
    pub gva: Gva,
    /// What is done there.
    pub access: Access,
    /// Guest physical address of the byte.
    pub gpa: Gpa,
    /// Host physical address of the byte.
    pub hpa: Hpa,
    /// Size of the page that is kept.
    pub size: PageSize,
}

/// A page that gives way to another in a level. (What a fence removes does not.)
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Eviction {
    /// The level.
    pub level: TlbLevel,
    /// The virtual machine whose page it is.
    pub vmid: Vmid,
    /// Its first byte.
    pub page: Gva,
    /// Its size.
    pub size: PageSize,
}

/// A walk that has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Walk {
    /// The virtual machine.
    pub vmid: Vmid,
    /// The address that is translated.
    pub gva: Gva,
    /// What is done there.
    pub access: Access,
    /// Entries of the guest's tables that were read.
    pub guest_refs: u64,
    /// Entries of the second stage's tables that were read.
    pub host_refs: u64,
    /// Why it found nothing.
    pub fault: Option<Fault>,
}

/// A receiver of events.
pub trait Observer {
    /// Whether events are made for it.
    const OBSERVES: bool;

    /// A level does not answer an access.
    fn miss(&mut self, miss: &Miss);

    /// A level keeps a translation.
    fn fill(&mut self, fill: &Fill<'_>);

    /// A level gives up a page for another.
    fn eviction(&mut self, eviction: &Eviction);

    /// A walk has ended.
    fn walk(&mut self, walk: &Walk);
}

/// No observer.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    const OBSERVES: bool = false;

    fn miss(&mut self, _: &Miss) {}

    fn fill(&mut self, _: &Fill<'_>) {}

    fn eviction(&mut self, _: &Eviction) {}

    fn walk(&mut self, _: &Walk) {}
}

/// Two observers, told one after the other.
impl<A: Observer, B: Observer> Observer for (A, B) {
    const OBSERVES: bool = A::OBSERVES || B::OBSERVES;

    fn miss(&mut self, miss: &Miss) {
        self.0.miss(miss);
        self.1.miss(miss);
    }

    fn fill(&mut self, fill: &Fill<'_>) {
        self.0.fill(fill);
        self.1.fill(fill);
    }

    fn eviction(&mut self, eviction: &Eviction) {
        self.0.eviction(eviction);
        self.1.eviction(eviction);
    }

    fn walk(&mut self, walk: &Walk) {
        self.0.walk(walk);
        self.1.walk(walk);
    }
}
