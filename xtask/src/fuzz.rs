//! Coverage-guided fuzzing: builds the targets of `fuzz/` with libFuzzer, and runs each for a while, two at a time.
//!
//! `PAGEWALK_FUZZ_SECONDS` is how long each runs, 60 by default; `PAGEWALK_FUZZ_TARGETS` names some of them, with commas between. Inputs
//! that reach something new are kept in `target/fuzz/NAME`, from where the next run goes on. An input that fails is in `target/fuzz` as
//! well, and the step fails with its path: committed to `fuzz/regressions/NAME`, it becomes a test.

use crate::failure::Failure;
use crate::process::{root, run};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

/// Targets that run at the same time.
const AT_ONCE: usize = 2;
/// Longest input, in bytes.
const LONGEST: u32 = 4096;
/// An input that takes longer than so many seconds has hung.
const TIMEOUT: u32 = 60;

/// Performs the step.
pub(crate) fn perform() -> Result<(), Failure> {
    let seconds = std::env::var("PAGEWALK_FUZZ_SECONDS").unwrap_or_else(|_| "60".to_owned());
    let seconds: u32 =
        seconds.parse().map_err(|_| format!("PAGEWALK_FUZZ_SECONDS={seconds}: not a number of seconds"))?;
    let targets = targets()?;
    build()?;
    let waiting = Mutex::new(targets.into_iter());
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().expect("nobody panics with the lock").next();
                    let Some(target) = next else { return };
                    match fuzz(&target, seconds) {
                        Ok(line) => println!("{line}"),
                        Err(failure) => failures.lock().expect("nobody panics with the lock").push(failure),
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().expect("nobody panics with the lock");
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// The names of all targets, or of those that the user names.
fn targets() -> Result<Vec<String>, Failure> {
    let directory = root().join("fuzz/src/bin");
    let entries = fs::read_dir(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut all: Vec<String> =
        entries.filter_map(|entry| Some(entry.ok()?.path().file_stem()?.to_str()?.to_owned())).collect();
    all.sort();
    let Ok(asked) = std::env::var("PAGEWALK_FUZZ_TARGETS") else { return Ok(all) };
    let asked: Vec<String> = asked.split(',').map(|name| name.trim().to_owned()).collect();
    match asked.iter().find(|name| !all.contains(name)) {
        Some(unknown) => {
            Err(format!("PAGEWALK_FUZZ_TARGETS: there is no target `{unknown}` (there are {})", all.join(", ")))
        }
        None => Ok(asked),
    }
}

/// Builds every target, with coverage in the code of this workspace alone. libFuzzer is C++.
fn build() -> Result<(), Failure> {
    let compiler = Command::new("c++").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !compiler.is_ok_and(|status| status.success()) {
        return Err("no C++ compiler, which libFuzzer is built with (Debian's package g++)".to_owned());
    }
    run(Command::new(env!("CARGO"))
        .args(["build", "--profile", "optimized", "--package", "pagewalk-fuzz", "--features", "libfuzzer", "--bins"])
        .env("RUSTC_WORKSPACE_WRAPPER", root().join("fuzz/instrument.sh"))
        .current_dir(root()))
}

/// Runs one target; returns a line about what it did.
fn fuzz(target: &str, seconds: u32) -> Result<String, Failure> {
    let built = root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()));
    let scratch = built.join("fuzz");
    let found = scratch.join(target);
    fs::create_dir_all(&found).map_err(|error| format!("{}: {error}", found.display()))?;
    let log = scratch.join(format!("{target}.log"));
    let failed = |problem: String| format!("{target}: {problem}; see {}", log.display());
    let mut child = start(&built.join("optimized").join(target), &log, &found, target, seconds).map_err(&failed)?;
    let status = child.wait().map_err(|error| failed(error.to_string()))?;
    let text = fs::read_to_string(&log).map_err(|error| failed(error.to_string()))?;
    if !status.success() {
        let input = text.lines().find_map(|line| line.split_once("Test unit written to ")).map(|(_, path)| path);
        return Err(failed(match input {
            Some(input) => format!("fails on {input}"),
            None => status.to_string(),
        }));
    }
    Ok(summary(target, &text))
}

fn start(binary: &Path, log: &Path, found: &Path, target: &str, seconds: u32) -> Result<Child, String> {
    let output = File::create(log).map_err(|error| error.to_string())?;
    let errors = output.try_clone().map_err(|error| error.to_string())?;
    let kept: Vec<PathBuf> = ["fuzz/corpus", "fuzz/regressions"]
        .into_iter()
        .map(|directory| root().join(directory).join(target))
        .filter(|directory| directory.is_dir())
        .collect();
    let prefix = found.with_file_name(format!("{target}-"));
    Command::new(binary)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={LONGEST}"))
        .arg(format!("-timeout={TIMEOUT}"))
        .arg(format!("-artifact_prefix={}", prefix.display()))
        .arg("-print_final_stats=1")
        .arg(found)
        .args(kept)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .spawn()
        .map_err(|error| format!("{}: {error}", binary.display()))
}

/// What libFuzzer says at its end, in a line.
fn summary(target: &str, log: &str) -> String {
    let last = |key: &str| {
        let lines = log.lines().rev();
        lines.filter_map(|line| line.split_once(key)).find_map(|(_, rest)| rest.split_whitespace().next())
    };
    let of = |key: &str| last(key).unwrap_or("?");
    format!(
        "{target:13} {} executions, {} a second; {} edges, {} features; seed {}",
        of("stat::number_of_executed_units:"),
        of("stat::average_exec_per_sec:"),
        of(" cov: "),
        of(" ft: "),
        of("INFO: Seed: "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_log_is_a_line() {
        let log = "INFO: Seed: 17\n#2 INITED cov: 30 ft: 40 corp: 1/1b\n#9 DONE   cov: 31 ft: 45 corp: 2/3b\n\
                   stat::number_of_executed_units: 9\nstat::average_exec_per_sec:     3\n";
        assert_eq!(summary("kernels", log), "kernels       9 executions, 3 a second; 31 edges, 45 features; seed 17");
    }

    #[test]
    fn every_binary_is_a_target() {
        let manifest = fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap();
        for target in targets().unwrap() {
            assert!(manifest.contains(&format!("name = \"{target}\"")), "{target}");
        }
    }
}
