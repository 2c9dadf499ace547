//! Programs of the Linux guest, and what holds of each run: memcached with its client, a compiler, processes that fork and map.

use super::{Ended, Scratch};

/// Runs a command in one way after another, with further arguments of `boot`, and checks each end.
pub(crate) type InWays<'a> = &'a dyn Fn(&str, &[&str], &dyn Fn(&Ended));

/// memcached answers memcaslap, and no value is wrong or missing.
pub(crate) fn memcached_serves_memcaslap(in_ways: InWays<'_>) {
    let command = "memcached -u root -d -l 127.0.0.1 -P /run/m.pid; sleep 1; \
                   memcaslap -s 127.0.0.1:11211 -T 1 -c 4 -x 300 -v 0.2; kill $(cat /run/m.pid)";
    in_ways(command, &["--memory", "192M"], &|end| {
        assert!(end.stdout.contains("Ops: 300 "), "{end:#?}");
        for wrong in ["get_misses", "verify_misses", "verify_failed"] {
            assert!(end.stdout.contains(&format!("{wrong}: 0\n")), "{wrong} in {end:#?}");
        }
    });
}

/// gcc compiles a program, which prints what it should.
pub(crate) fn gcc_compiles_and_its_program_runs(in_ways: InWays<'_>) {
    let scratch = Scratch::new();
    let program = "#include <math.h>\n#include <stdio.h>\n\
                   int main(void) { double s = 0; for (int i = 0; i < 4000; i++) s += sqrt(i); printf(\"%.3f\\n\", s); return 0; }\n";
    let source = scratch.write("sum.c", program);
    let command = "gcc -O1 -Wall -o /tmp/sum /sum.c -lm && /tmp/sum";
    in_ways(command, &["--memory", "512M", "--file", &source], &|end| assert_eq!(end.stdout, "168622.979\n"));
}

/// stress-ng forks, maps and writes memory, and finds it as it left it.
pub(crate) fn stress_ng_forks_maps_and_verifies(in_ways: InWays<'_>) {
    let command = "stress-ng --fork 1 --fork-ops 30 --mmap 1 --mmap-bytes 4M --mmap-ops 5 \
                   --vm 1 --vm-bytes 4M --vm-ops 1000 --verify";
    in_ways(command, &["--memory", "192M"], &|end| {
        assert!(end.stdout.contains("passed: 3: fork (1) mmap (1) vm (1)"), "{end:#?}");
        assert!(end.stdout.contains("failed: 0") && end.stdout.contains("successful run"), "{end:#?}");
    });
}
