//! Pages of lines that no sweep has written: many systems, odd orders, and other versions.

use super::*;
use serde_json::json;

/// What a page may have.
const MOST: usize = 5_000_000;

/// A line whose system has these bits and cycles.
fn line(scheme: &str, settings: &Value, bits: u64, cycles: u64) -> Value {
    json!({
        "recording": { "work": "gups:<1M>", "events": 1_000_000, "instructions": 3_000_000 },
        "time_model": { "host": "xeon-2017", "fidelity": "counts", "footprint": "off" },
        "scheme": scheme, "settings": settings, "exact": true, "instructions": 2_000_000, "storage_bits": { "total": bits },
        "tlb": { "l1d_misses": 3000, "l1i_misses": 1000, "l2_misses": 500 }, "walks": { "count": 500 },
        "time": { "guest": 1, "translation": cycles, "monitor": 7000 },
    })
}

fn joined(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn arrays(number: u64) -> Value {
    let array = json!({ "sizes": ["4K", "2M", "1G"], "sets": 1 << (number % 12), "ways": number });
    json!({ "host": "xeon-2017", "mmu.l1d": [array, array], "mmu.l1i": [array, array], "mmu.l2": [array] })
}

#[test]
fn the_fronts_are_in_the_table_with_what_their_numbers_are_over() {
    let all = |number| json!({ "host": "xeon-2017", "mmu.nested_tlb": number });
    let lines = [
        line("nested:4K+4K", &all(1), 8192, 40_000),
        line("nested:4K+4K", &all(2), 16384, 20_000),
        line("nested:4K+4K", &all(3), 16384, 20_001),
        line("native:4K", &all(4), 16384, 30_000),
    ];
    let page = sweep(&joined(&lines)).unwrap();
    for part in [
        "All systems have host = xeon-2017.",
        "Cycles are by host xeon-2017, fidelity counts.",
        "1\u{202f}000\u{202f}000 events and 3\u{202f}000\u{202f}000 instructions, of which 2\u{202f}000\u{202f}000 are measured",
        "<title>nested:4K+4K, mmu.nested_tlb = 2: 16\u{202f}384 bits, 10.000 cycles</title>",
        "<title>nested:4K+4K, mmu.nested_tlb = 3: 16\u{202f}384 bits, 10.001 cycles</title>",
        "gups:&lt;1M&gt;",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let table = page.split("<tbody>").nth(1).unwrap().split("</tbody>").next().unwrap();
    let rows: Vec<&str> = table.split("<tr>").skip(1).collect();
    let settings = ["mmu.nested_tlb = 4", "mmu.nested_tlb = 1", "mmu.nested_tlb = 2"];
    assert_eq!(rows.len(), settings.len(), "{table}");
    for (row, settings) in rows.iter().zip(settings) {
        assert!(row.contains(&format!(">{settings}<")), "{row}");
    }
    // Bits, KiB; misses, walks and cycles in 1000 of the measured instructions.
    for cell in ["8\u{202f}192", "1.00", "2.000", "0.250", "20.000", "3.500", "yes"] {
        assert!(rows[1].contains(&format!(">{cell}<")), "{cell}: {}", rows[1]);
    }
    assert!(!page.contains("left out"));
}

#[test]
fn the_order_of_the_lines_does_not_matter() {
    let mut lines: Vec<Value> =
        (0..40).map(|number| line("native:4K", &arrays(number), 100 + number % 7, 900 - number)).collect();
    let page = sweep(&joined(&lines)).unwrap();
    lines.rotate_left(17);
    assert_eq!(sweep(&joined(&lines)).unwrap(), page);
    lines.swap(3, 30);
    lines.reverse();
    assert_eq!(sweep(&format!("\n{}", joined(&lines))).unwrap(), page);
}

#[test]
fn a_page_of_10_000_systems_is_smaller_than_5_mb_and_has_all_fronts() {
    // A hundred systems of each scheme are on its front, and are as good as a hyperbola.
    let of = |scheme: &'static str| {
        (0..5000_u64).map(move |number| {
            let worse = if number % 50 == 0 { 0 } else { 1 + number };
            line(scheme, &arrays(number), 1000 + number, 1_000_000_000 / (1000 + number) + 1_000_000 * worse)
        })
    };
    let lines: Vec<Value> = of("native:4K").chain(of("nested:4K+2M")).collect();
    let page = sweep(&joined(&lines)).unwrap();
    assert!(page.len() < MOST, "{} bytes", page.len());
    assert_eq!(page.matches("<use href=\"#mark-").count() - page.matches("class=\"swatch").count(), 200);
    assert_eq!(page.matches("<circle ").count(), MOST_OTHERS);
    assert!(
        page.contains("4\u{202f}000 of the 9\u{202f}800 other systems") && page.contains("5\u{202f}800 are left out")
    );
}

#[test]
fn even_with_all_on_the_front_and_texts_that_are_escaped_the_page_is_smaller_than_5_mb() {
    for text in ["x", "\"<&>\"", "ä'"] {
        let settings = |number: u64| json!({ "seed": number, "host": text.repeat(1000) });
        let on_front = |number: u64| line("native:4K", &settings(number), 1000 + number, 1_000_000 - number);
        let lines: Vec<Value> =
            (0..10_000).map(on_front).chain([line("native:4K", &settings(10_000), 9999, 9_999_999)]).collect();
        let page = sweep(&joined(&lines)).unwrap();
        assert!(page.len() < MOST, "{text}: {} bytes", page.len());
        assert!(page.contains("more systems are on fronts"), "{text}");
    }
}

#[test]
fn recordings_have_a_chart_each() {
    let mut other = line("native:4K", &json!({}), 8192, 1000);
    other["recording"] = json!({ "work": "prog", "events": 1, "instructions": 2_000_000, "imported": { "format": "champsim", "pages": "thp", "frames": "v2p" } });
    other["exact"] = false.into();
    let page = sweep(&joined(&[line("native:4K", &json!({}), 8192, 1000), other])).unwrap();
    assert_eq!(page.matches("<svg class=\"plot\"").count(), 2);
    assert!(
        page.contains("of a trace (champsim), with pages thp and frames v2p")
            && page.contains("; may differ from a run")
    );
    assert!(page.contains("Storage and translation of 2 recordings") && page.contains("no settings of its own"));
}

#[test]
fn what_no_sweep_wrote_is_named_with_its_line() {
    let good = line("native:4K", &json!({}), 8192, 1000);
    let mut old = good.clone();
    old.as_object_mut().unwrap().remove("storage_bits");
    let cut = good.to_string()[..100].to_owned();
    for (text, says) in [
        (
            joined(&[good.clone(), old]),
            "line 2: not a line of sweep, or one of another version: key `storage_bits` is missing",
        ),
        (format!("{good}\n\n{cut}"), "line 3: not a line of sweep, or one of another version: EOF"),
        (format!("{good}\n[]\n"), "line 2: not a line of sweep"),
    ] {
        let problem = sweep(&text).unwrap_err().line();
        assert!(problem.contains(says), "{problem}");
        assert!(is_sweep(&text));
    }
    for text in ["", "{}", "no JSON", "[1]", r#"{"runs": []}"#] {
        assert!(!is_sweep(text), "{text}");
    }
    assert!(is_sweep(&good.to_string()));
}
