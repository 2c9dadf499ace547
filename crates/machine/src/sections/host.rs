//! The sections of a host.

use super::figures::Ledger;
use super::plan::{GuestSections, SectionPlan};
use hypervisor::section::SectionManager;
use std::collections::BTreeMap;
use types::Vmid;

/// The sections of a machine.
pub(crate) struct HostSections {
    pub(crate) manager: SectionManager,
    pub(crate) ledger: Ledger,
    /// The sections that the host began with.
    pub(super) plans: Vec<SectionPlan>,
    /// What each guest's configuration gives it.
    pub(super) offers: BTreeMap<Vmid, GuestSections>,
}
