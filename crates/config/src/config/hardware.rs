//! What a configuration makes of the translation hardware and of the hypervisor: MMU, second stage, shadow tables.

use super::{AdName, Config, ConfigError};
use crate::host_model::{ArrayModel, HostModel, HostModelError, WalkCacheModel};
use hypervisor::{Backing, LeafStatus};
use keys::GroupValues;
use mmu::{AdPolicy, MmuConfig, Refill, SoftwareRules, Stages, Storage, TlbArray, Translated};
use schemes::{GuestMemory, RefillName, ShadowTables, Walked};
use types::PageSize;

impl Config {
    /// The host: the model that `host` names, with the numbers that `host.*` changes.
    ///
    /// # Errors
    /// [`HostModelError`], naming the file and the key.
    pub fn host_model(&self) -> Result<HostModel, HostModelError> {
        HostModel::load(&self.host)?.with(&self.open.host_settings())
    }

    const fn ad(&self) -> AdPolicy {
        match self.mmu.ad {
            AdName::Hardware => AdPolicy::Update,
            AdName::Fault | AdName::Switchable => AdPolicy::Fault,
        }
    }

    /// The guest's shadow tables, if the scheme has any of its own.
    #[must_use]
    pub fn shadow(&self) -> Option<ShadowTables> {
        self.scheme.scheme().shadow(&self.guest_memory())
    }

    /// What the hypervisor keeps to translate a guest's memory.
    #[must_use]
    pub fn backing(&self) -> Backing {
        self.scheme.scheme().backing(&self.guest_memory())
    }

    /// What a scheme goes by.
    pub(super) fn guest_memory(&self) -> GuestMemory {
        GuestMemory {
            mode: self.paging.host.mode(),
            page: self.scheme.host_page().unwrap_or_default(),
            // A pager wants to know which pages are in use, and which were written to.
            status: if self.host_memory.is_some() { LeafStatus::Clear } else { LeafStatus::Preset },
            filter: self.segment.filter.size(),
            attribute: self.memory_attribute.attribute(),
            harts: self.harts,
            rules: SoftwareRules { ad: self.ad(), svnapot: self.isa.svnapot },
            shadow: self.shadow,
            keys: self.scheme_keys(),
        }
    }

    /// The values of the scheme's own keys.
    #[must_use]
    pub fn scheme_keys(&self) -> GroupValues {
        self.scheme.scheme().keys().map_or_else(GroupValues::default, |group| self.open.group(group.name))
    }

    /// The MMU of `host`'s processors, with what this configuration replaces. Page-walk caches and nested TLB are a walker's: where software
    /// refills the TLBs there is no nested TLB, and page-walk caches only if the host's own routine has them.
    ///
    /// # Errors
    /// [`ConfigError::Range`], if software refills the TLBs and parts of a walker are asked for.
    pub fn mmu(&self, host: &HostModel) -> Result<MmuConfig, ConfigError> {
        self.check_refill(host)?;
        let [l1d, l1i, l2] = self.mmu.levels(host).map(|arrays| arrays.iter().map(ArrayModel::array).collect());
        let name = self.refill(host);
        let walk_caches = self.mmu.walk_caches.resolve(host.walk_caches(name), WalkCacheModel::OFF);
        let (refill, nested_entries) = match name {
            RefillName::Hardware => (Refill::Hardware, self.mmu.nested_tlb.resolve(host.tlb.nested_tlb, 0)),
            RefillName::Software => (Refill::Software(host.refill.routine()), 0),
        };
        Ok(MmuConfig {
            l1i,
            l1d,
            l2,
            walk_caches: walk_caches.sizes(),
            nested_tlb: (nested_entries > 0)
                .then(|| self.mmu.replacement.of_nested_tlb(TlbArray::new(&PageSize::ALL, 1, nested_entries))),
            first_stage_ad: self.ad(),
            second_stage_ad: AdPolicy::Update,
            svnapot: self.isa.svnapot,
            second_stage_groups: host.tlb.groups.groups(),
            refill,
        })
    }

    /// Bits of storage of `mmu`, which is that of a processor of this machine.
    #[must_use]
    pub fn storage(&self, mmu: &MmuConfig) -> Storage {
        let facts = self.scheme.facts();
        // A walk in shadow tables alone has one dimension, and one that may leave them has two.
        let reads_second_stage = facts.walked == Walked::GuestTables || facts.dimensions > 1;
        let stages = match self.backing().design() {
            _ if facts.is_native => Stages::Native,
            Some((_, mode)) if reads_second_stage => Stages::Nested(mode),
            Some(_) | None => Stages::Virtual,
        };
        Storage::of(mmu, Translated { guest: self.paging.guest.mode(), stages })
    }
}
