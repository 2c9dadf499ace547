//! `reproduce`: a paper's evaluation from its file, and what is kept of it.

mod common;

use common::{Scratch, command, ended, run};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Three measurements, each of two short runs.
const SMALL: &str = r#"
paper = "small"
title = "Small"
citation = "no author, no year"
[size]
updates = { short = "20000", full = "40000" }
[[measure]]
id = "tlb"
command = "compare --workload gups:1M --memory 256M --append updates={updates} --scheme native,{each}"
each = ["nested", "shadow"]
[[measure]]
id = "spin"
command = "run --spin rslp,wapd"
[measure.file]
processors = 1
config = { scheme = "nested", timeout = 10 }
guest = [{ name = "a", count = 2, workload = "hello", options = "procs=4 handshake=area", memory = "64M" }]
[[define]]
name = "nested"
value = "tlb.nested.of['gups:1M']['nested:4K+4K'].overhead"
[[figure]]
id = "overhead"
title = "Overhead"
source = "Table 1"
unit = "%"
kind = "bars"
x_label = "scheme"
x = ["nested", "shadow"]
series = [{ name = "gups", paper = [10, nan], ours = "tlb[x].of['gups:1M'][x ~ ':4K+4K'].overhead * 100" }]
[[claim]]
id = "more"
claim = "Nested costs something"
source = "page 1"
holds = "nested > 0"
evidence = "{{ (nested * 100) | round(1) }} %"
[[claim]]
id = "never"
claim = "And that is a million times"
source = "page 2"
holds = "nested > 1000000"
direction = "nested > 0"
evidence = "no"
[[claim]]
id = "calls"
claim = "WAPD loses a processor"
source = "page 3"
holds = "spin.by.wapd.processors_lost > 0"
evidence = "none"
explanation = "It does not."
"#;

struct Place {
    scratch: Scratch,
}

impl Place {
    fn new() -> Self {
        let scratch = Scratch::new();
        fs::write(scratch.path("small.toml"), SMALL).unwrap();
        Self { scratch }
    }

    fn arguments(&self) -> [String; 6] {
        let text = |name| self.scratch.text(name);
        [
            "reproduce".to_owned(),
            text("small.toml"),
            "--cache".to_owned(),
            text("cache"),
            "--json".to_owned(),
            text("r.json"),
        ]
    }

    fn report(&self) -> Value {
        serde_json::from_slice(&fs::read(self.scratch.path("r.json")).unwrap()).unwrap()
    }

    /// What is kept: names, and when they were written.
    fn kept(&self) -> Vec<(String, std::time::SystemTime)> {
        kept(&self.scratch.path("cache/results"))
    }
}

fn kept(directory: &Path) -> Vec<(String, std::time::SystemTime)> {
    let Ok(files) = fs::read_dir(directory) else { return Vec::new() };
    let mut kept: Vec<_> = files
        .map(|file| file.unwrap())
        .filter(|file| file.file_name().to_string_lossy().ends_with(".json"))
        .map(|file| (file.file_name().into_string().unwrap(), file.metadata().unwrap().modified().unwrap()))
        .collect();
    kept.sort();
    kept
}

#[test]
fn a_papers_figures_and_claims_are_printed_with_verdicts_by_the_files_rules() {
    let place = Place::new();
    let shown = run(place.arguments()).succeeded().stdout;
    for expected in [
        "Overhead, % (Table 1)",
        "holds               Nested costs something",
        "holds in direction  And that",
        "does not hold       WAPD loses",
        "It does not.",
    ] {
        assert!(shown.contains(expected), "no `{expected}` in {shown}");
    }
    assert!(shown.ends_with("Of 3 claims 1 hold, 1 hold in direction, 1 do not.\n"), "{shown}");
    let report = place.report();
    let figure = &report["figures"][0]["series"][0];
    assert_eq!(figure["paper"], serde_json::json!([10.0, null]));
    assert!(figure["ours"][0].as_f64().unwrap() > 0.0);
    let verdicts: Vec<_> =
        report["claims"].as_array().unwrap().iter().map(|claim| claim["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["holds", "holds in direction", "does not hold"]);
    assert!(
        report["measurements"][0]["commands"][0].as_str().unwrap().starts_with("pagewalk compare --workload gups:1M")
    );
}

#[test]
fn what_is_finished_is_not_measured_again_and_a_killed_run_goes_on() {
    let place = Place::new();
    let mut first = Command::new(env!("CARGO_BIN_EXE_pagewalk")).args(place.arguments()).spawn().unwrap();
    let begun = Instant::now();
    while place.kept().is_empty() && begun.elapsed() < Duration::from_secs(60) {
        sleep(Duration::from_millis(2));
    }
    first.kill().unwrap();
    assert!(!first.wait().unwrap().success());
    // Its measurements end with it; what one has just finished is kept.
    sleep(Duration::from_millis(100));
    let before = place.kept();
    sleep(Duration::from_millis(500));
    assert_eq!(place.kept(), before);
    assert!(!before.is_empty());
    run(place.arguments()).succeeded();
    let after = place.kept();
    assert!(before.iter().all(|kept| after.contains(kept)), "{before:?} {after:?}");
    let report = fs::read(place.scratch.path("r.json")).unwrap();
    run(place.arguments()).succeeded();
    assert_eq!(place.kept(), after, "nothing is measured a third time");
    assert_eq!(fs::read(place.scratch.path("r.json")).unwrap(), report);
}

#[test]
fn a_comparison_keeps_its_runs_and_gives_the_same_bytes() {
    let scratch = Scratch::new();
    let compare = |json: &str, scheme: &str| {
        let (json, keep) = (scratch.text(json), scratch.text("keep"));
        let line =
            format!("compare --workload gups:1M,kv:1M --memory 256M --scheme {scheme} --json {json} --keep {keep}");
        run(line.split_whitespace()).succeeded();
        fs::read(json).unwrap()
    };
    let first = compare("a.json", "native");
    let runs = kept(&scratch.path("keep"));
    assert_eq!(runs.len(), 2);
    assert_eq!(compare("b.json", "native"), first);
    assert_eq!(kept(&scratch.path("keep")), runs);
    compare("c.json", "native,nested");
    let more = kept(&scratch.path("keep"));
    assert!(more.len() == 4 && runs.iter().all(|run| more.contains(run)));
}

#[test]
fn what_cannot_be_is_one_line() {
    let scratch = Scratch::new();
    run(["reproduce", "gandhi"]).failed(2, &["gandhi2014"]);
    run(["reproduce", &scratch.text("none.toml")]).failed(2, &["none.toml"]);
    for (from, to, named) in [
        ("holds = \"nested > 0\"", "holds = \"nested >\"", &["small.toml", "claim `more`"][..]),
        ("value = \"tlb.", "value = \"tbl.", &["define `nested`", "undefined"]),
        ("gups:1M --memory", "gups:1X --memory", &["measure `tlb`", "gups:1X"]),
    ] {
        fs::write(scratch.path("small.toml"), SMALL.replace(from, to)).unwrap();
        let ended = ended(&mut command(["reproduce", &scratch.text("small.toml"), "--cache", &scratch.text("cache")]));
        assert!(ended.code == Some(1) || ended.code == Some(2), "{ended:#?}");
        let code = ended.code.unwrap();
        ended.failed(code, named);
    }
}

#[test]
fn the_1998_paper_ends_with_its_verdicts() {
    let scratch = Scratch::new();
    let shown = run(["reproduce", "noel1998", "--cache", &scratch.text("cache")]).succeeded().stdout;
    assert!(shown.contains("OpenVMS Alpha") && shown.contains("Of 5 claims "), "{shown}");
}
