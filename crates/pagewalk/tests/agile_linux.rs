//! Linux's programs under agile paging, with every shadow entry, every switching entry and every protection checked.

mod common;

use common::{Ended, Scratch, run};

/// Settings: those of the paper's policies and options that differ in what the hypervisor does.
const WAYS: [&[&str]; 4] = [
    &[],
    &["agile.start=shadow", "agile.interval=500"],
    &["agile.back=reset", "agile.threshold=3", "agile.root_cache=8", "agile.status=hardware"],
    &["agile.interval=10000", "agile.root_cache=4", "agile.status=hardware"],
];

/// Runs `command` in every second way with one hart, and in the others with four.
fn in_ways(first: usize, command: &str, more: &[&str], holds: impl Fn(&Ended)) {
    for (number, way) in WAYS.iter().enumerate() {
        let harts = if (number + first).is_multiple_of(2) { "1" } else { "4" };
        let settings = way.iter().flat_map(|setting| ["--set", setting]);
        let guest = ["boot", "--guest", "linux", "--scheme", "agile", "--check", "--harts", harts];
        let arguments = guest.into_iter().chain(settings).chain(more.iter().copied()).chain(["--run", command]);
        holds(&run(arguments.collect::<Vec<_>>()).succeeded());
    }
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn memcached_serves_memcaslap() {
    let command = "memcached -u root -d -l 127.0.0.1 -P /run/m.pid; sleep 1; \
                   memcaslap -s 127.0.0.1:11211 -T 1 -c 4 -x 300 -v 0.2; kill $(cat /run/m.pid)";
    in_ways(0, command, &["--memory", "192M"], |end| {
        assert!(end.stdout.contains("Ops: 300 "), "{end:#?}");
        for wrong in ["get_misses", "verify_misses", "verify_failed"] {
            assert!(end.stdout.contains(&format!("{wrong}: 0\n")), "{wrong} in {end:#?}");
        }
    });
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn gcc_compiles_and_its_program_runs() {
    let scratch = Scratch::new();
    let program = "#include <math.h>\n#include <stdio.h>\n\
                   int main(void) { double s = 0; for (int i = 0; i < 4000; i++) s += sqrt(i); printf(\"%.3f\\n\", s); return 0; }\n";
    let source = scratch.write("sum.c", program);
    let command = "gcc -O1 -Wall -o /tmp/sum /sum.c -lm && /tmp/sum";
    in_ways(1, command, &["--memory", "512M", "--file", &source], |end| assert_eq!(end.stdout, "168622.979\n"));
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn stress_ng_forks_maps_and_verifies() {
    let command = "stress-ng --fork 1 --fork-ops 30 --mmap 1 --mmap-bytes 4M --mmap-ops 5 \
                   --vm 1 --vm-bytes 4M --vm-ops 1000 --verify";
    for first in [0, 1] {
        in_ways(first, command, &["--memory", "192M"], |end| {
            assert!(end.stdout.contains("passed: 3: fork (1) mmap (1) vm (1)"), "{end:#?}");
            assert!(end.stdout.contains("failed: 0") && end.stdout.contains("successful run"), "{end:#?}");
        });
    }
}
