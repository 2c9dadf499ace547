//! A step: a chore that `cargo xtask test` performs with others.

use crate::failure::Failure;
use crate::process::output_of;
use std::process::Command;
use std::thread::{self, ScopedJoinHandle};
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
    /// The step of a whole run that needs this one, if those between do not: it runs beside them.
    pub(crate) needed_by: Option<&'static str>,
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

/// How a step is performed beside others: what it printed.
pub(crate) type Apart = fn(&Step) -> Result<String, Failure>;

/// A step under way beside others: in the end what it printed, and how long it took.
type Beside<'s> = ScopedJoinHandle<'s, Result<(String, Duration), Failure>>;

/// Performs a step in a process of its own, so that what it prints does not mix with what others print.
pub(crate) fn in_a_process(step: &Step) -> Result<String, Failure> {
    let program = std::env::current_exe().map_err(|error| format!("{}: {error}", step.name))?;
    output_of(Command::new(program).arg(step.name), step.name)
}

/// Performs those of `steps` that belong to `tier` in order, up to the first that fails, and lists how long each took. A step that only a later
/// one needs is performed `apart`, beside those between.
pub(crate) fn perform_all(steps: &[Step], tier: Tier, apart: Apart) -> Result<(), Failure> {
    let start = Instant::now();
    let mut taken = Vec::new();
    thread::scope(|scope| -> Result<(), Failure> {
        let mut beside: Vec<(&Step, Beside<'_>)> = Vec::new();
        for step in steps.iter().filter(|step| step.tiers.contains(&tier)) {
            for (earlier, running) in beside.extract_if(.., |(earlier, _)| earlier.needed_by == Some(step.name)) {
                taken.push((earlier.name, join(running)?));
            }
            if step.needed_by.is_some() {
                println!("== {}: begins, beside the steps that follow\n", step.name);
                let running = scope.spawn(move || {
                    let start = Instant::now();
                    Ok((apart(step)?, start.elapsed()))
                });
                beside.push((step, running));
            } else {
                taken.push((step.name, step.perform()?));
            }
        }
        for (step, running) in beside {
            taken.push((step.name, join(running)?));
        }
        Ok(())
    })?;
    for (name, time) in taken.into_iter().chain([("all", start.elapsed())]) {
        println!("{name:14} {:5} s", time.as_secs());
    }
    Ok(())
}

/// Waits for a step that runs beside others, and prints what it printed; how long it took.
fn join(running: Beside<'_>) -> Result<Duration, Failure> {
    let (printed, taken) = running.join().expect("a step fails with an error, and does not panic")?;
    print!("{printed}");
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicBool, Ordering};

    const fn step(name: &'static str, tiers: &'static [Tier], run: fn() -> Result<(), Failure>) -> Step {
        Step { name, summary: "", tiers, needed_by: None, run }
    }

    /// Performs a step beside others in this process, where it can set what a test looks at.
    fn here(step: &Step) -> Result<String, Failure> {
        (step.run)().map(|()| String::new())
    }

    #[test]
    fn a_quick_run_leaves_out_the_other_steps() {
        let fails = || Err("it needs root".to_owned());
        let steps = [step("a", BOTH, || Ok(())), step("b", FULL, fails)];
        assert_eq!(perform_all(&steps, Tier::Quick, here), Ok(()));
        assert_eq!(perform_all(&steps, Tier::Full, here), Err("b: it needs root".to_owned()));
    }

    #[test]
    fn a_step_that_fails_ends_the_run() {
        let steps = [step("a", BOTH, || Err("no".to_owned())), step("b", BOTH, || Err("it is not reached".to_owned()))];
        assert_eq!(perform_all(&steps, Tier::Full, here), Err("a: no".to_owned()));
    }

    #[test]
    fn a_step_runs_beside_others_and_is_over_when_it_is_needed() {
        static OTHER_BEGAN: Barrier = Barrier::new(2);
        static OVER: AtomicBool = AtomicBool::new(false);
        // Each of the first two waits for the other: one after the other, they would wait for ever.
        let waits = || {
            OTHER_BEGAN.wait();
            thread::sleep(Duration::from_millis(50));
            OVER.store(true, Ordering::SeqCst);
            Ok(())
        };
        let meets = || {
            OTHER_BEGAN.wait();
            Ok(())
        };
        let needs = || if OVER.load(Ordering::SeqCst) { Ok(()) } else { Err("the first is not over".to_owned()) };
        let first = Step { needed_by: Some("c"), ..step("a", BOTH, waits) };
        assert_eq!(perform_all(&[first, step("b", BOTH, meets), step("c", BOTH, needs)], Tier::Full, here), Ok(()));
    }

    #[test]
    fn a_step_that_fails_beside_others_ends_the_run_before_the_one_that_needs_it() {
        let fails = || Err("no network".to_owned());
        let first = || Step { needed_by: Some("c"), ..step("a", BOTH, fails) };
        let (other, last) = (|| step("b", BOTH, || Ok(())), step("c", BOTH, || Err("it is not reached".to_owned())));
        assert_eq!(perform_all(&[first(), other(), last], Tier::Full, here), Err("no network".to_owned()));
        assert_eq!(perform_all(&[first(), other()], Tier::Full, here), Err("no network".to_owned()));
    }
}
