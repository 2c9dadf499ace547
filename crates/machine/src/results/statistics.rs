//! What a run is measured by.

use crate::caches::CacheStatistics;
use crate::cores::CoreStatistics;
use crate::results::footprint::FootprintStatistics;
use hypervisor::shadow::ShadowStatistics;
use hypervisor::{ExitCounts, PagingCounts};
use mmu::MmuStatistics;
use serde::{Deserialize, Serialize};
use types::Cycles;

/// Counts of one or several processors, over a run or a region of interest of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Statistics {
    /// Instructions retired.
    pub instructions: u64,
    /// Loads.
    pub loads: u64,
    /// Stores, atomic operations among them.
    pub stores: u64,
    /// Page faults that programs took, in U-mode.
    #[serde(default)]
    pub page_faults: u64,
    /// Instructions of the guest's kernel from each of them to the return to U-mode.
    #[serde(default)]
    pub page_fault_instructions: u64,
    /// Transactions that ended (marker 3).
    pub transactions: u64,
    /// What the MMU counted.
    pub mmu: MmuStatistics,
    /// What the caches counted, if they are modelled.
    pub caches: Option<CacheStatistics>,
    /// What the cores counted, if they are modelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<CoreStatistics>,
    /// What the hypervisor touched, if that is modelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub footprint: Option<FootprintStatistics>,
    /// Exits by reason.
    pub exits: ExitCounts,
    /// Pages that were taken away and brought back.
    pub paging: PagingCounts,
    /// Maintenance of shadow tables, if the guest has any.
    pub shadow: Option<ShadowStatistics>,
    /// Where the time went.
    pub time: Time,
}

/// Cycles by what they were spent on. Waiting is not among them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Time {
    /// Instructions, as if translation were free; where caches are modelled, with what their own accesses wait for lines.
    pub guest: Cycles,
    /// L2 TLB hits and table references.
    pub translation: Cycles,
    /// Exits, entries and the hypervisor's work.
    pub hypervisor: Cycles,
}

impl Time {
    /// All of it.
    #[must_use]
    pub fn total(&self) -> Cycles {
        self.guest + self.translation + self.hypervisor
    }
}

impl Statistics {
    /// What was counted since `earlier`, taken of the same processors.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            instructions: self.instructions - earlier.instructions,
            loads: self.loads - earlier.loads,
            stores: self.stores - earlier.stores,
            page_faults: self.page_faults - earlier.page_faults,
            page_fault_instructions: self.page_fault_instructions - earlier.page_fault_instructions,
            transactions: self.transactions - earlier.transactions,
            mmu: self.mmu.since(&earlier.mmu),
            caches: self.caches.map(|caches| caches.since(&earlier.caches.unwrap_or_default())),
            core: self.core.map(|core| core.since(&earlier.core.unwrap_or_default())),
            footprint: self.footprint.map(|all| all.since(&earlier.footprint.unwrap_or_default())),
            exits: self.exits.since(&earlier.exits),
            paging: self.paging.since(&earlier.paging),
            shadow: self.shadow.map(|shadow| shadow.since(&earlier.shadow.unwrap_or_default())),
            time: Time {
                guest: self.time.guest - earlier.time.guest,
                translation: self.time.translation - earlier.time.translation,
                hypervisor: self.time.hypervisor - earlier.time.hypervisor,
            },
        }
    }

    /// Adds what another processor counted.
    pub(crate) fn add(&mut self, other: &Self) {
        self.instructions += other.instructions;
        self.loads += other.loads;
        self.stores += other.stores;
        self.page_faults += other.page_faults;
        self.page_fault_instructions += other.page_fault_instructions;
        self.transactions += other.transactions;
        self.mmu.add(&other.mmu);
        if let Some(caches) = &other.caches {
            self.caches.get_or_insert_default().add(caches);
        }
        if let Some(core) = &other.core {
            self.core.get_or_insert_default().add(core);
        }
        if let Some(footprint) = &other.footprint {
            self.footprint.get_or_insert_default().add(footprint);
        }
        self.exits.add(&other.exits);
        self.paging.add(&other.paging);
        if let Some(other) = &other.shadow {
            self.shadow.get_or_insert_default().add(other);
        }
        self.time.guest += other.time.guest;
        self.time.translation += other.time.translation;
        self.time.hypervisor += other.time.hypervisor;
    }
}
