//! Running many programs on several executors, and reducing a disagreement to its cause.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::coverage::Coverage;
use crate::executor::{Executor, ExecutorError, run_alone};
use crate::generate;
use crate::image::Image;
use crate::program::Program;
use crate::report::Failure;
use crate::shrink;

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Campaign {
    /// Names the stream of programs.
    pub seed: u64,
    /// The first program of the stream to run.
    pub first: u64,
    /// How many programs to run.
    pub programs: u64,
    /// Programs in one image.
    pub batch: u64,
    /// Threads of the host to use.
    pub threads: usize,
}

/// How a campaign went.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Programs that all executors agree on.
    pub agreed: u64,
    /// What those programs reached.
    pub coverage: Coverage,
    /// The disagreement with the lowest index among those found, reduced.
    pub failure: Option<Failure>,
}

impl Campaign {
    /// Runs the programs on all `executors` and compares each with the first. Ends at the first batch with a disagreement.
    ///
    /// # Errors
    /// If the first executor fails: it is the oracle, so that its failure is the generator's.
    pub fn run(&self, executors: &[&dyn Executor]) -> Result<Outcome, ExecutorError> {
        let next = AtomicU64::new(0);
        let batches = self.programs.div_ceil(self.batch);
        let results = Mutex::new((Outcome::default(), Vec::new()));
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..self.threads.max(1))
                .map(|_| {
                    scope.spawn(|| {
                        loop {
                            let batch = next.fetch_add(1, Ordering::Relaxed);
                            if batch >= batches {
                                return Ok(());
                            }
                            let first = batch * self.batch;
                            let count = self.batch.min(self.programs - first);
                            let programs: Vec<_> = (0..count)
                                .map(|index| generate::program(self.seed, self.first + first + index))
                                .collect();
                            let suspect = suspect(&programs, executors)?;
                            let mut results = results.lock().expect("no worker panics with the lock");
                            if let Some(suspect) = suspect {
                                results.1.push((self.first + first + suspect as u64, programs[suspect].clone()));
                                next.store(batches, Ordering::Relaxed);
                            } else {
                                results.0.agreed += count;
                                programs.iter().for_each(|program| results.0.coverage.count(&program.nodes));
                            }
                        }
                    })
                })
                .collect();
            workers.into_iter().try_for_each(|worker| worker.join().expect("a worker panicked"))
        })?;
        let (mut outcome, mut failures) = results.into_inner().expect("no worker panics with the lock");
        failures.sort_by_key(|(index, _)| *index);
        if let Some((index, program)) = failures.into_iter().next() {
            let program = shrink::shrink(program, |program| disagrees(program, executors));
            outcome.failure = Some(Failure::new(self.seed, index, program, executors));
        }
        Ok(outcome)
    }
}

/// The first program on which the executors disagree.
fn suspect(programs: &[Program], executors: &[&dyn Executor]) -> Result<Option<usize>, ExecutorError> {
    let image = Image::new(programs);
    let (oracle, others) = executors.split_first().expect("a campaign has an oracle");
    let expected = Image::states(&oracle.run(&image)?);
    for other in others {
        // An executor that did not come to its end left no records; one by one, the culprit shows.
        let states = match other.run(&image) {
            Ok(records) => Image::states(&records),
            Err(_) => return Ok(programs.iter().position(|program| disagrees(program, executors)).or(Some(0))),
        };
        if let Some(index) = (0..programs.len()).find(|&index| states[index] != expected[index]) {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

/// Whether the oracle runs `program` and another executor fails or ends otherwise.
fn disagrees(program: &Program, executors: &[&dyn Executor]) -> bool {
    let results = run_alone(program, executors);
    let Some(Ok(expected)) = results.first() else { return false };
    results[1..].iter().any(|result| result.as_ref().map_or(true, |state| state != expected))
}
