//! What a configuration makes of harts: their extensions, and the engine that runs them.

use config::{AdName, Config, EngineName};
use hart::{Engine, Hotness, Isa};

/// The extensions of the harts.
pub(crate) const fn isa(config: &Config) -> Isa {
    let keys = &config.isa;
    Isa {
        c: keys.c,
        f: keys.f,
        d: keys.d,
        zicntr: keys.zicntr,
        zihintpause: keys.zihintpause,
        zawrs: keys.zawrs,
        sstc: keys.sstc,
        svnapot: keys.svnapot,
        svadu: matches!(config.mmu.ad, AdName::Hardware | AdName::Switchable),
        svade: matches!(config.mmu.ad, AdName::Switchable),
        zihpm: config.sbi.pmu,
        spins_exit: false,
    }
}

/// The engine of that name.
pub(crate) const fn engine(name: EngineName) -> Engine {
    match name {
        EngineName::Threaded => Engine::Threaded,
        EngineName::Match => Engine::Matching,
        EngineName::Compiled => Engine::Compiled(Hotness::USUAL),
        EngineName::BaselineAll => Engine::Compiled(Hotness::BASELINE),
        EngineName::CompiledAll => Engine::Compiled(Hotness::ALL),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The defaults are declared twice, because a configuration does not know of harts.
    #[test]
    fn a_hart_by_default_has_the_extensions_of_the_default_configuration() {
        assert_eq!(isa(&Config::default()), Isa::default());
    }
}
