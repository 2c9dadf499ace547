//! What is refused of a configuration, and how it is said.

use mmu::{ConfigError, Level, Mmu, MmuConfig, MmuStatistics, TlbArray};
use types::PageSize::{Size2M, Size4K};

const ROUTINE: mmu::RefillRoutine = mmu::RefillRoutine {
    begin: 7,
    guest_level: 12,
    nested_lookup: 6,
    nested_level: 12,
    flat_lookup: 12,
    reserved_lookup: 3,
    update: 5,
    fill: 14,
};

fn refusal(change: impl FnOnce(&mut MmuConfig)) -> String {
    let mut config = MmuConfig::default();
    change(&mut config);
    Mmu::new(&config).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn srrip_is_refused_where_hits_are_not_reported() {
    let set = |array: &mut TlbArray| array.replacement = "srrip".parse().unwrap();
    for (level, message) in [("l1d", refusal(|it| set(&mut it.l1d[1]))), ("l1i", refusal(|it| set(&mut it.l1i[0])))] {
        let reason = "it needs every hit, and repeated hits of the page used last do not leave the L1's hit path";
        assert_eq!(message, format!("{level}: replacement `srrip` is for the L2 and the nested TLB: {reason}"));
    }
    let mut config = MmuConfig::default();
    set(&mut config.l2[0]);
    config.nested_tlb.iter_mut().for_each(set);
    assert!(Mmu::new(&config).is_ok());
}

#[test]
fn what_cannot_be_built_is_named() {
    assert_eq!(refusal(|it| it.l2[0].sets = 100), "l2: 100 sets are not a power of two");
    assert_eq!(refusal(|it| it.l2[0].sets = 0), "l2: 0 sets are not a power of two");
    assert_eq!(refusal(|it| it.l1d[1].ways = 0), "l1d: an array needs at least one way");
    assert_eq!(refusal(|it| it.l1i[0].sizes.clear()), "l1i: an array needs at least one page size");
    assert_eq!(refusal(|it| it.l1d[1].sizes.push(Size4K)), "l1d: page size 4K is listed twice");
    assert_eq!(refusal(|it| it.l1d = vec![TlbArray::new(&[Size2M], 1, 8)]), "l1d: no array holds 4K pages");
    assert_eq!(refusal(|it| it.l1d[0].sets = 1 << 15), "l1d: more than 65536 entries");
    assert_eq!(refusal(|it| it.l2[0].ways = u32::MAX), "l2: more than 4194304 entries");
    assert_eq!(refusal(|it| it.walk_caches.host.0[2] = u32::MAX), "walk_caches: more than 4194304 entries");
    assert_eq!(
        refusal(|it| it.nested_tlb = Some(TlbArray::new(&[], 1, 1))),
        "nested_tlb: an array needs at least one page size"
    );
    assert_eq!(
        refusal(|it| it.refill = mmu::Refill::Software(ROUTINE)),
        "nested_tlb: only a hardware walker uses a nested TLB, but software refills these TLBs"
    );
    let error = ConfigError::NoWays { level: Level::L2 };
    assert_eq!(error.to_string(), "l2: an array needs at least one way");
}

#[test]
fn the_documented_sizes_can_be_built() {
    let l2 = vec![TlbArray::new(&[Size4K, Size2M], 128, 12)];
    assert_eq!(l2[0].entries(), 1536);
    let config = MmuConfig { l2, nested_tlb: None, ..MmuConfig::default() };
    assert_eq!(Mmu::new(&config).unwrap().config(), &config);
    // No L2 at all, and an L1 of as many slots as there can be.
    let l1d = vec![TlbArray::new(&[Size4K], 1 << 14, 4)];
    let mmu = Mmu::new(&MmuConfig { l1d, l2: Vec::new(), ..config }).unwrap();
    assert_eq!(mmu.data_slots(), 1 << 16);
}

#[test]
fn statistics_subtract() {
    let earlier = MmuStatistics { l2_hits: 3, guest_refs: 4, max_refs: 24, max_steps: 23, ..MmuStatistics::default() };
    let later = MmuStatistics {
        l2_hits: 5,
        guest_refs: 4,
        max_refs: 24,
        max_steps: 23,
        host_cache_hits: [1, 0, 0, 0],
        ..earlier
    };
    let since = later.since(&earlier);
    assert_eq!((since.l2_hits, since.guest_refs, since.max_refs, since.max_steps), (2, 0, 24, 23));
    assert_eq!(since.host_cache_hits, [1, 0, 0, 0]);
}
