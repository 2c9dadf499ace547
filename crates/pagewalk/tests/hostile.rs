//! Guests that go wrong: each ends with a reason and exit code 1, and the hypervisor goes on.

mod common;

use common::{Ended, Scratch, ended, run, slow_host};
use std::process::Command;

const SCHEMES: [&str; 6] = ["native", "nested", "flat", "flat:4K+2M", "flat-hw", "reserved"];

/// Boots vos with `append`, under `scheme`, for at most `seconds` of a slow host's time.
fn boot(scheme: &str, append: &str, seconds: &str, more: &[&str]) -> Ended {
    let scratch = Scratch::new();
    let host = slow_host(&scratch);
    let host = host.each_ref().map(String::as_str);
    let arguments = ["boot", "--scheme", scheme, "--append", append, "--timeout", seconds];
    run([&arguments[..], &host, more].concat())
}

#[test]
fn a_guest_that_loops_for_ever_runs_out_of_time() {
    for scheme in SCHEMES {
        for how in ["spin", "jump", "satp"] {
            boot(scheme, &format!("misbehave={how}"), "2", &[]).failed(1, &["the time limit of 2 guest seconds"]);
        }
        boot(scheme, "workload=spin", "2", &[]).failed(1, &["the time limit of 2 guest seconds"]);
    }
}

#[test]
fn one_hart_that_loops_does_not_stop_the_clock_of_four() {
    for how in ["spin", "jump", "satp"] {
        boot("nested", &format!("misbehave={how}"), "1", &["--harts", "4"]).failed(1, &["the time limit"]);
    }
}

#[test]
fn a_guest_that_waits_for_nothing_is_seen_without_a_limit() {
    for scheme in SCHEMES {
        run(["boot", "--scheme", scheme, "--append", "misbehave=sleep"]).failed(1, &["waits for an interrupt"]);
    }
}

#[test]
fn a_guest_that_panics_fails_with_its_status() {
    for scheme in SCHEMES {
        for (how, printed) in [("panic", "as asked"), ("load", "cause 5")] {
            let end = boot(scheme, &format!("misbehave={how}"), "60", &[]).failed(1, &["status 255"]);
            assert!(end.stdout.contains("vos: panic") && end.stdout.contains(printed), "{end:#?}");
        }
    }
}

#[test]
fn garbage_in_devices_and_calls_does_no_harm() {
    for scheme in SCHEMES {
        for (how, devices) in [("plic", &[][..]), ("sbi", &[]), ("virtio", &["--net", "--rng"])] {
            let end = boot(scheme, &format!("misbehave={how}"), "100000", devices).succeeded();
            assert!(end.stdout.contains("hello: ok"), "{end:#?}");
        }
    }
}

#[test]
fn garbage_in_a_disks_queue_leaves_its_image_alone() {
    let scratch = Scratch::new();
    let content = vec![0x5a; 1 << 16];
    let image = scratch.write("image", &content);
    let disk = format!("{image},write");
    boot("nested", "misbehave=virtio", "100000", &["--disk", &disk]).succeeded();
    assert!(std::fs::read(image).unwrap() == content, "the image has changed");
}

#[test]
fn a_program_that_fails_fails_the_run() {
    let scratch = Scratch::new();
    let json = scratch.text("out.json");
    let arguments = ["compare", "--workload", "hello,crash", "--scheme", "native,nested", "--json", &json];
    let end = run(arguments).failed(1, &["crash under native:4K", "status 139", "1 more run"]);
    assert!(end.stdout.contains("hello"), "the table shows what there is: {end:#?}");
    boot("native", "workload=crash", "60", &[]).failed(1, &["status 139"]);
    boot("native", "workload=gups size=3", "60", &[]).failed(1, &["status 2"]);
}

#[test]
fn a_workload_that_runs_out_of_memory_fails() {
    // Room for the table, and none for the kernel and its page tables beside it.
    let end = run(["compare", "--workload", "gups:32M", "--memory", "32832K", "--scheme", "native"]);
    end.failed(1, &["gups:32M under native:4K", "status"]);
}

#[test]
fn a_reader_that_goes_away_ends_the_guest() {
    // A shell's pipe, as in `pagewalk boot | head -1`: the guest would spin for ever.
    let line = format!("{} boot --append 'workload=hello procs=50' | head -n 1", env!("CARGO_BIN_EXE_pagewalk"));
    let end = ended(Command::new("timeout").args(["60", "sh", "-c", &line]));
    assert_eq!(end.stdout.lines().count(), 1, "{end:#?}");
    assert!(!end.stderr.contains("panicked"), "{end:#?}");
}

#[test]
fn a_limit_that_is_not_reached_changes_nothing() {
    run(["compare", "--workload", "hello", "--timeout", "3600", "--scheme", "native"]).succeeded();
}
