//! `pagewalk run`.

mod common;

use common::kernel::{image, jump_back};
use common::{QUIET, Scratch, command, ended};
use serde_json::Value;
use std::fs;
use std::path::Path;

const HOST: &str = r#"
processors = 2
slice_us = 250
[config]
scheme = "nested"
memory = "64M"
timeout = 20
[[guest]]
name = "work"
count = 2
workload = "qsort"
options = "size=16K procs=8 handshake=area purge=partners"
processors = 2
spin = "wapd"
"#;

#[test]
fn a_host_runs_and_its_reports_are_whole_and_repeatable() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("host.toml"), HOST).unwrap();
    let run = |json: &str| {
        let arguments = ["run", "host.toml", "--json", json, "--trace", "trace.json"];
        ended(command(arguments).current_dir(directory.path())).succeeded()
    };
    let table = run("first.json").stdout;
    assert!(table.contains("work-1") && table.contains("work-2") && table.contains("rho %"), "{table}");
    run("second.json");
    let first = fs::read(at("first.json")).unwrap();
    assert_eq!(first, fs::read(at("second.json")).unwrap());
    let report: Value = serde_json::from_slice(&first).unwrap();
    assert_eq!(report["guests"][1]["ends"], 8);
    assert!(report["guests"][0]["waits"]["count"].as_u64().unwrap() > 0);
    let trace: Value = serde_json::from_slice(&fs::read(at("trace.json")).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    assert!(events.iter().any(|event| event["ph"] == "X" && event["tid"] == 1), "a vCPU ran on pCPU 1");
}

#[test]
fn a_host_that_cannot_be_is_refused_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    for (text, word) in
        [("processors = 1", "guest"), (&HOST.replace("wapd", "wopt"), "wopt"), ("nonsense", "host.toml")]
    {
        fs::write(directory.path().join("host.toml"), text).unwrap();
        ended(command(["run", "host.toml"]).current_dir(directory.path())).failed(2, &["host.toml", word]);
    }
}

#[test]
fn spin_methods_stand_side_by_side() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("host.toml"), HOST).unwrap();
    let run =
        |arguments: &[&str]| ended(command(["run", "host.toml"].iter().chain(arguments)).current_dir(directory.path()));
    let table = run(&["--spin", "rslp,none", "--json", "both.json"]).succeeded().stdout;
    let rows: Vec<&str> = table.lines().skip(1).take(2).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(rows, ["rslp", "none"], "{table}");
    let json =
        |name: &str| -> Value { serde_json::from_slice(&fs::read(directory.path().join(name)).unwrap()).unwrap() };
    run(&["--spin", "rslp", "--json", "one.json"]).succeeded();
    let beside = json("both.json")["runs"][0].take();
    assert_eq!(beside["total"]["spin"], "rslp");
    assert_eq!(beside, json("one.json"), "a method's run is the same beside others");
    assert_eq!(json("both.json")["runs"][1]["guests"][0]["spin"], "none");
    run(&["--spin", "wopt"]).failed(2, &["--spin: unknown spin method `wopt`; did you mean `wopd`?"]);
    run(&["--spin", "rslp,none", "--trace", "trace.json"]).failed(2, &["--trace"]);
}

/// The file of `experiments/spin` of that name.
fn experiment(name: &str) -> String {
    format!("{}/../../experiments/spin/{name}.toml", env!("CARGO_MANIFEST_DIR"))
}

#[test]
#[cfg_attr(debug_assertions, ignore = "slow without optimization")]
fn a_guest_that_loses_processors_by_spinning_loses_none_under_rslp_and_wapd() {
    let directory = tempfile::tempdir().unwrap();
    let report = directory.path().join("heavy.json");
    let arguments = ["run", &experiment("heavy"), "--spin", "rslp,wopd,wapd", "--json", report.to_str().unwrap()];
    ended(&mut command(arguments)).succeeded();
    let report: Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
    let lost = |run: usize| -> u64 {
        let guests = report["runs"][run]["guests"].as_array().unwrap();
        guests.iter().map(|guest| guest["processors_lost"].as_u64().unwrap()).sum()
    };
    assert_eq!((lost(0), lost(2)), (0, 0));
    assert!(lost(1) > 0, "WOPD lets excessive spins through (section 3.3.2)");
}

/// Each transfer of a disk is a transaction, and so is the end of each process.
#[test]
#[cfg_attr(debug_assertions, ignore = "slow without optimization")]
fn heavy_input_and_output_loses_processors_under_wopd_alone() {
    let directory = tempfile::tempdir().unwrap();
    let report = directory.path().join("io.json");
    let arguments = ["run", &experiment("heavy-io-5"), "--spin", "rslp,wopd,wapd", "--json", report.to_str().unwrap()];
    ended(&mut command(arguments)).succeeded();
    let report: Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
    let sum = |run: usize, key: &str| -> u64 {
        let guests = report["runs"][run]["guests"].as_array().unwrap();
        guests.iter().map(|guest| guest[key].as_u64().unwrap()).sum()
    };
    assert_eq!((sum(0, "processors_lost"), sum(2, "processors_lost")), (0, 0));
    assert!(sum(1, "processors_lost") > 0, "{report:#}");
    // 60 transfers, and 16 to read all back, of 48 processes in 5 guests; a hart may miss to count its last process as another ends the guest.
    let all = 5 * 48 * (60 + 16 + 1);
    assert!((all - 5..=all).contains(&sum(0, "ends")), "{report:#}");
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn linux_on_shared_processors_serves_more_with_spin_control_than_without() {
    let methods = "none,wapd,directed-yield,rslp";
    // With a quarter of the requests.
    let text = fs::read_to_string(experiment("memcached")).unwrap();
    assert!(text.contains("-x 10000"), "{text}");
    let scratch = Scratch::new();
    let host = scratch.write("host.toml", text.replace("-x 10000", "-x 2500"));
    let printed = ended(&mut command(["run", &host, "--spin", methods, "--output"]));
    let printed = printed.succeeded().stdout;
    let throughput: Vec<f64> =
        printed.split("TPS: ").skip(1).map(|rest| rest.split_whitespace().next().unwrap().parse().unwrap()).collect();
    let [none, with_control @ ..] = &throughput[..] else { panic!("{printed}") };
    assert_eq!(with_control.len(), 3, "{printed}");
    // Which method is best depends on where each vCPU is when the rival's slices end.
    let best = with_control.iter().copied().fold(0.0, f64::max);
    assert!(best >= 2.0 * none, "transactions per second: {throughput:?} with {methods}");
}

/// Guests with pCPUs of their own that spin, miss, wait for ever and run until the time limit.
const INDEPENDENT: &str = r#"
processors = 8
[config]
memory = "64M"
timeout = 1
host.clock_hz = 100_000_000
[[guest]]
name = "spins"
workload = "qsort"
options = "size=16K procs=8 handshake=area purge=partners"
processors = 2
allocation = [1, 4]
[[guest]]
name = "misses"
workload = "gups"
options = "size=2M updates=100000"
allocation = [0]
[[guest]]
name = "yields"
workload = "qsort"
options = "size=8K procs=12 handshake=area purge=partners spins=100"
processors = 3
allocation = [2, 3, 7]
spin = "yield"
[[guest]]
name = "waits"
guest = "waits.img"
run = "-"
allocation = [5]
[[guest]]
name = "loops"
guest = "loops.img"
run = "-"
allocation = [6]
"#;

/// What `run` prints and writes for host.toml in `directory`, whose guests do not all come to a good end where `code` is 1.
fn printed(directory: &Path, code: i32, arguments: &[&str]) -> (String, String, Vec<u8>) {
    let all = [&["run", "host.toml", "--output", "--json", "report.json"], arguments].concat();
    let ended = ended(command(all).env(QUIET, "1").current_dir(directory));
    assert_eq!(ended.code, Some(code), "{}", ended.stderr);
    (ended.stdout, ended.stderr, fs::read(directory.join("report.json")).unwrap())
}

/// Each has a machine of its own where there are threads for it. One machine has all where there is one thread, or where someone looks at the host.
#[test]
fn independent_guests_give_the_same_bytes_on_any_number_of_threads() {
    const WFI: u32 = 0x1050_0073;
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("waits.img"), image(&[WFI, jump_back(4)])).unwrap();
    fs::write(directory.path().join("loops.img"), image(&[jump_back(0)])).unwrap();
    fs::write(directory.path().join("host.toml"), INDEPENDENT).unwrap();
    for scheme in ["nested", "shadow", "flat"] {
        let scheme = format!("scheme={scheme}");
        let run = |arguments: &[&str]| printed(directory.path(), 1, &[&["--set", &scheme], arguments].concat());
        let one = run(&["--threads", "1"]);
        let report: Value = serde_json::from_slice(&one.2).unwrap();
        let outcome = |guest: usize| report["guests"][guest]["outcome"].as_str().unwrap();
        assert!(outcome(3).contains("wait") && outcome(4).contains("limit"), "{} / {}", outcome(3), outcome(4));
        assert!(one.1.contains("`waits`"), "{}", one.1);
        for threads in ["2", "3"] {
            assert!(one == run(&["--threads", threads]), "{scheme}, {threads} threads");
        }
        assert!(one == run(&["--trace", "trace.json"]), "{scheme}, with a trace");
    }
}

/// Timers, and a disk that takes its time.
#[test]
#[ignore = "boots Linux"]
fn independent_linux_guests_give_the_same_bytes_on_any_number_of_threads() {
    let directory = tempfile::tempdir().unwrap();
    let guest = |name: &str, first: usize, command: &str| {
        format!(
            "[[guest]]\nname = '{name}'\nguest = 'linux'\nprocessors = 2\nallocation = [{first}, {}]\n\
             disks = ['blank:2M']\nrun = '{command}'\n",
            first + 1
        )
    };
    let host = [
        "processors = 6\n[config]\nscheme = 'nested'\nmemory = '128M'\ndisk.latency_us = 70\n".to_owned(),
        guest("reads", 0, "dd if=/dev/vda of=/dev/null bs=64k; sleep 0.02; cat /proc/interrupts"),
        guest("counts", 4, "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done & sleep 0.01; wait; cat /proc/uptime"),
    ];
    fs::write(directory.path().join("host.toml"), host.concat()).unwrap();
    let one = printed(directory.path(), 0, &["--threads", "1"]);
    assert!(one.0.contains("virtio"), "{}", one.0);
    assert!(one == printed(directory.path(), 0, &["--threads", "2"]), "two threads");
}

#[test]
fn why_one_thread_runs_all_guests_is_said() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("host.toml"), HOST).unwrap();
    let (_, said, _) = printed(directory.path(), 0, &["--threads", "2"]);
    assert!(said.contains("one thread of the host runs all guests: guests share pCPUs"), "{said}");
}
