//! Which scheme and page sizes serve a workload best.

use super::obstacle::Obstacle;
use crate::comparison::{LEAST_TRANSACTIONS, SAME};
use crate::systems::reported_system;
use crate::time_model::TimeModels;
use schemes::PagedScheme;
use serde_json::{Value, json};

/// Systems whose times differ by less are equally good: the one with less in the way is advised.
const AS_GOOD: f64 = 0.005;

/// A system that was measured.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// Scheme and settings, as a user writes them.
    pub(crate) system: String,
    /// Cycles for a unit of work: a transaction where the workload counts them, and else the run.
    pub(crate) cycles: f64,
    /// Over the native machine, if that was measured.
    pub(crate) over_native: Option<f64>,
    /// Instructions for a unit of work.
    pub(crate) instructions: f64,
    /// Cycles over those of free translation.
    pub(crate) over_ideal: f64,
    /// What its report notes of the run, and what is odd about its work.
    pub(crate) notes: Vec<String>,
    /// The obstacles to it.
    pub(crate) obstacles: Vec<Obstacle>,
}

/// What the advised system is best at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Goal {
    /// Nothing but speed.
    Best,
    /// That the guest stays as it is.
    GuestAsItIs,
    /// That the hypervisor can take memory back.
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
    /// The time model that all were measured with.
    pub(crate) times: TimeModels,
    /// What the others are measured by: nested paging with the smallest pages, or else the slowest.
    pub(crate) baseline: Candidate,
    /// All, the fastest first.
    pub(crate) ranking: Vec<Candidate>,
}

impl TranslationAdvice {
    /// Of the runs of one workload; `None` if there is nothing to choose from.
    pub(super) fn of(workload: &str, times: &TimeModels, runs: &[&Value]) -> Option<Self> {
        // A run on another host than the report's is no choice that the user of this one has, and times of two fidelities do not compare.
        let here = runs.iter().filter(|run| run["host"].is_null() && run["settings"]["fidelity"].is_null());
        let good: Vec<&&Value> = here.filter(|run| !run["failed"].is_string()).collect();
        let unit = unit(&good);
        let mut ranking: Vec<Candidate> = good.iter().filter_map(|run| candidate(run, unit)).collect();
        ranking.sort_by(|a, b| a.cycles.total_cmp(&b.cycles));
        let nested = ranking.iter().find(|candidate| candidate.system.starts_with("nested:4K+4K"));
        let baseline = nested.or(ranking.last())?.clone();
        ranking.iter_mut().for_each(|candidate| candidate.like_work_of(&baseline));
        ranking.sort_by(|a, b| a.cycles.total_cmp(&b.cycles));
        (ranking.len() > 1).then(|| Self { workload: workload.to_owned(), times: times.clone(), baseline, ranking })
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
                "notes": candidate.notes,
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
            "time_model": self.times.to_string(),
            "baseline": self.baseline.system,
            "advised": Goal::ALL.map(advised),
            "ranking": self.ranking.iter().map(of).collect::<Vec<_>>(),
        })
    }
}

/// The key that counts units of a workload's work in all of its runs; `None` where the whole run is the unit.
fn unit(runs: &[&&Value]) -> Option<&'static str> {
    const KEY: &str = "transactions";
    let counted = |run: &&&Value| run[KEY].as_u64().is_some_and(|count| count >= LEAST_TRANSACTIONS);
    (!runs.is_empty() && runs.iter().all(counted)).then_some(KEY)
}

/// A virtualized run.
fn candidate(run: &Value, unit: Option<&str>) -> Option<Candidate> {
    let scheme: PagedScheme = run["scheme"].as_str()?.parse().ok()?;
    if scheme.facts().is_native {
        return None;
    }
    let units = unit.and_then(|key| run[key].as_f64()).unwrap_or(1.0);
    let cycles = run["cycles"].as_f64()?;
    let notes = run["notes"].as_array().into_iter().flatten().filter_map(|note| Some(note.as_str()?.to_owned()));
    Some(Candidate {
        system: reported_system(run)?,
        cycles: cycles / units,
        over_native: run["overhead"].as_f64(),
        instructions: run["instructions"].as_f64().unwrap_or(cycles) / units,
        over_ideal: run["overhead_ideal"].as_f64().unwrap_or_default(),
        notes: notes.collect(),
        obstacles: Obstacle::of(&scheme),
    })
}

impl Candidate {
    /// Where the run executed another amount of instructions than `baseline` for a unit of work, its cycles tell nothing of that one's work: they
    /// are taken as those of the baseline's instructions with this run's overhead of translation, so that no work which was left out counts as saved.
    fn like_work_of(&mut self, baseline: &Self) {
        let over = self.instructions / baseline.instructions.max(1.0) - 1.0;
        if over.abs() <= SAME {
            return;
        }
        self.cycles = baseline.cycles / (1.0 + baseline.over_ideal) * (1.0 + self.over_ideal);
        self.over_native = None;
        self.notes.push(format!(
            "{:+.1} % instructions over {}: only its overhead over free translation is compared",
            100.0 * over,
            baseline.system
        ));
    }
}

#[cfg(test)]
#[path = "translation_tests.rs"]
mod tests;
