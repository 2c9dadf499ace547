//! The systems of a command, each with its configuration in full.

use crate::error::Failure;
use machine::BuildError;
use machine::config::{Config, ConfigBuilder};
use machine::host_model::HostModel;
use machine::scheme::Mechanism;
use machine::system::{Sweep, System};
use serde_json::Value;
use std::fmt::Display;
use std::sync::Arc;

/// The most systems of one command.
const MOST_SYSTEMS: usize = 4096;

/// A system that can be built, as far as its configuration tells.
#[derive(Debug)]
pub(crate) struct Configured {
    /// As the user wrote it.
    pub(crate) system: System,
    /// Its configuration.
    pub(crate) config: Config,
    /// Its host.
    pub(crate) host: HostModel,
    /// The machine that it is compared with: see [`Config::native`].
    native: Config,
}

impl Configured {
    /// `system` under what all systems share.
    ///
    /// # Errors
    /// [`Failure`], naming the key, and the system if that has settings of its own.
    pub(crate) fn new(builder: &ConfigBuilder, system: System) -> Result<Self, Failure> {
        let config = system.configure(builder.clone()).map_err(|error| Failure::Usage(named(&system, &error)))?;
        let host = HostModel::load(&config.host).map_err(|error| Failure::Usage(named(&system, &error)))?;
        let tlbs = config.mmu(&host).map_err(BuildError::from).and_then(|tlbs| tlbs.check().map_err(BuildError::from));
        tlbs.map_err(|error| Failure::Usage(named(&system, &error)))?;
        let native = config.native(&host);
        Ok(Self { system, config, host, native })
    }

    /// Whether it is native.
    pub(crate) fn is_native(&self) -> bool {
        self.config.scheme.mechanism() == Mechanism::Native
    }

    /// Whether `self` is the native machine that `other` is compared with.
    pub(crate) fn is_native_of(&self, other: &Self) -> bool {
        self.is_native() && self.native == other.native
    }
}

/// `problem` of `system`, which is named if anything in it can be to blame.
pub(crate) fn named(system: &System, problem: &impl Display) -> String {
    if system.has_settings() { format!("{system}: {problem}") } else { problem.to_string() }
}

/// The system of a report's run, as a user writes it: the scheme with its pages, and each setting, in the order of the alphabet.
pub(crate) fn reported_system(run: &Value) -> Option<String> {
    let mut name = run["scheme"].as_str()?.to_owned();
    for (key, value) in run["settings"].as_object()? {
        let value = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
        name = format!("{name}/{key}={value}");
    }
    Some(name)
}

/// Every system that a command runs, in order and each once: `systems`, each with every value of the sweeps, of which the first goes
/// slowest.
///
/// # Errors
/// [`Failure::Usage`].
pub(crate) fn configured(
    builder: &ConfigBuilder,
    systems: Vec<System>,
    sweeps: &[Sweep],
) -> Result<Vec<Arc<Configured>>, Failure> {
    let mut swept = systems;
    for sweep in sweeps {
        if swept.iter().all(|system| system.scheme().mechanism() == Mechanism::Native) {
            return Err(Failure::Usage("--sweep: every scheme is native, and those stay as they are".to_owned()));
        }
        if swept.len().saturating_mul(sweep.count()) > MOST_SYSTEMS {
            return Err(Failure::Usage(format!("--sweep: more than {MOST_SYSTEMS} systems")));
        }
        swept = sweep.over(&swept);
    }
    let mut configured: Vec<Arc<Configured>> = Vec::new();
    for system in swept {
        if configured.iter().all(|other| other.system != system) {
            configured.push(Arc::new(Configured::new(builder, system)?));
        }
    }
    Ok(configured)
}

/// `systems`, with the native machine of each before it where it is not among them.
///
/// # Errors
/// [`Failure`], as of [`Configured::new`].
pub(crate) fn with_natives(
    builder: &ConfigBuilder,
    systems: &[Arc<Configured>],
) -> Result<Vec<Arc<Configured>>, Failure> {
    let machine = |system: &System| Configured::new(builder, system.clone()).ok().map(|configured| configured.native);
    let mut all: Vec<Arc<Configured>> = Vec::new();
    for system in systems {
        if !all.iter().chain(systems).any(|other| other.is_native_of(system)) {
            all.push(Arc::new(Configured::new(builder, system.system.native(machine))?));
        }
        all.push(system.clone());
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::system::SystemList;

    fn names(systems: &[Arc<Configured>]) -> Vec<String> {
        systems.iter().map(|configured| configured.system.to_string()).collect()
    }

    fn list(systems: &str, sweeps: &[&str]) -> Result<Vec<Arc<Configured>>, Failure> {
        let systems: SystemList = systems.parse().unwrap();
        let sweeps: Vec<Sweep> = sweeps.iter().map(|sweep| sweep.parse().unwrap()).collect();
        configured(&ConfigBuilder::default(), systems.0, &sweeps)
    }

    #[test]
    fn natives_are_added_where_they_are_missing_with_the_settings_they_need() {
        let added =
            |systems: &str| names(&with_natives(&ConfigBuilder::default(), &list(systems, &[]).unwrap()).unwrap());
        assert_eq!(added("nested,nested:4K+2M"), ["native:4K", "nested:4K+4K", "nested:4K+2M"]);
        assert_eq!(added("nested:2M,native:2M"), ["nested:2M+2M", "native:2M"]);
        assert_eq!(
            added(
                "native,nested/host=xeon-2017/mmu.nested_tlb=off,nested/mmu.nested_tlb=off,nested:4K+2M/host=xeon-2017"
            ),
            [
                "native:4K",
                "native:4K/host=xeon-2017",
                "nested:4K+4K/host=xeon-2017/mmu.nested_tlb=off",
                "nested:4K+4K/mmu.nested_tlb=off",
                "nested:4K+2M/host=xeon-2017",
            ]
        );
    }

    #[test]
    fn sweeps_multiply_and_what_comes_twice_runs_once() {
        let systems = list("native,nested,nested/harts=2", &["harts=1,2", "mmu.nested_tlb=on,off"]).unwrap();
        assert_eq!(
            names(&systems),
            [
                "native:4K",
                "nested:4K+4K/harts=1/mmu.nested_tlb=on",
                "nested:4K+4K/harts=1/mmu.nested_tlb=off",
                "nested:4K+4K/harts=2/mmu.nested_tlb=on",
                "nested:4K+4K/harts=2/mmu.nested_tlb=off",
            ]
        );
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        for (systems, sweeps, says) in [
            ("native", &["harts=1,2"][..], "--sweep"),
            ("nested", &["harts=1..1024", "seed=1..1024"], "4096"),
            ("native,nested/harts=0", &[], "nested:4K+4K/harts=0: harts"),
            ("nested/host=vax", &[], "nested:4K+4K/host=vax: unknown host model or file `vax`"),
            ("nested/mmu.l1d=[]", &[], "nested:4K+4K/mmu.l1d=[]: mmu.l1d"),
        ] {
            let error = list(systems, sweeps).unwrap_err();
            assert!(error.line().contains(says) && matches!(error, Failure::Usage(_)), "{error}");
        }
    }
}
