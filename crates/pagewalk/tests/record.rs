//! Recordings: what is replayed counts what a run counts, to the unit, and what cannot be replayed is refused.

mod common;

use common::{QUIET, Scratch, command, run, runs};
use serde_json::Value;
use std::fs;
use testing::{Random, number, seed};

/// Guests whose timers no scheme changes.
const BY_INSTRUCTIONS: &str = "guest_time=instructions";

/// Small enough for a build with debug assertions.
const WORKLOADS: [&str; 3] = ["gups:64K", "bfs:8", "kv:64K"];

/// What only the one of the two says, or what the two say of the system in other words.
const APART: [&str; 5] = ["recording", "settings", "notes", "sections", "host"];

/// Records a workload; the file.
fn record(scratch: &Scratch, workload: &str) -> String {
    let file = scratch.text(&format!("{}.rec", workload.replace(':', "-")));
    let ended = run(["record", "--workload", workload, "--set", BY_INSTRUCTIONS, "-o", &file]).succeeded();
    assert!(ended.stdout.contains(" bytes an event"), "{}", ended.stdout);
    file
}

/// The lines of a sweep.
fn sweep(scratch: &Scratch, file: &str, schemes: &str) -> Vec<Value> {
    let _ = fs::remove_file(scratch.path("lines"));
    run(["sweep", file, "--scheme", schemes, "--inexact", "-o", &scratch.text("lines")]).said_nothing_wrong();
    lines(scratch)
}

fn lines(scratch: &Scratch) -> Vec<Value> {
    let text = fs::read_to_string(scratch.path("lines")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

trait SaidNothingWrong {
    fn said_nothing_wrong(self);
}

impl SaidNothingWrong for common::Ended {
    /// It succeeded.
    #[track_caller]
    fn said_nothing_wrong(self) {
        assert_eq!(self.code, Some(0), "{self:#?}");
    }
}

/// The replay says of each key what the run says, or that it is not exact; whether it is exact.
#[track_caller]
fn assert_same(what: &str, replayed: &Value, ran: &Value) -> bool {
    if replayed["exact"] == false {
        return false;
    }
    let mut compared = 0;
    for (key, value) in ran.as_object().unwrap().iter().filter(|(key, _)| !APART.contains(&key.as_str())) {
        if key.starts_with("overhead") || key == "instructions_over_native" {
            continue;
        }
        assert_eq!(&replayed[key], value, "{what}: {key}");
        compared += 1;
    }
    assert!(compared > 20, "{what}: {compared} keys");
    true
}

#[test]
fn a_replay_counts_what_a_run_counts() {
    let scratch = Scratch::new();
    // An L2 with every size of the L1: replays are exact.
    let large = r#"/mmu.l2=[{ sizes = ["4K", "2M", "1G"], sets = 64, ways = 4 }]"#;
    let schemes = ["native", "nested", "nested:4K+2M", "shadow", "flat", "reserved", "flat-hw"];
    let schemes = schemes.map(|scheme| format!("{scheme}{large}")).join(",") + ",nested/mmu.l2=[],native,shadow";
    for workload in WORKLOADS {
        let file = record(&scratch, workload);
        let replayed = sweep(&scratch, &file, &schemes);
        let ran = runs(&["--workload", workload, "--scheme", &schemes, "--set", BY_INSTRUCTIONS]);
        assert_eq!(replayed.len(), ran.len());
        for (number, (replayed, ran)) in replayed.iter().zip(&ran).enumerate() {
            let exact = assert_same(&format!("{workload} under {}", ran["scheme"]), replayed, ran);
            assert!(exact || number > 7, "{workload} under {}", ran["scheme"]);
            assert!(ran["instructions"].as_u64().unwrap() > 100_000);
        }
    }
}

#[test]
fn guests_with_large_pages_are_replayed() {
    let scratch = Scratch::new();
    let file = scratch.text("large.rec");
    run(["record", "--workload", "gups:64K", "--page", "2M", "--set", BY_INSTRUCTIONS, "-o", &file]).succeeded();
    let schemes = "native:2M,nested:2M+4K,nested:2M+2M,shadow:2M";
    let replayed = sweep(&scratch, &file, schemes);
    let ran = runs(&["--workload", "gups:64K", "--scheme", schemes, "--set", BY_INSTRUCTIONS]);
    for (replayed, ran) in replayed.iter().zip(&ran) {
        assert_same(&format!("2M under {}", ran["scheme"]), replayed, ran);
    }
    run(["sweep", &file, "--scheme", "nested:4K+2M"]).failed(2, &["pages of 2M"]);
}

/// An array of a TLB level.
fn array(random: &mut Random, sets: &[u64]) -> String {
    let sizes = random.pick(&[r#"["4K"]"#, r#"["4K", "2M"]"#, r#"["4K", "2M", "1G"]"#]);
    let sets = random.pick(sets);
    let ways = if sets == 1 { random.pick(&[2, 8, 32, 64]) } else { random.pick(&[1, 2, 4, 8]) };
    format!("[{{ sizes = {sizes}, sets = {sets}, ways = {ways} }}]")
}

/// A system that may exist.
fn system(random: &mut Random) -> String {
    let mut system = random.pick(&["native", "nested", "nested:4K+2M", "shadow", "flat"]).to_owned();
    let mut add = |one_in: u64, random: &mut Random, setting: &dyn Fn(&mut Random) -> String| {
        if random.one_in(one_in) {
            system = format!("{system}/{}", setting(random));
        }
    };
    add(2, random, &|random| format!("mmu.l1d={}", array(random, &[1, 2, 4, 16])));
    add(2, random, &|random| format!("mmu.l1i={}", array(random, &[1, 4, 8])));
    add(1, random, &|random| format!("mmu.l2={}", array(random, &[16, 64, 256])));
    add(3, random, &|random| {
        let size = |random: &mut Random| random.pick(&[0, 1, 2, 4, 16]);
        let (a, b, c, d) = (size(random), size(random), size(random), size(random));
        format!("mmu.walk_caches={{ guest = [{a}, {b}, 2, 2], host = [{c}, {d}, 2, 2] }}")
    });
    add(3, random, &|random| format!("mmu.nested_tlb={}", random.pick(&["off", "on", "8", "64"])));
    add(3, random, &|random| {
        format!("mmu.replacement.l2={}", random.pick(&["lru", "fifo", "random", "tree-plru", "srrip", "drrip"]))
    });
    add(4, random, &|random| format!("mmu.replacement.l1d={}", random.pick(&["lru", "fifo", "random", "tree-plru"])));
    system
}

/// `RECORD_SYSTEMS` makes it longer, and `RECORD_SEED` repeats it.
#[test]
fn random_systems_replay_as_they_run() {
    let seed = seed("RECORD_SEED");
    let wanted = number("RECORD_SYSTEMS", 6);
    let scratch = Scratch::new();
    let files = WORKLOADS.map(|workload| (workload, record(&scratch, workload)));
    let (mut compared, mut tried, mut exact) = (0, 0, 0);
    while compared < wanted {
        let on = system(&mut Random::nth(seed, tried));
        tried += 1;
        assert!(tried < 20 * wanted, "most systems are refused");
        let all = ["--workload", &WORKLOADS.join(","), "--scheme", &on, "--set", BY_INSTRUCTIONS].map(str::to_owned);
        let json = scratch.text("ran.json");
        let ended = run(["compare", "--json", &json].map(str::to_owned).iter().chain(&all));
        if ended.code == Some(2) {
            // Some arrays are too large for their scheme, or have a policy that they refuse.
            continue;
        }
        ended.said_nothing_wrong();
        let ran: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
        for ((workload, file), ran) in files.iter().zip(ran["runs"].as_array().unwrap()) {
            let replayed = sweep(&scratch, file, &on);
            exact += u64::from(assert_same(&format!("seed {seed}: {workload} under {on}"), &replayed[0], ran));
        }
        compared += 1;
    }
    assert!(exact > 0, "seed {seed}: no replay was exact");
}

/// Systems that one pass counts for, with an L2 that holds each size of the L1.
fn family(random: &mut Random, count: usize) -> String {
    let sizes = r#"["4K", "2M", "1G"]"#;
    let l1 = |random: &mut Random| {
        let (sets, ways) = (random.pick(&[1, 2, 4, 16]), random.pick(&[1, 2, 4, 7, 16]));
        match random.below(3) {
            0 => format!(r#"[{{ sizes = ["4K"], sets = {sets}, ways = {ways} }}]"#),
            1 => format!(
                r#"[{{ sizes = ["4K"], sets = {sets}, ways = {ways} }}, {{ sizes = ["2M", "1G"], sets = 1, ways = 4 }}]"#
            ),
            _ => format!("[{{ sizes = {sizes}, sets = {sets}, ways = {ways} }}]"),
        }
    };
    let pairs = [(l1(random), l1(random)), (l1(random), l1(random))];
    let systems = (0..count).map(|number| {
        let (l1d, l1i) = &pairs[number % pairs.len()];
        let (sets, ways) = (random.pick(&[1, 16, 64]), random.pick(&[1, 3, 4, 12, 40]));
        let l2 = if random.one_in(8) { "[]".to_owned() } else { format!("[{{ sizes = {sizes}, sets = {sets}, ways = {ways} }}]") };
        let cached = random.pick(&[0, 1, 2, 32]);
        format!(
            "native/mmu.l1d={l1d}/mmu.l1i={l1i}/mmu.l2={l2}/mmu.walk_caches={{ guest = [{cached}, 1, 2, 2], host = [0, 0, 0, 0] }}"
        )
    });
    systems.collect::<Vec<_>>().join(",")
}

/// One pass for many systems writes the bytes of replays one by one, with a warm-up and without. `FAMILY_SEED` repeats it.
#[test]
fn one_pass_writes_what_replays_write() {
    let seed = seed("FAMILY_SEED");
    let mut random = Random::new(seed);
    let scratch = Scratch::new();
    for (workload, warmup) in [("gups:64K", "none"), ("bfs:8", "5000"), ("kv:64K", "none")] {
        let file = scratch.text("family.rec");
        run(["record", "--workload", workload, "--warmup", warmup, "--set", BY_INSTRUCTIONS, "-o", &file]).succeeded();
        let systems = family(&mut random, 24);
        let sweep = |output: &str, more: &[&str]| {
            let arguments = ["sweep", &file, "--scheme", &systems, "--inexact", "-o", output];
            // The line with the number of systems is left out of what is quiet.
            let mut command = command(arguments.iter().chain(more));
            let ended = command.env_remove(QUIET).output().unwrap();
            let said = String::from_utf8_lossy(&ended.stderr).into_owned();
            assert!(ended.status.success(), "FAMILY_SEED={seed}: {workload}: {said}");
            said
        };
        let (one, other) = (scratch.text(&format!("{workload}.pass")), scratch.text(&format!("{workload}.replays")));
        let passed = sweep(&one, &["--threads", "2"]);
        let replayed = sweep(&other, &["--one-by-one"]);
        assert!(replayed.contains(", 0 of them in common passes"), "{replayed}");
        let (one, other) = (fs::read_to_string(one).unwrap(), fs::read_to_string(other).unwrap());
        assert_eq!(one, other, "FAMILY_SEED={seed}: {workload}");
        // Some systems are equal.
        let count = one.lines().count();
        let all = passed.contains(&format!(", {count} of them in common passes"));
        assert!(count > 10 && all, "FAMILY_SEED={seed}: {workload}: {count} lines: {passed}");
    }
}

/// TLBs of the default host that a study leaves as they are hold groups of pages that no guest of this machine has: they are no obstacle to a pass.
#[test]
fn the_default_host_has_passes() {
    let scratch = Scratch::new();
    let (file, lines) = (scratch.text("default.rec"), scratch.text("default.jsonl"));
    run(["record", "--workload", "kv:64K", "--set", BY_INSTRUCTIONS, "-o", &file]).succeeded();
    let array = |sets| format!("[{{ sizes = [\"4K\", \"2M\", \"1G\"], sets = {sets}, ways = 4 }}]");
    let values = |key: &str, sets: [u32; 2]| format!("{key}={}", sets.map(array).join(","));
    let (l1d, l2) = (values("mmu.l1d", [1, 16]), values("mmu.l2", [64, 256]));
    let mut sweep = command(["sweep", &file, "--scheme", "native", "--sweep", &l1d, "--sweep", &l2, "-o", &lines]);
    let ended = sweep.env_remove(QUIET).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(said.contains(", 4 of them in common passes"), "{said}");
    // A pass has systems of one L1 side by side. Their lines are in the order of the systems.
    let (other, replayed) = (scratch.text("other.jsonl"), scratch.text("replayed.jsonl"));
    for (to, more) in [(&other, &["--threads", "1"][..]), (&replayed, &["--one-by-one"])] {
        let sweep = ["sweep", &file, "--scheme", "native", "--sweep", &l2, "--sweep", &l1d, "-o", to];
        run(sweep.iter().chain(more)).succeeded();
    }
    let [passes, replays] = [&other, &replayed].map(|path| fs::read_to_string(path).unwrap());
    assert_eq!(passes.lines().count(), 4);
    assert_eq!(passes, replays);
}

#[test]
fn every_engine_records_the_same_bytes() {
    let scratch = Scratch::new();
    let mut recordings = Vec::new();
    for engine in ["match", "threaded", "compiled", "baseline-all", "compiled-all"] {
        let file = scratch.text(engine);
        let engine = format!("engine={engine}");
        run(["record", "--workload", "kv:64K", "--set", &engine, "-o", &file]).said_nothing_wrong();
        let mut reader = recording::Reader::open(fs::File::open(&file).unwrap()).unwrap();
        assert!(reader.summary().events > 100_000);
        let frames = 0..reader.frames().len();
        recordings.push(frames.map(|frame| reader.frame(frame).unwrap().unwrap()).collect::<Vec<_>>());
    }
    assert!(recordings.iter().all(|frames| *frames == recordings[0]));
}

#[test]
fn a_sweep_completes_the_lines_that_a_file_has() {
    let scratch = Scratch::new();
    let file = record(&scratch, "gups:64K");
    let arguments = ["sweep", &file, "--scheme", "native,nested", "--sweep", "mmu.nested_tlb=off,8", "--inexact", "-o"];
    let whole = scratch.text("whole");
    run(arguments.iter().copied().chain([whole.as_str()])).said_nothing_wrong();
    let text = fs::read_to_string(&whole).unwrap();
    assert_eq!(text.lines().count(), 3);
    // A sweep was killed while it wrote its second line.
    let end = text.find('\n').unwrap() + 100;
    let partial = scratch.write("partial", &text[..end]);
    run(arguments.iter().copied().chain([partial.as_str()])).said_nothing_wrong();
    assert_eq!(fs::read_to_string(&partial).unwrap(), text);
    run(arguments.iter().copied().chain([partial.as_str()])).said_nothing_wrong();
    assert_eq!(fs::read_to_string(&partial).unwrap(), text, "nothing is written twice");
    let other = scratch.write("other", "no JSON\n");
    run(arguments.iter().copied().chain([other.as_str()])).failed(2, &["other lines"]);
}

#[test]
fn what_a_replay_cannot_answer_is_refused() {
    let scratch = Scratch::new();
    let file = record(&scratch, "gups:64K");
    let timed = scratch.text("timed.rec");
    let ended = run(["record", "--workload", "gups:64K", "-o", &timed]);
    assert!(ended.code == Some(0) && ended.stderr.contains("guest_time=instructions"), "{ended:#?}");
    for (recording, arguments, says) in [
        (&timed, &["--scheme", "nested"][..], "the guest has used the time"),
        (&file, &["--set", "harts=2"], "harts"),
        (&file, &["--set", "memory=1G"], "memory"),
        (&file, &["--sweep", "fidelity=cycles,core"], "fidelity"),
        (&file, &["--set", "guest_time=cycles"], "guest_time"),
        (&file, &["--scheme", "guest-direct"], "segment"),
        (&file, &["--scheme", "agile"], "within a turn"),
        (&file, &["--scheme", "nested:2M+2M"], "pages of 4K"),
        (&file, &["--set", "host=p550-2024"], "another host"),
        (&file, &["--sweep", "mmu.l3=1,2"], "mmu.l3"),
    ] {
        run(["sweep", recording].iter().copied().chain(arguments.iter().copied())).failed(2, &[says]);
    }
    let output = scratch.text("none.rec");
    for (arguments, says) in [
        (&["--workload", "gups", "--harts", "2"][..], "one hart"),
        (&["--workload", "gups", "--set", "fidelity=cycles"], "fidelity"),
        (&["--workload", "gups", "--timeout", "9"], "timeout"),
        (&["--workload", "gupps"], "gupps"),
        (&["--workload", "gups", "--rng"], "virtio"),
        (&[], "--workload"),
    ] {
        run(["record", "-o", &output].iter().copied().chain(arguments.iter().copied())).failed(2, &[says]);
    }
    assert!(!scratch.path("none.rec").exists());
    run(["record", "-o", &output, "--workload", "crash"]).failed(1, &["crash"]);
    assert!(!scratch.path("none.rec").exists(), "a run that fails leaves no recording");
}

#[test]
fn damaged_recordings_end_in_a_line() {
    let scratch = Scratch::new();
    let file = record(&scratch, "gups:64K");
    let content = fs::read(&file).unwrap();
    let damaged = scratch.write("cut.rec", &content[..content.len() / 2]);
    run(["sweep", &damaged, "--scheme", "native"]).failed(2, &["cut.rec", "cut off"]);
    let damaged = scratch.write("text.rec", "not a recording");
    run(["sweep", &damaged, "--scheme", "native"]).failed(2, &["text.rec", "not a recording"]);
    let mut changed = content.clone();
    let middle = changed.len() * 3 / 4;
    changed[middle] ^= 1;
    let damaged = scratch.write("changed.rec", &changed);
    run(["sweep", &damaged, "--scheme", "native"]).failed(1, &["changed.rec", "checksum"]);
    run(["sweep", &scratch.text("missing.rec")]).failed(2, &["missing.rec"]);
}
