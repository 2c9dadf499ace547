//! Random edits of a scheme's second-stage table, against a map. The hardware walks it after each.

use super::fixture::{self, RAM, RAM_BYTES};
use crate::scheme::SchemeRef;
use hypervisor::{Backing, HostTable, Leaf, LeafBits, TableRequest, WalkMemory};
use memory::{Host, HostPages};
use mmu::{Fault, Fence, Mmu, MmuConfig, WalkCaches};
use std::collections::BTreeMap;
use testing::Random;
use types::{Access, Gpa, Gva, Hpa, PageSize, SecondStageMode, TranslationContext, Vmid};

const PAGE: PageSize = PageSize::Size4K;
const VMID: Vmid = Vmid(5);
const EDITS: u64 = 4000;

/// A table, what it should map, and who walks it.
struct Edited {
    host: Host,
    table: Box<dyn HostTable>,
    mapped: BTreeMap<Gpa, Leaf>,
    mmu: Mmu,
    accesses: u64,
}

/// Checks the table of a scheme that has one.
///
/// # Panics
/// With what is wrong; or if the scheme has no table of its own design.
pub fn check(scheme: SchemeRef) {
    let memory = fixture::memory(SecondStageMode::Sv39x4);
    let Backing::Table { design, mode, page, .. } = scheme.backing(&memory) else { panic!("there is a table") };
    let mut host = Host::new(RAM_BYTES + design.bytes(RAM_BYTES) + (4 << 20), HostPages::Base).expect("there is room");
    let ram = RAM..RAM.wrapping_add(RAM_BYTES);
    let table = design.make(&mut host, &TableRequest { vmid: VMID, ram, mode, page }).expect("there is room");
    let config = MmuConfig { walk_caches: WalkCaches::OFF, nested_tlb: None, ..MmuConfig::default() };
    let mut mmu = Mmu::new(&config).expect("the default MMU can be made");
    scheme.equip(&mut mmu, &memory.keys);
    mmu.set_context(&TranslationContext::default(), VMID);
    let mut edited = Edited { host, table, mapped: BTreeMap::new(), mmu, accesses: 0 };
    let mut random = Random::nth(0x7061_6765, 0);
    let free = edited.host.frames.free_bytes();
    for _ in 0..EDITS {
        let gpa = RAM.wrapping_add(random.below(RAM_BYTES / PAGE.bytes()) * PAGE.bytes());
        edited.edit(&mut random, gpa);
        edited.compare(gpa.wrapping_add(random.below(512) * 8));
    }
    let Edited { mut host, table, .. } = edited;
    table.free(&host.memory, &mut host.frames);
    assert!(host.frames.free_bytes() >= free, "the table gives all of its frames back");
}

impl Edited {
    /// One edit of the page at `gpa`.
    fn edit(&mut self, random: &mut Random, gpa: Gpa) {
        let Self { host, table, mapped, .. } = self;
        let memory = &host.memory;
        match (random.below(4), mapped.get(&gpa).copied()) {
            (0 | 1, None) => {
                let bits = random.pick(&[LeafBits::RWX, LeafBits::READ, LeafBits::READ | LeafBits::WRITE]);
                // Where it leads is of no consequence: no byte of it is read.
                let leaf = Leaf { page: Hpa(0x8000_0000 + random.below(1 << 20) * PAGE.bytes()), size: PAGE, bits };
                assert_eq!(table.vacancy(memory, gpa).map(|size| size >= PAGE), Some(true), "{gpa} is vacant");
                table.map(memory, &mut host.frames, gpa, leaf).unwrap_or_else(|error| panic!("{gpa}: {error}"));
                mapped.insert(gpa, leaf);
            }
            (0, Some(_)) => {
                assert!(table.take(memory, gpa).is_some(), "{gpa} is mapped");
                mapped.remove(&gpa);
            }
            (1, Some(leaf)) => {
                table.grant(memory, gpa, LeafBits::of_access(Access::Write));
                mapped.insert(gpa, Leaf { bits: leaf.bits | LeafBits::of_access(Access::Write), ..leaf });
            }
            (2, Some(leaf)) => {
                assert_eq!(table.age(memory, gpa), leaf.bits.contains(LeafBits::ACCESSED), "A of {gpa}");
                mapped.insert(gpa, Leaf { bits: leaf.bits.without(LeafBits::ACCESSED), ..leaf });
            }
            (_, None) => assert_eq!(table.take(memory, gpa), None, "nothing is at {gpa}"),
            (_, Some(_)) => assert_eq!(table.vacancy(memory, gpa), None, "{gpa} is mapped"),
        }
    }

    /// Table, map and hardware agree on the page that holds `gpa`.
    fn compare(&mut self, gpa: Gpa) {
        let expected = self.mapped.get(&gpa.page(PAGE)).copied();
        let memory = &self.host.memory;
        let found = self.table.lookup(memory, gpa);
        assert_eq!(found.map(|leaf| leaf.page), expected.map(|leaf| leaf.page), "lookup of {gpa}");
        let bits = |leaf: Option<Leaf>| leaf.map(|leaf| leaf.bits.without(LeafBits::USER));
        assert_eq!(bits(found), bits(expected), "bits of {gpa}");
        self.mmu.fence(&Fence::Gvma { gpa: None, vmid: None });
        self.accesses += 1;
        let second = self.table.second_stage();
        let walked = self.mmu.access(&mut WalkMemory::new(memory), &second, Gva(gpa.0), Access::Read, self.accesses);
        match (walked, expected) {
            (Ok(hit), Some(leaf)) => {
                assert_eq!(hit.hpa, leaf.page.wrapping_add(gpa.offset(PAGE)), "walk for {gpa}");
                // The walker has set A.
                let bits = leaf.bits | LeafBits::ACCESSED;
                self.mapped.insert(gpa.page(PAGE), Leaf { bits, ..leaf });
            }
            (Err(Fault::Nested(fault)), None) => assert_eq!(fault.gpa, gpa, "the fault of {gpa}"),
            (walked, expected) => {
                panic!("{gpa}: the hardware finds {walked:?}, where the table should map {expected:?}")
            }
        }
    }
}
