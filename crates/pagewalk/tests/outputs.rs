//! Outputs that are no ordinary files: what has the name stays what it is.

mod common;

use common::{QUIET, Scratch, command, ended, run};
use rustix::fs::{CWD, FileType, makedev, mknodat};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::process::{Command, Stdio};

/// A short run with a report.
const RUN: [&str; 7] = ["compare", "--workload", "hello", "--scheme", "native", "--threads", "1"];

fn report(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(text)))
}

/// A line of bash, in which `$PAGEWALK` is the command and `$RUN` a short run with a report.
fn bash(line: &str) -> std::process::Output {
    let mut bash = Command::new("bash");
    bash.args(["-c", line]).env("PAGEWALK", env!("CARGO_BIN_EXE_pagewalk")).env("RUN", RUN.join(" ")).env(QUIET, "1");
    bash.stdin(Stdio::null()).output().expect("bash starts")
}

#[test]
fn an_output_does_not_replace_a_device_by_a_file() {
    let scratch = Scratch::new();
    let device = scratch.path("null");
    if mknodat(CWD, &device, FileType::CharacterDevice, 0o666.into(), makedev(1, 3)).is_err() {
        eprintln!("not tested: only root makes devices");
        return;
    }
    run([&RUN[..], &["--json", &scratch.text("null"), "--html", &scratch.text("null")]].concat()).succeeded();
    assert!(fs::symlink_metadata(&device).unwrap().file_type().is_char_device());
    assert_eq!(scratch.names(), ["null"]);
}

#[test]
fn an_output_goes_through_a_fifo_which_stays_one() {
    let scratch = Scratch::new();
    let fifo = scratch.path("fifo");
    mknodat(CWD, &fifo, FileType::Fifo, 0o600.into(), 0).unwrap();
    let reader = {
        let fifo = fifo.clone();
        std::thread::spawn(move || fs::read(fifo).unwrap())
    };
    run([&RUN[..], &["--json", &scratch.text("fifo")]].concat()).succeeded();
    assert_eq!(report(&reader.join().unwrap())["runs"][0]["workload"], "hello");
    assert!(fs::symlink_metadata(&fifo).unwrap().file_type().is_fifo());
}

#[test]
fn an_output_follows_a_link_and_leaves_it() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("there")).unwrap();
    symlink("there/report.json", scratch.path("link")).unwrap();
    for _ in 0..2 {
        run([&RUN[..], &["--json", &scratch.text("link")]].concat()).succeeded();
        assert!(scratch.path("link").is_symlink());
        assert_eq!(report(&fs::read(scratch.path("there/report.json")).unwrap())["runs"][0]["workload"], "hello");
    }
    assert_eq!(scratch.names(), ["link", "there"]);
}

#[test]
fn an_output_named_dash_has_standard_output_to_itself() {
    let ended = run([&RUN[..], &["--json", "-"]].concat());
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert_eq!(report(ended.stdout.as_bytes())["runs"][0]["workload"], "hello");
    assert!(ended.stderr.contains("M instr"), "the table is on standard error: {ended:#?}");
    let twice = run([&RUN[..], &["--json", "-", "--html", "-"]].concat());
    twice.failed(1, &["another output goes to standard output"]);
    assert!(!std::path::Path::new("-").exists());
}

#[test]
fn an_output_goes_where_a_shell_has_opened_it() {
    let scratch = Scratch::new();
    let (direct, piped) = (scratch.text("direct"), scratch.text("piped"));
    let by_number = bash(&format!("$PAGEWALK $RUN --json /dev/fd/3 3> {direct} > /dev/null"));
    assert!(by_number.status.success(), "{by_number:?}");
    assert_eq!(report(&fs::read(&direct).unwrap())["runs"][0]["workload"], "hello");
    let substituted = bash(&format!("$PAGEWALK $RUN --json >(cat > {piped}) > /dev/null; wait $!"));
    assert!(substituted.status.success(), "{substituted:?}");
    assert_eq!(report(&fs::read(&piped).unwrap())["runs"][0]["workload"], "hello");
    // Standard output by its name: the table is there, too, and neither overwrites the other.
    let both = scratch.text("both");
    assert!(bash(&format!("$PAGEWALK $RUN --json /dev/stdout > {both}")).status.success());
    let text = fs::read_to_string(&both).unwrap();
    assert!(text.contains("M instr") && text.contains("\"runs\""), "{text}");
    assert_eq!(scratch.names(), ["both", "direct", "piped"]);
}

#[test]
fn a_snapshot_is_refused_where_there_are_no_positions() {
    let mut piped = command(["boot", "--run", "hello", "--snapshot", "-"]);
    let ended = ended(piped.stdout(Stdio::piped()));
    ended.failed(1, &["-: "]);
}

#[test]
fn an_output_that_its_reader_left_fails_in_one_line() {
    let ended = bash("$PAGEWALK $RUN --json >(exec true) > /dev/null; echo $?");
    let (code, line) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert_eq!(code.trim(), "1", "{line}");
    assert!(line.lines().count() == 1 && line.contains("roken pipe"), "{line}");
}
