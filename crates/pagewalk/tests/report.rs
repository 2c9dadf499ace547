//! Reports as HTML, as files: what is in them whatever a browser makes of it. `report_browser.rs` has the rest.

mod common;

use common::{Scratch, compare_bytes, number, run, runs};
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
        let others = walk["others"].as_array().unwrap();
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
