//! Reports as HTML, as files: what is in them whatever a browser makes of it. `report_browser.rs` has the rest.

mod common;

use common::{Scratch, compare_bytes, number, run, runs};
use serde_json::Value;
use std::fs;

const SMALL: [&str; 8] =
    ["--workload", "gups:1M,gups:2M", "--append", "updates=4000", "--scheme", "native,nested", "--memory", "128M"];

fn page(json: &[u8]) -> String {
    let scratch = Scratch::new();
    let (json, html) = (scratch.write("in.json", json), scratch.text("out.html"));
    run(["report", &json, &html]).succeeded();
    fs::read_to_string(html).unwrap()
}

#[test]
fn compare_writes_the_same_page_as_is_made_of_its_json_and_the_same_again() {
    let scratch = Scratch::new();
    let (json, html) = (scratch.text("out.json"), scratch.text("out.html"));
    run(["compare", "--json", &json, "--html", &html].iter().chain(&SMALL)).succeeded();
    let written = fs::read_to_string(&html).unwrap();
    assert_eq!(page(&fs::read(&json).unwrap()), written);
    run(["compare", "--html", &html].iter().chain(&SMALL)).succeeded();
    assert_eq!(fs::read_to_string(&html).unwrap(), written);
    for part in ["gups:1M", "nested:4K+4K", "sandybridge-2012", "http-equiv=\"Content-Security-Policy\""] {
        assert!(written.contains(part), "{part}");
    }
    assert_eq!(scratch.names(), ["out.html", "out.json"]);
}

/// A guest with one function that reads an array at random, and one that reads another in order.
const TWO_ARRAYS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guests/profile/two-arrays.elf");

#[test]
fn a_profile_is_on_the_page_whether_it_comes_from_the_run_or_from_its_file() {
    let scratch = Scratch::new();
    let [json, html, profile, again] = ["out.json", "out.html", "p.json", "again.html"].map(|name| scratch.text(name));
    let arguments = ["--guest", TWO_ARRAYS, "--scheme", "native,nested", "--memory", "128M", "--profile", &profile];
    run(["compare", "--json", &json, "--html", &html].iter().chain(&arguments)).succeeded();
    run(["report", &json, &again, "--with", &profile]).succeeded();
    let page = fs::read_to_string(&html).unwrap();
    assert_eq!(fs::read_to_string(&again).unwrap(), page);
    // The widest frame of functions, and its number in the file.
    let document: serde_json::Value = serde_json::from_slice(&fs::read(&profile).unwrap()).unwrap();
    let costliest = &document["runs"][1]["symbols"][0];
    let of = |name: &str| costliest["counts"][name].as_u64().unwrap_or(0);
    let cycles = html_grouped(of("translation_ticks") + of("hypervisor_ticks"));
    assert_eq!(costliest["name"], "read_at_random");
    assert!(page.contains(&format!("<title>read_at_random: {cycles} cycles")), "{cycles}");
    assert!(page.contains("data-name=\"hostile\"") && page.contains("Costliest data of"));
    // Other formats of the file make the same page.
    let folded = scratch.text("p.folded");
    let arguments = ["--guest", TWO_ARRAYS, "--scheme", "native,nested", "--memory", "128M", "--profile", &folded];
    run(["compare", "--html", &again].iter().chain(&arguments)).succeeded();
    assert_eq!(fs::read_to_string(&again).unwrap(), page);
}

#[test]
fn what_was_recorded_over_time_is_on_the_page_whether_it_comes_from_the_run_or_from_its_files() {
    let scratch = Scratch::new();
    let [json, html, again] = ["out.json", "out.html", "again.html"].map(|name| scratch.text(name));
    let files = ["i.jsonl", "map.json", "reuse.json"].map(|name| scratch.text(name));
    let over_time = ["--interval", "100us", "--interval-file", &files[0], "--heatmap", &files[1], "--reuse", &files[2]];
    run(["compare", "--json", &json, "--html", &html].iter().chain(&SMALL).chain(&over_time)).succeeded();
    let with = files.iter().flat_map(|file| ["--with", file]);
    run(["report", &json, &again].into_iter().chain(with)).succeeded();
    let page = fs::read_to_string(&html).unwrap();
    assert_eq!(fs::read_to_string(&again).unwrap(), page);
    // Sums of a run, as the report has them.
    let report: serde_json::Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    let first = &report["runs"][0];
    let of = |pointer: &str| first.pointer(pointer).unwrap().as_u64().unwrap();
    let misses = html_grouped(of("/tlb/l1d_misses") + of("/tlb/l1i_misses"));
    assert!(page.contains(&format!("gups:1M under native:4K: {misses} L1 misses")), "{misses}");
    let accesses = html_grouped(of("/loads") + of("/stores"));
    assert!(page.contains(&format!("of {accesses} accesses miss")), "{accesses}");
    // The measured intervals add up to the report.
    let table =
        page.split("Counters of gups:1M under native:4K over time").nth(2).unwrap().split("</table>").next().unwrap();
    let rows = table.split("<tr>").filter(|row| row.contains(">measure<"));
    let instructions = rows.map(|row| {
        let cell = row.split("<td class=\"number\">").nth(2).unwrap().split("</td>").next().unwrap();
        cell.replace('\u{202f}', "").parse::<u64>().unwrap()
    });
    assert_eq!(instructions.sum::<u64>(), of("/instructions"));
}

/// A number as the page has it.
fn html_grouped(count: u64) -> String {
    let digits: Vec<char> = count.to_string().chars().collect();
    digits.rchunks(3).rev().map(|part| part.iter().collect::<String>()).collect::<Vec<_>>().join("\u{202f}")
}

#[test]
fn what_is_no_recording_is_refused_by_name() {
    let scratch = Scratch::new();
    let report = scratch.write("report.json", compare_bytes(&SMALL));
    let html = scratch.text("out.html");
    let good = scratch.write("good.json", r#"{"format": "pagewalk-profile", "runs": []}"#);
    let old = scratch.write("old.json", r#"{"format": "pagewalk-profile", "runs": [{}]}"#);
    for (with, says) in [
        (vec![report.as_str()], ["report.json", "not what --profile"]),
        (vec![&good, &good], ["good.json", "second profile"]),
        (vec![&old], ["old.json", "key `workload` is missing"]),
        (vec!["no/such.json"], ["no/such.json", "No such file"]),
    ] {
        let with = with.into_iter().flat_map(|file| ["--with", file]);
        run(["report", &report, &html].into_iter().chain(with)).failed(2, &says);
    }
    let other = scratch.write("calibrate.json", r#"{"staircases": []}"#);
    run(["report", &other, &html, "--with", &good]).failed(2, &["calibrate.json", "recordings go with"]);
    run(["report", &report, &html, "--with", &good]).succeeded();
}

#[test]
fn hostile_texts_stay_texts() {
    const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\" onload=\"x &amp; '\u{2028}";
    let json = String::from_utf8(compare_bytes(&SMALL)).unwrap();
    let name = serde_json::to_string(HOSTILE).unwrap();
    let hostile = json.replace("\"gups:1M\"", &name).replace("\"vos\"", &name);
    let (page, plain) = (page(hostile.as_bytes()), page(json.as_bytes()));
    assert!(!page.contains(HOSTILE) && !page.contains("<img"));
    for tag in ["<script", "</script", "<li", "<td", "<th", "<p"] {
        assert!(page.matches(tag).count() <= plain.matches(tag).count(), "{tag}");
    }
    assert!(html_texts(&page) > 0);
}

/// Line separators that are text of elements, where they do no harm.
fn html_texts(page: &str) -> usize {
    let data = page.split("<script id=\"data\"").nth(1).unwrap().split("</script>").next().unwrap();
    assert!(!data.contains('\u{2028}'));
    page.split("<script id=\"data\"").next().unwrap().matches('\u{2028}').count()
}

#[test]
fn what_is_no_report_is_refused_by_name() {
    let scratch = Scratch::new();
    let html = scratch.text("out.html");
    for (content, says) in [
        ("", "an empty file"),
        ("{}", "not the JSON"),
        ("{\"runs\": ", "line 1"),
        ("{\"runs\": 3, \"config\": {}, \"host\": {}}", "`3` is not a list"),
    ] {
        let json = scratch.write("bad.json", content);
        run(["report", &json, &html]).failed(2, &["bad.json", says]);
    }
    run(["report", "no/such.json", &html]).failed(2, &["no/such.json"]);
    assert_eq!(scratch.names(), ["bad.json"]);
    run(["compare", "--html", "no/such/out.html"]).failed(1, &["no/such/out.html"]);
}

#[test]
fn a_walk_is_recorded_for_each_reason_that_accesses_exited_for() {
    let jobs = ["--workload", "jobs:64K", "--memory", "256M", "--scheme", "native,nested,shadow", "--walks"];
    let reasons = |run: &Value| -> Vec<(String, u64)> {
        let others = run["recorded_walk"]["others"].as_array().expect("a walk");
        let exits = others.iter().filter(|other| other["choice"] == "exit");
        exits.map(|walk| (walk["exit"].as_str().unwrap().to_owned(), number(walk, "/exits"))).collect()
    };
    let runs = runs(&jobs);
    assert_eq!(reasons(&runs[0]), [], "a native machine has no exits");
    for (run, reason) in runs[1..].iter().zip(["nested_fault", "shadow_fault"]) {
        let found = reasons(run);
        assert!(found.iter().any(|(name, _)| name == reason), "{}: {found:?}", run["scheme"]);
        for (name, exits) in found {
            assert!((1..=number(&run["exits"], &format!("/{name}"))).contains(&exits), "{name}: {exits}");
        }
    }
}

#[test]
fn recorded_walks_have_the_references_of_the_closed_form_and_change_nothing() {
    const SYSTEMS: &str = "native,nested,nested:4K+2M,flat,reserved,shadow,vmm-direct,guest-direct,dual-direct";
    let arguments = [
        "--workload",
        "gups:4M",
        "--append",
        "updates=4000",
        "--memory",
        "256M",
        "--scheme",
        SYSTEMS,
        "--set",
        "paging.guest=sv48",
        "--set",
        "paging.host=sv48x4",
    ];
    let plain = runs(&arguments);
    let recorded = runs(&[&arguments[..], &["--walks"]].concat());
    let mut references = Vec::new();
    for (mut run, plain) in recorded.into_iter().zip(plain) {
        let walk = run.as_object_mut().unwrap().remove("recorded_walk").expect("a walk");
        assert_eq!(run, plain, "everything else is as without");
        let others = walk["others"].as_array().unwrap().iter().filter(|other| other["choice"] != "exit");
        let others: Vec<&Value> = others.collect();
        let lengths: Vec<u64> = others.iter().map(|other| number(other, "/cached/references")).collect();
        assert!(lengths.iter().all(|&length| length <= lengths[0]), "the longest comes first: {lengths:?}");
        let pages: u64 = others.iter().map(|other| number(other, "/pages")).sum();
        assert!((1..=number(&walk, "/pages")).contains(&pages), "{pages} of {}", walk["pages"]);
        let [whole, cached] = ["/whole/references", "/cached/references"].map(|pointer| number(&walk, pointer));
        assert!(cached <= whole);
        assert_eq!((&walk["whole"]["gpa"], &walk["whole"]["hpa"]), (&walk["cached"]["gpa"], &walk["cached"]["hpa"]));
        references.push((run["scheme"].as_str().unwrap().to_owned(), whole));
    }
    let expected = [
        ("native:4K", 4),
        ("nested:4K+4K", 24),
        ("nested:4K+2M", 19),
        ("flat:4K+4K", 9),
        ("reserved:4K", 4),
        ("shadow:4K+4K", 4),
        ("vmm-direct:4K", 4),
        ("guest-direct:4K+4K", 4),
        ("dual-direct:4K", 0),
    ];
    assert_eq!(references, expected.map(|(scheme, references)| (scheme.to_owned(), references)));
}
