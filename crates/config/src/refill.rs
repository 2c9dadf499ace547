//! Who refills the TLBs: the host model's way, which a scheme or the configuration may change.

use crate::config::{Config, ConfigError, Switch};
use crate::host_model::{HostModel, WalkCacheModel};
pub use schemes::RefillName;

impl HostModel {
    /// Page-walk caches where `refill` refills the TLBs: those of the walker, or what the host's own routine has.
    #[must_use]
    pub fn walk_caches(&self, refill: RefillName) -> WalkCacheModel {
        if refill == RefillName::Hardware || refill == self.refill.by {
            self.tlb.walk_caches
        } else {
            WalkCacheModel::OFF
        }
    }
}

impl Config {
    /// Who refills the TLBs: what the configuration says, or else the scheme, or else the host model.
    #[must_use]
    pub fn refill(&self, host: &HostModel) -> RefillName {
        self.mmu.refill.or(self.scheme.facts().refill).unwrap_or(host.refill.by)
    }

    /// Checks that the configuration does not ask for a walker's parts where there is no walker.
    pub(crate) fn check_refill(&self, host: &HostModel) -> Result<(), ConfigError> {
        let wrong = |key: &'static str, problem: &str| Err(ConfigError::range(key, problem));
        let refill = self.refill(host);
        let facts = self.scheme.facts();
        if refill == RefillName::Hardware {
            return Ok(());
        }
        if facts.refill == Some(RefillName::Hardware) {
            let problem = format!("`{}` is refilled by a hardware walker", facts.name);
            return wrong("mmu.refill", &problem);
        }
        let routine_has = host.walk_caches(refill) != WalkCacheModel::OFF;
        if matches!(self.mmu.walk_caches, Switch::Sized(sizes) if sizes != WalkCacheModel::OFF && !routine_has) {
            return wrong("mmu.walk_caches", "software refills the TLBs, and page-walk caches are a hardware walker's");
        }
        if matches!(self.mmu.nested_tlb, Switch::Sized(1..)) && facts.has_host_pages {
            return wrong("mmu.nested_tlb", "software refills the TLBs, and a nested TLB is a hardware walker's");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigBuilder;

    /// The MMU of a configuration, with its host.
    fn mmu(settings: &[(&str, &str)]) -> Result<(mmu::MmuConfig, HostModel), ConfigError> {
        let set = |builder: ConfigBuilder, &(key, value): &(&str, &str)| builder.set(key, value).unwrap();
        let config = settings.iter().fold(ConfigBuilder::default(), set).build().unwrap();
        let host = config.host_model().unwrap();
        Ok((config.mmu(&host)?, host))
    }

    #[test]
    fn configuration_comes_before_scheme_and_scheme_before_host() {
        use RefillName::{Hardware, Software};
        let hosts = [("sandybridge-2012", Hardware), ("xeon-2017", Hardware), ("hitachi-1985", Hardware)];
        for (host, own) in hosts.into_iter().chain([("sunway-1621", Software), ("alpha-1997", Software)]) {
            for (scheme, implied) in
                [("native", own), ("nested", own), ("reserved", own), ("flat", Software), ("flat-hw", Hardware)]
            {
                let settings = [("host", host), ("scheme", scheme)];
                let refill = |settings: &[(&str, &str)]| mmu(settings).map(|(mmu, _)| mmu.refill);
                let (found, model) = mmu(&settings).unwrap();
                let name = |refill| if refill == mmu::Refill::Hardware { Hardware } else { Software };
                assert_eq!(name(found.refill), implied, "{scheme} on {host}");
                if implied == Software {
                    assert_eq!(found.refill, mmu::Refill::Software(model.refill.routine()));
                }
                let [first, second] = settings;
                let hardware = refill(&[first, second, ("mmu.refill", "hardware")]);
                assert_eq!(hardware.unwrap(), mmu::Refill::Hardware);
                let software = refill(&[first, second, ("mmu.refill", "software")]);
                assert_eq!(software.is_err(), scheme == "flat-hw", "{scheme} on {host}");
            }
        }
    }

    #[test]
    fn a_routine_has_no_parts_of_a_walker() {
        let (mmu, _) = self::mmu(&[("scheme", "flat")]).unwrap();
        assert_eq!((mmu.walk_caches, mmu.nested_tlb), (mmu::WalkCaches::OFF, None));
        let (mmu, host) = self::mmu(&[("scheme", "flat-hw")]).unwrap();
        assert_eq!(mmu.walk_caches, host.tlb.walk_caches.sizes());
        assert!(mmu.nested_tlb.is_some());
        // But for one whose model says so.
        let alpha = [("host", "alpha-1997"), ("scheme", "nested")];
        let (mmu, host) = self::mmu(&alpha).unwrap();
        assert_eq!(mmu.walk_caches, host.tlb.walk_caches.sizes());
        assert_ne!(mmu.walk_caches, mmu::WalkCaches::OFF);
        let own = ("mmu.walk_caches", "{ guest = [1, 0, 0, 0], host = [0, 0, 0, 0] }");
        assert!(self::mmu(&[alpha[0], alpha[1], own]).is_ok());
        for asked in [own, ("mmu.nested_tlb", "8")] {
            let error = self::mmu(&[("scheme", "flat"), asked]).unwrap_err().to_string();
            assert!(error.starts_with(asked.0), "{error}");
        }
        // What a native machine has no use for is no contradiction.
        let native = [("host", "sunway-1621"), ("scheme", "native"), ("mmu.nested_tlb", "8")];
        assert_eq!(self::mmu(&native).unwrap().0.nested_tlb, None);
    }
}
