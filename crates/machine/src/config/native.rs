//! The native machine that a system is measured against.

use super::{
    AttributeName, Config, EngineName, FaultyKeys, HostPaging, MmuKeys, PagingKeys, ReplacementKeys, SegmentKeys,
    ShadowKeys, SwapKeys, Switch,
};
use crate::host_model::{HostModel, WalkCacheModel};
use crate::scheme::Scheme;
use crate::warmup::Warmup;

impl Config {
    /// This machine without its monitor, on `host`, the model that [`Config::host`] names: native with guest pages of the same size. Keys that
    /// a native machine does not use have their defaults, and keys that replace a part of the host are written out. So two configurations
    /// give the same if and only if their native machines do the same, cycle for cycle.
    ///
    /// Whoever adds a key says here whether a native machine uses it.
    #[must_use]
    pub fn native(&self, host: &HostModel) -> Self {
        let Self {
            host: name,
            fidelity,
            scheme,
            harts,
            memory,
            memory_attribute: _, // Native memory is V=R.
            host_memory: _,      // As much as the guest has.
            swap: _,             // Nobody pages it out.
            balloon,
            timeout,
            warmup,
            seed,
            quantum,
            engine: _, // Each gives the same cycles.
            // The policies of the levels are in their arrays.
            mmu: MmuKeys { l1d: _, l1i: _, l2: _, replacement: _, walk_caches, nested_tlb: _, refill, ad },
            shadow: _, // It has no shadow tables.
            segment: SegmentKeys { region, filter: _, classify: _, hot_add },
            faulty: _, // Its memory is sound.
            disk,
            plic,
            guest: told,
            paging: PagingKeys { guest, host: _ },
            isa,
            sbi,
        } = self.clone();
        let [l1d, l1i, l2] = self.tlb_levels(host).map(Some);
        // A scheme's own way of refill is not the native machine's.
        let refill = refill.unwrap_or(host.refill.by);
        let WalkCacheModel { guest: walk_caches, host: _ } =
            walk_caches.resolve(host.walk_caches(refill), WalkCacheModel::OFF);
        Self {
            host: name,
            fidelity,
            scheme: Scheme::native(scheme.guest_page()),
            harts,
            memory,
            memory_attribute: AttributeName::default(),
            host_memory: None,
            swap: SwapKeys::default(),
            balloon,
            timeout,
            warmup: match warmup {
                Warmup::None | Warmup::Touch => Warmup::None,
                Warmup::Snapshot => Warmup::Snapshot,
                Warmup::Instructions(count) => Warmup::Instructions(count),
            },
            seed,
            quantum,
            engine: EngineName::Compiled,
            mmu: MmuKeys {
                l1d,
                l1i,
                l2,
                replacement: ReplacementKeys::default(),
                walk_caches: Switch::Sized(WalkCacheModel { guest: walk_caches, host: [0; 4] }),
                nested_tlb: Switch::Off,
                refill: Some(refill),
                ad,
            },
            shadow: ShadowKeys::default(),
            segment: SegmentKeys { region, hot_add, ..SegmentKeys::default() },
            faulty: FaultyKeys::default(),
            disk,
            plic,
            guest: told,
            paging: PagingKeys { guest, host: HostPaging::default() },
            isa,
            sbi,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigBuilder;
    use crate::host_model::DEFAULT_HOST;

    fn native(settings: &[(&str, &str)]) -> Config {
        let set = |builder: ConfigBuilder, &(key, value): &(&str, &str)| builder.set(key, value).unwrap();
        let config = settings.iter().fold(ConfigBuilder::default(), set).build().unwrap();
        config.native(&HostModel::load(&config.host).unwrap())
    }

    #[test]
    fn what_only_a_monitor_uses_makes_no_other_native_machine() {
        for same in [
            ("scheme", "nested:4K+2M"),
            ("scheme", "flat"),
            ("scheme", "reserved"),
            ("scheme", "shadow"),
            ("scheme", "dual-direct"),
            ("segment.filter.bits", "1024"),
            ("faulty.count", "3"),
            ("shadow.count", "9"),
            ("mmu.refill", "hardware"),
            ("mmu.nested_tlb", "off"),
            ("mmu.replacement.nested_tlb", "srrip"),
            ("mmu.replacement.l2", "lru"),
            ("mmu.walk_caches", "on"),
            ("paging.host", "sv48x4"),
            ("host_memory", "64M"),
            ("swap.size", "64M"),
            ("engine", "match"),
            ("warmup", "touch"),
        ] {
            assert_eq!(native(&[same]), native(&[]), "{same:?}");
        }
        // The host's dimension alone, the guest's as the model has it.
        let model = HostModel::load(DEFAULT_HOST).unwrap().tlb.walk_caches.guest;
        let own = format!("{{ guest = {model:?}, host = [0, 0, 0, 0] }}");
        assert_eq!(native(&[("mmu.walk_caches", &own)]), native(&[]));
    }

    #[test]
    fn what_a_native_machine_uses_makes_another() {
        for other in [
            ("scheme", "native:2M"),
            ("scheme", "nested:2M+4K"),
            ("host", "xeon-2017"),
            ("harts", "2"),
            ("memory", "2G"),
            ("timeout", "9"),
            ("seed", "9"),
            ("warmup", "9"),
            ("warmup", "snapshot"),
            ("quantum", "999"),
            ("mmu.walk_caches", "off"),
            ("mmu.l2", "[{ sizes = ['4K'], sets = 16, ways = 4 }]"),
            ("mmu.replacement.l1d", "fifo"),
            ("mmu.replacement.l2", "random:2"),
            ("mmu.ad", "hardware"),
            ("balloon.target", "64M"),
            ("segment.region", "64M"),
            ("mmu.refill", "software"),
            ("guest.thp", "always"),
            ("paging.guest", "sv48"),
            ("isa.sstc", "false"),
            ("plic.contexts", "m+s"),
            ("sbi.pmu", "true"),
        ] {
            assert_ne!(native(&[other]), native(&[]), "{other:?}");
        }
    }
}
