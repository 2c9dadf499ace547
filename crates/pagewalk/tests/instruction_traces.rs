//! Traces of instructions: what a run writes for other tools is what it does, and what is imported is replayed.

mod common;

use common::kernel::{CODE_ADDRESS, addi, image, jump_back};
use common::{Scratch, run};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Small TLBs, with every size in each: replays are exact.
const SMALL: &str = r#"mmu.l1d=[{ sizes = ["4K", "2M", "1G"], sets = 1, ways = 8 }]/mmu.l1i=[{ sizes = ["4K", "2M", "1G"], sets = 1, ways = 2 }]/mmu.l2=[{ sizes = ["4K", "2M", "1G"], sets = 16, ways = 4 }]"#;
/// Entries of that L2.
const L2_ENTRIES: i64 = 64;

trait Done {
    fn done(self) -> Self;
}

impl Done for common::Ended {
    /// It succeeded, whatever it told of its speed.
    #[track_caller]
    fn done(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self
    }
}

/// The format that a name is for.
fn format_of(trace: &str) -> &'static str {
    if trace.contains("champsim") {
        "champsim"
    } else if trace.ends_with(".zip") {
        "drmemtrace"
    } else {
        "lackey"
    }
}

/// What a reader in Python prints of a trace, whose rules it has checked.
fn read_by_python(trace: &str, options: &[&str]) -> String {
    let name = format!("../traces/tests/readers/read_{}.py", format_of(trace));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    let python = std::env::var("PAGEWALK_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let output = Command::new(python).arg(script).arg(trace).args(options).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Records a workload and writes a trace of it; the two files, and how many instructions of the trace are of the warm-up.
fn record(scratch: &Scratch, arguments: &[&str], trace: &str) -> (String, String, u64) {
    let (recording, file) = (scratch.text("run.rec"), scratch.text(trace));
    let spec = format!("{}:{file}", format_of(trace));
    let fixed = ["record", "--set", "guest_time=instructions", "-o", &recording, "--trace", &spec];
    let ended = run(fixed.iter().chain(arguments)).done();
    let line = ended.stdout.lines().nth(1).unwrap();
    let warmup = line.split(", ").nth(1).and_then(|words| words.split(' ').next()).unwrap().parse().unwrap();
    (recording, file, warmup)
}

/// The line of a sweep on a native machine.
fn native(scratch: &Scratch, recording: &str, page: &str) -> Value {
    let _ = fs::remove_file(scratch.path("lines"));
    let scheme = format!("native:{page}/{SMALL}");
    run(["sweep", recording, "--scheme", &scheme, "-o", &scratch.text("lines")]).done();
    serde_json::from_str(fs::read_to_string(scratch.path("lines")).unwrap().trim()).unwrap()
}

fn import(scratch: &Scratch, trace: &str, arguments: &[&str]) -> String {
    let file = scratch.text("trace.rec");
    run(["import", trace, "--format", format_of(trace), "-o", &file].iter().chain(arguments)).done();
    file
}

fn number(line: &Value, keys: &[&str]) -> i64 {
    keys.iter().fold(line, |value, key| &value[key]).as_i64().unwrap_or_else(|| panic!("{keys:?} of {line}"))
}

#[test]
fn an_imported_trace_misses_as_its_run_does() {
    let scratch = Scratch::new();
    let (recording, trace, warmup) = record(&scratch, &["--workload", "gups:64K", "--warmup", "20000"], "gups.lackey");
    let ran = native(&scratch, &recording, "4K");
    let replayed = native(&scratch, &import(&scratch, &trace, &["--warmup", &warmup.to_string()]), "4K");
    for key in ["instructions", "loads", "stores"] {
        assert_eq!(replayed[key], ran[key], "{key}");
    }
    assert_eq!(replayed["recording"]["imported"]["pages"], "4K");
    let misses = |key: &str| (number(&ran, &["tlb", key]), number(&replayed, &["tlb", key]));
    assert!(misses("l1d_misses").0 > 10_000);
    for key in ["l1d_misses", "l1i_misses"] {
        let (ran, replayed) = misses(key);
        assert_eq!(replayed, ran, "{key}: the warm-up has filled the L1");
    }
    // The run has filled its L2 before the trace begins.
    let (ran, replayed) = misses("l2_misses");
    assert!((ran..=ran + L2_ENTRIES).contains(&replayed), "{ran} of the run, {replayed} of its trace");
}

#[test]
fn a_trace_has_the_instructions_of_the_region_and_changes_nothing() {
    let scratch = Scratch::new();
    let plain = scratch.text("plain.rec");
    run(["record", "--set", "guest_time=instructions", "--workload", "bfs:8", "-o", &plain]).done();
    let (recording, trace, warmup) = record(&scratch, &["--workload", "bfs:8"], "bfs.champsim.xz");
    assert_eq!(fs::read(&plain).unwrap(), fs::read(&recording).unwrap(), "the recording is the same");
    assert_eq!(warmup, 0);
    let line = native(&scratch, &recording, "4K");
    let text = read_by_python(&trace, &[]);
    assert_eq!(text.lines().count() as i64, number(&line, &["instructions"]));
    let words = |letter: char| text.split_whitespace().filter(|word| word.starts_with(letter)).count() as i64;
    assert_eq!(words('S'), number(&line, &["stores"]));
    assert!(words('L') >= number(&line, &["loads"]), "atomic operations load as well");
    assert!(text.contains(" conditional 1") && text.contains(" conditional 0") && text.contains(" return 1"));
}

#[test]
fn an_archive_of_drmemtrace_keeps_every_rule_and_misses_as_its_run_does() {
    let scratch = Scratch::new();
    let (recording, trace, warmup) =
        record(&scratch, &["--workload", "gups:64K", "--warmup", "20000"], "gups.trace.zip");
    let map = scratch.text("gups.trace.v2p.textproto");
    let ran = native(&scratch, &recording, "4K");
    let text = read_by_python(&trace, &["riscv"]);
    let lines = |start: &str| text.lines().filter(|line| line.starts_with(start)).count() as i64;
    assert_eq!(lines("I"), warmup as i64 + number(&ran, &["instructions"]));
    assert_eq!(lines("window"), 2, "the warm-up, and what is measured");
    // An atomic operation is a load and a store.
    let replayed = native(&scratch, &import(&scratch, &trace, &["--warmup", &warmup.to_string(), "--v2p", &map]), "4K");
    assert_eq!(replayed["recording"]["imported"]["pages"], "v2p");
    for key in ["instructions", "stores"] {
        assert_eq!(replayed[key], ran[key], "{key}");
    }
    for (key, most) in [("l1d_misses", 40), ("l1i_misses", 40), ("l2_misses", 2 * L2_ENTRIES)] {
        let (ran, replayed) = (number(&ran, &["tlb", key]), number(&replayed, &["tlb", key]));
        assert!((replayed - ran).abs() <= most, "{key}: {ran} of the run, {replayed} of its trace");
    }
}

/// The marker `number`: `slti x0, x0, number`.
fn marker(number: u32) -> u32 {
    number << 20 | 2 << 12 | 0x13
}

#[test]
fn a_branch_before_sret_is_not_said_to_be_taken() {
    let scratch = Scratch::new();
    let csr_write = |csr: u32, from: u32| csr << 20 | from << 15 | 1 << 12 | 0x73;
    let (stvec, sepc, t0, t1) = (0x105, 0x141, 5, 6);
    let sepc_to_t1 = sepc << 20 | 2 << 12 | t1 << 7 | 0x73;
    let (ebreak, bne_x0_x0, sret) = (0x0010_0073, 0x1463, 0x1020_0073);
    let handler = [sepc_to_t1, addi(t1, t1, 4), csr_write(sepc, t1), bne_x0_x0, sret];
    let begin =
        [0x297, addi(t0, t0, 32), csr_write(stvec, t0), marker(1), ebreak, marker(2), marker(0x100), jump_back(0)];
    let kernel = scratch.write("kernel", image(&[&begin[..], &handler].concat()));
    let traced = |name: &str| {
        let trace = scratch.text(name);
        let spec = format!("{}:{trace}", format_of(name));
        run(["record", "--guest", &kernel, "-o", &scratch.text("kernel.rec"), "--trace", &spec]).done();
        trace
    };
    let text = read_by_python(&traced("kernel.zip"), &["riscv"]);
    let at = |number: u64| CODE_ADDRESS + 4 * number;
    let mut expected = vec![format!("trap {:x}", at(4))];
    for (number, bits) in (8..).zip(handler) {
        let kind = match bits {
            _ if bits == bne_x0_x0 => "untaken",
            _ if bits == sret => "indirect-jump",
            _ => "-",
        };
        expected.push(format!("I{:x} 4 {kind} {bits:x}", at(number)));
    }
    expected.push(format!("return {:x}", at(13)));
    let handled: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with("trap"))
        .take_while(|line| !line.starts_with(&format!("I{:x}", at(5))))
        .collect();
    assert_eq!(handled, expected, "{text}");
    assert_eq!(text.lines().next(), Some("window"));
    let map = fs::read_to_string(scratch.path("kernel.v2p.textproto")).unwrap();
    assert!(map.contains("page_size: 0x1000") && map.contains("virtual_address: 0x80200000"), "{map}");
    assert!(map.contains("physical_address: 0x80200000"), "a kernel without tables: {map}");
    let text = read_by_python(&traced("kernel.champsim"), &[]);
    assert!(text.lines().any(|line| line == format!("{:x} conditional 0", at(11))), "{text}");
}

#[test]
fn a_map_of_pages_says_where_they_are() {
    let scratch = Scratch::new();
    // 4-byte instructions at 0x400000, and loads of two pages.
    let entry = |kind: u16, size: u16, value: u64| {
        [&kind.to_le_bytes()[..], &size.to_le_bytes(), &value.to_le_bytes()].concat()
    };
    let mut entries = vec![entry(25, 0, 5), entry(28, 12, 5), entry(28, 9, 0x2_0200), entry(22, 0, 9), entry(24, 0, 9)];
    // A synthetic encoding has another length than the instruction.
    entries.extend([entry(47, 8, 0x0006_0906_0001_0011), entry(10, 3, 0x40_0000), entry(0, 8, 0x7fff_0000_1000)]);
    entries.extend([entry(28, 29, 0x40_0003), entry(12, 2, 0x40_0003), entry(0, 8, 0x7fff_0020_1000)]);
    entries.extend([entry(10, 4, 0x40_0003), entry(23, 0, 9), entry(26, 0, 0)]);
    let trace = scratch.path("google.trace");
    fs::write(&trace, entries.concat()).unwrap();
    let trace = trace.to_string_lossy().into_owned();
    let group = |pages: &[(u64, u64)]| {
        let page = |(at, to): &(u64, u64)| {
            format!("  address_mapping {{\n    virtual_address: {at}\n    physical_address: {to}\n  }}\n")
        };
        format!("address_mapping_group {{\n  page_size: 2097152\n{}}}\n", pages.iter().map(page).collect::<String>())
    };
    let good = [(0x40_0000, 0x20_0000), (0x7fff_0000_0000, 0x60_0000), (0x7fff_0020_0000, 0x40_0000)];
    let map = scratch.write("v2p.textproto", group(&good));
    let output = scratch.text("google.rec");
    let import = |map: &str, more: &[&str]| {
        run(["import", &trace, "--format", "drmemtrace", "--v2p", map, "-o", &output].iter().chain(more))
    };
    let told = import(&map, &[]).done().stdout;
    assert!(told.contains("3 instructions, 2 loads, 0 stores; 0 pages of 4K, 3 of 2M; "), "{told}");
    let line = native(&scratch, &output, "2M");
    assert_eq!(line["recording"]["imported"]["frames"], "v2p");
    assert_eq!(number(&line, &["instructions"]), 3);
    let _ = fs::remove_file(&output);
    for (pages, says) in [
        (&good[..2], "it touches address 0x7fff00201000, which no page of the map has"),
        (&[good[0], (0x40_0000, 0x80_0000)], "line 10: two pages have the same virtual addresses"),
        (&[(0x40_0000, 0x1000)], "line 6: a page does not begin at a multiple of its size"),
        (&[good[0], good[1], (0x7fff_0020_0000, 1 << 45)], "physical pages of the map lie more than 64 GiB apart"),
    ] {
        let map = scratch.write("bad.textproto", group(pages));
        import(&map, &[]).failed(2, &[says]);
        assert!(!Path::new(&output).exists());
    }
    import(&map, &["--pages", "4K"]).failed(2, &["--v2p"]);
    let bad = format!("drmemtrace:{}", scratch.text("trace"));
    run(["record", "--workload", "gups:64K", "-o", &output, "--trace", &bad]).failed(2, &["does not end with .zip"]);
}

#[test]
fn every_scheme_replays_a_trace_under_every_policy() {
    let scratch = Scratch::new();
    let mut lines = String::from("==1== Lackey\n");
    for page in 0..2000_u64 {
        let address = 0x7fff_0000_0000 + page * 4096;
        lines.push_str(&format!("I  00400000,4\n S {address:08x},8\nI  00400004,2\n L {:08x},8\n", address - 4));
    }
    let trace = scratch.write("program.lackey", &lines);
    for (pages, small, schemes) in [
        ("4K", 2001, "native:4K,nested:4K+4K,nested:4K+2M,shadow:4K,flat:4K"),
        ("2M", 0, "native:2M,nested:2M+2M,shadow:2M"),
        ("thp", 2, "native:4K,nested:4K+2M"),
    ] {
        let file = import(&scratch, &trace, &["--pages", pages, "--frames", "random:3", "--warmup", "5"]);
        let _ = fs::remove_file(scratch.path("lines"));
        run(["sweep", &file, "--scheme", schemes, "--inexact", "-o", &scratch.text("lines")]).done();
        let text = fs::read_to_string(scratch.path("lines")).unwrap();
        assert_eq!(text.lines().count(), schemes.split(',').count());
        for line in text.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            assert_eq!(line["recording"]["imported"]["frames"], "random:3");
            assert_eq!(number(&line, &["instructions"]), 3995);
            // A store to each page that is not large, and a load before it.
            assert!(number(&line, &["tlb", "l1d_misses"]) >= small / 2, "{line}");
        }
    }
    run(["sweep", &scratch.text("trace.rec"), "--scheme", "native:2M"]).failed(2, &["import the trace again"]);
}

#[test]
fn what_cannot_be_imported_is_one_line_and_no_file() {
    let scratch = Scratch::new();
    let output = scratch.text("out.rec");
    for (content, format, says) in [
        ("", "lackey", "it has no instructions"),
        ("I  1000,4\nI  ten,4\n", "lackey", "line 2: "),
        ("I  1000,4\n", "champsim", "record 0: the trace is cut off"),
        ("I  4000000000000000,4\n", "lackey", "address 0x4000000000000000 is in no address space"),
    ] {
        let trace = scratch.write("trace", content);
        run(["import", &trace, "--format", format, "-o", &output]).failed(2, &[says, &trace]);
        assert!(!Path::new(&output).exists());
    }
    let trace = scratch.write("trace", "I  1000,4\n");
    run(["import", &trace, "--format", "lackey", "--warmup", "1", "-o", &output]).failed(2, &["--warmup 1"]);
    run(["import", &trace, "--format", "pin", "-o", &output]).failed(2, &["champsim, lackey, drmemtrace"]);
    run(["record", "--workload", "gups:64K", "-o", &output, "--trace", "lackey"]).failed(2, &["FORMAT:FILE"]);
}
