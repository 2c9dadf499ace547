//! `advise`: what reports of real runs lead to.

mod common;

use common::{Scratch, run};
use serde_json::Value;
use std::fs;

#[test]
fn the_fastest_measured_system_is_advised_for_each_goal() {
    let scratch = Scratch::new();
    let (report, advice) = (scratch.text("r.json"), scratch.text("a.json"));
    let line = format!(
        "compare --workload gups:4M --memory 256M --native --scheme nested,shadow,vmm-direct,dual-direct --json {report}"
    );
    run(line.split_whitespace()).succeeded();
    let shown = run(["advise", &report, "--json", &advice]).succeeded().stdout;
    assert!(shown.contains("gups:4M: of 4 virtualized systems"), "{shown}");
    let advice: Value = serde_json::from_slice(&fs::read(advice).unwrap()).unwrap();
    let advised = advice["workloads"][0]["advised"].as_array().unwrap();
    let systems: Vec<&str> = advised.iter().map(|one| one["system"].as_str().unwrap()).collect();
    assert_eq!(systems[0], "dual-direct:4K");
    assert!(["shadow:4K+4K", "vmm-direct:4K"].contains(&systems[1]), "{systems:?}");
    assert_eq!(systems[2], "shadow:4K+4K");
    assert!(advised[0]["saves"].as_f64().unwrap() > 0.3);
    assert!(advised[0]["in_the_way"].to_string().contains("primary regions"));
}

#[test]
fn spin_methods_are_ranked() {
    let scratch = Scratch::new();
    let (host, report) = (scratch.text("host.toml"), scratch.text("r.json"));
    let text = "processors = 1\n[config]\nscheme = 'nested'\ntimeout = 20\n[[guest]]\nname = 'a'\ncount = 2\nworkload = 'hello'\n\
                options = 'procs=12 handshake=area purge=partners'\nprocessors = 2\nmemory = '64M'\n";
    fs::write(&host, text).unwrap();
    run(["run", &host, "--spin", "none,wapd", "--json", &report]).succeeded();
    let shown = run(["advise", &report]).succeeded().stdout;
    assert!(shown.contains("take wapd"), "{shown}");
}

#[test]
fn what_is_no_report_is_refused_by_name() {
    let scratch = Scratch::new();
    run(["advise"]).failed(2, &["REPORT"]);
    run(["advise", &scratch.text("none.json")]).failed(2, &["none.json"]);
    for (content, named) in
        [("{", "other.json"), ("{}", "not a report of `compare`"), ("{\"runs\": [3]}", "not a report of `compare`")]
    {
        fs::write(scratch.path("other.json"), content).unwrap();
        run(["advise", &scratch.text("other.json")]).failed(2, &["other.json", named]);
    }
    let report = scratch.text("one.json");
    let line = format!("compare --workload gups:1M --memory 256M --scheme native,nested --json {report}");
    run(line.split_whitespace()).succeeded();
    run(["advise", &report]).failed(2, &["gups:1M", "two virtualized systems"]);
}
