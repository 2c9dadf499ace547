//! Levels of the TLB hierarchy between the last TLB and the walker.
//!
//! Such a level may lie in memory or in a data cache, as the part-of-memory TLB of Ryoo, Gulur, Song and John ("Rethinking TLB Designs in
//! Virtualized Environments: A Very Large Part-of-Memory TLB", ISCA 2017), and then costs references itself. It is looked up in place of a walk, which
//! takes hundreds of the host's instructions: so it is behind a trait object, and an MMU that has none pays nothing.

mod l3;

pub use l3::L3;

use crate::space::Space;
use crate::tlb::Translation;
use core::fmt;
use types::{Gpa, Gva, Hpa, PageSize, Vmid};

/// A level behind the L2. Levels are looked up one after the other, and each keeps what is found behind it.
///
/// A level keeps translations as the TLBs do: what it holds stays as it is until a fence removes it.
pub trait OuterTlb: fmt::Debug + Send {
    /// An entry for the page of `gva` that `answers` takes. Each read of `memory` is a reference.
    fn look_up(
        &mut self,
        gva: Gva,
        answers: &dyn Fn(&OuterEntry) -> bool,
        memory: &mut References<'_>,
    ) -> Option<OuterEntry>;

    /// Keeps an entry for an access to `gva`, in the place of one for the [same page](OuterEntry::is_same_page) if there is one. The write is posted: no access waits for
    /// it.
    fn fill(&mut self, gva: Gva, entry: &OuterEntry);

    /// Drops the entries that `drops` names, among those for pages of `gva` if that is given. It names them by their address space alone.
    fn remove(&mut self, gva: Option<Gva>, drops: &dyn Fn(&OuterEntry) -> bool);
}

/// The host's memory, which counts what is read.
pub struct References<'a> {
    read: &'a mut dyn FnMut(Hpa) -> Option<u64>,
    request: u64,
}

impl<'a> References<'a> {
    pub(crate) fn new(read: &'a mut dyn FnMut(Hpa) -> Option<u64>) -> Self {
        Self { read, request: 0 }
    }

    /// The double word at `at`, a multiple of 8; `None` outside memory.
    pub fn read(&mut self, at: Hpa) -> Option<u64> {
        self.request += 1;
        (self.read)(at)
    }

    /// References made so far.
    #[must_use]
    pub const fn request(&self) -> u64 {
        self.request
    }
}

impl fmt::Debug for References<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("References").field("made", &self.request).finish_non_exhaustive()
    }
}

/// A page with its translation through both stages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OuterEntry {
    page: Gva,
    translation: Translation,
}

impl OuterEntry {
    /// What the TLBs keep of the page around `gva`.
    pub(crate) fn new(gva: Gva, translation: &Translation) -> Self {
        Self { page: gva.page(translation.size()), translation: *translation }
    }

    pub(crate) const fn translation(&self) -> &Translation {
        &self.translation
    }

    pub(crate) const fn space(&self) -> Space {
        self.translation.space()
    }

    /// The page's first byte.
    #[must_use]
    pub const fn page(&self) -> Gva {
        self.page
    }

    /// The page's size.
    #[must_use]
    pub const fn size(&self) -> PageSize {
        self.translation.size()
    }

    /// The virtual machine.
    #[must_use]
    pub const fn vmid(&self) -> Vmid {
        self.translation.space().vmid()
    }

    /// Where the page starts in guest physical memory.
    #[must_use]
    pub const fn gpa(&self) -> Gpa {
        self.translation.gpa
    }

    /// Where it starts in the host's.
    #[must_use]
    pub const fn hpa(&self) -> Hpa {
        self.translation.hpa
    }

    /// Whether an address is in the page.
    #[must_use]
    pub fn covers(&self, gva: Gva) -> bool {
        gva.page(self.size()) == self.page
    }

    /// Whether `other` is for the same page of the same address space, perhaps with other rights or elsewhere.
    #[must_use]
    pub fn is_same_page(&self, other: &Self) -> bool {
        (self.page, self.size(), self.space()) == (other.page, other.size(), other.space())
    }
}
