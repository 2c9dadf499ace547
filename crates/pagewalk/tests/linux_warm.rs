//! Linux that boots once (`--warm`): runs go on from the state in which it was ready. `cargo xtask test` runs these.

mod common;

use common::{Ended, Scratch, run, runs, within_a_hundredth};

/// Two boots place a program by random numbers that depend on timing.
const SAME_LAYOUT: [&str; 2] = ["--append", "norandmaps"];

fn warm(command: &str, arguments: &[&str]) -> Ended {
    let mut end = run(["boot", "--guest", "linux", "--warm", "--run", command].iter().chain(arguments));
    // The first run on a kind of machine says that it boots.
    end.stderr = end.stderr.lines().filter(|line| !line.contains("booting Linux once")).collect();
    end
}

/// Runs that say nothing of a boot, as a state of such a machine is there.
fn warm_runs(machine: &[&str], arguments: &[&str]) -> Vec<serde_json::Value> {
    for page in ["native:4K", "native:2M"] {
        warm("true", &[machine, &["--scheme", page]].concat()).succeeded();
    }
    runs(&[&["--guest", "linux", "--warm"], machine, arguments].concat())
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn a_warm_command_has_its_bytes_status_and_files_and_leaves_nothing() {
    let scratch = Scratch::new();
    let own = scratch.write("own.sh", "echo own $1\n");
    let end = warm("printf 'a\\r\\nb'; sh /own.sh x > /root/file; cat /root/file; exit 7", &["--file", &own]);
    assert_eq!((end.code, end.stdout.as_str(), end.stderr.as_str()), (Some(7), "a\r\nbown x\n", ""), "{end:#?}");
    let end = warm("ls /root /own.sh", &[]);
    assert_eq!(
        (end.code, end.stdout.as_str()),
        (Some(1), "ls: /own.sh: No such file or directory\n/root:\n"),
        "{end:#?}"
    );
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn a_warm_region_takes_the_cycles_of_one_after_a_boot() {
    let schemes = "native,nested,nested:4K+2M,shadow,agile,flat,flat-hw,reserved,vmm-direct";
    let compare = ["--workload", "kv:4M,gups:4M", "--scheme", schemes];
    let booted = runs(&[&["--guest", "linux"], &compare[..], &SAME_LAYOUT].concat());
    let restored = warm_runs(&SAME_LAYOUT, &compare);
    assert!(restored.iter().all(|run| run["start"] == "warm"), "{restored:#?}");
    within_a_hundredth("kv and gups", &booted, &restored);
    assert_eq!(restored, warm_runs(&SAME_LAYOUT, &compare), "equal runs are equal");
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn warm_systems_have_pages_harts_and_models_of_their_own() {
    let arguments = ["--fidelity", "core", "--workload", "gups:4M", "--scheme", "native,native:2M,nested:2M+2M"];
    let found = warm_runs(&["--harts", "2"], &arguments);
    assert_eq!(found.len(), 3);
    assert!(found.iter().all(|run| run["start"] == "warm"), "{found:#?}");
    let walks = |run: usize| found[run]["walks"]["count"].as_u64().unwrap();
    assert!(walks(1) * 4 < walks(0), "pages of 2M are mapped as after a boot: {} and {}", walks(1), walks(0));
}

#[test]
fn what_no_state_can_hold_is_refused_with_warm() {
    run(["boot", "--warm"]).failed(2, &["--warm", "--guest linux"]);
    run(["boot", "--guest", "debian", "--warm"]).failed(2, &["--warm", "--guest linux"]);
    for other in [&["--net"][..], &["--balloon"], &["--cold"], &["--disk", "blank:1M"], &["--snapshot", "no/such"]] {
        let arguments = [&["boot", "--guest", "linux", "--warm"][..], other].concat();
        run(arguments).failed(2, &["--warm", other[0]]);
    }
    run(["record", "--guest", "linux", "--warm", "--run", "true", "-o", "no/such"]).failed(2, &["--warm"]);
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn a_scheme_that_has_to_boot_says_so_with_warm() {
    warm("true", &[]).succeeded();
    let end = run(["compare", "--guest", "linux", "--warm", "--scheme", "native,guest-direct", "--run", "true"]);
    end.failed(2, &["segment.region", "without --warm it boots"]);
}
