//! Which scheme and page sizes serve a workload best.

use super::obstacle::Obstacle;
use crate::systems::reported_system;
use machine::scheme::Scheme;
use serde_json::{Value, json};

/// Systems whose times differ by less are equally good: the one with less in the way is advised.
const AS_GOOD: f64 = 0.005;

/// A system that was measured.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// Scheme and settings, as a user writes them.
    pub(crate) system: String,
    /// Cycles.
    pub(crate) cycles: f64,
    /// Over the native machine, if that was measured.
    pub(crate) over_native: Option<f64>,
    /// What stands in its way.
    pub(crate) obstacles: Vec<Obstacle>,
}

/// What is asked of a system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Goal {
    /// Nothing but speed.
    Best,
    /// That the guest stays as it is.
    GuestAsItIs,
    /// That the monitor can take memory back.
    Overcommit,
}

impl Goal {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Best, Self::GuestAsItIs, Self::Overcommit];

    /// In tables and reports.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Best => "best",
            Self::GuestAsItIs => "the guest as it is",
            Self::Overcommit => "memory overcommitted",
        }
    }

    fn is_met_by(self, candidate: &Candidate) -> bool {
        match self {
            Self::Best => true,
            Self::GuestAsItIs => !candidate.obstacles.iter().any(Obstacle::is_guests),
            Self::Overcommit => !candidate.obstacles.iter().any(Obstacle::is_overcommit),
        }
    }
}

/// What the runs of a workload advise.
#[derive(Clone, Debug)]
pub(crate) struct TranslationAdvice {
    /// The workload.
    pub(crate) workload: String,
    /// What the others are measured by: nested paging with the smallest pages, or else the slowest.
    pub(crate) baseline: Candidate,
    /// All, the fastest first.
    pub(crate) ranking: Vec<Candidate>,
}

impl TranslationAdvice {
    /// Of the runs of one workload; `None` if there is nothing to choose from.
    pub(super) fn of(workload: &str, runs: &[&Value]) -> Option<Self> {
        // A run on another host than the report's is no choice that the user of this one has.
        let here = runs.iter().filter(|run| run["host"].is_null());
        let mut ranking: Vec<Candidate> = here.filter_map(|run| candidate(run)).collect();
        ranking.sort_by(|a, b| a.cycles.total_cmp(&b.cycles));
        let nested = ranking.iter().find(|candidate| candidate.system.starts_with("nested:4K+4K"));
        let baseline = nested.or(ranking.last())?.clone();
        (ranking.len() > 1).then_some(Self { workload: workload.to_owned(), baseline, ranking })
    }

    /// The system for `goal`: of those that are as good as the fastest, the one with the least in its way.
    pub(crate) fn advised(&self, goal: Goal) -> Option<&Candidate> {
        let mut meeting = self.ranking.iter().filter(|candidate| goal.is_met_by(candidate));
        let fastest = meeting.next()?;
        let as_good = meeting.filter(|candidate| candidate.cycles <= fastest.cycles * (1.0 + AS_GOOD));
        Some(as_good.fold(
            fastest,
            |least, next| {
                if next.obstacles.len() < least.obstacles.len() { next } else { least }
            },
        ))
    }

    /// The part of the baseline's time that `candidate` saves.
    pub(crate) fn saves(&self, candidate: &Candidate) -> f64 {
        1.0 - candidate.cycles / self.baseline.cycles.max(1.0)
    }

    pub(super) fn json(&self) -> Value {
        let of = |candidate: &Candidate| {
            json!({
                "system": candidate.system,
                "cycles": candidate.cycles,
                "over_native": candidate.over_native,
                "saves": self.saves(candidate),
                "in_the_way": candidate.obstacles.iter().map(ToString::to_string).collect::<Vec<_>>(),
            })
        };
        let advised = |goal: Goal| {
            let mut value = self.advised(goal).map_or(Value::Null, of);
            if let Some(object) = value.as_object_mut() {
                object.insert("goal".to_owned(), goal.name().into());
            }
            value
        };
        json!({
            "workload": self.workload,
            "baseline": self.baseline.system,
            "advised": Goal::ALL.map(advised),
            "ranking": self.ranking.iter().map(of).collect::<Vec<_>>(),
        })
    }
}

/// A virtualized run that came to a good end.
fn candidate(run: &Value) -> Option<Candidate> {
    let scheme: Scheme = run["scheme"].as_str()?.parse().ok()?;
    if scheme.mechanism().is_native() {
        return None;
    }
    Some(Candidate {
        system: reported_system(run)?,
        cycles: run["cycles"].as_f64()?,
        over_native: run["overhead"].as_f64(),
        obstacles: Obstacle::of(&scheme),
    })
}

#[cfg(test)]
#[path = "translation_tests.rs"]
mod tests;
