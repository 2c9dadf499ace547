//! A step: a chore that `cargo xtask test` performs with others.

use crate::failure::Failure;
use std::time::{Duration, Instant};

/// A kind of run of `cargo xtask test`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tier {
    /// `--quick`: what needs nothing but Rust, no network and no root, and takes minutes.
    Quick,
    /// Everything, as CI runs it.
    Full,
}

/// Steps of every run.
pub(crate) const BOTH: &[Tier] = &[Tier::Quick, Tier::Full];
/// Steps of full runs.
pub(crate) const FULL: &[Tier] = &[Tier::Full];

/// One step.
pub(crate) struct Step {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// What it does.
    pub(crate) summary: &'static str,
    /// Which runs of `cargo xtask test` perform it.
    pub(crate) tiers: &'static [Tier],
    /// Performs it.
    pub(crate) run: fn() -> Result<(), Failure>,
}

impl std::fmt::Debug for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl Step {
    /// Performs the step, and says how long it took.
    pub(crate) fn perform(&self) -> Result<Duration, Failure> {
        println!("== {}: {}", self.name, self.summary);
        let start = Instant::now();
        (self.run)().map_err(|failure| format!("{}: {failure}", self.name))?;
        let taken = start.elapsed();
        println!("== {}: done in {} s\n", self.name, taken.as_secs());
        Ok(taken)
    }
}

/// Performs those of `steps` that belong to `tier` in order, up to the first that fails, and lists how long each took.
pub(crate) fn perform_all(steps: &[Step], tier: Tier) -> Result<(), Failure> {
    let mut taken = Vec::new();
    for step in steps.iter().filter(|step| step.tiers.contains(&tier)) {
        taken.push((step.name, step.perform()?));
    }
    let all: Duration = taken.iter().map(|(_, time)| *time).sum();
    for (name, time) in taken.into_iter().chain([("all", all)]) {
        println!("{name:14} {:5} s", time.as_secs());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn step(name: &'static str, tiers: &'static [Tier], run: fn() -> Result<(), Failure>) -> Step {
        Step { name, summary: "", tiers, run }
    }

    #[test]
    fn a_quick_run_leaves_out_the_other_steps() {
        let fails = || Err("it needs root".to_owned());
        let steps = [step("a", BOTH, || Ok(())), step("b", FULL, fails)];
        assert_eq!(perform_all(&steps, Tier::Quick), Ok(()));
        assert_eq!(perform_all(&steps, Tier::Full), Err("b: it needs root".to_owned()));
    }

    #[test]
    fn a_step_that_fails_ends_the_run() {
        let steps = [step("a", BOTH, || Err("no".to_owned())), step("b", BOTH, || Err("it is not reached".to_owned()))];
        assert_eq!(perform_all(&steps, Tier::Full), Err("a: no".to_owned()));
    }
}
