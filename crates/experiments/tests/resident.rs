//! What a section that many VMs map takes of the host's own memory. Alone in its process, which it measures.

use experiments::vlm::{Mappers, Sharing, shared_table_bytes};
use machine::registry::Granularities;
use types::{Cycles, PageSize};

/// Base pages alone, as the tables of the paper have.
const BASE: Granularities = Granularities::RISCV.at_most(PageSize::Size4K);
const MIB: u64 = 1 << 20;

/// Resident bytes of this process.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * 4096
}

/// The paper's 7.5 GB for 300, a hundredth of the section.
#[test]
fn a_section_is_resident_once_and_its_tables_too_however_many_map_it() {
    let bytes = 78 * MIB;
    let before = resident();
    let mut mappers = Mappers::new(bytes, Sharing::Shared, BASE, 300, Cycles(1)).unwrap();
    for _ in 0..300 {
        mappers.start().unwrap();
    }
    assert_eq!(mappers.touch_all(), bytes / 4096);
    let taken = resident() - before;
    // Each VM has a page of its root in use, and a table that leads to the section's.
    let least = bytes + shared_table_bytes(bytes) + 300 * 2 * 4096;
    assert!(taken >= least, "{taken} bytes, less than {least}");
    assert!(taken <= least + 8 * MIB, "{taken} bytes, where {least} are enough");
}
