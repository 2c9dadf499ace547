//! The supervisor binary interface as a guest finds it: `guests/sbi`, which checks it against the specification call by call, and what needs a
//! user at the console.

mod common;

use common::kernel::{A0, A7, ECALL, addi, image, jump_back};
use common::{Ended, Scratch, command, run};
use std::io::Write;
use std::process::Stdio;

const TEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guests/sbi/sbi-test.elf");
const ALL: [&str; 6] = ["--set", "sbi.pmu=true", "--set", "sbi.susp=true", "--set", "mmu.ad=switchable"];

/// Runs the checks; all of them hold, and as many are left out as expected.
fn checks(more: &[&str], skipped: usize) -> Ended {
    let end = run([&["boot", "--guest", TEST, "--memory", "64M", "--timeout", "100"][..], more].concat()).succeeded();
    assert!(!end.stdout.contains("FAIL"), "{}", end.stdout);
    let sum = format!(" 0 failed, {skipped} skipped");
    assert!(end.stdout.contains(&sum), "{more:?}: {}", end.stdout);
    end
}

/// Left out: steal time, on a processor of one's own.
#[test]
fn every_call_answers_as_the_specification_says() {
    for engine in ["threaded", "match", "compiled", "baseline-all", "compiled-all"] {
        for scheme in ["native", "nested", "flat"] {
            let engine = format!("engine={engine}");
            checks(&[&ALL[..], &["--harts", "2", "--scheme", scheme, "--set", &engine]].concat(), 1);
        }
    }
    checks(&[&ALL[..], &["--harts", "2", "--set", "isa.sstc=false"]].concat(), 1);
    // And what takes two harts.
    checks(&ALL, 3);
    checks(&[&ALL[..4], &["--harts", "2", "--scheme", "shadow"]].concat(), 2);
}

#[test]
fn extensions_that_are_off_are_absent() {
    // Without PMU and SUSP, and with one way of setting A and D bits.
    checks(&["--harts", "2"], 4);
    let off = ["--set", "sbi.legacy=false", "--set", "sbi.fwft=false", "--set", "sbi.sta=false"];
    checks(&[&off[..], &["--harts", "2"]].concat(), 5);
}

#[test]
fn set_timer_with_a_past_time_is_pending_at_once() {
    for sstc in ["isa.sstc=true", "isa.sstc=false"] {
        let end = checks(&["--harts", "2", "--set", sstc], 4);
        for line in ["a time in the past is pending at once", "a masked timer becomes pending while the hart runs on"] {
            assert!(end.stdout.contains(&format!("PASS: time: {line}")), "{}", end.stdout);
        }
    }
}

#[test]
fn a_legacy_kernel_prints_and_shuts_down() {
    let mut code: Vec<u32> =
        b"hi\n".iter().flat_map(|&byte| [addi(A0, 0, i32::from(byte)), addi(A7, 0, 1), ECALL]).collect();
    code.extend([addi(A7, 0, 8), ECALL, jump_back(0)]);
    let scratch = Scratch::new();
    let guest = scratch.write("guest.img", image(&code));
    let end = run(["boot", "--guest", &guest, "--scheme", "nested"]).succeeded();
    assert_eq!(end.stdout, "hi\n");
}

#[test]
fn a_legacy_kernel_reads_what_is_typed() {
    // Prints what getchar returns, until that is a `q`: t0 = 'q'; loop { getchar; if a0 < 0 continue; putchar; if a0 was not t0 continue }
    let (t0, t1) = (5, 6);
    let branch_back = |a: u32, b: u32, kind: u32, bytes: u32| {
        let o = bytes.wrapping_neg();
        (o >> 12 & 1) << 31
            | (o >> 5 & 63) << 25
            | b << 20
            | a << 15
            | kind << 12
            | (o >> 1 & 15) << 8
            | (o >> 11 & 1) << 7
            | 0x63
    };
    let (not_equal, less) = (1, 4);
    let code = [
        addi(t0, 0, i32::from(b'q')),
        addi(A7, 0, 2),
        ECALL,
        branch_back(A0, 0, less, 8),
        addi(t1, A0, 0),
        addi(A7, 0, 1),
        ECALL,
        branch_back(t1, t0, not_equal, 24),
        addi(A7, 0, 8),
        ECALL,
    ];
    let scratch = Scratch::new();
    let guest = scratch.write("guest.img", image(&code));
    let mut child = command(["boot", "--guest", &guest, "--scheme", "nested"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut keys = child.stdin.take().expect("its standard input is a pipe");
    keys.write_all(b"abcq").expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stdout, b"abcq");
    drop(keys);
}
