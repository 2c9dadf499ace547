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

/// Runs of a machine of which a state is there: they say nothing of a boot.
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
    let own = format!("{}:/tmp/own.sh", scratch.write("own.sh", "echo own $1\n"));
    let command = "stat -c %a /tmp; printf 'a\\r\\nb'; sh /tmp/own.sh x > /root/file; cat /root/file; exit 7";
    let end = warm(command, &["--file", &own]);
    assert_eq!((end.code, end.stdout.as_str(), end.stderr.as_str()), (Some(7), "1777\na\r\nbown x\n", ""), "{end:#?}");
    let end = warm("ls /root /tmp", &[]);
    assert_eq!((end.code, end.stdout.as_str()), (Some(0), "/root:\n\n/tmp:\n"), "{end:#?}");
}

/// The guest would unpack a part of a task without saying so, and go on with that.
#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn a_task_without_room_is_refused_and_a_second_run_does_not_boot() {
    let scratch = Scratch::new();
    let large = scratch.text("large");
    std::fs::write(&large, vec![7; 40 << 20]).unwrap();
    let file = format!("{large}:/large");
    let boot = |memory| {
        run(["boot", "--guest", "linux", "--warm", "--memory", memory, "--file", &file, "--run", "wc -c /large"])
    };
    boot("256M").failed(2, &["256M"]);
    let first = boot("512M");
    assert_eq!((first.code, first.stdout.as_str()), (Some(0), "41943040 /large\n"), "{first:#?}");
    assert_eq!(boot("512M").succeeded().stdout, first.stdout);
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn warm_runs_are_kept() {
    let scratch = Scratch::new();
    let keep = scratch.text("keep");
    let is_run = |name: std::ffi::OsString| name.to_string_lossy().ends_with(".json");
    let number = || std::fs::read_dir(&keep).unwrap().filter(|file| is_run(file.as_ref().unwrap().file_name())).count();
    let mut found = Vec::new();
    for (command, kept) in [("true", 2), ("true", 2), ("ls", 4)] {
        let work = format!("work: {command}");
        found.push(warm_runs(&[], &["--run", &work, "--scheme", "native,nested", "--keep", &keep]));
        assert_eq!(number(), kept, "{command}");
    }
    assert_eq!(found[0], found[1]);
    assert_ne!(found[0], found[2], "of another task");
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
    let again = warm_runs(&SAME_LAYOUT, &["--workload", "kv:4M", "--scheme", "native,shadow"]);
    let first = |run: &&serde_json::Value| {
        again.iter().any(|other| other["workload"] == run["workload"] && other["scheme"] == run["scheme"])
    };
    assert_eq!(restored.iter().filter(first).cloned().collect::<Vec<_>>(), again, "equal runs are equal");
}

/// The files of works are read and built once for those that have the same, and a state is opened once.
#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn works_of_one_comparison_are_as_each_alone() {
    let works = [["--run", "one: true"], ["--run", "database: sqlite3 -version"], ["--run", "two: ls /usr/bin"]];
    let machine = ["--set", "frame_placement=random:3", "--scheme", "nested"];
    // The first run with each package set may say that it boots.
    for work in &works {
        assert_eq!(run([&["compare", "--guest", "linux", "--warm"], &work[..], &machine].concat()).code, Some(0));
    }
    let alone: Vec<_> = works.iter().flat_map(|work| warm_runs(&[], &[&work[..], &machine].concat())).collect();
    assert_eq!(alone.len(), 3);
    assert_eq!(warm_runs(&[], &[&works.concat(), &machine[..]].concat()), alone);
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn a_comparison_that_boots_under_a_model_of_caches_says_that_one_boot_is_enough() {
    let says = |options: &[&str]| {
        let arguments = ["compare", "--guest", "linux", "--run", "true", "--scheme", "native"];
        run([&arguments[..], options].concat()).succeeded().stdout.contains("with --warm it boots once")
    };
    assert!(says(&["--fidelity", "cycles"]));
    assert!(!says(&["--fidelity", "counts"]), "it takes a second");
    assert!(!says(&["--fidelity", "cycles", "--disk", "blank:1M"]), "--warm does not take it");
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
    let others = [
        &["--net"][..],
        &["--balloon"],
        &["--cold"],
        &["--disk", "blank:1M"],
        &["--share", "."],
        &["--kernel", "no/such"],
        &["--initrd", "no/such"],
        &["--snapshot", "no/such"],
        &["--copy-out", "/a:no/such"],
    ];
    for other in others {
        let arguments = [&["boot", "--guest", "linux", "--warm"][..], other].concat();
        run(arguments).failed(2, &["--warm", other[0]]);
    }
    run(["record", "--guest", "linux", "--warm", "--run", "true", "-o", "no/such"]).failed(2, &["--warm"]);
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn a_guest_that_has_to_boot_says_so_with_warm() {
    let end = run(["compare", "--guest", "linux", "--warm", "--scheme", "native,guest-direct", "--run", "true"]);
    end.failed(2, &["primary region", "without --warm"]);
    let scratch = Scratch::new();
    let sections = scratch.write("s.toml", "[[section]]\nname = \"s\"\nsize = \"64K\"\n");
    run(["boot", "--guest", "linux", "--warm", "--config", &sections]).failed(2, &["--warm", "sections"]);
}
