//! Disks of `vos`: what is written is read back, however long the disk takes, and no process waits for ever.

mod common;

use common::{number, run, runs};

/// Arguments of a run of `io` with this many processes.
fn io<'a>(harts: &'a str, append: &'a str, disk: &'a str) -> Vec<&'a str> {
    vec!["--workload", "io", "--memory", "64M", "--harts", harts, "--append", append, "--disk", disk]
}

#[test]
fn processes_read_what_they_wrote_under_every_scheme() {
    for (harts, latency) in [("1", "0"), ("1", "75"), ("3", "0"), ("3", "75")] {
        let setting = format!("disk.latency_us={latency}");
        let mut arguments = io(harts, "procs=20 updates=12 size=32K", "blank:1M");
        arguments.extend(["--scheme", "native,nested,shadow,flat,dual-direct", "--set", &setting]);
        for run in runs(&arguments) {
            assert_eq!(run["outcome"], "the guest's command ended with status 0", "{run:#}");
        }
    }
}

/// One process: no request is done before its time, and the next begins soon behind it.
#[test]
fn a_transfer_takes_as_long_as_the_disk() {
    let nanoseconds = |latency: u64| -> u64 {
        let latency = format!("disk.latency_us={latency}");
        let arguments = ["boot", "--run", "io", "--memory", "64M", "--disk", "blank:1M", "--append", "updates=50"];
        let ended = run(arguments.iter().chain(&["--set", &latency])).succeeded();
        let (_, rest) = ended.stdout.split_once(" ns=").expect("io prints its time");
        rest.trim().parse().unwrap()
    };
    let (at_once, later) = (nanoseconds(0), nanoseconds(100));
    assert!((50 * 100_000..50 * 110_000).contains(&later), "{later}, {at_once} at once");
    assert!(at_once < 50 * 10_000, "{at_once}");
}

/// More processes than the driver has requests, and each transfer one exit for the notification, four for the interrupt.
#[test]
fn more_wait_than_the_disk_takes_at_once() {
    let mut arguments = io("2", "procs=40 updates=4 size=16K", "blank:1M");
    arguments.extend(["--scheme", "nested", "--set", "disk.latency_us=500"]);
    let run = runs(&arguments).remove(0);
    assert_eq!(run["outcome"], "the guest's command ended with status 0", "{run:#}");
    assert!(number(&run, "/exits/external_interrupt") > 0, "{run:#}");
}

#[test]
fn a_disk_that_is_missing_or_too_short_is_the_programs_failure() {
    let boot = |disk: &[&str]| run(["boot", "--run", "io", "--memory", "64M"].iter().chain(disk));
    let ended = boot(&[]);
    assert!(ended.code == Some(1) && ended.stdout.contains("io: FAILED the disk has 0 sectors"), "{ended:?}");
    let ended = boot(&["--disk", "blank:64K"]);
    assert!(ended.code == Some(1) && ended.stdout.contains("process 1 needs 256"), "{ended:?}");
    boot(&["--disk", "blank:100"]).failed(2, &["not even one sector"]);
    boot(&["--disk", "blank:some"]).failed(2, &["blank:some"]);
    boot(&["--disk", "blank:1M", "--set", "disk.latency_us=2000000"])
        .failed(2, &["disk.latency_us", "from 0 to 1000000"]);
}
