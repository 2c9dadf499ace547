//! Linux's programs on shadow tables, with every entry checked. Together, the programs see each of the 16 ways to keep shadow tables once; the
//! boots in `shadow.rs` see all of them too.

mod common;

use common::{Ended, programs, run};

/// Whether a way to keep shadow tables has an odd number of second choices.
fn is_odd(way: u32) -> bool {
    way.count_ones() % 2 == 1
}

/// Runs `command` on those of all ways to keep shadow tables for which `chosen` is true.
fn on_ways(chosen: impl Fn(u32) -> bool, command: &str, more: &[&str], holds: impl Fn(&Ended)) {
    for way in (0..16_u32).filter(|way| chosen(*way)) {
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
    // Those with an even number of second choices that keep a single set of tables.
    let chosen = |way: u32| !is_odd(way) && way & 1 == 0;
    programs::memcached_serves_memcaslap(&|command, more, holds| on_ways(chosen, command, more, holds));
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn gcc_compiles_and_its_program_runs() {
    programs::gcc_compiles_and_its_program_runs(&|command, more, holds| on_ways(is_odd, command, more, holds));
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn stress_ng_forks_maps_and_verifies() {
    // Those with an even number of second choices that keep several sets of tables.
    let chosen = |way: u32| !is_odd(way) && way & 1 == 1;
    programs::stress_ng_forks_maps_and_verifies(&|command, more, holds| on_ways(chosen, command, more, holds));
}
