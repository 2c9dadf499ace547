//! Linux's programs on shadow tables, with every entry checked. Each program sees every three of the four choices together; the boots in
//! `shadow.rs` see all four.

mod common;

use common::{Ended, Scratch, run};

/// Runs `command` on half of all ways to keep shadow tables: those with an odd number of second choices, or an even one.
fn on_half(odd: bool, command: &str, more: &[&str], holds: impl Fn(&Ended)) {
    for way in (0..16_u32).filter(|way| (way.count_ones() % 2 == 1) == odd) {
        let choice = |bit: u32, first, second| if way >> bit & 1 == 0 { first } else { second };
        let settings = [
            choice(0, "shadow.tables=single", "shadow.tables=multiple"),
            choice(1, "shadow.coherence=fence", "shadow.coherence=write-protect"),
            choice(2, "shadow.invalidation=selective", "shadow.invalidation=full"),
        ];
        let settings = settings.into_iter().flat_map(|setting| ["--set", setting]);
        let guest = ["boot", "--guest", "linux", "--scheme", "shadow", "--check", "--harts", choice(3, "1", "4")];
        let arguments = guest.into_iter().chain(settings).chain(more.iter().copied()).chain(["--run", command]);
        holds(&run(arguments.collect::<Vec<_>>()).succeeded());
    }
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn memcached_serves_memcaslap() {
    let command = "memcached -u root -d -l 127.0.0.1 -P /run/m.pid; sleep 1; \
                   memcaslap -s 127.0.0.1:11211 -T 1 -c 4 -x 300 -v 0.2; kill $(cat /run/m.pid)";
    on_half(false, command, &["--memory", "192M"], |end| {
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
    on_half(true, command, &["--memory", "512M", "--file", &source], |end| assert_eq!(end.stdout, "168622.979\n"));
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn stress_ng_forks_maps_and_verifies() {
    let command = "stress-ng --fork 1 --fork-ops 30 --mmap 1 --mmap-bytes 4M --mmap-ops 5 \
                   --vm 1 --vm-bytes 4M --vm-ops 1000 --verify";
    for odd in [false, true] {
        on_half(odd, command, &["--memory", "192M"], |end| {
            assert!(end.stdout.contains("passed: 3: fork (1) mmap (1) vm (1)"), "{end:#?}");
            assert!(end.stdout.contains("failed: 0") && end.stdout.contains("successful run"), "{end:#?}");
        });
    }
}
