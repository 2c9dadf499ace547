//! The kernel of time sharing: processes that sleep, accounts, and pages that take time to come back.

mod common;

use common::{Scratch, command, ended};
use serde_json::Value;
use std::fs;

/// Two VMs of two vCPUs on two pCPUs, whose terminals think.
const TERMINALS: &str = r#"
processors = 2
[config]
scheme = "nested"
host = "hitachi-1985"
timeout = 20
[[guest]]
name = "tss"
count = 2
workload = "terminals"
options = "procs=30 think=50000 duration=1000000 updates=4 accounting=on handshake=area purge=partners"
processors = 2
memory = "64M"
"#;

/// The outcome of a guest whose processes have all logged off.
const DONE: &str = "the guest's command ended with status 0";

/// What `run` with these arguments reports of the host of `text`.
fn report(text: &str, arguments: &[&str]) -> Value {
    let scratch = Scratch::new();
    let host = scratch.write("host.toml", text);
    let json = scratch.path("report.json");
    let run = ["run", &host, "--json", json.to_str().unwrap(), "--set", "host.clock_hz=180000000"];
    ended(&mut command(run.iter().chain(arguments))).succeeded();
    serde_json::from_slice(&fs::read(json).unwrap()).unwrap()
}

fn sum(report: &Value, pointer: &str) -> u64 {
    let guests = report["guests"].as_array().unwrap();
    guests.iter().map(|guest| guest.pointer(pointer).unwrap().as_u64().unwrap()).sum()
}

#[test]
fn terminals_make_as_many_transactions_as_they_have_time_to_think() {
    let one = TERMINALS.replace("count = 2", "count = 1").replace("procs=30 think=50000", "procs=20 think=100000");
    let report = report(&one, &["--spin", "rslp"]);
    // Twenty terminals in a second, with 100 ms to think, and about half a millisecond for a transaction that next to never waits.
    let expected = 20.0 * 1.0 / (0.1 + 0.0005);
    let ends = sum(&report, "/ends") as f64;
    assert!((ends - expected).abs() < 3.0 * expected.sqrt(), "{ends} transactions, {expected:.0} expected");
    let utilisation = report["guests"][0]["utilisation"].as_f64().unwrap();
    assert!((0.02..0.4).contains(&utilisation), "{utilisation}");
}

#[test]
fn guests_call_for_all_three_causes_of_spins_and_each_run_is_the_same() {
    // So many that a host of two pCPUs has always something to do.
    let busy = TERMINALS.replace("procs=30 think=50000", "procs=60 think=2000");
    let first = report(&busy, &["--spin", "rslp"]);
    for cause in ["lock", "process", "request"] {
        assert!(sum(&first, &format!("/spin_calls/{cause}")) > 0, "{cause}: {first:#}");
    }
    assert_eq!(first, report(&busy, &["--spin", "rslp"]));
    let without = report(&busy.replace("accounting=on", "accounting=off"), &["--spin", "rslp"]);
    let starting = sum(&without, "/spin_calls/process");
    assert!(starting < sum(&first, "/spin_calls/process"), "the other harts' start alone: {starting}");
}

/// A hart that goes off line gives its sleeping processes to another: none is left asleep, which would run into the time limit.
#[test]
fn a_hart_that_goes_off_line_leaves_no_process_asleep() {
    let spinning = TERMINALS
        .replace("procs=30 think=50000", "procs=60 think=20000")
        .replace("handshake=area", "handshake=area spins=30")
        .replace("processors = 2\nmemory", "processors = 4\nmemory");
    let report = report(&spinning, &["--spin", "none"]);
    assert!(sum(&report, "/processors_lost") > 0, "{report:#}");
    for guest in report["guests"].as_array().unwrap() {
        assert_eq!(guest["outcome"], DONE);
        assert!(guest["ends"].as_u64().unwrap() > 60, "{guest:#}");
    }
}

#[test]
fn batch_reads_what_it_wrote_and_needs_a_disk() {
    let batch = TERMINALS
        .replace("workload = \"terminals\"", "workload = \"batch\"\ndisks = [\"blank:1M\"]")
        .replace("procs=30 think=50000 duration=1000000 updates=4", "procs=3 size=4K iterations=3 duration=500000");
    let report = report(&batch, &["--spin", "rslp"]);
    assert!(sum(&report, "/ends") > 20, "{report:#}");
    let without = ended(&mut command(["boot", "--run", "batch"]));
    assert_eq!(without.code, Some(1), "{without:?}");
    assert!(without.stdout.contains("batch: FAILED the disk has 0 sectors: process 1 needs 128"), "{without:?}");
}

/// The nanoseconds of the region of interest, and pages that came back.
fn jobs(pagein: &str) -> (u64, u64) {
    let append = format!("spaces=4 frames=300 iterations=10 updates=100 replace=fifo ticks=0 {pagein}");
    let said = ended(&mut command(["boot", "--run", "waiting-jobs", "--append", &append])).succeeded().stdout;
    let figure = |name: &str| {
        let word = said.split_whitespace().find_map(|word| word.strip_prefix(name)).unwrap_or_else(|| panic!("{said}"));
        word.parse().unwrap()
    };
    (figure("ns="), figure("page_ins="))
}

#[test]
fn pages_take_their_time_to_come_back() {
    let (at_once, pages) = jobs("");
    assert!(pages > 20, "{pages}");
    let (late, pages) = jobs("pagein=25000");
    // Spaces wait at the same time, but for each space one page after the other.
    let one_after_another = pages * 25_000_000;
    assert!(late > at_once + one_after_another / 8 && late < at_once + one_after_another, "{at_once} {late} {pages}");
}

#[test]
fn what_cannot_be_ends_the_guest_with_a_reason() {
    for (run, append, status, reason) in [
        ("terminals", "accounting=perhaps", 255, "vos: panic: command line: accounting=perhaps: no such value"),
        ("waiting-jobs", "pagein=soon", 255, "vos: panic: command line: pagein=soon: no such value"),
        ("terminals", "size=64", 2, "terminals: size=64: must be in 4096 to 1048576"),
        ("terminals", "procs=3 frames=7", 2, "terminals: frames=7: not an option of this workload"),
    ] {
        let ended = ended(&mut command(["boot", "--run", run, "--append", append]));
        assert_eq!(ended.code, Some(status), "{ended:?}");
        assert!(ended.stdout.contains(reason), "{ended:?}");
    }
}
