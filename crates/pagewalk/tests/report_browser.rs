//! Reports in headless Chromium: they load without a network and without a complaint, draw every chart, can be used by keyboard and by screen
//! readers, and fit a phone, the dark, and paper.

mod browser;
mod common;

use browser::Page;
use common::{Scratch, run};
use std::path::{Path, PathBuf};

/// A comparison with every kind of walk, and a sweep.
fn comparison(scratch: &Scratch) -> PathBuf {
    let html = scratch.text("compare.html");
    let arguments = "compare --workload gups:16M,gups:1M --append updates=10000 --memory 256M --set paging.guest=sv48 --set paging.host=sv48x4 \
         --scheme native,nested,nested:4K+2M,shadow,flat,reserved,vmm-direct,guest-direct,dual-direct,native-segment --sweep harts=1,2 --html";
    run(arguments.split_whitespace().chain([html.as_str()])).succeeded();
    scratch.path("compare.html")
}

/// Spin methods side by side.
fn spin(scratch: &Scratch) -> PathBuf {
    let html = scratch.text("run.html");
    let host = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/spin/batch-small.toml");
    run(["run", host.to_str().unwrap(), "--spin", "none,rslp,wapd", "--html", &html]).succeeded();
    scratch.path("run.html")
}

/// What `vlm` writes, in small: the command itself needs a gigabyte.
fn vlm(scratch: &Scratch) -> PathBuf {
    let point = r#"{"section": 214745088, "vms": 1, "mappers": 1, "private": 425984, "shared": 430080, "paper_private": 209712, "paper_shared": 209712}"#;
    let more = point.replace(": 1,", ": 30,").replace("425984", "12779520");
    let curve = format!("[{point}, {more}]");
    let json = format!(
        r#"{{"version": "0", "host": "alpha-1997", "divisor": 10, "clock_hz": 440000000, "figure_4": {curve}, "figure_8": {curve}, "figure_9": {curve},
            "granularity": [{{"host": "alpha-1997", "pages": [{{"page": "2M", "updates": 1000, "l1d_misses": 875, "walks": 875, "host_refs": 2625}}]}}]}}"#
    );
    page_of(scratch, "vlm", &json)
}

/// What `reproduce` writes, with a figure and a claim of each kind.
fn reproduction(scratch: &Scratch) -> PathBuf {
    let walks = scratch.text("walks.json");
    run([
        "compare",
        "--workload",
        "gups:1M",
        "--append",
        "updates=4000",
        "--memory",
        "128M",
        "--scheme",
        "nested",
        "--walks",
        "--json",
        &walks,
    ])
    .succeeded();
    let walks = std::fs::read_to_string(walks).unwrap();
    let figure = |kind: &str, x: &str| {
        format!(
            r#"{{"id": "{kind}", "title": "Figure of {kind}", "source": "page 3", "unit": "%", "kind": "{kind}", "x_label": "scheme", "x": {x}, "digits": 2,
                "series": [{{"name": "one", "paper": [1, null, 3.5], "ours": [2, 4, 1.25]}}, {{"name": "two", "paper": [], "ours": [1, 2, 3]}}], "note": "A note."}}"#
        )
    };
    let claims: Vec<String> = ["holds", "refuted", "open", "not measured"]
        .iter()
        .map(|verdict| format!(r#"{{"id": "c", "claim": "A claim", "source": "page 4", "rule": "holds if a < b", "verdict": "{verdict}", "evidence": "1 < 2", "shown": "Cause: it is.", "explanation": null}}"#))
        .collect();
    let json = format!(
        r#"{{"paper": "mine", "title": "A paper", "citation": "A. Author, 2014", "note": "A note", "full": false, "figures": [{}, {}, {}], "claims": [{}],
            "measurements": [{{"id": "m", "about": "a measurement", "commands": ["pagewalk compare"], "kind": "compare", "result": {walks}}}]}}"#,
        figure("bars", r#"["a", "b", "c"]"#),
        figure("lines", "[1, 2, 4]"),
        figure("table", r#"["a", "b", "c"]"#),
        claims.join(", ")
    );
    page_of(scratch, "reproduce", &json)
}

fn page_of(scratch: &Scratch, name: &str, json: &str) -> PathBuf {
    let (json, html) = (scratch.write(&format!("{name}.json"), json), scratch.text(&format!("{name}.html")));
    run(["report", &json, &html]).succeeded();
    scratch.path(&format!("{name}.html"))
}

/// What holds of every report.
fn check(path: &Path) {
    let mut page = Page::open(path, 1200, "light");
    let name = path.display();
    // Each chart has an image with marks, and a table with the same numbers near it.
    let charts = page.evaluate("[...document.querySelectorAll('[data-chart]')].map((chart) => chart.querySelectorAll('svg .mark-rect path, svg .mark-symbol path, svg .mark-line path').length)");
    let charts = charts.as_array().unwrap();
    assert!(!charts.is_empty() && charts.iter().all(|marks| marks.as_u64() > Some(0)), "{name}: {charts:?}");
    assert_eq!(page.evaluate("[...document.querySelectorAll('.charts')].every((charts) => charts.nextElementSibling.querySelector('table tbody td'))"), true);
    assert_eq!(page.accessibility(), [""; 0], "{name}");
    let background = "getComputedStyle(document.body).backgroundColor";
    let text = "getComputedStyle(document.querySelector('[data-chart] svg text')).fill";
    let light = [page.evaluate(background), page.evaluate(text)];
    page.medium("", "dark");
    let dark = [page.evaluate(background), page.evaluate(text)];
    assert!(light[0] != dark[0] && light[1] != dark[1], "{light:?} {dark:?}");
    assert_eq!(page.accessibility(), [""; 0], "{name} in the dark");
    // Paper is light, whatever the screen is, and nothing is folded.
    page.medium("print", "dark");
    assert_eq!(page.evaluate(background), light[0]);
    page.evaluate("dispatchEvent(new Event('beforeprint'))");
    assert_eq!(page.evaluate("document.querySelectorAll('main details:not([open])').length"), 0);
    page.evaluate("dispatchEvent(new Event('afterprint'))");
    let pdf = page.pdf();
    // "%PDF" in base64.
    assert!(pdf.starts_with("JVBER") && pdf.len() > 20_000, "{name}: {}", pdf.len());
    assert_eq!(page.complaints, [""; 0], "{name}");
    for width in [320, 360] {
        let mut phone = Page::open(path, width, "light");
        assert_eq!(phone.evaluate("document.documentElement.scrollWidth"), width, "{name}");
        phone.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })");
        assert_eq!(phone.evaluate("document.documentElement.scrollWidth"), width, "{name}, unfolded");
        assert_eq!(phone.complaints, [""; 0], "{name}");
    }
}

#[test]
#[ignore = "needs chromium"]
fn comparisons_are_good_pages_and_their_walks_can_be_explored_by_keyboard() {
    let scratch = Scratch::new();
    let path = comparison(&scratch);
    check(&path);
    let mut page = Page::open(&path, 1200, "light");
    let step = "Number(document.querySelector('[data-explorer]').dataset.step)";
    let now = "document.querySelector('.grid td[aria-current=step]').textContent";
    page.evaluate("document.querySelector('[data-stage]').focus()");
    assert_eq!(page.evaluate(step), 1);
    for expected in 2..=24 {
        page.press("ArrowRight");
        assert_eq!((page.evaluate(step), page.evaluate(now)), (expected.into(), expected.to_string().into()));
    }
    page.press("ArrowRight");
    assert_eq!(page.evaluate(step), 24, "the worst walk of nested tables has 24 references");
    page.press("ArrowLeft");
    assert_eq!(page.evaluate(step), 23);
    page.press("Home");
    assert_eq!(page.evaluate(step), 1);
    page.press("End");
    assert_eq!(page.evaluate("document.querySelector('[data-detail]').textContent.includes('Reference 24')"), true);
    // Every scheme, with its closed form: 4, 24, 9, 4, 4, 0.
    let references = page.evaluate(
        "(() => { const select = document.querySelector('[data-scheme]'); return [...select.options].map((option) => { \
             select.value = option.value; select.dispatchEvent(new Event('change')); \
             return option.value + ' ' + document.querySelector('[data-summary]').textContent.match(/with (\\d+) ref/)[1]; }); })()",
    );
    let references: Vec<&str> = references.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    let of = |scheme: &str| {
        references
            .iter()
            .filter(|text| text.starts_with(scheme))
            .map(|text| text.rsplit(' ').next().unwrap())
            .collect::<Vec<_>>()
    };
    for (scheme, expected) in [
        ("native:4K", "4"),
        ("nested:4K+4K/", "24"),
        ("nested:4K+2M/", "19"),
        ("shadow:4K+4K/", "4"),
        ("flat:4K+4K/", "9"),
        ("reserved:4K/", "4"),
        ("vmm-direct:4K/", "4"),
        ("guest-direct:4K+4K/", "4"),
        ("dual-direct:4K/", "0"),
        ("native-segment:4K", "0"),
    ] {
        let found = of(scheme);
        assert!(
            !found.is_empty() && found.iter().all(|references| *references == expected),
            "{scheme}: {found:?} of {references:?}"
        );
    }
    assert_eq!(page.complaints, [""; 0]);
}

#[test]
#[ignore = "needs chromium"]
fn hosts_with_guests_are_good_pages() {
    let scratch = Scratch::new();
    check(&spin(&scratch));
}

#[test]
#[ignore = "needs chromium"]
fn very_large_memory_is_a_good_page() {
    let scratch = Scratch::new();
    check(&vlm(&scratch));
}

#[test]
#[ignore = "needs chromium"]
fn reproductions_are_good_pages() {
    let scratch = Scratch::new();
    let path = reproduction(&scratch);
    check(&path);
    let mut page = Page::open(&path, 1200, "light");
    let badges = page.evaluate("[...document.querySelectorAll('.badge')].map((badge) => badge.textContent)");
    assert_eq!(badges, serde_json::json!(["holds", "refuted", "open", "not measured"]));
}
