//! The systems of a command, each with its configuration in full.

use crate::error::Failure;
use config::host_model::HostModel;
use config::system::{Sweep, System};
use config::units::ByteSize;
use config::{Config, ConfigBuilder};
use machine::BuildError;
use mmu::Storage;
use schemes::Segments;
use serde_json::Value;
use std::collections::HashMap;
use std::fmt::Display;
use std::sync::Arc;
use types::PageSize;

/// The most systems of one command.
const MOST_SYSTEMS: usize = 1 << 14;

/// A system that can be built, as far as its configuration tells.
#[derive(Debug)]
pub(crate) struct Configured {
    /// As the user wrote it.
    pub(crate) system: System,
    /// Its configuration.
    pub(crate) config: Config,
    /// Its host.
    pub(crate) host: HostModel,
    /// Bits that the structures of a processor's MMU have.
    pub(crate) storage: Storage,
    /// The machine that it is compared with: see [`Config::native`].
    native: Config,
    /// Bytes of the primary region that it has because others have one: see [`Configured::with_like_region`].
    like_region: Option<ByteSize>,
}

impl Configured {
    /// `system` under what all systems share.
    ///
    /// # Errors
    /// [`Failure`], naming the key, and the system if that has settings of its own.
    pub(crate) fn new(builder: &ConfigBuilder, system: System) -> Result<Self, Failure> {
        let config = system.configure(builder.clone()).map_err(|error| Failure::Usage(named(&system, &error)))?;
        let host = config.host_model().map_err(|error| Failure::Usage(named(&system, &error)))?;
        let tlbs = config.mmu(&host).map_err(BuildError::from);
        let tlbs = tlbs.and_then(|tlbs| tlbs.check().map(|()| tlbs).map_err(BuildError::from));
        let storage = config.storage(&tlbs.map_err(|error| Failure::Usage(named(&system, &error)))?);
        let native = config.native(&host);
        Ok(Self { system, config, host, storage, native, like_region: None })
    }

    /// Adds the primary region that the machine would have under a scheme with a guest's segment, unless it is configured with one. Programs
    /// of a guest take memory from a region in other ways than from their kernel (docs/segments.md), so that machines are alike only if all or none
    /// of them have one. A guest with larger pages stays as it is: a region is mapped in pages of 4K, which are not what its scheme is about.
    pub(crate) fn with_like_region(self: Arc<Self>) -> Arc<Self> {
        let (segment, scheme) = (self.config.segment, self.config.scheme);
        if segment.region.is_some() || scheme.guest_page() != PageSize::Size4K {
            return self;
        }
        let bytes = ByteSize(segment.region_bytes(Segments::Both, self.config.memory));
        let mut config = self.config.clone();
        config.segment.region = Some(bytes);
        let native = config.native(&self.host);
        let (system, host, storage) = (self.system.clone(), self.host.clone(), self.storage);
        Arc::new(Self { system, config, host, storage, native, like_region: Some(bytes) })
    }

    /// Bytes of the region that it has because others have one, if so.
    pub(crate) const fn like_region(&self) -> Option<ByteSize> {
        self.like_region
    }

    /// Whether its guest has segment registers.
    pub(crate) fn has_guest_segment(&self) -> bool {
        self.config.scheme.facts().segments.has_guest()
    }

    /// Whether it is native.
    pub(crate) fn is_native(&self) -> bool {
        self.config.scheme.is_baseline()
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
/// slowest. A native system is swept where a native machine uses the key.
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
        if swept.len().saturating_mul(sweep.count()) > MOST_SYSTEMS {
            return Err(Failure::Usage(format!("--sweep: more than {MOST_SYSTEMS} systems")));
        }
        let before = swept.len();
        let points = swept.iter().map(|system| points(builder, sweep, system));
        swept = points.collect::<Result<Vec<_>, _>>()?.concat();
        if swept.len() == before && sweep.count() > 1 {
            let problem = format!("--sweep: every scheme is native, and {} changes nothing there", sweep.key());
            return Err(Failure::Usage(problem));
        }
    }
    let mut configured: Vec<Arc<Configured>> = Vec::new();
    // Systems that are the same have the same name. Comparing each of thousands with all others would take longer than their replays.
    let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
    for system in swept {
        let namesakes = by_name.entry(system.to_string()).or_default();
        if namesakes.iter().all(|&other| configured[other].system != system) {
            namesakes.push(configured.len());
            configured.push(Arc::new(Configured::new(builder, system)?));
        }
    }
    Ok(configured)
}

/// `system` at each point of a sweep. A native one whose machine is the same at every point stays as it is: it is what all of them are compared
/// with.
fn points(builder: &ConfigBuilder, sweep: &Sweep, system: &System) -> Result<Vec<System>, Failure> {
    let all = sweep.over(system);
    if !system.scheme().is_baseline() {
        return Ok(all);
    }
    let machine = |system: &System| Configured::new(builder, system.clone()).map(|configured| configured.native);
    let own = machine(system)?;
    for point in &all {
        if machine(point)? != own {
            return Ok(all);
        }
    }
    Ok(vec![system.clone()])
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
    use config::system::SystemList;

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
                "native:4K/harts=1",
                "native:4K/harts=2",
                "nested:4K+4K/harts=1/mmu.nested_tlb=on",
                "nested:4K+4K/harts=1/mmu.nested_tlb=off",
                "nested:4K+4K/harts=2/mmu.nested_tlb=on",
                "nested:4K+4K/harts=2/mmu.nested_tlb=off",
            ]
        );
    }

    #[test]
    fn a_sweep_of_what_a_native_machine_uses_has_a_native_run_at_each_point() {
        let swept = |systems: &str, sweep: &str| list(systems, &[sweep]).unwrap();
        let systems = swept("native,nested", "mmu.walk_caches=on,off");
        assert_eq!(
            names(&systems),
            [
                "native:4K/mmu.walk_caches=on",
                "native:4K/mmu.walk_caches=off",
                "nested:4K+4K/mmu.walk_caches=on",
                "nested:4K+4K/mmu.walk_caches=off",
            ]
        );
        assert!(systems[0].is_native_of(&systems[2]) && systems[1].is_native_of(&systems[3]));
        assert_eq!(names(&swept("native,nested", "shadow.count=8,9"))[0], "native:4K");
        assert_eq!(names(&swept("native", "mmu.walk_caches=on,off")).len(), 2);
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        for (systems, sweeps, says) in [
            ("native", &["shadow.count=8,9"][..], "shadow.count changes nothing"),
            ("nested", &["harts=1..1024", "seed=1..1024"], "more than 16384 systems"),
            ("native,nested/harts=0", &[], "nested:4K+4K/harts=0: harts"),
            ("nested/host=vax", &[], "nested:4K+4K/host=vax: unknown host model or file `vax`"),
            ("nested/mmu.l1d=[]", &[], "nested:4K+4K/mmu.l1d=[]: mmu.l1d"),
        ] {
            let error = list(systems, sweeps).unwrap_err();
            assert!(error.line().contains(says) && matches!(error, Failure::Usage(_)), "{error}");
        }
    }
}
