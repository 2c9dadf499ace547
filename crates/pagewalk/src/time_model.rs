//! The time model that numbers come from, for captions: a host model, a fidelity, and whether the hypervisor's work has a footprint.

use crate::systems::Configured;
use config::{Config, FastForwardName, FidelityName, FootprintName};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// A host model, and how its numbers become time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct TimeModel {
    host: String,
    fidelity: FidelityName,
    footprint: FootprintName,
    #[serde(default)]
    fast_forward: FastForwardName,
}

/// The time models of a table or page: each once, in the order of the systems.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TimeModels(Vec<TimeModel>);

impl TimeModel {
    /// Of a configuration, on the host model of this name.
    fn of(host: &str, config: &Config) -> Self {
        let Config { fidelity, footprint, fast_forward, .. } = *config;
        Self { host: host.to_owned(), fidelity, footprint, fast_forward: effective(fast_forward, fidelity) }
    }

    /// Of a system.
    pub(crate) fn of_system(on: &Configured) -> Self {
        Self::of(&on.host.name, &on.config)
    }

    /// Of a host and of the values of keys as JSON has them. A footprint, or a fast-forward, that is not there is off.
    fn read<'v>(host: &Value, value: impl Fn(&str) -> Option<&'v Value>) -> Option<Self> {
        let fidelity = serde_json::from_value(value("fidelity")?.clone()).ok()?;
        let footprint = value("footprint").and_then(|value| serde_json::from_value(value.clone()).ok());
        let fast_forward = value("fast_forward").and_then(|value| serde_json::from_value(value.clone()).ok());
        Some(Self {
            host: host["name"].as_str()?.to_owned(),
            fidelity,
            footprint: footprint.unwrap_or_default(),
            fast_forward: effective(fast_forward.unwrap_or_default(), fidelity),
        })
    }
}

/// What a fast-forward is where this is modelled: nothing, if there is nothing that it leaves out.
const fn effective(fast_forward: FastForwardName, fidelity: FidelityName) -> FastForwardName {
    match (fast_forward, fidelity) {
        (_, FidelityName::Counts) | (FastForwardName::Warm, FidelityName::Cycles) => FastForwardName::Off,
        (_, FidelityName::Cycles | FidelityName::Core) => fast_forward,
    }
}

impl TimeModels {
    /// Of one configuration, on the host model of this name.
    pub(crate) fn of(host: &str, config: &Config) -> Self {
        Self(vec![TimeModel::of(host, config)])
    }

    /// Of the systems of a report as JSON that have neither a host nor a fidelity of their own.
    pub(crate) fn shared(report: &Value) -> Self {
        Self(TimeModel::read(&report["host"], |key| report["config"].get(key)).into_iter().collect())
    }

    /// Of all systems of a comparison.
    pub(crate) fn of_systems(systems: &[Arc<Configured>]) -> Self {
        let mut models = Self(Vec::new());
        systems.iter().for_each(|on| models.add(TimeModel::of_system(on)));
        models
    }

    /// Of a report as JSON: the model of its configuration, then those of runs with a host or a fidelity of their own.
    /// What is no fidelity is left out: reports of other versions are read as well.
    pub(crate) fn of_report(report: &Value) -> Self {
        let mut models = Self(Vec::new());
        let shared = &report["config"];
        for run in report["runs"].as_array().into_iter().flatten() {
            let host = if run["host"].is_null() { &report["host"] } else { &run["host"] };
            let value = |key: &str| run["settings"].get(key).or_else(|| shared.get(key));
            if let Some(model) = TimeModel::read(host, value) {
                models.add(model);
            }
        }
        if models.0.is_empty() { Self::shared(report) } else { models }
    }

    /// What the fidelities of these models mean, and how to choose another one: two lines each.
    pub(crate) fn explained(&self) -> String {
        let mut fidelities: Vec<FidelityName> = Vec::new();
        for model in &self.0 {
            if !fidelities.contains(&model.fidelity) {
                fidelities.push(model.fidelity);
            }
        }
        fidelities.iter().map(|&fidelity| format!("time model: {}\n", explained(fidelity))).collect()
    }

    fn add(&mut self, model: TimeModel) {
        if !self.0.contains(&model) {
            self.0.push(model);
        }
    }
}

impl<'m> FromIterator<&'m TimeModel> for TimeModels {
    fn from_iter<I: IntoIterator<Item = &'m TimeModel>>(of: I) -> Self {
        let mut models = Self(Vec::new());
        of.into_iter().for_each(|model| {
            if !models.0.contains(model) {
                models.0.push(model.clone());
            }
        });
        models
    }
}

impl fmt::Display for TimeModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host {}, fidelity {}", self.host, fidelity_name(self.fidelity))?;
        if self.footprint == FootprintName::On {
            f.write_str(", footprint on")?;
        }
        match self.fast_forward {
            FastForwardName::Off => Ok(()),
            FastForwardName::Warm => f.write_str(", fast-forward with warm caches"),
            FastForwardName::On => f.write_str(", fast-forward"),
        }
    }
}

impl fmt::Display for TimeModels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("an unnamed time model");
        }
        let texts: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&texts.join("; "))
    }
}

/// As users write it.
pub(crate) const fn fidelity_name(fidelity: FidelityName) -> &'static str {
    match fidelity {
        FidelityName::Counts => "counts",
        FidelityName::Cycles => "cycles",
        FidelityName::Core => "core",
    }
}

/// What the numbers are, and what they are not.
const fn explained(fidelity: FidelityName) -> &'static str {
    match fidelity {
        FidelityName::Counts => {
            "`counts`: instructions and steps of walks have fixed costs, and data costs nothing. It compares references; it does not predict the time of a machine.\n\
             --fidelity core models caches and an out-of-order core (docs/time.md)"
        }
        FidelityName::Cycles => {
            "`cycles`: modelled caches, and each miss is waited for in full.\n\
             --fidelity core lets misses and walks overlap; --fidelity counts has fixed costs (docs/time.md)"
        }
        FidelityName::Core => {
            "`core`: modelled caches and an out-of-order core, in which misses and walks overlap.\n\
             --fidelity counts has fixed costs, and is faster (docs/time.md)"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_report_names_each_model_once() {
        let report = json!({
            "host": { "name": "one" },
            "config": { "fidelity": "cycles" },
            "runs": [
                { "host": null, "settings": {} },
                { "host": { "name": "other" }, "settings": { "host": "other" } },
                { "host": null, "settings": { "fidelity": "core" } },
                { "host": null, "settings": { "footprint": "on" } },
                { "host": null, "settings": { "fast_forward": "on" } },
                { "host": null, "settings": { "fast_forward": "warm" } },
                { "host": null, "settings": { "fast_forward": "warm", "fidelity": "core" } },
                { "host": null, "settings": {} },
            ],
        });
        let models = TimeModels::of_report(&report);
        assert_eq!(
            models.to_string(),
            "host one, fidelity cycles; host other, fidelity cycles; host one, fidelity core; host one, fidelity cycles, footprint on; host one, fidelity cycles, fast-forward; host one, fidelity core, fast-forward with warm caches"
        );
        let explained = models.explained();
        assert_eq!(explained.lines().count(), 4, "{explained}");
        assert!(explained.contains("`cycles`") && explained.contains("`core`"), "{explained}");
    }

    #[test]
    fn a_report_without_a_fidelity_has_no_model() {
        let report = json!({ "host": { "name": "one" }, "config": {}, "runs": [{ "host": null }] });
        assert_eq!(TimeModels::of_report(&report).to_string(), "an unnamed time model");
    }

    #[test]
    fn names_are_those_of_the_configuration() {
        for fidelity in [FidelityName::Counts, FidelityName::Cycles, FidelityName::Core] {
            assert_eq!(serde_json::to_value(fidelity).unwrap(), fidelity_name(fidelity));
        }
    }
}
