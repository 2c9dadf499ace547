//! What `sweep` makes of its lines: pages with Pareto fronts, tables for data frames; and studies in a file.

mod common;

use common::{Scratch, run};
use serde_json::Value;
use std::fs;

const EXAMPLE: &str = include_str!("../../../examples/study.toml");

/// Systems with small TLBs, so that each misses another number of times.
const L1D: &str = r#"mmu.l1d=[{ sizes = ["4K", "2M", "1G"], sets = 1, ways = 2 }],[{ sizes = ["4K", "2M", "1G"], sets = 1, ways = 6 }]"#;
const L2: &str = r#"mmu.l2=[{ sizes = ["4K", "2M", "1G"], sets = 1, ways = 4 }],[{ sizes = ["4K", "2M", "1G"], sets = 4, ways = 4 }],[{ sizes = ["4K", "2M", "1G"], sets = 16, ways = 4 }],[{ sizes = ["4K", "2M", "1G"], sets = 64, ways = 4 }]"#;

fn record(scratch: &Scratch) -> String {
    let file = scratch.text("gups.rec");
    run(["record", "--workload", "gups:64K", "--set", "guest_time=instructions", "-o", &file]).succeeded();
    file
}

/// A sweep of 24 systems, whose lines go to a file; it makes what `more` says.
fn sweep(file: &str, lines: &str, more: &[&str]) {
    let schemes = ["sweep", file, "--scheme", "native,nested,shadow", "--sweep", L1D, "--sweep", L2, "--inexact"];
    run(schemes.iter().chain(&["-o", lines]).chain(more)).succeeded();
}

fn read(scratch: &Scratch, name: &str) -> String {
    fs::read_to_string(scratch.path(name)).unwrap()
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A number of a line, by the path of its key.
fn of(line: &Value, path: &str) -> u64 {
    line.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path}: {line}"))
}

#[test]
fn a_line_has_the_bits_of_its_structures() {
    let scratch = Scratch::new();
    let file = record(&scratch);
    let arrays = r#"/mmu.l1d=[{ sizes = ["4K"], sets = 16, ways = 4 }]/mmu.l1i=[{ sizes = ["4K"], sets = 1, ways = 1 }]/mmu.l2=[]/mmu.walk_caches=off/mmu.nested_tlb=8"#;
    let schemes =
        ["native", "shadow", "reserved", "nested", "flat-hw"].map(|scheme| format!("{scheme}{arrays}")).join(",");
    run(["sweep", &file, "--scheme", &schemes, "--inexact", "-o", &scratch.text("lines")]).succeeded();
    // Tag, ASID, page number and flags: 23 + 16 + 44 + 8 and 5 bits of LRU for a set; 27 + 16 + 44 + 8. A nested TLB has 29 + 14 + 44 + 8, the size in 2 bits (4K,
    // 2M, 1G), and 16 bits of LRU.
    let (native, nested) = (16 * (4 * 91 + 5) + 95, 8 * 97 + 16);
    let vmids = 14 * 65;
    let expected = [native, native + vmids, native + vmids, native + vmids + nested, native + vmids + nested];
    let lines = lines(&read(&scratch, "lines"));
    assert_eq!(lines.iter().map(|line| of(line, "/storage_bits/total")).collect::<Vec<_>>(), expected);
    assert_eq!([of(&lines[3], "/storage_bits/nested_tlb"), of(&lines[1], "/storage_bits/nested_tlb")], [nested, 0]);
    assert_eq!(of(&lines[0], "/storage_bits/l1i"), 95);
}

/// The systems on the front of a scheme: those that no other one is better than, word by word.
fn front<'l>(lines: &'l [Value], scheme: &str) -> Vec<&'l Value> {
    let all: Vec<&Value> = lines.iter().filter(|line| line["scheme"] == scheme).collect();
    let numbers = |line: &Value| (of(line, "/storage_bits/total"), of(line, "/time/translation"));
    let better = |one: &Value, other: &Value| {
        let ((bits, cycles), (other_bits, other_cycles)) = (numbers(one), numbers(other));
        bits <= other_bits && cycles <= other_cycles && (bits < other_bits || cycles < other_cycles)
    };
    let mut front: Vec<&Value> =
        all.iter().filter(|line| !all.iter().any(|other| better(other, line))).copied().collect();
    front.sort_by_key(|line| numbers(line));
    front
}

/// A number as the page has it.
fn grouped(count: u64) -> String {
    let digits: Vec<char> = count.to_string().chars().collect();
    digits.rchunks(3).rev().map(|part| part.iter().collect::<String>()).collect::<Vec<_>>().join("\u{202f}")
}

#[test]
fn the_page_has_the_front_of_each_scheme() {
    let scratch = Scratch::new();
    let file = record(&scratch);
    sweep(&file, &scratch.text("lines"), &["--html", &scratch.text("page.html")]);
    let (text, page) = (read(&scratch, "lines"), read(&scratch, "page.html"));
    let lines = lines(&text);
    assert_eq!(lines.len(), 24);
    let table = page.split("<tbody>").nth(1).unwrap().split("</tbody>").next().unwrap();
    let rows: Vec<Vec<&str>> = table
        .split("<tr>")
        .skip(1)
        .map(|row| row.split("</t").map(|cell| cell.rsplit('>').next().unwrap()).collect())
        .collect();
    let fronts = ["native:4K", "nested:4K+4K", "shadow:4K+4K"].map(|scheme| front(&lines, scheme));
    let on_fronts: Vec<&Value> = fronts.iter().flatten().copied().collect();
    assert!(on_fronts.len() > 6 && on_fronts.len() < 24, "{}", on_fronts.len());
    assert_eq!(rows.len(), on_fronts.len());
    for (row, line) in rows.iter().zip(&on_fronts) {
        let in_1000 = |count: u64| format!("{:.3}", 1000.0 * count as f64 / of(line, "/instructions") as f64);
        let misses = of(line, "/tlb/l1d_misses") + of(line, "/tlb/l1i_misses");
        assert_eq!(row[0], line["scheme"]);
        assert_eq!(row[2], grouped(of(line, "/storage_bits/total")), "{row:?}");
        let counts = [
            misses,
            of(line, "/tlb/l2_misses"),
            of(line, "/walks/count"),
            of(line, "/time/translation"),
            of(line, "/time/monitor"),
        ];
        assert_eq!(row[4..9], counts.map(in_1000), "{row:?}");
    }
    let measured = grouped(of(&lines[0], "/instructions"));
    for part in [
        "host sandybridge-2012, fidelity counts",
        "The recording of gups:64K has",
        &format!("of which {measured} are measured"),
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(page.matches("<circle ").count(), 24 - on_fronts.len());
}

#[test]
fn the_lines_make_the_page_again_and_so_does_a_sweep_that_was_interrupted() {
    let scratch = Scratch::new();
    let file = record(&scratch);
    let [html, csv, again] = ["page.html", "table.csv", "again.html"].map(|name| scratch.text(name));
    sweep(&file, &scratch.text("lines"), &["--html", &html, "--columns", &csv]);
    let (page, table, text) = (read(&scratch, "page.html"), read(&scratch, "table.csv"), read(&scratch, "lines"));
    run(["report", &scratch.text("lines"), &again]).succeeded();
    assert_eq!(read(&scratch, "again.html"), page);
    // An interruption has left the last line first, another one, and a part of a third.
    let mut some: Vec<&str> = text.lines().collect();
    some.rotate_right(1);
    let partial = scratch.write("partial", format!("{}\n{}\n{}", some[0], some[5], &some[9][..200]));
    sweep(&file, &partial, &["--html", &again, "--columns", &csv]);
    assert_eq!(read(&scratch, "again.html"), page);
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    assert_ne!(read(&scratch, "partial"), text);
    assert_eq!(sorted(&read(&scratch, "partial")), sorted(&text));
    assert_eq!(sorted(&read(&scratch, "table.csv")), sorted(&table));
    // Lines of an earlier sweep are on the page as well, and those that are printed.
    run(["sweep", &file, "--scheme", "native", "-o", &partial, "--html", &again, "--inexact"]).succeeded();
    assert!(read(&scratch, "again.html").contains(">25</span>") || read(&scratch, "again.html").contains("25 systems"));
    let printed = run(["sweep", &file, "--scheme", "native", "--inexact", "--html", &again]).succeeded().stdout;
    let page = read(&scratch, "again.html");
    assert_eq!(printed.lines().count(), 1);
    run(["report", &scratch.write("printed", printed), &again]).succeeded();
    assert_eq!(read(&scratch, "again.html"), page);
    assert!(page.contains("1 system,"));
}

#[test]
fn the_table_has_every_number_of_every_line() {
    let scratch = Scratch::new();
    let file = record(&scratch);
    sweep(&file, &scratch.text("lines"), &["--columns", &scratch.text("table.csv")]);
    let (lines, table) = (lines(&read(&scratch, "lines")), read(&scratch, "table.csv"));
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let names = reader.headers().unwrap().clone();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), lines.len());
    let cell = |row: usize, name: &str| {
        let column = names.iter().position(|known| known == name).unwrap_or_else(|| panic!("{name} of {names:?}"));
        rows[row][column].to_owned()
    };
    let mut numbers = 0;
    for (row, line) in lines.iter().enumerate() {
        let mut left = vec![(String::new(), line)];
        while let Some((prefix, value)) = left.pop() {
            for (key, value) in value.as_object().unwrap() {
                let name = format!("{prefix}{key}");
                match value {
                    Value::Object(_) if name == "settings" => {
                        for (key, value) in value.as_object().unwrap() {
                            assert_eq!(cell(row, &format!("settings.{key}")), value.to_string());
                        }
                    }
                    Value::Object(_) => left.push((format!("{name}."), value)),
                    Value::Number(number) => {
                        assert_eq!(cell(row, &name), number.to_string(), "{name}");
                        numbers += 1;
                    }
                    Value::String(text) => assert_eq!(&cell(row, &name), text, "{name}"),
                    Value::Bool(truth) => assert_eq!(cell(row, &name), truth.to_string(), "{name}"),
                    Value::Null | Value::Array(_) => {}
                }
            }
        }
    }
    assert!(numbers > 50 * lines.len(), "{numbers}");
    for name in [
        "scheme",
        "tlb.l2_misses",
        "time.translation",
        "storage_bits.total",
        "settings.mmu.l2",
        "shadow.work.validation.steps",
    ] {
        assert!(names.iter().any(|known| known == name), "{name}");
    }
    assert_eq!(cell(0, "shadow.work.validation.steps"), "", "a native machine has no shadow tables");
    assert!(!names.iter().any(|name| name == "shadow"));
    // Each column has one type.
    for (column, name) in names.iter().enumerate() {
        let cells = || rows.iter().map(|row| &row[column]).filter(|cell| !cell.is_empty());
        let are_numbers = |cell: &str| cell.parse::<f64>().is_ok();
        assert!(cells().all(are_numbers) || !cells().any(are_numbers), "{name}");
    }
}

#[test]
fn a_study_makes_what_its_options_make() {
    let scratch = Scratch::new();
    let file = record(&scratch);
    let study = scratch.write("study.toml", EXAMPLE);
    run(["sweep", "--study", &study]).succeeded();
    let made = ["gups.jsonl", "gups.html", "gups.csv"].map(|name| read(&scratch, name));
    let array = |sets, ways| format!(r#"[{{ sizes = ["4K", "2M", "1G"], sets = {sets}, ways = {ways} }}]"#);
    let l1d = format!("mmu.l1d={}", array(1, 4));
    let l2 = format!("mmu.l2={},{},{}", array(1, 8), array(4, 4), array(16, 4));
    let given = [
        "--scheme",
        "native,nested:4K+2M",
        "--set",
        &l1d,
        "--sweep",
        "mmu.nested_tlb=off,8",
        "--sweep",
        &l2,
        "--inexact",
    ];
    let outputs = ["l.jsonl", "l.html", "l.csv"].map(|name| scratch.text(name));
    let written = ["-o", &outputs[0], "--html", &outputs[1], "--columns", &outputs[2]];
    run(["sweep", &file].iter().chain(&given).chain(&written)).succeeded();
    assert_eq!(["l.jsonl", "l.html", "l.csv"].map(|name| read(&scratch, name)), made);
    assert_eq!(made[0].lines().count(), 9);
    // Options of the command line take the place of the file's.
    let l1d = format!("mmu.l1d={}", array(1, 2));
    let options =
        ["--scheme", "nested", "--sweep", "mmu.nested_tlb=4", "--set", &l1d, "-o", &outputs[0], "--html", &outputs[1]];
    fs::remove_file(&outputs[0]).unwrap();
    run(["sweep", "--study", &study].iter().chain(&options)).succeeded();
    let lines = lines(&read(&scratch, "l.jsonl"));
    assert_eq!(lines.len(), 3);
    for line in &lines {
        let settings = &line["settings"];
        assert_eq!((&line["scheme"], &settings["mmu.nested_tlb"]), (&"nested:4K+4K".into(), &4.into()));
        assert_eq!(settings["mmu.l1d"][0]["ways"], 2);
    }
    assert_eq!(read(&scratch, "gups.jsonl"), made[0], "the file's own output is untouched");
}

#[test]
fn what_is_wrong_is_one_line_with_file_and_line() {
    let scratch = Scratch::new();
    let file = record(&scratch);
    let study = |text: &str| scratch.write("study.toml", text);
    for (text, says) in [
        ("scheme = ['native']", "study.toml: key `recording` is missing"),
        ("recording = 'gups.rec'\ncolor = 1", "study.toml: line 2: unknown key `color`"),
        ("recording = 7", "study.toml: line 1: recording: `7` is not a text"),
        ("recording = 'gups.rec'\nscheme = 'native'", "study.toml: line 2: scheme: `native` is not a list"),
        ("recording = 'gups.rec'\nscheme = ['native', 'nest']", "study.toml: line 2: unknown scheme `nest`"),
        ("recording = 'gups.rec'\ninexact = 'no'", "study.toml: line 2: inexact: `no` is not true or false"),
        (
            "recording = 'gups.rec'\n[set]\n'mmu.nested_tbl' = 8",
            "study.toml: line 3: unknown key `mmu.nested_tbl`; did you mean `mmu.nested_tlb`?",
        ),
        ("recording = 'gups.rec'\n[set]\nmmu.nested_tlb = []", "study.toml: line 3: mmu.nested_tlb"),
        (
            "recording = 'gups.rec'\n[sweep]\nmmu.nested_tlb = 8",
            "study.toml: line 3: mmu.nested_tlb: 8 is not a list of values",
        ),
        ("recording = 'gups.rec'\n[sweep]\n\n'mmu.nested_tlb' = ['off', true]", "study.toml: line 4: mmu.nested_tlb"),
        ("recording = 'gups.rec'\n[sweep]\nmmu.nested_tlb = []", "study.toml: line 3: `mmu.nested_tlb=[]` is not"),
        (
            "recording = 'gups.rec'\n[set]\nshadow.count = 2\n[sweep]\nshadow.count = [1, 2]",
            "study.toml: line 5: shadow.count is under [set] as well",
        ),
        ("recording = 'gups.rec'\n[sweep]\nscheme = ['native']", "study.toml: line 3: `scheme` is not a key to sweep"),
        ("recording = 'other.rec'", "other.rec: No such file"),
        ("\n[set", "study.toml: line 2"),
    ] {
        run(["sweep", "--study", &study(text)]).failed(2, &[says]);
    }
    run(["sweep", "--study", &scratch.text("none.toml")]).failed(2, &["none.toml", "No such file"]);
    run(["sweep", "--study", &file]).failed(2, &["gups.rec", "not TOML"]);
    run(["sweep", "--html", "x.html"]).failed(2, &["RECORDING"]);
    // Pages of what no sweep wrote, and of what an earlier version wrote.
    let (html, csv) = (scratch.write("page.html", "old"), scratch.write("table.csv", "old"));
    run(["sweep", &file, "--scheme", "native", "--inexact", "-o", &scratch.text("lines")]).succeeded();
    let good = read(&scratch, "lines");
    let old = scratch.write("old.jsonl", good.replacen("storage_bits", "bits", 1));
    let damaged = scratch.write("damaged.jsonl", format!("{good}{}", &good[..99]));
    let binary = scratch.write("binary.jsonl", [good.as_bytes(), b"\xff\n"].concat());
    for (lines, says) in [
        (&old, "old.jsonl: line 1: not a line of sweep, or one of another version: key `storage_bits` is missing"),
        (&damaged, "damaged.jsonl: line 2: not a line of sweep"),
        (&binary, "binary.jsonl: "),
        (&file, "gups.rec: "),
    ] {
        run(["report", lines, &html]).failed(2, &[says]);
    }
    run(["report", &scratch.text("lines"), &html, "--with", &old]).failed(2, &["lines: recordings go with"]);
    let sweep = ["sweep", &file, "--scheme", "nested", "--inexact", "--html", &html, "--columns", &csv, "-o"];
    run(sweep.iter().chain(&[&*old])).failed(2, &["old.jsonl: line 1: ", "storage_bits"]);
    run(sweep.iter().chain(&[&*html])).failed(2, &["page.html: --output and --html are one file"]);
    // A sweep that fails leaves what was there, and nothing beside it.
    run(["sweep", &file, "--scheme", "nested", "--set", "harts=2", "--html", &html, "--columns", &csv])
        .failed(2, &["harts"]);
    run(["sweep", &file, "--scheme", "nested", "--html", &html, "--columns", "no/such.csv"])
        .failed(1, &["no/such.csv"]);
    assert_eq!([read(&scratch, "page.html"), read(&scratch, "table.csv")], ["old", "old"]);
    assert!(scratch.names().iter().all(|name| !name.starts_with(".pagewalk")), "{:?}", scratch.names());
}
