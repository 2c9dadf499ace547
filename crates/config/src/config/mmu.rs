//! `mmu.*`: translation hardware. What is given replaces the host model's.

use super::{ReplacementKeys, Switch, replacement};
use crate::host_model::{ArrayModel, HostModel, WalkCacheModel};
use crate::refill::RefillName;
use keys::{key, settings};
use serde::{Deserialize, Serialize};

settings! {
    /// `mmu.*`.
    pub struct MmuKeys {
        #[serde(skip_serializing_if = "Option::is_none")]
        pub l1d: Option<Vec<ArrayModel>> = None => key(
            "arrays of a TLB level: `[{ sizes = [\"4K\"], sets = 16, ways = 4 }, …]`; sets a power of two, 1 for full \
             associativity. Each may have a `replacement`, as below"
        ).without("the host model's"),
        #[serde(skip_serializing_if = "Option::is_none")]
        pub l1i: Option<Vec<ArrayModel>> = None => key("arrays of the L1 instruction TLB").with("l1d"),
        #[serde(skip_serializing_if = "Option::is_none")]
        pub l2: Option<Vec<ArrayModel>> = None => key("arrays of the L2 TLB").with("l1d"),
        /// Replacement policies of the levels.
        #[serde(skip_serializing_if = "ReplacementKeys::is_default")]
        pub replacement: ReplacementKeys,
        pub walk_caches: Switch<WalkCacheModel> = Switch::On => key(
            "`on` (the host model's), `off`, or `{ guest = [32, 4, 2, 1], host = [32, 4, 2, 1] }`: entries per level, \
             from the one above the leaf tables upwards"
        ),
        pub nested_tlb: Switch<u32> = Switch::On => key("`on` (the host model's), `off`, or a number of entries")
            .taking("`on`, `off` or a number of entries").virtual_only(),
        #[serde(skip_serializing_if = "Option::is_none")]
        pub refill: Option<RefillName> = None => key(
            "who refills the TLBs: `hardware`, a walker; `software`, a routine in the hardware mode, whose instructions \
             the host model prices, without walk caches and nested TLB ([flat.md](flat.md)). `flat` implies software and \
             `flat-hw` hardware; of the hosts `sunway-1621` and `alpha-1997` are refilled by software"
        ).without("the scheme's, or else the host model's"),
        pub ad: AdName = AdName::Fault => key(
            "who sets A and D bits of the guest's tables: the guest on a `fault`, the `hardware` (Svadu, then \
             advertised), or `switchable`: the guest until it asks for the hardware by the SBI's FWFT (Svade and Svadu)"
        ),
    }
}

impl MmuKeys {
    /// Entries of the largest array of a TLB level.
    #[must_use]
    pub fn largest(&self, host: &HostModel) -> u64 {
        let arrays = self.levels(host);
        let entries = arrays.iter().flatten().map(|array| u64::from(array.sets) * u64::from(array.ways));
        entries.max().unwrap_or(0)
    }

    /// The arrays of L1D, L1I and L2, as given here or as `host` has them, with the policies that are given here.
    pub(super) fn levels(&self, host: &HostModel) -> [Vec<ArrayModel>; 3] {
        let Self { l1d, l1i, l2, replacement, .. } = self;
        [
            replacement::with(l1d.as_deref().unwrap_or(&host.tlb.l1d), replacement.l1d),
            replacement::with(l1i.as_deref().unwrap_or(&host.tlb.l1i), replacement.l1i),
            replacement::with(l2.as_deref().unwrap_or(&host.tlb.l2), replacement.l2),
        ]
    }
}

/// `mmu.ad`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AdName {
    /// Svadu.
    Hardware,
    /// Svadu and Svade: a clear bit faults until the guest asks for the other way by the SBI's FWFT.
    Switchable,
    /// Svade: a clear bit faults.
    #[default]
    Fault,
}
