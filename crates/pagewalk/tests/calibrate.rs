//! `pagewalk calibrate`: measures, writes a model that loads, and says what it could not measure.

mod common;

use common::{command, ended};
use serde_json::Value;
use std::fs;

#[test]
fn a_machine_is_measured_and_its_model_runs() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (model, json, html) = (path("mine.toml"), path("mine.json"), path("mine.html"));
    let table = ended(&mut command(["calibrate", "--quick", "-o", &model, "--json", &json, "--html", &html]));
    let table = table.succeeded().stdout;
    for quantity in ["clock of the core", "TLB for 4K, level 1, entries", "outstanding misses, memory"] {
        assert!(table.contains(quantity), "{table}");
    }
    // Without a staircase there are no levels.
    let too_noisy = table.lines().any(|line| line.starts_with("caches ") && line.contains("too noisy"));
    assert!(table.contains("cache 1, latency") != too_noisy, "{table}");
    let report: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    let quantities = report["quantities"].as_array().unwrap();
    for quantity in quantities {
        let (known, reason) = (quantity["value"].is_number(), quantity["not"].as_str());
        assert!(known != reason.is_some_and(|reason| !reason.is_empty()), "a number or a reason: {quantity}");
        assert!(!known || quantity["low"].as_f64() <= quantity["high"].as_f64(), "{quantity}");
    }
    // Whatever else runs here: additions are measured.
    let clock = quantities.iter().find(|quantity| quantity["key"] == "clock").unwrap();
    assert!((1e8..1e10).contains(&clock["value"].as_f64().unwrap()), "{clock}");
    let caches = &report["staircases"][0];
    assert!(caches["points"].as_array().unwrap().len() > 20 && caches["axis"].is_string(), "{report}");
    assert_eq!(report["model"].as_str().unwrap(), fs::read_to_string(&model).unwrap());
    assert!(fs::read_to_string(&html).unwrap().contains("Latency by memory"));

    let printed = ended(&mut command(["hosts", &model])).succeeded().stdout;
    assert!(printed.contains("name = \"mine\"") && printed.contains("mine.toml; cycles of its clock"), "{printed}");
    let host = format!("host={model}");
    ended(&mut command(["boot", "--set", &host, "--append", "workload=hello"])).succeeded();
    let again = path("again.html");
    ended(&mut command(["report", &json, &again])).succeeded();
    assert!(fs::read(&again).unwrap() == fs::read(&html).unwrap(), "the page made of the JSON is another one");
}

#[test]
fn what_cannot_be_asked_is_refused_before_anything_is_measured() {
    for (arguments, says) in
        [(&["--base", "xeon-2018"][..], "xeon-2018"), (&["--repeats"], "--repeats"), (&["mine.toml"], "mine.toml")]
    {
        ended(command(["calibrate"]).args(arguments)).failed(2, &[says]);
    }
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path().join("base.toml");
    let text = ended(&mut command(["hosts", "xeon-2017"])).succeeded().stdout;
    let (before, rest) = text.split_once("[caches]").unwrap();
    fs::write(&base, format!("{before}[refill]{}", rest.split_once("[refill]").unwrap().1)).unwrap();
    ended(&mut command(["calibrate", "--base", base.to_str().unwrap()]))
        .failed(2, &["base.toml: the model has no caches"]);
    ended(&mut command(["calibrate", "-o", "/no/such/directory/mine.toml"]))
        .failed(1, &["/no/such/directory/mine.toml"]);
}
