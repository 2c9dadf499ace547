//! A fuzz target: its binary, its inputs, and a run of it.

use crate::build::PROFILE;
use crate::failure::Failure;
use crate::process::{root, target};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::summary::Summary;

/// Longest input, in bytes: that of a real snapshot, which is a seed.
const LONGEST: u32 = 65_536;
/// An input that takes longer than this many seconds has hung.
const TIMEOUT: u32 = 60;

/// A fuzz target.
#[derive(Debug)]
pub(crate) struct Target {
    name: String,
}

/// All targets, or those that `PAGEWALK_FUZZ_TARGETS` names.
pub(super) fn named() -> Result<Vec<Target>, Failure> {
    let all = all()?;
    let Ok(asked) = std::env::var("PAGEWALK_FUZZ_TARGETS") else { return Ok(all) };
    let known = |name: &str| all.iter().any(|target| target.name == name);
    let asked: Vec<&str> = asked.split(',').map(str::trim).collect();
    if let Some(unknown) = asked.iter().find(|name| !known(name)) {
        let names: Vec<&str> = all.iter().map(Target::name).collect();
        return Err(format!("PAGEWALK_FUZZ_TARGETS: there is no target `{unknown}` (there are {})", names.join(", ")));
    }
    Ok(asked.into_iter().map(Target::called).collect())
}

/// All targets, by name: the binaries of `fuzz/`.
fn all() -> Result<Vec<Target>, Failure> {
    let directory = root().join("fuzz/src/bin");
    let entries = fs::read_dir(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut names: Vec<String> =
        entries.filter_map(|entry| Some(entry.ok()?.path().file_stem()?.to_str()?.to_owned())).collect();
    names.sort();
    Ok(names.iter().map(|name| Target::called(name)).collect())
}

impl Target {
    pub(super) fn called(name: &str) -> Self {
        Self { name: name.to_owned() }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The committed inputs that it starts from.
    pub(super) fn corpus(&self) -> PathBuf {
        root().join("fuzz/corpus").join(&self.name)
    }

    /// The inputs that runs have found.
    pub(super) fn found(&self) -> PathBuf {
        target().join("fuzz").join(&self.name)
    }

    fn log(&self) -> PathBuf {
        target().join("fuzz").join(format!("{}.log", self.name))
    }

    /// Runs it for this many seconds.
    pub(super) fn fuzz(&self, seconds: u32) -> Result<Summary, Failure> {
        let found = self.found();
        create(&found)?;
        let regressions = root().join("fuzz/regressions").join(&self.name);
        let kept = [self.corpus(), regressions].into_iter().filter(|directory| directory.is_dir());
        let directories: Vec<PathBuf> = [found].into_iter().chain(kept).collect();
        let log = self.run(&[format!("-max_total_time={seconds}"), "-print_final_stats=1".to_owned()], &directories)?;
        Ok(Summary::of(&log))
    }

    /// Runs it with libFuzzer's `options` on `directories` of inputs; what libFuzzer wrote.
    pub(super) fn run(&self, options: &[String], directories: &[PathBuf]) -> Result<String, Failure> {
        let log = self.log();
        let failed = |problem: String| format!("{}: {problem}; see {}", self.name, log.display());
        let output = File::create(&log).map_err(|error| failed(error.to_string()))?;
        let errors = output.try_clone().map_err(|error| failed(error.to_string()))?;
        let prefix = self.found().with_file_name(format!("{}-", self.name));
        let status = Command::new(target().join(PROFILE).join(&self.name))
            .arg(format!("-max_len={LONGEST}"))
            .arg(format!("-timeout={TIMEOUT}"))
            .arg(format!("-artifact_prefix={}", prefix.display()))
            .args(options)
            .args(directories)
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .status()
            .map_err(|error| failed(error.to_string()))?;
        let text = fs::read_to_string(&log).map_err(|error| failed(error.to_string()))?;
        if status.success() {
            return Ok(text);
        }
        // A log may be gone with the machine that the step ran on.
        eprintln!("{}: the end of its log:\n{}", self.name, last_lines(&text));
        let input = text.lines().find_map(|line| line.split_once("Test unit written to ")).map(|(_, path)| path);
        Err(failed(input.map_or_else(|| status.to_string(), |input| format!("fails on {input}"))))
    }
}

/// The end of a log, without the lines in which libFuzzer reports progress.
fn last_lines(log: &str) -> String {
    const MOST: usize = 60;
    let lines: Vec<&str> = log.lines().filter(|line| !line.starts_with('#')).collect();
    lines[lines.len().saturating_sub(MOST)..].join("\n")
}

/// Makes a directory, and those above it.
pub(super) fn create(directory: &Path) -> Result<(), Failure> {
    fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_log_has_no_progress() {
        let log = "seed 7\n#1 NEW\nthread panicked\n#2 pulse\nTest unit written to x";
        assert_eq!(last_lines(log), "seed 7\nthread panicked\nTest unit written to x");
        assert_eq!(last_lines(&"line\n".repeat(100)).lines().count(), 60);
    }

    #[test]
    fn every_binary_is_a_target() {
        let manifest = fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap();
        for target in all().unwrap() {
            assert!(manifest.contains(&format!("name = \"{}\"", target.name())), "{}", target.name());
        }
    }
}
