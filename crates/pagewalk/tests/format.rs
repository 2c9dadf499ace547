//! `--format`: tables as CSV, Markdown and JSON, and on terminals that are narrow.

mod common;

use common::{QUIET, Scratch, command, ended, run};
use csv::{Reader, StringRecord};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};

/// A line of a CSV: by the name of the column.
type Line = BTreeMap<String, String>;

/// Two workloads on two systems, in a second.
const COMPARE: [&str; 8] =
    ["compare", "--workload", "gups:1M,hello", "--scheme", "native,nested", "--native", "--fidelity", "counts"];

/// A host with two guests, in a second.
const HOST: &str = r#"
processors = 1
config = { scheme = "nested", timeout = 10 }
guest = [{ name = "a", count = 2, workload = "hello", options = "procs=4 handshake=area", memory = "64M" }]
"#;

/// A paper with one measurement.
const PAPER: &str = r#"
paper = "small"
title = "Small"
citation = "no author, no year"
[size]
updates = { short = "20000", full = "40000" }
[[measure]]
id = "tlb"
command = "compare --workload gups:1M --memory 256M --append updates={updates} --scheme native,nested"
[[figure]]
id = "overhead"
title = "Overhead"
source = "Table 1"
unit = "%"
kind = "bars"
x_label = "scheme"
x = ["nested"]
series = [{ name = "gups", paper = [10], ours = "tlb.of['gups:1M']['nested:4K+4K'].overhead * 100" }]
[[claim]]
id = "more"
claim = "Nested costs something"
source = "page 1"
holds = "true"
evidence = "none"
"#;

/// The lines of a CSV. Each has a cell for each name, or it does not read.
#[track_caller]
fn lines(text: &str) -> Vec<Line> {
    let mut reader = Reader::from_reader(text.as_bytes());
    let names = reader.headers().expect("a line of names").clone();
    let mut distinct: Vec<&str> = names.iter().collect();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), names.len(), "names are distinct: {names:?}");
    assert!(names.iter().all(|name| !name.is_empty()), "{names:?}");
    let line = |record: StringRecord| -> Line {
        names.iter().map(str::to_owned).zip(record.iter().map(str::to_owned)).collect()
    };
    reader.records().map(|record| line(record.unwrap_or_else(|error| panic!("{error}: {text}")))).collect()
}

/// What a command prints on standard output.
#[track_caller]
fn printed(arguments: &[&str]) -> String {
    let ended = run(arguments);
    assert_eq!(ended.code, Some(0), "{arguments:?}: {ended:#?}");
    ended.stdout
}

/// The lines of a command's CSV.
#[track_caller]
fn csv(arguments: &[&str]) -> Vec<Line> {
    lines(&printed(&[arguments, &["--format", "csv"]].concat()))
}

fn number(line: &Line, name: &str) -> f64 {
    line[name].parse().unwrap_or_else(|_| panic!("{name} of {line:?} is no number"))
}

#[test]
fn csv_has_the_exact_numbers_of_the_json_with_units_in_the_names() {
    let scratch = Scratch::new();
    let json = scratch.text("r.json");
    let lines = csv(&[&COMPARE[..], &["--json", &json]].concat());
    let report: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    let runs = report["runs"].as_array().unwrap();
    assert_eq!((lines.len(), runs.len()), (4, 4));
    for (line, run) in lines.iter().zip(runs) {
        assert_eq!(line["workload"], run["workload"].as_str().unwrap());
        assert_eq!(line["scheme"], run["scheme"].as_str().unwrap());
        for key in ["instructions", "cycles"] {
            assert_eq!(line[key], run[key].to_string());
        }
        assert_eq!(number(line, "over_ideal_ratio"), run["overhead_ideal"].as_f64().unwrap());
        assert_eq!((line["host_model"].as_str(), line["fidelity"].as_str()), ("sandybridge-2012", "counts"));
    }
    assert_eq!(lines[0]["over_native_ratio"], "", "the native machine itself");
    assert_eq!(number(&lines[1], "over_native_ratio"), runs[1]["overhead"].as_f64().unwrap());
}

#[test]
fn several_tables_are_one_csv_whose_first_column_names_them() {
    let schemes = ["compare", "--workload", "gups:1M", "--scheme", "native,nested,shadow", "--details"];
    let lines = csv(&schemes);
    let of = |name: &str| lines.iter().filter(|line| line["table"] == name).collect::<Vec<_>>();
    assert_eq!((of("runs").len(), of("shadow_tables").len()), (3, 1));
    assert_eq!(of("shadow_tables")[0]["cycles"], "");
    assert!(number(of("shadow_tables")[0], "mean_instruction_cycles") > 1.0);
}

#[test]
fn captions_and_notes_of_a_csv_go_to_standard_error() {
    let ended = run([&COMPARE[..], &["--format", "csv"]].concat());
    assert!(ended.stdout.starts_with("workload,scheme,"), "{ended:#?}");
    assert!(ended.stderr.contains("cycles by host sandybridge-2012, fidelity counts"), "{ended:#?}");
    assert!(ended.stderr.contains("time model: `counts`"), "{ended:#?}");
}

#[test]
fn every_command_with_tables_has_a_csv_that_reads() {
    let scratch = Scratch::new();
    let host = scratch.write("host.toml", HOST);
    let paper = scratch.write("paper.toml", PAPER);
    let cache = scratch.text("cache");
    let report = scratch.text("r.json");
    printed(&["compare", "--workload", "gups:1M", "--native", "--scheme", "nested,nested:4K+2M", "--json", &report]);
    let registry = scratch.text("registry.toml");
    printed(&["reserve", "add", "s", "--size", "64M", "--file", &registry]);
    let spins = ["run", &host, "--spin", "rslp,yield"];
    for (arguments, column, count) in [
        (&["hosts"][..], "clock_hz", 7),
        (&["explain", "nested", "shadow"], "references_sv39", 2),
        (&["config", "quantum"], "default", 1),
        (&["guest", "list", "--cache", &cache], "version", 8),
        (&["reserve", "show", "--file", &registry], "bytes", 8),
        (&["bench", "--workload", "sieve:1M", "--repeat", "1"], "median_mips", 2),
        (&["advise", &report], "saved_time_ratio", 3),
        (&["reproduce", &paper, "--cache", &cache], "gups, ours (%)", 1),
        (&["run", &host], "busy_seconds", 2),
        (&spins, "elapsed_seconds", 2),
        (&["vlm"], "private_bytes", 10),
        (&["calibrate", "--quick"], "value", 10),
    ] {
        let lines = csv(arguments);
        assert!(lines.len() >= count, "{arguments:?}: {lines:#?}");
        assert!(lines.iter().all(|line| line.contains_key(column)), "{arguments:?}: {lines:#?}");
    }
}

#[test]
fn what_a_guest_prints_stays_out_of_a_csv() {
    let scratch = Scratch::new();
    let host = scratch.write("host.toml", HOST);
    let ended = run(["run", &host, "--output", "--format", "csv"]);
    assert_eq!(lines(&ended.stdout).len(), 2, "{ended:#?}");
    assert!(ended.stderr.contains("hello"), "{ended:#?}");
}

#[test]
fn markdown_has_each_caption_above_its_table() {
    let text = printed(&[&COMPARE[..], &["--format", "markdown"]].concat());
    let lines: Vec<&str> = text.lines().collect();
    let tables: Vec<usize> = (0..lines.len()).filter(|&index| lines[index].starts_with("| --- |")).collect();
    assert_eq!(tables.len(), 2, "{text}");
    for (rule, caption) in tables.into_iter().zip(["translation overhead: ", "virtualization overhead: "]) {
        assert!(lines[rule - 3].starts_with(caption) && lines[rule - 3].contains("host sandybridge-2012"), "{text}");
        assert_eq!(lines[rule - 2], "", "{text}");
        let cells = |line: &str| line.split(" | ").count();
        for line in [rule - 1, rule + 1, rule + 2] {
            assert_eq!(cells(lines[line]), cells(lines[rule]), "{text}");
        }
    }
    let text = printed(&["hosts", "--format", "markdown"]);
    assert!(text.starts_with("| host | MHz | L1D |"), "{text}");
}

#[test]
fn json_is_what_json_to_standard_output_writes_and_nothing_else() {
    let report = run([&COMPARE[..], &["--json", "-"]].concat());
    let formatted = run([&COMPARE[..], &["--format", "json"]].concat()).succeeded();
    assert_eq!(formatted.stdout, report.stdout);
    let hosts: Value = serde_json::from_str(&printed(&["hosts", "--format", "json"])).unwrap();
    assert_eq!(hosts["hosts"][0]["clock_hz"], 2_400_000_000_u64);
}

#[test]
fn what_cannot_be_is_one_line() {
    let both = [&COMPARE[..], &["--format", "json", "--json", "/dev/null"]].concat();
    run(both).failed(2, &["--format json", "--json"]);
    let both = [&COMPARE[..], &["--format", "csv", "--json", "-"]].concat();
    run(both).failed(1, &["standard output"]);
    run(["hosts", "--format", "xml"]).failed(2, &["'xml'", "--format", "markdown"]);
    run(["hosts", "xeon-2017", "--format", "csv"]).failed(2, &["--format"]);
}

#[test]
fn text_in_a_csv_comes_back_as_it_was() {
    let mut arguments = COMPARE.to_vec();
    arguments.extend(["--details", "--timeout", "1"]);
    arguments[2] = "hello,spin";
    let ended = ended(&mut command([&arguments[..], &["--format", "csv"]].concat()));
    assert_eq!(ended.code, Some(1), "`spin` does not end: {ended:#?}");
    let lines = lines(&ended.stdout);
    let spin = lines.iter().find(|line| line["workload"] == "spin").unwrap();
    assert!(spin["cycles"].is_empty() && !spin["failed"].is_empty(), "{spin:?}");
}

/// Everything that a command prints on a terminal with so many columns.
fn on_a_terminal(columns: u16, arguments: &[&str]) -> String {
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
    grantpt(&controller).expect("its other end");
    unlockpt(&controller).expect("its other end");
    tcsetwinsize(&controller, Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).expect("a size");
    let name = ptsname(&controller, Vec::new()).expect("its name");
    let terminal = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).expect("its other end");
    let mut child = Command::new(env!("CARGO_BIN_EXE_pagewalk"))
        .args(arguments)
        .env("TERM", "xterm")
        .env("NO_COLOR", "1")
        .env(QUIET, "1")
        .stdin(Stdio::null())
        .stdout(terminal)
        .stderr(Stdio::null())
        .spawn()
        .expect("pagewalk starts");
    let (mut output, mut buffer) = (Vec::new(), [0; 4096]);
    let mut screen = File::from(controller);
    while let Ok(length @ 1..) = screen.read(&mut buffer) {
        output.extend_from_slice(&buffer[..length]);
    }
    assert_eq!(child.wait().expect("it is our child").code(), Some(0), "{arguments:?}");
    String::from_utf8(output).expect("UTF-8").replace("\r\n", "\n")
}

#[test]
fn tables_fit_a_terminal_by_turning_rows_and_columns() {
    let systems = ["--scheme", "native,nested,nested:4K+2M,shadow,nested:2M+2M", "--fidelity", "counts"];
    let many = [&["compare", "--workload", "gups:1M,hello"][..], &systems].concat();
    let details = [&many[..], &["--details", "--native"]].concat();
    let swept = [&COMPARE[..], &["--sweep", "mmu.nested_tlb=8,32"]].concat();
    for arguments in [&["hosts"][..], &["explain"], &["config", "mmu"], &many, &details, &swept] {
        for columns in [80, 60] {
            let text = on_a_terminal(columns, arguments);
            let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > columns.into()).collect();
            assert!(wide.is_empty(), "{columns} {arguments:?}: {wide:#?}");
            assert!(!text.contains('\x1b'), "{text}");
        }
    }
    let text = on_a_terminal(80, &details);
    let row = text.lines().find(|line| line.starts_with("M cycles")).expect("columns are rows");
    assert!(row.split_whitespace().count() > 4, "{text}");
    let wide = on_a_terminal(200, &details);
    assert_eq!(wide, printed(&details), "a terminal with room shows what a pipe gets");
}

#[test]
fn help_has_no_colours_where_the_user_wants_none() {
    assert!(!on_a_terminal(80, &["compare", "--help"]).contains('\x1b'));
}
