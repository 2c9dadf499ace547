//! `bench`: programs in Linux, and QEMU beside them.

mod common;

use common::{QUIET, Scratch, command, run};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

/// Programs of a tenth of a second.
const SMALL: &str = "crc:1K,matmul:4,list:16,states:100,json:1K,records:2,core:8,btree:4K";

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn the_programs_that_compute_run_in_linux() {
    let scratch = Scratch::new();
    let json = scratch.text("bench.json");
    let arguments = ["bench", "--workload", SMALL, "--scheme", "nested", "--repeat", "1", "--json", &json];
    run(arguments).succeeded();
    let report: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    let runs = report["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 8);
    for run in runs {
        assert!(run["instructions"].as_u64().unwrap() > 1000 && run["mips"].as_f64().unwrap() > 0.0, "{run}");
    }
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn the_programs_of_packages_succeed() {
    let ended =
        run(["bench", "--workload", "python,deflate,sqlite,gcc", "--scheme", "native", "--repeat", "1"]).succeeded();
    assert_eq!(ended.stdout.lines().filter(|line| line.contains("native:4K")).count(), 4, "{ended:#?}");
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn a_program_is_timed_in_qemu_as_well() {
    let scratch = Scratch::new();
    let json = scratch.text("bench.json");
    let arguments =
        ["bench", "--against", "qemu", "--workload", "crc:1K", "--scheme", "native", "--repeat", "2", "--json", &json];
    let ended = run(arguments);
    ended.succeeded();
    let report: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    let against = &report["against"];
    assert!(against["qemu"].as_str().unwrap().starts_with("QEMU "), "{against}");
    let times = |key: &str| -> Vec<f64> {
        against["runs"][0][key].as_array().unwrap().iter().map(|time| time.as_f64().unwrap()).collect()
    };
    let (ours, theirs) = (times("all_seconds"), times("all_qemu_seconds"));
    assert!(ours.len() == 2 && theirs.len() == 2 && ours.iter().chain(&theirs).all(|time| *time > 0.0));
    let ratio = against["runs"][0]["ratio"].as_f64().unwrap();
    assert!((ratio - theirs[1] / ours[1]).abs() < 1e-9, "{against}");
    let mean = against["geometric_means"][0]["ratio"].as_f64().unwrap();
    assert!((mean - ratio).abs() < 1e-9, "the mean of one program is its ratio");
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn a_program_that_fails_takes_no_other_along() {
    let scratch = Scratch::new();
    let (json, emulator, flag) = (scratch.text("bench.json"), scratch.path("emulator"), scratch.text("flag"));
    // Its first run fails.
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] || [ -e {flag} ] && exec qemu-system-riscv64 \"$@\"\n: >{flag}\nexit 1\n"
    );
    std::fs::write(&emulator, script).unwrap();
    std::fs::set_permissions(&emulator, std::fs::Permissions::from_mode(0o755)).unwrap();
    let emulator = emulator.to_str().unwrap();
    let programs = ["--workload", "crc:1K,states:100", "--scheme", "native", "--repeat", "1", "--json", &json];
    let ended = run(["bench", "--against", emulator].into_iter().chain(programs));
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    let line = |name: &str| ended.stdout.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    assert!(line("crc").contains("failed: QEMU") && !line("states").contains("failed"), "{ended:#?}");
    let report: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    let runs = report["against"]["runs"].as_array().unwrap();
    assert!(runs[0]["ratio"].is_null() && runs[0]["failed"].is_string(), "{report}");
    assert!(runs[1]["ratio"].is_number() && runs[1]["failed"].is_null(), "{report}");
    // A mean is worked out by logarithms, which may change the last bit of a number.
    let mean = report["against"]["geometric_means"][0]["ratio"].as_f64().unwrap();
    assert!((mean - runs[1]["ratio"].as_f64().unwrap()).abs() < 1e-9, "the mean of one program is its ratio: {report}");
}

/// One run that failed, or a signal, lost what was measured before.
#[test]
fn a_benchmark_that_fails_takes_no_other_along() {
    let scratch = Scratch::new();
    let json = scratch.text("bench.json");
    // The simulated time of gups runs out under the second one.
    let schemes = "native,nested/host.clock_hz=10000000/timeout=1";
    let ended =
        run(["bench", "--json", &json, "--workload", "gups:64K,sieve:64K", "--scheme", schemes, "--repeat", "1"]);
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    let report: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    let runs = report["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 4, "{report}");
    for run in runs {
        let good = run["workload"] != "gups" || run["scheme"] == "native:4K";
        assert_eq!((run["mips"].is_number(), run["failed"].is_null()), (good, good), "{run}");
    }
    assert_eq!(ended.stdout.matches("failed: ").count(), 1, "{ended:#?}");
}

#[test]
fn what_was_measured_is_told_when_a_signal_ends_the_command() {
    let scratch = Scratch::new();
    let json = scratch.text("bench.json");
    let benchmarks = ["--workload", "gups:64K", "--scheme", "native", "--repeat", "1000", "--json", &json];
    let mut command = command(["bench"].into_iter().chain(benchmarks));
    let mut bench = command.env_remove(QUIET).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The command prints a line when a run has ended.
    let mut progress = BufReader::new(bench.stderr.take().unwrap()).lines();
    assert!(progress.any(|line| line.unwrap().contains("1 of 1000")), "no run has ended");
    let rest = std::thread::spawn(move || progress.for_each(drop));
    kill_process(Pid::from_child(&bench), Signal::INT).unwrap();
    let mut table = String::new();
    bench.stdout.take().unwrap().read_to_string(&mut table).unwrap();
    assert_eq!(bench.wait().unwrap().signal(), Some(Signal::INT.as_raw()));
    rest.join().unwrap();
    assert!(table.contains("gups"), "{table}");
    let report: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(report["incomplete"], true, "{report}");
    assert!(!report["runs"][0]["all_mips"].as_array().unwrap().is_empty(), "{report}");
}

#[test]
fn what_cannot_be_compared_is_refused() {
    for (arguments, says) in [
        (["--against", "qemu", "--workload", "linux-boot"], "linux-boot is no program"),
        (["--against", "/bin/true", "--workload", "crc"], "does not say that it is QEMU"),
        (["--against", "no-such-emulator", "--workload", "crc"], "no-such-emulator"),
        (["--workload", "gcc:1M", "--repeat", "1"], "gcc has no size"),
    ] {
        let arguments = ["bench"].into_iter().chain(arguments);
        run(arguments).failed(2, &[says]);
    }
}

#[test]
fn a_package_that_was_not_fetched_is_named() {
    let scratch = Scratch::new();
    let cache = scratch.text("cache");
    run(["bench", "--workload", "sqlite", "--cache", &cache]).failed(2, &["pagewalk guest fetch sqlite3"]);
}
