//! Linux on a host with less memory than it uses, and with a balloon. `cargo xtask test` runs these.

mod common;

use common::{Ended, Scratch, number};
use serde_json::Value;

/// Runs `command` in a guest, with `arguments` for `boot`; also its statistics.
fn linux(command: &str, arguments: &[&str]) -> (Ended, Value) {
    let scratch = Scratch::new();
    let json = scratch.text("out.json");
    let end = common::linux(command, &[&["--json", &json], arguments].concat());
    let report = std::fs::read(json).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    (end, report.unwrap_or_default())
}

/// Every scheme whose guests are paged, with settings.
const SCHEMES: [&[&str]; 7] = [
    &["nested:4K+4K"],
    &["nested:2M+2M"],
    &["flat:4K+2M"],
    &["flat-hw:4K+4K"],
    &["shadow:4K+4K", "--check"],
    &["shadow:2M+2M", "--check", "--set", "shadow.tables=single"],
    &["shadow:4K+4K", "--check", "--set", "shadow.coherence=write-protect"],
];

/// Several harts reach every case that one does, and more; one alone is run under one scheme of each kind of table.
fn harts(scheme: &[&str]) -> &'static str {
    if matches!(scheme, ["nested:2M+2M"] | ["shadow:2M+2M", ..]) { "1" } else { "4" }
}

/// Programs, files in memory, and a disk whose requests read and write pages that come and go.
#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn linux_runs_in_less_memory_than_it_touches() {
    let scratch = Scratch::new();
    let content: Vec<u8> = (0..1u32 << 21).flat_map(|word| word.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let image = scratch.write("disk.img", &content);
    let sum = std::process::Command::new("sha256sum").arg(&image).output().expect("coreutils are installed").stdout;
    let sum = String::from_utf8_lossy(&sum)[..64].to_owned();
    let command = "cat /dev/vda > /tmp/a; head -c 4000000 /dev/urandom > /tmp/noise; echo >> /tmp/noise; sha256sum < /tmp/a | cut -c 1-64; \
                   tac /tmp/noise | tac | cmp - /tmp/noise; cat /tmp/a > /dev/vda; echo 3 > /proc/sys/vm/drop_caches; \
                   sha256sum < /dev/vda | cut -c 1-64; for i in $(seq 10); do ls -l /bin | wc -l; done | sort -u | wc -l";
    for scheme in SCHEMES {
        let harts = harts(scheme);
        let arguments = ["--harts", harts, "--memory", "256M", "--disk", &image, "--set", "host_memory=40M"];
        let (end, report) = linux(command, &[&["--scheme"], scheme, &arguments[..]].concat());
        let end = end.succeeded();
        assert_eq!(end.stdout, format!("{sum}\n{sum}\n1\n"), "{scheme:?}, {harts} harts");
        let paging = |kind: &str| number(&report, &format!("/runs/0/paging/{kind}"));
        assert!(paging("out") > 3000 && paging("in") > 1000, "{scheme:?}: {:#}", report["runs"][0]["paging"]);
    }
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn a_balloon_takes_memory_and_gives_it_back() {
    let command = "mem() { sed -n 's/^MemTotal: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo; }; \
                   mem; head -c 20000000 /dev/urandom > /tmp/a; sleep 3; mem; cp /tmp/a /tmp/b; cmp /tmp/a /tmp/b && echo same; \
                   sleep 5; mem; head -c 70000000 /dev/zero > /tmp/c; cmp /tmp/a /tmp/b && echo same";
    // What a balloon does depends on the kind of table, and not on the size of pages.
    for scheme in [&["nested:4K+4K"][..], &["flat:4K+2M"], &["flat-hw:4K+4K"], &["shadow:2M+2M", "--check"]] {
        let harts = harts(scheme);
        let arguments = [
            &["--harts", harts, "--memory", "320M", "--balloon", "--set", "balloon.target=128M"][..],
            &["--set", "balloon.at=2", "--set", "balloon.until=6"],
        ];
        let (end, report) = linux(command, &[&["--scheme"], scheme, &arguments.concat()].concat());
        let end = end.succeeded();
        let lines: Vec<&str> = end.stdout.lines().collect();
        let [before, during, "same", after, "same"] = lines[..] else { panic!("{end:#?}") };
        let [before, during, after] = [before, during, after].map(|line| line.parse::<u64>().unwrap());
        assert_eq!((before - during, after), (128 << 10, before), "{scheme:?}: {end:#?}");
        let frames = number(&report, "/runs/0/paging/ballooned");
        assert_eq!(frames, 128 << 8, "every page that was given up returned a frame: {scheme:?}");
    }
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn under_pressure_the_guest_is_asked_first_and_paged_less() {
    let command = "head -c 50000000 /dev/urandom > /tmp/a; sleep 1; rm /tmp/a; sleep 3; echo 3 > /proc/sys/vm/drop_caches; \
                   head -c 20000000 /dev/urandom > /tmp/b; cp /tmp/b /tmp/c; cmp /tmp/b /tmp/c && echo same";
    let arguments = ["--memory", "256M", "--scheme", "nested", "--set", "host_memory=96M", "--balloon"];
    let (end, plain) = linux(command, &arguments);
    assert_eq!(end.succeeded().stdout, "same\n");
    let asked = ["--set", "balloon.target=100M", "--set", "balloon.pressure=true"];
    let (end, ballooned) = linux(command, &[&arguments[..], &asked].concat());
    assert_eq!(end.succeeded().stdout, "same\n");
    let paging = |report: &Value, kind: &str| number(report, &format!("/runs/0/paging/{kind}"));
    assert_eq!((paging(&plain, "ballooned"), paging(&ballooned, "ballooned") > 20_000), (0, true));
    assert!(
        paging(&ballooned, "out") < paging(&plain, "out"),
        "what the guest gave up need not be written: {:#} {:#}",
        plain["runs"][0]["paging"],
        ballooned["runs"][0]["paging"]
    );
}

/// Programs that check what they wrote, in memory that comes and goes under them.
#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn programs_find_what_they_wrote_though_the_host_is_smaller_than_the_guest() {
    let stress = "stress-ng --vm 1 --vm-bytes 60M --vm-ops 1000 --vm-method incdec --verify 2>&1";
    let cache = "memcached -u root -d -m 100 -P /run/m.pid; sleep 1; \
                 memcaslap -s 127.0.0.1:11211 -T 1 -c 8 -X 4096 -w 1k -x 6000 -v 1.0; kill $(cat /run/m.pid)";
    let stress = (stress, "host_memory=48M", &["failed: 0", "successful run"][..]);
    let cache = (cache, "host_memory=36M", &["get_misses: 0", "verify_misses: 0", "verify_failed: 0"][..]);
    // Programs under each kind of table, and both of them with several harts.
    for (scheme, harts, programs) in [
        ("flat", "1", &[cache][..]),
        ("flat:4K+2M", "4", &[stress, cache]),
        ("flat-hw", "1", &[stress]),
        ("nested", "1", &[cache]),
    ] {
        for &(command, host_memory, right) in programs {
            let arguments = ["--scheme", scheme, "--harts", harts, "--memory", "256M", "--set", host_memory];
            let (end, report) = linux(command, &arguments);
            let end = end.succeeded();
            assert!(right.iter().all(|line| end.stdout.contains(line)), "{scheme}: {end:#?}");
            let paging = |kind: &str| number(&report, &format!("/runs/0/paging/{kind}"));
            assert!(paging("out") > 500 && paging("in") > 200, "{scheme}: {:#}", report["runs"][0]["paging"]);
        }
    }
}
