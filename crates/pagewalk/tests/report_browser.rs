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

/// Two systems with a profile: one function and one array have nearly all of the cost.
fn profiled(scratch: &Scratch) -> PathBuf {
    let (html, profile) = (scratch.text("profile.html"), scratch.text("profile.json"));
    let guest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guests/profile/two-arrays.elf");
    let arguments = ["--scheme", "nested,shadow", "--memory", "128M", "--profile", &profile, "--html", &html];
    run(["compare", "--guest", guest.to_str().unwrap()].iter().chain(&arguments)).succeeded();
    scratch.path("profile.html")
}

/// Two workloads with everything that is recorded over time.
fn recorded(scratch: &Scratch) -> PathBuf {
    let [html, intervals, map, reuse] =
        ["over-time.html", "i.jsonl", "map.json", "reuse.json"].map(|name| scratch.text(name));
    let arguments =
        "compare --workload gups:1M,hello --scheme native,nested --memory 128M --interval 50us --interval-file";
    let files = [intervals.as_str(), "--heatmap", &map, "--reuse", &reuse, "--html", &html];
    run(arguments.split_whitespace().chain(files)).succeeded();
    scratch.path("over-time.html")
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
fn reproduction(scratch: &Scratch) -> String {
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
    json
}

/// What `calibrate` writes, in small.
fn calibration(scratch: &Scratch) -> PathBuf {
    let point =
        |size: u64, ns: f64| format!(r#"{{"size": {size}, "ns": {ns}, "low": {}, "high": {}}}"#, 0.9 * ns, 1.2 * ns);
    let points: Vec<String> = (12..26).map(|power| point(1 << power, if power < 16 { 1.4 } else { 12.5 })).collect();
    let json = format!(
        r#"{{"version": "0", "machine": {{"processor": "a processor"}}, "base": "xeon-2017", "warnings": ["A warning."],
            "quantities": [{{"key": "clock", "name": "clock", "how": "counted", "text": "3.1 GHz", "sure": "sure"}},
                {{"key": "tlb.4k.2.entries", "name": "entries", "how": "chased", "not": "no level was found"}}],
            "staircases": [{{"title": "Latency by memory", "axis": "bytes", "points": [{}], "levels": [{{"ns": 1.4, "first": 4096, "last": 32768}}]}}],
            "model": "name = \"mine\""}}"#,
        points.join(", ")
    );
    page_of(scratch, "calibrate", &json)
}

/// What `validate` writes, in small.
fn validation(scratch: &Scratch) -> PathBuf {
    let spread = |value: f64| format!(r#"{{"median": {value}, "low": {}, "high": {}}}"#, 0.9 * value, 1.1 * value);
    let point = |program: &str, ratio: f64| {
        format!(
            r#"{{"program": "{program}", "size": "64M", "operation": "an update", "held_out": false, "ratio_error": 0.1, "split_error": -0.05, "time_factor": 1.1,
                "measured": {{"ns_4k": {}, "ns_2m": {}, "ratio": {}, "ns_split": {}, "split_ratio": {}}}, "predicted": {{"ns_4k": 22, "ns_2m": 10, "ratio": 2.2}}}}"#,
            spread(20.0),
            spread(10.0),
            spread(ratio),
            spread(22.0),
            spread(1.1 * ratio)
        )
    };
    let json = format!(
        r#"{{"machine": {{"processor": "a processor", "hypervisor": "KVM"}}, "host": {{"name": "mine"}}, "config": {{"harts": 1}},
            "systems": ["nested:4K+4K", "nested:2M+2M"], "fidelity": "core",
            "summary": {{"median_error": 0.05, "worst_error": 0.1, "median_split_error": 0.04, "worst_split_error": 0.05, "median_factor": 1.1}}, "validation": [{}, {}]}}"#,
        point("gups", 2.0),
        point("spmv", 1.05)
    );
    page_of(scratch, "validate", &json)
}

/// What `sweep` writes: lines of two recordings, of systems on fronts and others.
fn sweep(scratch: &Scratch) -> PathBuf {
    let line = |work: &str, scheme: &str, entries: u64| {
        let cycles = if entries.is_multiple_of(3) { 900_000 / entries } else { 800_000 };
        format!(
            r#"{{"recording": {{"work": "{work}", "events": 1000000, "instructions": 3000000}}, "time_model": {{"host": "xeon-2017", "fidelity": "counts", "footprint": "off"}},
                "scheme": "{scheme}", "settings": {{"mmu.nested_tlb": {entries}, "mmu.l2": [{{"sizes": ["4K", "2M"], "sets": 4, "ways": 4}}]}}, "exact": true,
                "instructions": 2000000, "storage_bits": {{"total": {}}}, "tlb": {{"l1d_misses": 30, "l1i_misses": 1, "l2_misses": 5}}, "walks": {{"count": 5}},
                "time": {{"guest": 1, "translation": {cycles}, "monitor": 7000}}}}"#,
            2500 * entries
        )
        .replace('\n', " ")
    };
    let schemes = ["native:4K", "nested:4K+4K", "nested:4K+2M"];
    let lines = ["gups:1M", "a-program-with-a-long-name --and-an-option"].iter().flat_map(|work| {
        schemes.iter().flat_map(move |scheme| (1..40).map(move |entries| line(work, scheme, entries)))
    });
    page_of(scratch, "sweep", &lines.collect::<Vec<_>>().join("\n"))
}

fn page_of(scratch: &Scratch, name: &str, json: &str) -> PathBuf {
    let (json, html) = (scratch.write(&format!("{name}.json"), json), scratch.text(&format!("{name}.html")));
    run(["report", &json, &html]).succeeded();
    scratch.path(&format!("{name}.html"))
}

/// Texts of charts that are not inside their figure, and ticks that touch each other.
const OUTSIDE: &str = "[...document.querySelectorAll('.plot')].flatMap((plot) => { \
     const frame = plot.closest('figure').getBoundingClientRect(); \
     const texts = [...plot.querySelectorAll('text')].filter((text) => text.checkVisibility()).map((text) => [text.textContent, text.getBoundingClientRect()]).filter(([, box]) => box.width > 0); \
     const outside = texts.filter(([, box]) => box.left < frame.left - 9 || box.right > frame.right + 9).map(([text]) => text); \
     const ticks = [...plot.querySelectorAll('.tick:not(.beside)')].filter((tick) => tick.checkVisibility()).map((tick) => [tick.textContent, tick.getBoundingClientRect()]).filter(([, box]) => box.width > 0); \
     const touching = ticks.filter(([, box], index) => index > 0 && Math.abs(ticks[index - 1][1].top - box.top) < 2 && ticks[index - 1][1].right > box.left - 2).map(([text]) => text); \
     return [...outside, ...touching]; })";

/// Each mark of a chart says its value when the keyboard comes to it, and Escape takes that away again.
fn check_tooltips(page: &mut Page) {
    let shown = "document.querySelector('.tip').hidden ? null : document.querySelector('.tip').textContent";
    let current = "document.activeElement.getAttribute('aria-label')";
    assert_eq!(page.evaluate(shown), serde_json::Value::Null);
    page.evaluate("document.querySelector('.plot .mark[tabindex=\"0\"]').focus()");
    let first = page.evaluate(current);
    assert!(first.as_str().is_some_and(|text| text.contains(": ")), "{first}");
    assert_eq!(page.evaluate(shown), first);
    page.press("End");
    let last = page.evaluate(current);
    assert_eq!(page.evaluate(shown), last);
    let labels = page.evaluate(
        "[...document.querySelector('.plot').querySelectorAll('.mark')].map((mark) => mark.getAttribute('aria-label'))",
    );
    let labels = labels.as_array().unwrap();
    assert_eq!((&first, &last), (&labels[0], &labels[labels.len() - 1]));
    page.press("Escape");
    assert_eq!(page.evaluate(shown), serde_json::Value::Null);
    assert_eq!(page.evaluate("document.querySelectorAll('.plot').length === document.querySelectorAll('.plot .mark[tabindex=\"0\"]').length"), true);
}

/// What holds of every report.
fn check(path: &Path) {
    check_within(path, 400 << 10);
}

/// The same of a page of that many bytes at most: one of recordings may have more than others.
fn check_within(path: &Path, most: u64) {
    let mut page = Page::open(path, 1200, "light");
    let name = path.display();
    let bytes = std::fs::metadata(path).unwrap().len();
    assert!(bytes < most, "{name} has {bytes} bytes");
    // Each chart has an image with marks, and a table with the same numbers near it.
    let charts = page.evaluate(
        "[...document.querySelectorAll('[data-chart]')].map((chart) => chart.querySelectorAll('svg.plot .mark').length)",
    );
    let charts = charts.as_array().unwrap();
    assert!(!charts.is_empty() && charts.iter().all(|marks| marks.as_u64() > Some(0)), "{name}: {charts:?}");
    check_tooltips(&mut page);
    assert_eq!(page.evaluate("[...document.querySelectorAll('.charts')].every((charts) => charts.nextElementSibling.querySelector('table tbody td'))"), true);
    assert_eq!(page.accessibility(), [""; 0], "{name}");
    let background = "getComputedStyle(document.body).backgroundColor";
    let text = "getComputedStyle(document.querySelector('.plot text')).fill";
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
    page.medium("", "light");
    for width in [1280, 390, 320] {
        page.resize(width);
        // Scripts write what fits once the page has its new width.
        page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))");
        assert_eq!(page.evaluate(OUTSIDE), serde_json::json!([]), "{name} at {width} pixels");
    }
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
fn a_frame_of_a_flame_graph_grows_when_it_is_chosen() {
    let scratch = Scratch::new();
    let path = profiled(&scratch);
    check_within(&path, 5 << 20);
    let mut page = Page::open(&path, 1200, "light");
    let frame = |name: &str| format!("document.querySelector('.flame [data-name=\"{name}\"]')");
    let part = |page: &mut Page, name: &str| -> f64 {
        let width = "getBoundingClientRect().width";
        page.evaluate(&format!("{}.{width} / document.querySelector('.flame').closest('.plot').{width}", frame(name)))
            .as_f64()
            .unwrap()
    };
    let text =
        |page: &mut Page, name: &str| page.evaluate(&format!("{}.querySelector('text').textContent", frame(name)));
    let shown = "[...document.querySelector('.flame').querySelectorAll('.mark')].filter((mark) => mark.style.display !== 'none').length";
    let whole = "document.querySelector('.tools button').hidden";
    let all = page.evaluate(shown);
    assert!(part(&mut page, "read_at_random") > 0.9 && part(&mut page, "read_in_order") < 0.05);
    assert_eq!(
        (text(&mut page, "read_at_random"), text(&mut page, "read_in_order")),
        ("read_at_random".into(), "".into())
    );
    assert_eq!(page.evaluate(whole), true);
    // A click: as wide as the graph, below what it is a part of, without the frames beside it.
    page.evaluate(&format!("{}.dispatchEvent(new MouseEvent('click', {{ bubbles: true }}))", frame("read_in_order")));
    assert!(part(&mut page, "read_in_order") > 0.99);
    assert_eq!(text(&mut page, "read_in_order"), "read_in_order");
    assert!(page.evaluate(shown).as_u64() < all.as_u64() && page.evaluate(whole) == false);
    assert_eq!(page.accessibility(), [""; 0]);
    page.evaluate("document.querySelector('.tools button').click()");
    assert_eq!((page.evaluate(shown), page.evaluate(whole)), (all.clone(), true.into()));
    // The keyboard: down to the process, its costliest function, and that function's data; Enter, and Escape.
    let name = "document.activeElement.dataset.name";
    page.press("ArrowDown");
    page.press("ArrowDown");
    assert_eq!(page.evaluate(name), "read_at_random");
    page.press("ArrowRight");
    let beside = page.evaluate(name);
    assert_ne!(beside, "read_at_random");
    page.press("ArrowLeft");
    page.press("ArrowDown");
    assert_eq!(page.evaluate(name), "hostile");
    let tip = page.evaluate("document.querySelector('.tip').textContent");
    assert!(tip.as_str().is_some_and(|tip| tip.starts_with("hostile: ") && tip.contains("L1 misses")), "{tip}");
    page.press("Enter");
    assert!(part(&mut page, "hostile") > 0.99 && part(&mut page, "read_at_random") > 0.99);
    page.press("Escape");
    assert_eq!(page.evaluate(shown), all);
    page.press("ArrowUp");
    assert_eq!(page.evaluate(name), "read_at_random");
    // The costliest function stands first in its table.
    let first = "[...document.querySelectorAll('#profile .run table')].map((table) => table.tBodies[0].rows[0].cells[0].textContent)";
    let first = page.evaluate(first);
    assert_eq!((&first[1], &first[2]), (&"read_at_random".into(), &"hostile".into()));
    assert_eq!(page.complaints, [""; 0]);
}

#[test]
#[ignore = "needs chromium"]
fn time_is_marked_with_the_pointer_and_zoomed_by_buttons_and_keys() {
    let scratch = Scratch::new();
    let path = recorded(&scratch);
    check_within(&path, 5 << 20);
    let mut page = Page::open(&path, 1200, "light");
    for section in ["intervals", "heatmap"] {
        let window = format!("document.querySelector('#{section} .window')");
        let view = |page: &mut Page| -> (f64, f64) {
            let numbers = page.evaluate(&format!("{window}.getAttribute('viewBox').split(' ').map(Number)"));
            (numbers[0].as_f64().unwrap(), numbers[2].as_f64().unwrap())
        };
        let near = |(one, other): (f64, f64), (a, b): (f64, f64)| (one - a).abs() < 20.0 && (other - b).abs() < 20.0;
        let button = |page: &mut Page, name: &str| {
            page.evaluate(&format!(
                "[...document.querySelectorAll('#{section} .tools button')].find((button) => button.textContent === '{name}').click()"
            ));
        };
        assert_eq!(view(&mut page), (0.0, 10000.0), "{section}");
        let ticks = format!("document.querySelector('#{section} .times').textContent");
        let all = page.evaluate(&ticks);
        page.evaluate(&format!("{window}.scrollIntoView({{ block: 'center', behavior: 'instant' }})"));
        let place = page.evaluate(&format!(
            "(() => {{ const box = {window}.getBoundingClientRect(); return [box.left, box.top + 40, box.width]; }})()"
        ));
        let [left, top, width] = [0, 1, 2].map(|index| place[index].as_f64().unwrap());
        page.drag((left + 0.5 * width, top), (left + 0.75 * width, top));
        assert!(near(view(&mut page), (5000.0, 2500.0)), "{section}: {:?}", view(&mut page));
        assert_ne!(page.evaluate(&ticks), all);
        assert_eq!(page.accessibility(), [""; 0], "{section}");
        button(&mut page, "Later");
        assert!(near(view(&mut page), (6250.0, 2500.0)), "{section}: {:?}", view(&mut page));
        button(&mut page, "Zoom out");
        assert!(near(view(&mut page), (5000.0, 5000.0)), "{section}: {:?}", view(&mut page));
        // The keyboard: a mark that is not shown comes into view, and Escape shows everything.
        page.evaluate(&format!("document.querySelector('#{section} .step').focus()"));
        let tip = page.evaluate("document.querySelector('.tip').textContent");
        assert!(tip.as_str().is_some_and(|tip| tip.contains("misses")), "{section}: {tip}");
        if section == "intervals" {
            assert!(near(view(&mut page), (0.0, 5000.0)), "{:?}", view(&mut page));
        }
        page.press("Escape");
        assert_eq!((view(&mut page), page.evaluate(&ticks)), ((0.0, 10000.0), all), "{section}");
    }
    // The cell of a map below the pointer has its count: that of the page's data.
    let counts = page.evaluate(
        "(() => { const row = document.querySelector('#heatmap [data-cells]'); const [column, count] = row.dataset.cells.split(',')[0].split(' ').map(Number); \
             const shown = row.closest('.window'); const box = shown.getBoundingClientRect(); \
             const part = ((column + 0.5) * Number(shown.dataset.column)) / (Number(shown.dataset.to) - Number(shown.dataset.from)); \
             row.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + part * box.width, bubbles: true })); \
             return [document.querySelector('.tip').textContent.match(/; (\\d+) of them/)[1], String(count)]; })()",
    );
    assert_eq!(counts[0], counts[1]);
    assert_eq!(page.complaints, [""; 0]);
}

#[test]
#[ignore = "needs chromium"]
fn tables_are_sorted_and_filtered_by_keyboard() {
    let scratch = Scratch::new();
    let mut page = Page::open(&comparison(&scratch), 1200, "light");
    let column = |page: &mut Page| -> Vec<u64> {
        let cells = page.evaluate(
            "(() => { const table = document.querySelector('#events table'); \
                 const column = [...table.tHead.rows[0].cells].findIndex((head) => head.textContent.startsWith('walks')); \
                 return [...table.tBodies[0].rows].map((row) => Number(row.cells[column].textContent.replace(/\\D/g, ''))); })()",
        );
        cells.as_array().unwrap().iter().map(|cell| cell.as_u64().unwrap()).collect()
    };
    let sort = "document.querySelector('#events button[aria-label=\"Sort by walks\"]')";
    let state = format!("{sort}.closest('th').getAttribute('aria-sort')");
    let original = column(&mut page);
    let mut sorted = original.clone();
    sorted.sort_unstable();
    assert!(sorted != original && sorted.len() > 20);
    page.evaluate(&format!("{sort}.focus()"));
    page.press("Enter");
    assert_eq!(page.evaluate(&state), "descending");
    assert_eq!(column(&mut page), sorted.iter().rev().copied().collect::<Vec<_>>());
    page.press("Enter");
    assert_eq!(page.evaluate(&state), "ascending");
    assert_eq!(column(&mut page), sorted);
    assert_eq!(page.accessibility(), [""; 0]);
    page.press("Enter");
    assert_eq!((page.evaluate(&state), column(&mut page)), (serde_json::Value::Null, original));

    let rows = "[...document.querySelector('#events table').tBodies[0].rows].filter((row) => row.offsetHeight > 0).map((row) => row.cells[1].textContent)";
    page.evaluate("document.querySelector('#events input[type=search]').focus()");
    page.type_text("gups:16M shadow");
    let left = page.evaluate(rows);
    let left = left.as_array().unwrap();
    assert!(!left.is_empty() && left.iter().all(|system| system.as_str().unwrap().starts_with("shadow")), "{left:?}");
    let says = page.evaluate("document.querySelector('#events output').textContent");
    assert_eq!(says, format!("{} of {} rows", left.len(), sorted.len()));
    assert_eq!(page.complaints, [""; 0]);
}

#[test]
#[ignore = "needs chromium"]
fn a_link_leads_to_a_step_of_a_walk_beside_another() {
    let scratch = Scratch::new();
    let path = comparison(&scratch);
    let mut page = Page::open(&path, 1200, "light");
    let step = "Number(document.querySelector('[data-explorer]').dataset.step)";
    let select = |page: &mut Page, which: &str, value: &str| {
        page.evaluate(&format!(
            "(() => {{ const select = document.querySelector('[data-{which}]'); \
                 select.value = [...select.options].find((option) => option.value.startsWith('{value}')).value; \
                 select.dispatchEvent(new Event('change')); }})()"
        ));
    };
    select(&mut page, "scheme", "nested:4K+4K");
    select(&mut page, "beside", "flat:4K+4K");
    page.evaluate("document.querySelector('[data-stage]').focus()");
    (1..12).for_each(|_| page.press("ArrowRight"));
    let shown = "[...document.querySelectorAll('.panel:not([hidden])')].map((panel) => panel.querySelector('.kicker').textContent)";
    let both = serde_json::json!(["Step 12 of 24", "Step 9 of 9 (at its end)"]);
    assert_eq!(page.evaluate(shown), both);
    assert_eq!(page.accessibility(), [""; 0]);
    let link = page.evaluate("document.querySelector('[data-link]').getAttribute('href')");
    let mut other = Page::open_at(&path, link.as_str().unwrap(), 1200, "light");
    assert_eq!((other.evaluate(step), other.evaluate(shown)), (12.into(), both));
    // A link of the page that is open already.
    other.evaluate("location.hash = location.hash.replace('step=12', 'step=3')");
    other.wait_for(&format!("{step} === 3"));
    // A link that has grown old does no harm.
    other.evaluate("location.hash = '#explore:workload=gone&scheme=gone&step=x'");
    other.wait_for(&format!("{step} === 1"));
    for page in [page, other] {
        assert_eq!(page.complaints, [""; 0]);
    }
}

#[test]
#[ignore = "needs chromium"]
fn a_function_and_its_data_lead_to_the_walk_of_their_most_frequent_miss() {
    let scratch = Scratch::new();
    let mut page = Page::open(&profiled(&scratch), 1200, "light");
    let kind = "document.querySelector('[data-kind]').value";
    let follow = |page: &mut Page, name: &str| {
        page.evaluate(&format!(
            "(() => {{ const links = [...document.querySelectorAll('#profile th a')]; \
                 links.find((link) => link.textContent === '{name}').click(); }})()"
        ));
    };
    for (function, data) in [("read_at_random", "hostile"), ("read_in_order", "sequential")] {
        follow(&mut page, function);
        page.wait_for(&format!("{kind}.startsWith('missed:')"));
        let of_function = page.evaluate(kind);
        page.evaluate("location.hash = ''");
        follow(&mut page, data);
        page.wait_for("location.hash.startsWith('#explore:')");
        assert_eq!(page.evaluate(kind), of_function, "{function}, {data}");
    }
    assert_eq!(page.accessibility(), [""; 0]);
    assert_eq!(page.complaints, [""; 0]);
}

#[test]
#[ignore = "needs chromium"]
fn walks_play_and_split_their_addresses_and_terms_lead_to_the_glossary() {
    let scratch = Scratch::new();
    let mut page = Page::open(&comparison(&scratch), 1200, "light");
    let step = "Number(document.querySelector('[data-explorer]').dataset.step)";
    // The fields of the address are the address: levels of nine bits, and the offset.
    let fields = page.evaluate(
        "(() => { const lines = document.querySelectorAll('.panel:not([hidden]) .fields'); \
             return [...lines].map((line) => { const bits = [...line.querySelectorAll('.field')].map((field) => field.querySelector('code').textContent.replace(/ /g, '')); \
                 const offset = BigInt(bits.pop().replace(/_/g, '')); \
                 const address = BigInt('0b' + bits.join('')) * 4096n + offset; \
                 return address === BigInt(line.querySelector('p').textContent.match(/0x[0-9a-f_]+/)[0].replace(/_/g, '')); }); })()",
    );
    assert_eq!(fields, serde_json::json!([true, true]), "gVA and gPA");
    // The first reference is to the nested table's root, by the highest bits of the gPA.
    let now = "[...document.querySelectorAll('.field.now .of:first-child')].map((field) => field.textContent)";
    assert_eq!(page.evaluate(now), serde_json::json!(["L3"]));
    page.evaluate("document.querySelector('[data-stage]').focus()");
    page.press(" ");
    page.wait_for(&format!("{step} >= 3"));
    page.press(" ");
    assert_eq!(page.evaluate("document.querySelector('[data-play]').textContent"), "Play");
    // There are several walks of this run, each with its length.
    let kinds = page.evaluate("[...document.querySelector('[data-kind]').options].map((option) => option.value)");
    let kinds = kinds.as_array().unwrap();
    assert!(kinds.len() > 1 && kinds[0] == "middle" && kinds[1] == "longest", "{kinds:?}");
    page.evaluate("document.querySelector('[data-detail] a.term').click()");
    page.wait_for("document.querySelector('#glossary').open && location.hash.startsWith('#term-')");
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
fn staircases_of_a_machine_are_a_good_page() {
    let scratch = Scratch::new();
    check(&calibration(&scratch));
}

#[test]
#[ignore = "needs chromium"]
fn fronts_of_a_sweep_are_a_good_page() {
    let scratch = Scratch::new();
    check(&sweep(&scratch));
}

#[test]
#[ignore = "needs chromium"]
fn predictions_beside_measurements_are_a_good_page() {
    let scratch = Scratch::new();
    check(&validation(&scratch));
}

#[test]
#[ignore = "needs chromium"]
fn reproductions_are_good_pages() {
    let scratch = Scratch::new();
    let path = page_of(&scratch, "reproduce", &reproduction(&scratch));
    check(&path);
    let mut page = Page::open(&path, 1200, "light");
    let badges = page.evaluate("[...document.querySelectorAll('.badge')].map((badge) => badge.textContent)");
    assert_eq!(badges, serde_json::json!(["holds", "refuted", "open", "not measured"]));
}

#[test]
#[ignore = "needs chromium"]
fn several_papers_are_one_good_page() {
    let scratch = Scratch::new();
    let one = reproduction(&scratch);
    let other = one.replace(r#""paper": "mine""#, r#""paper": "other""#).replace("A paper", "Another paper");
    let path =
        page_of(&scratch, "papers", &format!(r#"{{"version": "0", "full": false, "papers": [{one}, {other}]}}"#));
    check(&path);
    let mut page = Page::open(&path, 1200, "light");
    let rows = page.evaluate("[...document.querySelectorAll('#papers tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent.trim()).join('|'))");
    assert_eq!(rows, serde_json::json!(["mine|A paper|4|1|1|1", "other|Another paper|4|1|1|1"]));
    let links = page.evaluate("[...document.querySelectorAll('#papers tbody a')].map((link) => document.querySelector(link.hash).querySelectorAll('.badge').length)");
    assert_eq!(links, serde_json::json!([4, 4]));
}
