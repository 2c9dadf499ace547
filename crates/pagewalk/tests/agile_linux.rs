//! Linux's programs under agile paging, with every shadow entry, every switching entry and every protection checked.

mod common;

use common::{Ended, programs, run};

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
    programs::memcached_serves_memcaslap(&|command, more, holds| in_ways(0, command, more, holds));
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn gcc_compiles_and_its_program_runs() {
    programs::gcc_compiles_and_its_program_runs(&|command, more, holds| in_ways(1, command, more, holds));
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn stress_ng_forks_maps_and_verifies() {
    for first in [0, 1] {
        programs::stress_ng_forks_maps_and_verifies(&|command, more, holds| in_ways(first, command, more, holds));
    }
}
