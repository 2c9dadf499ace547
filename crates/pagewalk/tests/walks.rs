//! References of a walk against their closed form, for every pair of modes and every pair of page sizes, measured on the guest.

mod common;

use common::{number, runs};
use serde_json::Value;
use std::thread;

/// Page sizes with the levels of a tree that a page of that size leaves out.
const SIZES: [(&str, u64); 3] = [("4K", 0), ("2M", 1), ("1G", 2)];

/// Modes of either stage with their levels.
const GUEST_MODES: [(&str, u64); 3] = [("sv39", 3), ("sv48", 4), ("sv57", 5)];
const HOST_MODES: [(&str, u64); 3] = [("sv39x4", 3), ("sv48x4", 4), ("sv57x4", 5)];

/// Table references of a walk that reads `guest` entries of the guest's tables, where each guest physical address, that of the data among them,
/// costs `host` more.
fn references(guest: u64, host: u64) -> u64 {
    guest + (guest + 1) * host
}

/// Random updates of 1 MiB, as measured with TLBs that hold 64 pages of 4K and nothing larger, and with no other cache of translations.
fn measure(guest_mode: &str, host_mode: &str, schemes: &str) -> Vec<Value> {
    let (guest, host) = (format!("paging.guest={guest_mode}"), format!("paging.host={host_mode}"));
    let arguments = [
        ["--workload", "gups:1M"],
        ["--append", "updates=10000"],
        ["--scheme", schemes],
        ["--set", &guest],
        ["--set", &host],
        ["--set", "mmu.walk_caches=off"],
        ["--set", "mmu.nested_tlb=off"],
        ["--set", "mmu.l1d=[{ sizes = ['4K'], sets = 1, ways = 64 }]"],
        ["--set", "mmu.l2=[]"],
    ];
    runs(&arguments.concat())
}

/// Checks a run whose heap is mapped by entries `guest` levels down in the guest's tables, of `guest_levels`, and `host` levels down
/// in the host's (0: native).
#[track_caller]
fn check(run: &Value, guest_levels: u64, guest: u64, host: u64) {
    let of = |pointer| number(run, pointer);
    let (walks, guest_refs, host_refs) = (of("/walks/count"), of("/walks/guest_refs"), of("/walks/host_refs"));
    assert!(walks > 1000, "the region walks: {run:#}");
    // A few walks are for the program's own data, in pages of 4K. Those are all as long as walks can be.
    let others = (guest_refs - guest * walks).checked_div(guest_levels - guest).unwrap_or(0);
    assert!(others < 10, "{others} walks are not of the heap: {run:#}");
    assert_eq!(guest_refs, guest * (walks - others) + guest_levels * others, "{run:#}");
    assert_eq!(host_refs, host * (guest_refs + walks), "each guest physical address costs {host}: {run:#}");
    let longest = if others > 0 { guest_levels } else { guest };
    assert_eq!(of("/walks/max_refs"), references(longest, host), "{run:#}");
    assert_eq!(of("/tlb/l2_misses"), walks, "each miss walks: {run:#}");
}

#[test]
fn without_caches_every_walk_is_as_long_as_its_closed_form() {
    assert_eq!((references(4, 0), references(4, 4)), (4, 24), "the published figures for four levels");
    let natives = SIZES.map(|(size, saved)| (format!("native:{size}"), saved, None));
    let nested = SIZES.iter().flat_map(|&(guest, guest_saved)| {
        SIZES.map(|(host, host_saved)| (format!("nested:{guest}+{host}"), guest_saved, Some(host_saved)))
    });
    let schemes: Vec<_> = natives.into_iter().chain(nested).collect();
    let names = schemes.iter().map(|(name, ..)| name.as_str()).collect::<Vec<_>>().join(",");
    thread::scope(|scope| {
        for (guest_mode, guest_levels) in GUEST_MODES {
            let (names, schemes) = (&names, &schemes);
            scope.spawn(move || {
                for (host_mode, host_levels) in HOST_MODES {
                    let runs = measure(guest_mode, host_mode, names);
                    assert_eq!(runs.len(), schemes.len());
                    for (run, (name, guest_saved, host_saved)) in runs.iter().zip(schemes) {
                        assert_eq!(run["scheme"], *name);
                        let host = host_saved.map_or(0, |saved| host_levels - saved);
                        check(run, guest_levels, guest_levels - guest_saved, host);
                    }
                }
            });
        }
    });
}

#[test]
fn caches_shorten_walks_and_change_no_result() {
    let scheme = [
        "--workload",
        "gups:1M",
        "--append",
        "updates=10000",
        "--scheme",
        "nested:4K+4K",
        "--set",
        "paging.guest=sv48",
    ];
    let measure = |settings: &[&str]| runs(&[&scheme, settings].concat()).remove(0);
    let none = measure(&["--set", "mmu.walk_caches=off", "--set", "mmu.nested_tlb=off"]);
    let nested_tlb = measure(&["--set", "mmu.walk_caches=off", "--set", "mmu.nested_tlb=32"]);
    let all = measure(&[]);
    let refs = |run: &Value| number(run, "/walks/guest_refs") + number(run, "/walks/host_refs");
    assert!(refs(&all) < refs(&nested_tlb) && refs(&nested_tlb) < refs(&none), "{none:#}\n{nested_tlb:#}\n{all:#}");
    assert_eq!(number(&all, "/instructions"), number(&none, "/instructions"));
    assert_eq!(number(&all, "/tlb/l2_misses"), number(&none, "/tlb/l2_misses"), "TLBs miss alike");
}
