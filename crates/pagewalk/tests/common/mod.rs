//! What the end-to-end tests share: the built command, run as a user runs it, and what came of it.
#![allow(dead_code, reason = "each test binary uses its part")]

pub(crate) mod gdb;
pub(crate) mod kernel;
pub(crate) mod profiles;
pub(crate) mod programs;
pub(crate) mod screen;
pub(crate) mod user;

use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Set for commands whose standard error is looked at: without a terminal they would tell there of each run that has ended.
pub(crate) const QUIET: &str = "PAGEWALK_QUIET";

/// A file of a package that `cargo xtask tools` installs by npm.
#[track_caller]
pub(crate) fn npm_file(path: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is below the target directory");
    let file = target.join("tools/npm/node_modules").join(path);
    assert!(file.is_file(), "{}: `cargo xtask tools` installs it", file.display());
    file
}

/// A command that ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Exit code; `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    /// Standard output, as text.
    pub(crate) stdout: String,
    /// Standard error, as text.
    pub(crate) stderr: String,
}

/// `pagewalk` with `arguments`, without standard input. What outlasts five minutes of the host's hangs, and is ended with code 124. A `compare`
/// that names no fidelity runs under `counts`: most tests are about counts, and `core`, its default, takes ten times as long.
pub(crate) fn command<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let arguments: Vec<OsString> = arguments.into_iter().map(|argument| argument.as_ref().to_owned()).collect();
    let named =
        |argument: &OsString| ["fidelity", "--config"].iter().any(|name| argument.to_string_lossy().contains(name));
    let counts: &[&str] = match arguments.first() {
        Some(first) if first == "compare" && !arguments.iter().any(named) => &["--set", "fidelity=counts"],
        _ => &[],
    };
    let (first, others) = arguments.split_at(arguments.len().min(1));
    let mut command = unchanged(first);
    command.args(counts).args(others);
    command
}

/// As [`command`], with `arguments` as they are.
pub(crate) fn unchanged<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new("timeout");
    command.args(["300", env!("CARGO_BIN_EXE_pagewalk")]).args(arguments).stdin(Stdio::null());
    command.env(QUIET, "1");
    command
}

/// Arguments that run jobs under `schemes`: processes that start, page and end, long enough for hot code to be compiled.
pub(crate) fn jobs<'a>(schemes: &'a str, harts: &'a str, settings: &[&'a str]) -> Vec<&'a str> {
    let jobs = ["--workload", "jobs:16K", "--append", "iterations=25", "--memory", "64M"];
    [&jobs[..], &["--scheme", schemes, "--harts", harts], settings].concat()
}

/// A host of two processors with two equal guests of two harts each, under `scheme`.
pub(crate) fn two_guests(scheme: &str) -> String {
    format!(
        r#"
processors = 2
slice_us = 250
[config]
scheme = "{scheme}"
memory = "64M"
timeout = 20
[[guest]]
name = "work"
count = 2
workload = "jobs"
options = "size=64K"
processors = 2
"#
    )
}

/// `text` with each run of white space as one space: a paragraph as it was before its lines were wrapped to a width.
pub(crate) fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs `command` to its end.
pub(crate) fn ended(command: &mut Command) -> Ended {
    let output = command.env(QUIET, "1").output().expect("the command starts");
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Runs `pagewalk` with `arguments` to its end.
pub(crate) fn run<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Ended {
    ended(&mut command(arguments))
}

impl Ended {
    /// It succeeded, and printed nothing on standard error.
    #[track_caller]
    pub(crate) fn succeeded(self) -> Self {
        assert!(self.code == Some(0) && self.stderr.is_empty(), "{self:#?}");
        self
    }

    /// It failed with `code` and one line that contains each of `named`.
    #[track_caller]
    pub(crate) fn failed(self, code: i32, named: &[&str]) -> Self {
        assert_ne!(code, 0);
        self.said(code, named)
    }

    /// It ended with `code` and one line that contains each of `named`.
    #[track_caller]
    pub(crate) fn said(self, code: i32, named: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        assert!(self.stderr.starts_with("pagewalk: ") && self.stderr.lines().count() == 1, "{self:#?}");
        assert!(!self.stderr.contains("panicked"), "{self:#?}");
        for name in named {
            assert!(self.stderr.contains(name), "no `{name}` in {self:#?}");
        }
        self
    }
}

/// A directory for one test's files, removed at its end.
pub(crate) struct Scratch(TempDir);

impl Scratch {
    /// A new one.
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    /// The path of `name` in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The path of `name` in it, as an argument.
    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).to_str().expect("temporary paths are UTF-8").to_owned()
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        fs::write(self.path(name), content).expect("the temporary directory takes a file");
        self.text(name)
    }

    /// The names of everything in it, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(self.0.path())
            .expect("the directory is there")
            .map(|entry| entry.expect("it can be listed").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

/// The bytes of the JSON that `compare` with `arguments` writes.
#[track_caller]
pub(crate) fn compare_bytes(arguments: &[&str]) -> Vec<u8> {
    let scratch = Scratch::new();
    let json = scratch.text("out.json");
    run(["compare", "--json", &json].iter().chain(arguments)).succeeded();
    fs::read(json).expect("the JSON was written")
}

/// The JSON that `compare` with `arguments` writes.
#[track_caller]
pub(crate) fn compare(arguments: &[&str]) -> Value {
    serde_json::from_slice(&compare_bytes(arguments)).expect("JSON")
}

/// The runs of [`compare`].
#[track_caller]
pub(crate) fn runs(arguments: &[&str]) -> Vec<Value> {
    runs_of(&compare(arguments))
}

/// The runs of a report.
pub(crate) fn runs_of(report: &Value) -> Vec<Value> {
    report["runs"].as_array().expect("`runs` is a list").clone()
}

/// The number at a JSON pointer.
#[track_caller]
pub(crate) fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("no number at {pointer} of {value:#}"))
}

/// Each run of `these` takes as many cycles as the one of `those` beside it, and has the same overhead over the first of its list, which is native,
/// within a hundredth.
#[track_caller]
pub(crate) fn within_a_hundredth(what: &str, those: &[Value], these: &[Value]) {
    assert_eq!(those.len(), these.len());
    let cycles = |run: &Value| number(run, "/cycles") as f64;
    let lines: Vec<(String, f64, f64)> = those
        .iter()
        .zip(these)
        .map(|(that, this)| {
            let over = |run: &Value, native: &Value| cycles(run) / cycles(native) - 1.0;
            let (cost, differs) = (cycles(this) / cycles(that) - 1.0, over(this, &these[0]) - over(that, &those[0]));
            (format!("{what} {}: cycles {cost:+.4}, overhead {differs:+.4}", this["scheme"]), cost, differs)
        })
        .collect();
    let all = lines.iter().map(|(line, ..)| line.as_str()).collect::<Vec<_>>().join("\n");
    assert!(lines.iter().all(|(_, cost, differs)| cost.abs() <= 0.01 && differs.abs() <= 0.01), "\n{all}");
}

/// Settings for the shipped host with a clock of 20 MHz: few cycles make a second of guest time.
pub(crate) fn slow_host(scratch: &Scratch) -> [String; 2] {
    host_with_clock(scratch, 20_000_000)
}

/// Settings for the shipped host with another clock.
pub(crate) fn host_with_clock(scratch: &Scratch, clock_hz: u64) -> [String; 2] {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hosts/sandybridge-2012.toml");
    let text = fs::read_to_string(shipped).expect("the shipped host model");
    let slow = text.replace("clock_hz = 2_400_000_000", &format!("clock_hz = {clock_hz}"));
    assert_ne!(slow, text, "the shipped model's clock has changed");
    ["--set".to_owned(), format!("host={}", scratch.write("slow.toml", slow))]
}

/// Runs `command` in a Linux guest, with `arguments` for `boot`.
pub(crate) fn linux(command: &str, arguments: &[&str]) -> Ended {
    run([&["boot", "--guest", "linux", "--run", command], arguments].concat())
}

/// Compiles a program for the guest with the cross compiler; its path.
pub(crate) fn compiled(scratch: &Scratch, name: &str, source: &str, flags: &[&str]) -> String {
    let file = scratch.write(&format!("{name}.c"), source);
    let program = scratch.text(name);
    let status = Command::new("riscv64-linux-gnu-gcc").args(["-O2", "-o", &program, &file]).args(flags).status();
    assert!(status.expect("the cross compiler is installed").success());
    program
}

/// How many predictions of the linear model `compare --model` printed. Each has to be within a tenth of what was simulated, or both next to
/// nothing.
#[track_caller]
pub(crate) fn predictions_within_a_tenth(report: &str) -> usize {
    let lines = report.lines().skip_while(|line| !line.starts_with("the linear model"));
    let numbers = |line: &str| line.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<f64>>();
    lines
        .filter_map(|line| numbers(line).first_chunk::<2>().map(|&pair| (line, pair)))
        .map(|(line, [predicted, simulated])| {
            assert!((predicted - simulated).abs() <= (0.1 * simulated).max(0.1), "{line}");
        })
        .count()
}
