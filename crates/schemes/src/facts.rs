//! What a scheme says of itself.

use crate::services::Services;
use serde::{Deserialize, Serialize};

/// Facts about a scheme, which do not depend on a configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts {
    /// Its name, as users write it.
    pub name: &'static str,
    /// Further names that users may write; reports have [`Self::name`].
    pub aliases: &'static [&'static str],
    /// What happens after a TLB miss, in one line.
    pub summary: &'static str,
    /// The page of `docs/` that describes it, if there is one.
    pub page: Option<&'static str>,
    /// Dimensions of a walk: 2 where each address of the guest's tables is translated by further tables.
    pub dimensions: u32,
    /// Whether the guest has the host to itself: its physical addresses are the host's.
    pub is_native: bool,
    /// Whether the hypervisor maps pages, so that a second page size is a choice.
    pub has_host_pages: bool,
    /// Segment registers of the processor.
    pub segments: Segments,
    /// What the processor walks in the first dimension.
    pub walked: Walked,
    /// What reports call the table that translates guest physical addresses.
    pub host_table: &'static str,
    /// Schemes of a family have one colour in charts.
    pub family: Family,
    /// Who refills the TLBs, if the scheme says so; else the host model does.
    pub refill: Option<RefillName>,
    /// What has to change in the guest's kernel or programs.
    pub guest_changes: &'static str,
    /// What the hypervisor needs beside what nested paging needs.
    pub hypervisor_changes: &'static str,
    /// Programs that it is for.
    pub applications: &'static str,
    /// What can be done with memory.
    pub services: Services,
    /// Why a guest maps no sections; `None` where it can.
    pub section_obstacle: Option<&'static str>,
}

/// Which dimensions have a segment register (Gandhi et al. 2014).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Segments {
    /// Neither.
    None,
    /// gVA → gPA.
    Guest,
    /// gPA → hPA.
    Hypervisor,
    /// Both.
    Both,
}

impl Segments {
    /// Whether the guest has one.
    #[must_use]
    pub const fn has_guest(self) -> bool {
        matches!(self, Self::Guest | Self::Both)
    }

    /// Whether the hypervisor has one.
    #[must_use]
    pub const fn has_hypervisor(self) -> bool {
        matches!(self, Self::Hypervisor | Self::Both)
    }
}

/// The tables that a processor walks for a program's address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Walked {
    /// The guest's own.
    GuestTables,
    /// Tables that the hypervisor derives from the guest's and its own, as [`Scheme::shadow`](crate::Scheme::shadow) says.
    ShadowTables,
}

/// Schemes that are alike.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Family {
    /// No virtual machine.
    Native,
    /// Nested tables.
    Nested,
    /// Shadow tables.
    Shadow,
    /// One entry, or one constant, for each guest physical address.
    Flat,
    /// Direct segments.
    Segment,
    /// All others.
    Other,
}

/// Who refills the TLBs after a miss of every level.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RefillName {
    /// A walker.
    Hardware,
    /// A routine in the hardware mode.
    Software,
}
