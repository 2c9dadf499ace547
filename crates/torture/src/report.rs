//! A disagreement, as a person reads it.

use std::fmt;

use crate::executor::{Executor, run_alone};
use crate::program::{Program, State};

/// A program on which executors disagree.
#[derive(Debug)]
pub struct Failure {
    seed: u64,
    index: u64,
    program: Program,
    /// What each executor made of it: its name, and the state or the error.
    results: Vec<(String, Result<State, String>)>,
}

impl Failure {
    /// Runs the reduced `program` once more for the report.
    pub(crate) fn new(seed: u64, index: u64, program: Program, executors: &[&dyn Executor]) -> Self {
        let results = run_alone(&program, executors);
        let named = executors
            .iter()
            .zip(results)
            .map(|(executor, result)| (executor.name().to_owned(), result.map_err(|error| error.to_string())));
        Self { seed, index, program, results: named.collect() }
    }
}

/// The words of a state, named.
fn words(state: &State) -> impl Iterator<Item = (String, u64)> {
    let registers = (1..32).map(|number| (format!("x{number}"), state.x[number]));
    let floats = (0..32).map(|number| (format!("f{number}"), state.f[number]));
    let scratch = state.scratch.iter().enumerate().map(|(index, word)| (format!("scratch+{}", 8 * index), *word));
    std::iter::once(("fcsr".to_owned(), state.fcsr)).chain(registers).chain(floats).chain(scratch)
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "program {} of seed {:#x}, reduced; its record is at x{}:",
            self.index, self.seed, self.program.base
        )?;
        write!(f, "{}", self.program)?;
        writeln!(f, "starting from (all else zero):")?;
        for (name, word) in words(&self.program.start).filter(|(_, word)| *word != 0) {
            writeln!(f, "  {name:12} {word:#018x}")?;
        }
        let mut states = Vec::new();
        for (executor, result) in &self.results {
            match result {
                Ok(state) => states.push((executor, words(state).collect::<Vec<_>>())),
                Err(error) => writeln!(f, "{executor} failed: {error}")?,
            }
        }
        let Some(((_, expected), others)) = states.split_first() else { return Ok(()) };
        let differs = |index: &usize| others.iter().any(|(_, words)| words[*index].1 != expected[*index].1);
        let different: Vec<_> = (0..expected.len()).filter(differs).collect();
        if different.is_empty() {
            return writeln!(f, "run alone, the executors that finished agree");
        }
        writeln!(f, "differences:")?;
        for index in different {
            write!(f, "  {:12}", expected[index].0)?;
            for (executor, words) in &states {
                write!(f, " {:#018x} ({executor})", words[index].1)?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
