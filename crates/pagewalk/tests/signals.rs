//! Signals: what asks the process to end, and what the kernel sends for what it did.

mod common;
mod kernel;

use common::{QUIET, Scratch, run};
use kernel::Kernel;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const ENDING: [Signal; 4] = [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM];

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

fn start(arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pagewalk"));
    command.args(arguments).env(QUIET, "1").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // QUIT leaves no core here.
    command.current_dir(std::env::temp_dir()).spawn().expect("pagewalk starts")
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("it runs");
}

/// Waits for the end; what does not end is killed.
fn end(mut child: Child) -> Output {
    let since = Instant::now();
    while child.try_wait().expect("it can be waited for").is_none() {
        if since.elapsed() > PATIENCE {
            child.kill().expect("it runs");
        }
        sleep(Duration::from_millis(5));
    }
    child.wait_with_output().expect("it has ended")
}

/// A kernel's file that runs for ever.
fn endless(scratch: &Scratch) -> String {
    scratch.write("kernel", Kernel::default().spin().elf())
}

fn shell(line: &str) -> Output {
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).env("PAGEWALK", env!("CARGO_BIN_EXE_pagewalk")).env(QUIET, "1").stdin(Stdio::null());
    shell.output().expect("sh starts")
}

#[test]
fn a_signal_leaves_no_temporary_file_and_is_what_ended_the_process() {
    for signal in ENDING {
        for command in ["boot", "compare"] {
            let scratch = Scratch::new();
            let kernel = endless(&scratch);
            let out = scratch.text("out");
            let option = if command == "boot" { "--snapshot" } else { "--json" };
            let child = start(&[command, "--guest", &kernel, "--scheme", "native", option, &out]);
            sleep(Duration::from_secs(1));
            send(&child, signal);
            let ended = end(child);
            assert_eq!(ended.status.signal(), Some(signal.as_raw()), "{command}: {ended:?}");
            assert_eq!(scratch.names(), ["kernel"], "{command} under {signal:?}");
        }
    }
}

/// Regression: of an interrupted comparison the finished runs were printed, and its JSON was not written.
#[test]
fn the_json_of_an_interrupted_comparison_has_the_finished_runs_and_names_the_others() {
    for signal in [Signal::INT, Signal::TERM] {
        let scratch = Scratch::new();
        let out = scratch.text("out.json");
        let mut command = Command::new(env!("CARGO_BIN_EXE_pagewalk"));
        command.args([
            "compare",
            "--workload",
            "hello",
            "--workload",
            "gups:1G",
            "--scheme",
            "native,nested/mmu.nested_tlb=off",
        ]);
        command.args(["--threads", "1", "--json", &out]).current_dir(std::env::temp_dir());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).env_remove(QUIET);
        let mut child = command.spawn().expect("pagewalk starts");
        let mut messages = BufReader::new(child.stderr.take().expect("it is piped")).lines().map_while(Result::ok);
        // One workload ends at once on both systems, and the other goes on for many seconds.
        assert!(messages.any(|line| line.contains("2 of 4: hello under nested")), "no run finished");
        send(&child, signal);
        let said: Vec<String> = messages.collect();
        assert!(said.iter().any(|line| line.contains("2 of 4 runs finished, none is kept")), "{said:#?}");
        let ended = end(child);
        assert_eq!(ended.status.signal(), Some(signal.as_raw()), "{ended:?}");
        let report: Value = serde_json::from_slice(&fs::read(&out).unwrap()).unwrap();
        assert_eq!(report["incomplete"], true);
        let finished: Vec<&Value> = report["runs"].as_array().unwrap().iter().map(|run| &run["workload"]).collect();
        assert_eq!(finished, ["hello", "hello"]);
        let missing =
            |scheme: &str, settings: Value| json!({"workload": "gups:1G", "scheme": scheme, "settings": settings});
        let nested = missing("nested:4K+4K", json!({"mmu.nested_tlb": "off"}));
        assert_eq!(report["missing"], json!([missing("native:4K", json!({})), nested]));
        let page = run(["report", &out, &scratch.text("page.html")]);
        let note = "out.json: the comparison was interrupted, and 2 runs are missing";
        assert!(page.code == Some(0) && page.stderr.contains(note), "{page:?}");
    }
}

#[test]
fn the_json_of_a_whole_comparison_lacks_nothing() {
    let scratch = Scratch::new();
    let out = scratch.text("out.json");
    run(["compare", "--workload", "hello", "--scheme", "native", "--json", &out]).succeeded();
    let report: Value = serde_json::from_slice(&fs::read(&out).unwrap()).unwrap();
    assert_eq!((&report["incomplete"], &report["missing"]), (&Value::Null, &Value::Null));
}

#[test]
fn a_signal_that_nohup_ignores_stays_ignored() {
    let scratch = Scratch::new();
    let kernel = endless(&scratch);
    let pagewalk = env!("CARGO_BIN_EXE_pagewalk");
    let line = format!("trap '' HUP; exec {pagewalk} boot --guest {kernel}");
    let child = Command::new("sh").args(["-c", &line]).stdin(Stdio::null()).spawn().expect("sh starts");
    sleep(Duration::from_secs(1));
    send(&child, Signal::HUP);
    sleep(Duration::from_millis(300));
    send(&child, Signal::TERM);
    assert_eq!(end(child).status.signal(), Some(Signal::TERM.as_raw()));
}

#[test]
fn a_standard_error_that_takes_nothing_changes_no_exit_code() {
    for closed in ["2>&-", "2>/dev/full"] {
        let usage = shell(&format!("$PAGEWALK boot --scheme nonsense {closed}"));
        assert_eq!(usage.status.code(), Some(2), "{closed}: {usage:?}");
        let failed = shell(&format!("$PAGEWALK boot --append misbehave=panic {closed}"));
        assert_eq!(failed.status.code(), Some(1), "{closed}: {failed:?}");
    }
}

#[test]
fn a_standard_output_that_takes_nothing_fails_in_one_line() {
    let full = shell("$PAGEWALK explain > /dev/full");
    assert_eq!(full.status.code(), Some(1), "{full:?}");
    assert_eq!(String::from_utf8_lossy(&full.stderr).lines().count(), 1, "{full:?}");
    for line in ["$PAGEWALK explain | head -1", "$PAGEWALK boot --run hello | head -1", "$PAGEWALK --help | head -1"] {
        let headed = shell(line);
        assert!(headed.status.success() && headed.stderr.is_empty(), "{headed:?}");
    }
}

#[test]
fn a_limit_of_file_size_fails_in_one_line() {
    let scratch = Scratch::new();
    let out = scratch.text("out.json");
    let limited =
        shell(&format!("ulimit -f 1; $PAGEWALK compare --workload hello --threads 1 --json {out} > /dev/null"));
    let line = String::from_utf8_lossy(&limited.stderr);
    assert_eq!(limited.status.code(), Some(1), "{limited:?}");
    assert!(line.lines().count() == 1 && line.contains("out.json") && line.contains("too large"), "{line}");
    assert!(scratch.names().is_empty(), "nothing is left");
}

#[test]
fn a_snapshot_that_is_truncated_while_it_is_mapped_fails_in_one_line() {
    let scratch = Scratch::new();
    // 32 MiB that are not zero, of which the guest then reads every page again and again.
    let (offset, bytes) = (4 << 20, 32 << 20);
    let kernel =
        scratch.write("kernel", Kernel::default().fill(offset, bytes).marker(1).read_for_ever(offset, bytes).elf());
    let snapshot = scratch.text("snapshot");
    run(["boot", "--guest", &kernel, "--memory", "64M", "--snapshot", &snapshot]).succeeded();
    let child = start(&["boot", "--restore", &snapshot]);
    sleep(Duration::from_secs(1));
    fs::File::options().write(true).open(&snapshot).unwrap().set_len(4096).unwrap();
    // Pages that were read before are no longer in the page cache: the next read of each finds them gone.
    let ended = end(child);
    let line = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    assert!(line.lines().count() == 1 && line.contains("mapped file"), "{line}");
}
