//! Runs a torture campaign: more programs, or other seeds, than the tests do.
//!
//! Exit codes: 0 all agree and every opcode was reached, 1 they do not, or something could not be run, 2 bad usage.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use hart::{Engine, Hotness};
use torture::campaign::Campaign;
use torture::executor::{Executor, Qemu};
use torture::flat::Flat;
use torture::generate;
use torture::image::Image;

/// Runs random user-level RISC-V programs on several executors that must agree.
#[derive(Parser)]
struct Arguments {
    /// Programs to run.
    #[arg(long, default_value_t = 50_000)]
    programs: u64,
    /// Names the stream of programs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The first program of the stream to run.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Programs in one executable, 1 to 2000.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..=2000))]
    batch: u64,
    /// Threads of the host to use; by default, all.
    #[arg(long)]
    threads: Option<usize>,
    /// What runs the programs; the first is the oracle.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Name::Qemu, Name::Threaded, Name::Matching, Name::Compiled, Name::Baseline])]
    executors: Vec<Name>,
    /// Writes the first batch to this file as an ELF executable, and runs nothing.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Prints how often each opcode was reached.
    #[arg(long)]
    coverage: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Name {
    /// QEMU's user-mode emulator.
    Qemu,
    /// The hart's threaded engine.
    Threaded,
    /// The hart's matching engine.
    Matching,
    /// The hart with every block compiled to code of the host.
    Compiled,
    /// The hart with baseline code for every block.
    Baseline,
}

fn executor(name: Name) -> Box<dyn Executor> {
    match name {
        Name::Qemu => Box::new(Qemu::default()),
        Name::Threaded => Box::new(Flat::new(Engine::Threaded)),
        Name::Matching => Box::new(Flat::new(Engine::Matching)),
        Name::Compiled => Box::new(Flat::new(Engine::Compiled(Hotness::ALL))),
        Name::Baseline => Box::new(Flat::new(Engine::Compiled(Hotness::BASELINE))),
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let executors: Vec<_> = arguments.executors.into_iter().map(executor).collect();
    let executors: Vec<&dyn Executor> = executors.iter().map(AsRef::as_ref).collect();
    let threads = arguments.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let Arguments { seed, first, programs, batch, .. } = arguments;
    if let Some(path) = arguments.save {
        let programs: Vec<_> = (0..batch.min(programs)).map(|index| generate::program(seed, first + index)).collect();
        return match std::fs::write(&path, Image::new(&programs).elf()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("torture: cannot write {}: {error}", path.display());
                ExitCode::FAILURE
            }
        };
    }
    let outcome = match (Campaign { seed, first, programs, batch, threads }).run(&executors) {
        Ok(outcome) => outcome,
        Err(error) => {
            eprintln!("torture: {error}");
            return ExitCode::FAILURE;
        }
    };
    if arguments.coverage {
        print!("{}", outcome.coverage);
    }
    let missed = outcome.coverage.missed();
    println!(
        "{} programs agree; reached {} of {} goals",
        outcome.agreed,
        outcome.coverage.goals() - missed.len(),
        outcome.coverage.goals()
    );
    if let Some(failure) = &outcome.failure {
        print!("{failure}");
        return ExitCode::FAILURE;
    }
    if !missed.is_empty() {
        println!("missed: {}", missed.join(", "));
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
