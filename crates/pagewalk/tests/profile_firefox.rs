//! The Firefox Profiler loads a profile, and says the numbers of its JSON.

mod common;

use common::profiles::{self, TWO_ARRAYS};
use common::{Scratch, npm_file, number, run};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

/// The Firefox Profiler as a command: it reads files with the code of the page.
const PROFILER: &str = "@firefox-devtools/profiler-cli/dist/profiler-cli.js";

/// A process of the Firefox Profiler, which has loaded a profile.
struct Session {
    /// Where its socket is. The path of a socket is short.
    directory: tempfile::TempDir,
}

impl Session {
    #[track_caller]
    fn load(profile: &str) -> Self {
        let session = Self { directory: tempfile::tempdir().unwrap() };
        // It gives the process that it starts half a second. On a busy machine that takes longer, and it says that another try may help.
        for _ in 0..20 {
            let output = session.command(&["load", profile]).output().expect("node starts");
            let err = String::from_utf8_lossy(&output.stderr);
            if output.status.success() {
                return session;
            }
            assert!(err.contains("did not become ready"), "{err}");
        }
        panic!("the process of the profiler did not become ready in 20 tries")
    }

    /// The command, which asks no server for symbols.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("node");
        command.env("PROFILER_CLI_SESSION_DIR", self.directory.path()).env("PROFILER_CLI_NO_SYMBOLICATE", "1");
        command.arg(npm_file(PROFILER)).args(arguments);
        command
    }

    #[track_caller]
    fn says(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().expect("node starts");
        let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        assert!(output.status.success(), "{arguments:?}: {out}{err}");
        out
    }

    #[track_caller]
    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.says(&[arguments, &["--json"]].concat())).unwrap()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.command(&["stop", "--all"]).output();
    }
}

/// Names with the ticks of translation and of the hypervisor that are charged to them, without those that cost nothing.
fn ticks(parts: &Value) -> BTreeMap<String, u64> {
    let parts = parts.as_array().expect("a list").iter();
    let ticks = |part: &Value| number(part, "/counts/translation_ticks") + number(part, "/counts/hypervisor_ticks");
    let named = parts.map(|part| (part["name"].as_str().unwrap().to_owned(), ticks(part)));
    named.filter(|(_, ticks)| *ticks > 0).collect()
}

#[test]
#[ignore = "needs Node with the package @firefox-devtools/profiler-cli"]
fn the_firefox_profiler_loads_a_profile_with_the_numbers_of_its_json() {
    let scratch = Scratch::new();
    let (firefox, json) = (scratch.text("p.fxprof.json"), scratch.text("p.json"));
    let guest = ["--guest", TWO_ARRAYS, "--memory", "128M", "--scheme", "nested,shadow"];
    for file in [&firefox, &json] {
        run(["compare", "--profile", file].iter().chain(&guest)).succeeded();
    }
    let json = profiles::json(&json);
    let session = Session::load(&firefox);
    let threads = session.json(&["thread", "list"]);
    let runs = json["runs"].as_array().unwrap();
    assert_eq!(threads["threads"].as_array().unwrap().len(), runs.len());
    for (thread, run) in runs.iter().enumerate() {
        let found = session.json(&["thread", "functions", "--thread", &format!("t-{thread}")]);
        let name = found["friendlyThreadName"].as_str().unwrap();
        assert!(name.contains(run["scheme"].as_str().unwrap()), "{name}");
        let frames = found["functions"].as_array().unwrap();
        let weights = |key: &str| -> BTreeMap<String, u64> {
            let weighed = frames
                .iter()
                .map(|frame| (frame["name"].as_str().unwrap().to_owned(), number(frame, &format!("/{key}"))));
            weighed.filter(|(_, weight)| *weight > 0).collect()
        };
        // Data are the innermost frames.
        assert_eq!(weights("selfSamples"), ticks(&run["objects"]), "{name}");
        let functions = ticks(&run["symbols"]);
        assert!(functions.contains_key("read_at_random"), "{functions:?}");
        let mut both = ticks(&run["objects"]);
        both.extend(functions);
        assert_eq!(weights("totalSamples"), both, "{name}");
    }
}
