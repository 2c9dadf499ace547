//! `pagewalk validate`: programs built by this machine's C compiler, beside the same ones on `vos`.

mod common;

use common::{command, ended, unwrapped};
use serde_json::Value;
use std::fs;

#[test]
fn a_program_is_measured_and_predicted() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (json, html) = (path("v.json"), path("v.html"));
    let arguments = [
        "validate",
        "--program",
        "chase",
        "--sizes",
        "1",
        "--repeat",
        "2",
        "--threads",
        "1",
        "--json",
        &json,
        "--html",
        &html,
    ];
    let ended_as = ended(&mut command(arguments));
    // A system without huge pages cannot run the half of it, and says so.
    if ended_as.code == Some(1) && ended_as.stderr.contains("huge pages") {
        ended_as.failed(1, &["chase:16M on this machine"]);
        return;
    }
    let table = ended_as.succeeded().stdout;
    for words in ["chase", "on host sandybridge-2012 with fidelity core", "error of 4K/2M"] {
        assert!(unwrapped(&table).contains(words), "{words}: {table}");
    }
    let report: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    let [point] = report["validation"].as_array().unwrap().as_slice() else { panic!("{report}") };
    let number =
        |pointer: &str| point.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("{pointer}: {point}"));
    assert_eq!((point["program"].as_str(), point["size"].as_str()), (Some("chase"), Some("16M")));
    let machine = calibrate::Host::find();
    assert_eq!(report["machine"]["processor"], machine.processor, "it is read before the sandbox hides it");
    // A load takes a cycle of any clock, and no machine waits a microsecond for one.
    for pointer in [
        "/measured/ns_4k/median",
        "/measured/ns_2m/median",
        "/measured/ns_split/median",
        "/predicted/ns_4k",
        "/predicted/ns_2m",
        "/predicted/ns_split",
    ] {
        assert!((0.2..2000.0).contains(&number(pointer)), "{pointer}: {point}");
    }
    let scattered = report["scattered_over"].as_u64();
    assert_eq!(scattered.is_none(), report["not_scattered"].is_string(), "{report}");
    assert!(scattered.is_none_or(|bytes| bytes >= 1 << 30), "{report}");
    let said = if scattered.is_some() { "frames of 4K pages were scattered over" } else { "could not be scattered: " };
    assert!(unwrapped(&table).contains(said), "{table}");
    assert!(fs::read_to_string(&html).unwrap().contains(said), "{said}: not in the page");
    // The systems are native, so where frames lie changes the sets of the caches that data are in, and nothing else.
    assert!((0.9..1.1).contains(&(number("/predicted/ns_4k") / number("/predicted/ns_split"))), "{point}");
    for (ratio, error) in [("ratio", "ratio_error"), ("split_ratio", "split_error")] {
        let expected = number(&format!("/predicted/{ratio}")) / number(&format!("/measured/{ratio}/median")) - 1.0;
        assert!((number(&format!("/{error}")) - expected).abs() < 1e-9, "{point}");
    }
    assert!(point["measured"]["last_level_bytes"].is_null(), "{report}");
    let again = path("again.html");
    ended(&mut command(["report", &json, &again])).succeeded();
    assert!(fs::read(&again).unwrap() == fs::read(&html).unwrap(), "the page made of the JSON is another one");
}

/// The size that was measured decides the prediction: the guest's caches have no lines of other machines, and 16 MiB fit into the default host's.
#[test]
fn the_last_level_is_measured_beside_the_programs() {
    let directory = tempfile::tempdir().unwrap();
    let [json, html] = ["v.json", "v.html"].map(|name| directory.path().join(name));
    let arguments =
        ["validate", "--program", "chase,gups", "--sizes", "1", "--repeat", "2", "--last-level", "measured"];
    let ended_as = ended(command(arguments).arg("--json").arg(&json).arg("--html").arg(&html));
    if ended_as.code == Some(1) && ended_as.stderr.contains("huge pages") {
        return;
    }
    let table = ended_as.succeeded().stdout;
    let report: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    let points = report["validation"].as_array().unwrap();
    assert_eq!(points.len(), 2, "{report}");
    for point in points {
        let kept = point["measured"]["last_level_bytes"]["median"].as_f64().unwrap();
        assert!((f64::from(256 << 10)..f64::from(1 << 30)).contains(&kept), "{point}");
        // In whole sets, the prediction is that of a host with a cache of this size.
        let llc = &report["host"]["caches"]["llc"];
        let set = llc["ways"].as_f64().unwrap() * llc["line"].as_f64().unwrap();
        let size = (kept / set).round() * set;
        let (program, again) = (point["program"].as_str().unwrap(), directory.path().join("again.json"));
        let size = format!("host.caches.llc.size={size}");
        let by_hand = ["validate", "--program", program, "--sizes", "1", "--repeat", "1", "--set", &size, "--json"];
        ended(command(by_hand).arg(&again)).succeeded();
        let by_hand: Value = serde_json::from_str(&fs::read_to_string(&again).unwrap()).unwrap();
        assert_eq!(by_hand["validation"][0]["predicted"], point["predicted"], "{program} with {size}");
    }
    let said = "of the last-level cache. Each prediction has";
    assert!(unwrapped(&table).contains(said), "{table}");
    assert!(fs::read_to_string(&html).unwrap().contains(said), "{said}: not in the page");
    let none = ["validate", "--last-level", "measured", "--set", "host=p550-2024", "--set", "host.caches.llc=off"];
    ended(&mut command(none)).failed(2, &["host.caches.llc"]);
}

/// The guest's option `scatter=`, by which frames of 4K lie all over its memory: walks then need more entries of the hypervisor's table.
#[test]
fn scattered_frames_need_more_references() {
    let references = |scatter: &str| {
        let directory = tempfile::tempdir().unwrap();
        let json = directory.path().join("boot.json");
        let kernel = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guests/validation/vos-validation.elf");
        let append = format!("workload=chase size=16M updates=100K{scatter}");
        let arguments =
            ["boot", "--guest", kernel, "--append", &append, "--scheme", "nested:4K+4K", "--set", "memory=8G"];
        let placed = ["--set", "frame_placement=random:1", "--json", json.to_str().unwrap()];
        ended(&mut command([&arguments[..], &placed].concat())).succeeded();
        let report: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
        let count = |key: &str| report["runs"][0]["walks"][key].as_f64().unwrap();
        count("host_refs") / count("count")
    };
    let (in_order, scattered) = (references(""), references(" scatter=1"));
    assert!(
        in_order < 1.5 && scattered > 2.0,
        "{in_order} and {scattered} references to the hypervisor's table a walk"
    );
}

#[test]
fn what_cannot_be_is_said_before_anything_runs() {
    ended(&mut command(["validate", "--program", "gap"])).failed(2, &["--program", "gap", "gups"]);
    ended(&mut command(["validate", "--sizes", "4"])).failed(2, &["--sizes", "from 1 to 3"]);
    ended(&mut command(["validate", "--set", "fidelity=guessed"])).failed(2, &["fidelity"]);
    ended(&mut command(["validate", "--systems", "native:4K"])).failed(2, &["--systems"]);
    ended(command(["validate", "--program", "chase"]).env("CC", "/no/such/cc"))
        .failed(1, &["the C compiler /no/such/cc"]);
}
