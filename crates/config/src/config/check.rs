//! What keys demand of each other. What each takes by itself is in its declaration.

use super::{AdName, Config, ConfigError};
use schemes::{KeyProblem, ServiceName, Walked};

impl Config {
    /// Checks the keys against each other.
    ///
    /// # Errors
    /// [`ConfigError::Range`].
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.mmu.ad == AdName::Switchable && self.scheme.facts().walked != Walked::GuestTables {
            let problem = "shadow tables are kept for one way of setting A and D bits: `fault` or `hardware`";
            return Err(ConfigError::range("mmu.ad", problem));
        }
        if self.isa.d && !self.isa.f {
            return Err(ConfigError::range("isa.d", "needs isa.f"));
        }
        if let Some(KeyProblem { key, problem }) = self.scheme.scheme().problem(&self.guest_memory()) {
            return Err(ConfigError::range(key, problem));
        }
        if let Some((key, problem)) = self.segment.problem(self.memory, &self.balloon) {
            return Err(ConfigError::range(key, problem));
        }
        let services = self.scheme.facts().services;
        let swaps = self.swap.directory.is_some() || self.swap.size.is_some();
        for (key, asked, service) in [
            ("balloon.target", self.balloon.target.is_some() && !self.segment.hot_add, ServiceName::Ballooning),
            ("swap", swaps, ServiceName::HypervisorSwapping),
        ] {
            if let Some(reason) = services.refusal(service).filter(|_| asked) {
                return Err(ConfigError::range(key, format!("refused under {}: {reason}", self.scheme.name())));
            }
        }
        if let Some((key, problem)) = self.balloon.problem(self.memory) {
            return Err(ConfigError::range(key, problem));
        }
        Ok(())
    }
}
