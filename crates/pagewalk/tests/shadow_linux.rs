//! Linux's programs on shadow tables, with every entry checked. Each program sees every three of the four choices together; the boots in
//! `shadow.rs` see all four.

mod common;

use common::{Ended, programs, run};

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
    programs::memcached_serves_memcaslap(&|command, more, holds| on_half(false, command, more, holds));
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn gcc_compiles_and_its_program_runs() {
    programs::gcc_compiles_and_its_program_runs(&|command, more, holds| on_half(true, command, more, holds));
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn stress_ng_forks_maps_and_verifies() {
    programs::stress_ng_forks_maps_and_verifies(&|command, more, holds| on_half(true, command, more, holds));
}
