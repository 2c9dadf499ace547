//! What a comparison runs, and how it keeps time, where the command does not say.

use crate::error::Failure;
use crate::runs::image::Work;
use crate::systems::Configured;
use crate::time_model::fidelity_name;
use config::host_model::HostModel;
use config::{ConfigBuilder, FidelityName};
use std::sync::Arc;

/// The workloads, by their names in reports, each with options that make it short. Under `core` they take a minute together on two processors.
const WORKLOADS: [(&str, &str, &str); 5] = [
    ("gups", "gups", "updates=1M"),
    ("bfs", "bfs", "iterations=1"),
    ("stream", "stream", "iterations=2"),
    ("kv", "kv", "iterations=100000"),
    ("sieve:4M", "sieve", "size=4M"),
];

/// The workloads that are compared where none is named.
pub(crate) fn default_workloads() -> Vec<(String, Work)> {
    WORKLOADS
        .iter()
        .map(|&(label, name, options)| {
            (label.to_owned(), Work::Workload { name: name.to_owned(), options: options.to_owned() })
        })
        .collect()
}

/// A line that says with which options the default workloads run.
pub(crate) fn shortened() -> String {
    let short = WORKLOADS.iter().filter(|(label, name, _)| label == name);
    let each: Vec<String> = short.map(|(_, name, options)| format!("{name} {options}")).collect();
    format!("workloads are short: {}; --workload NAME runs one in full (docs/workloads.md)", each.join(", "))
}

/// `builder` with the most detailed fidelity that the host model of each of these systems has.
///
/// # Errors
/// [`Failure::Usage`].
pub(crate) fn with_default_fidelity(
    builder: ConfigBuilder,
    systems: &[Arc<Configured>],
) -> Result<ConfigBuilder, Failure> {
    let fidelity = most_detailed(systems.iter().map(|on| &on.host));
    builder.set("fidelity", fidelity_name(fidelity)).map_err(|error| Failure::Usage(error.to_string()))
}

/// A host model without a core has no `core`, and one without caches no `cycles` either. One table has one fidelity, unless the user names others.
fn most_detailed<'h>(hosts: impl Iterator<Item = &'h HostModel>) -> FidelityName {
    let of = |host: &HostModel| match (&host.caches, &host.core) {
        (Some(_), Some(_)) => FidelityName::Core,
        (Some(_), None) => FidelityName::Cycles,
        (None, _) => FidelityName::Counts,
    };
    hosts.map(of).min().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::Config;

    fn host(name: &str) -> HostModel {
        let config = ConfigBuilder::default().set("host", name).and_then(ConfigBuilder::build);
        config.as_ref().map(Config::host_model).expect("a shipped host model").expect("it can be read")
    }

    #[test]
    fn the_fidelity_is_one_that_every_host_model_has() {
        let [full, slow] = ["xeon-2017", "sunway-1621"].map(host);
        let bare = HostModel { caches: None, ..full.clone() };
        assert_eq!(most_detailed([&full, &full].into_iter()), FidelityName::Core);
        assert_eq!(most_detailed([&full, &slow].into_iter()), FidelityName::Cycles);
        assert_eq!(most_detailed([&bare, &full, &slow].into_iter()), FidelityName::Counts);
    }
}
