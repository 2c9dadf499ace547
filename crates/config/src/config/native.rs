//! The native machine that a system is measured against.

use super::builder::known::{host_keys, name_of_number};
use super::{Config, MmuKeys, ReplacementKeys, Switch};
use crate::host_model::{HostModel, WalkCacheModel};
use crate::warmup::Warmup;
use keys::Keys;
use schemes::PagedScheme;

impl Config {
    /// This machine without its hypervisor, on `host`, the model that [`Config::host_model`] gives: native with guest pages of the same size.
    /// Keys that a native machine does not use, as their declarations say, have their defaults, and keys that replace a part of the host are
    /// written out. So two configurations give the same if and only if their native machines do the same, cycle for cycle.
    #[must_use]
    pub fn native(&self, host: &HostModel) -> Self {
        let mut native = self.for_native();
        native.scheme = PagedScheme::native(self.scheme.guest_page());
        native.warmup = match self.warmup {
            Warmup::None | Warmup::Touch => Warmup::None,
            Warmup::Snapshot => Warmup::Snapshot,
            Warmup::Instructions(count) => Warmup::Instructions(count),
        };
        native.mmu = self.mmu.native(host);
        let used: Vec<String> =
            host_keys().into_iter().filter(|key| key.facts.affects_native()).map(|key| key.name).collect();
        // Groups are schemes' own, of which a native machine has none.
        native.open = self.open.only(|name| {
            let name = name_of_number(name);
            used.iter()
                .any(|used| used.strip_prefix(&name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
        });
        native
    }
}

impl MmuKeys {
    fn native(&self, host: &HostModel) -> Self {
        let own = self.for_native();
        let [l1d, l1i, l2] = own.levels(host).map(Some);
        // A scheme's own way of refill is not the native machine's.
        let refill = own.refill.unwrap_or(host.refill.by);
        let WalkCacheModel { guest, host: _ } = own.walk_caches.resolve(host.walk_caches(refill), WalkCacheModel::OFF);
        Self {
            l1d,
            l1i,
            l2,
            // The policies of the levels are in their arrays.
            replacement: ReplacementKeys::default(),
            walk_caches: Switch::Sized(WalkCacheModel { guest, host: [0; 4] }),
            nested_tlb: Switch::Off,
            refill: Some(refill),
            ad: own.ad,
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
        config.native(&config.host_model().unwrap())
    }

    #[test]
    fn what_only_a_hypervisor_uses_makes_no_other_native_machine() {
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
            ("host.prices.exit", "9"),
            ("host.refill.flat_lookup", "9"),
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
            ("host.prices.firmware_call", "9"),
            ("host.tlb.l2.ways", "8"),
            ("host.tlb.l2.replacement", "fifo"),
            ("host.clock_hz", "9"),
        ] {
            assert_ne!(native(&[other]), native(&[]), "{other:?}");
        }
    }
}
