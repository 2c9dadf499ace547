//! Random guests: whatever they do to their tables, a guest that fences sees what the model of a native machine sees, and the checker finds
//! nothing whether it fences or not.

use super::fixture::{A, Choice, D, End, Fixture, G, R, U, V, W, X, pte, ram};
use super::hashed::Hashed;
use crate::shadow::{AgileConfig, Assist, Back, Coherence, Invalidation, Start, StatusUpdates, Tables};
use crate::table::{Radix, ShadowFormat};
use crate::vm::{LeafStatus, MemoryAttribute, Vm};
use memory::HostMemory;
use mmu::AdPolicy;
use proptest::prelude::*;
use reference::{Array, Cause, Config, Fault, Ground, Policy, Stage2};
use std::collections::BTreeMap;
use types::{Access, Asid, Gpa, Gva, Hpa, PageSize, PagingMode, Privilege, TranslationContext};

/// Guest memory as the model walks it: at guest physical addresses. What a walk would write is kept aside.
struct Peek<'m> {
    vm: &'m Vm,
    memory: &'m HostMemory,
    written: BTreeMap<u64, u64>,
}

impl reference::Memory for Peek<'_> {
    fn read(&mut self, at: Hpa) -> Option<u64> {
        if !self.vm.is_ram(Gpa(at.0), 8) {
            return None;
        }
        let there = || {
            let leaf = self.vm.mapped(self.memory, Gpa(at.0))?;
            self.memory.read(Hpa(leaf.page.0 | Gpa(at.0).offset(leaf.size))).ok()
        };
        Some(self.written.get(&at.0).copied().or_else(there).unwrap_or(0))
    }
    fn compare_exchange(&mut self, at: Hpa, old: u64, new: u64) -> Option<u64> {
        let found = self.read(at)?;
        if found == old {
            self.written.insert(at.0, new);
        }
        Some(found)
    }
    fn ground(&self, page: Hpa, size: PageSize) -> Ground {
        let last = page.0 + (size.bytes() - 1);
        match (self.vm.is_ram(Gpa(page.0), 1), self.vm.is_ram(Gpa(last), 1)) {
            (true, true) => Ground::Memory,
            (false, false) if size == PageSize::Size4K => Ground::Device,
            _ => Ground::Mixed,
        }
    }
}

/// What an access comes to on a native machine that has cached nothing.
enum Expected {
    Memory(Gpa, BTreeMap<u64, u64>),
    PageFault,
    /// Nothing, or a device: the address.
    Elsewhere(Option<Gpa>),
}

fn model(fixture: &Fixture, hart: usize, gva: Gva, access: Access) -> Expected {
    let array = || vec![Array { sizes: PageSize::ALL.to_vec(), sets: 1, ways: 4, policy: Policy::Lru }];
    let config = Config {
        l1i: array(),
        l1d: array(),
        l2: Vec::new(),
        guest_cache: [0; 4],
        host_cache: [0; 4],
        nested_tlb: None,
        refill: None,
        first_stage_svadu: fixture.ad == AdPolicy::Update,
        second_stage_svadu: true,
        svnapot: true,
        second_stage_groups: &[16],
    };
    let mut mmu = reference::Mmu::new(&config);
    mmu.set_context(&fixture.contexts[hart], fixture.vm.vmid());
    let mut memory = Peek { vm: &fixture.vm, memory: &fixture.host.memory, written: BTreeMap::new() };
    let stage = Stage2::Constant { ram: fixture.vm.ram(), offset: 0 };
    match mmu.access(&mut memory, &stage, gva, access) {
        Ok(answer) if answer.memory => Expected::Memory(answer.gpa, memory.written),
        Ok(answer) => Expected::Elsewhere(Some(answer.gpa)),
        Err(Fault::Page(Cause::TooWide)) => Expected::Elsewhere(None),
        Err(Fault::Page(_)) => Expected::PageFault,
        Err(_) => Expected::Elsewhere(None),
    }
}

#[derive(Clone, Debug)]
enum Op {
    /// Space and address.
    Access { hart: usize, page: u64, access: Access },
    /// An entry of a last-level table that is used at one address only, and a fence for that address.
    Leaf { space: u64, page: u64, entry: u64, to_all_spaces: bool },
    /// Any entry of any table becomes anything, and a fence of everything.
    Wild { table: u64, index: u64, entry: u64 },
    /// Any entry of any table becomes anything, without a fence: another hart may still see the old entry.
    Unfenced { table: u64, index: u64, entry: u64 },
    /// A hart runs another space.
    Switch { hart: usize, space: u64, privilege: Privilege, sum: bool },
    /// A hart translates no more, or in a mode in which its tables mean something else; nothing is left of it before.
    Mode { hart: usize, space: u64, mode: PagingMode },
    /// Everything is fenced.
    Fence,
    /// An interval of agile paging ends.
    Interval,
    /// PPTLB for a page of the running space.
    PartialPurge { space: u64, page: u64, handshake: bool },
}

const SPACES: u64 = 5;
/// Tables: each space has its root, a table below, and eight last-level tables.
const TABLES: u64 = SPACES * 16;
/// Harts that run spaces; one more does not translate.
const HARTS: usize = 2;

const fn root(space: u64) -> Gpa {
    ram((1 << 20) + space * 0x1_0000)
}

fn page() -> impl Strategy<Value = u64> {
    prop_oneof![0..24_u64, 0..24_u64, 0..4096_u64, 500..530_u64]
}

fn bits() -> impl Strategy<Value = u64> {
    let rights = prop::sample::select(vec![R, R | W, R | W, R | W, R | X, R | W | X, X, W, 0]);
    let others = [(U, 0.8), (D, 0.7), (A, 0.8), (V, 0.9)];
    let others = others.map(|(bit, odds)| prop::bool::weighted(odds).prop_map(move |set| if set { bit } else { 0 }));
    (rights, others).prop_map(|(rights, others)| rights | others.into_iter().sum::<u64>())
}

/// A leaf, or a pointer to a table, or nonsense.
fn entry() -> impl Strategy<Value = u64> {
    let data = (0..256_u64, bits()).prop_map(|(page, bits)| pte(ram((16 << 20) + page * 4096), bits));
    let large = (0..16_u64, bits()).prop_map(|(page, bits)| pte(ram((32 << 20) + page * (2 << 20)), bits));
    let table = (0..TABLES).prop_map(|table| pte(ram((1 << 20) + table * 4096), V));
    let mapped_table = (0..TABLES, bits()).prop_map(|(table, bits)| pte(ram((1 << 20) + table * 4096), bits));
    let napot =
        (0..4_u64, bits()).prop_map(|(page, bits)| pte(ram((16 << 20) + page * 0x1_0000 + 0x8000), bits) | 1 << 63);
    let outside =
        prop::sample::select(vec![0_u64, 0x1000_0000, 0xc00_0000, 0x8000_0000 + super::fixture::RAM, 1 << 50]);
    let outside = (outside, bits()).prop_map(|(page, bits)| pte(Gpa(page), bits));
    prop_oneof![6 => data, 2 => large, 3 => table, 2 => mapped_table, 1 => napot, 1 => outside, 1 => any::<u64>().prop_map(|entry| entry & !G), 1 => Just(0)]
}

fn op() -> impl Strategy<Value = Op> {
    let access = prop::sample::select(vec![Access::Read, Access::Read, Access::Write, Access::Execute]);
    let privilege = prop::sample::select(vec![Privilege::User, Privilege::User, Privilege::Supervisor]);
    let leaf = (0..256_u64, bits()).prop_map(|(page, bits)| pte(ram((16 << 20) + page * 4096), bits));
    prop_oneof![
        30 => (0..HARTS, page(), access).prop_map(|(hart, page, access)| Op::Access { hart, page, access }),
        12 => (0..SPACES, page(), leaf, any::<bool>())
            .prop_map(|(space, page, entry, to_all_spaces)| Op::Leaf { space, page, entry, to_all_spaces }),
        3 => (0..TABLES, prop_oneof![0..24_u64, 0..512_u64], entry())
            .prop_map(|(table, index, entry)| Op::Wild { table, index, entry }),
        1 => (0..TABLES, 0..24_u64, entry()).prop_map(|(table, index, entry)| Op::Unfenced { table, index, entry }),
        6 => (0..HARTS, 0..SPACES, privilege, any::<bool>())
            .prop_map(|(hart, space, privilege, sum)| Op::Switch { hart, space, privilege, sum }),
        1 => (0..HARTS, 0..SPACES, prop::sample::select(vec![PagingMode::Bare, PagingMode::Sv48, PagingMode::Sv39]))
            .prop_map(|(hart, space, mode)| Op::Mode { hart, space, mode }),
        1 => Just(Op::Fence),
        3 => Just(Op::Interval),
        2 => (0..SPACES, page(), any::<bool>())
            .prop_map(|(space, page, handshake)| Op::PartialPurge { space, page, handshake }),
    ]
}

fn choice() -> impl Strategy<Value = Choice> {
    let tables =
        prop::sample::select(vec![Tables::Single, Tables::Multiple(3), Tables::Multiple(4), Tables::Multiple(9)]);
    let coherence = prop::sample::select(vec![Coherence::Fence, Coherence::WriteProtect]);
    let invalidation = prop::sample::select(vec![
        Invalidation::Selective,
        Invalidation::Selective,
        Invalidation::Conventional,
        Invalidation::Full,
    ]);
    let assist = prop::sample::select(vec![Assist::None, Assist::VmAssist, Assist::MultiShadow]);
    let attribute =
        prop::sample::select(vec![MemoryAttribute::Virtual, MemoryAttribute::Resident, MemoryAttribute::Real]);
    let host_page = prop::sample::select(vec![PageSize::Size4K, PageSize::Size2M]);
    let ad = prop::sample::select(vec![AdPolicy::Fault, AdPolicy::Update]);
    let format = prop::sample::select(vec![&Radix as &'static dyn ShadowFormat, &Radix, &Hashed]);
    (tables, coherence, invalidation, assist, any::<bool>(), attribute, (host_page, ad), format).prop_map(
        |(tables, coherence, invalidation, assist, selection_flag, attribute, (host_page, ad), format)| Choice {
            tables,
            coherence,
            invalidation,
            assist,
            clear: Choice::default().clear,
            selection_flag,
            attribute,
            host_page,
            status: LeafStatus::Preset,
            ad,
            harts: HARTS + 1,
            format,
            agile: None,
        },
    )
}

/// Choices for agile paging.
fn agile_choice() -> impl Strategy<Value = Choice> {
    let start = prop::sample::select(vec![Start::Nested, Start::Shadow, Start::Shadow]);
    let back = prop::sample::select(vec![Back::Never, Back::Reset, Back::Dirty]);
    let status = prop::sample::select(vec![StatusUpdates::Exit, StatusUpdates::Hardware]);
    (choice(), 1..5_u32, start, back, 0..3_usize, status).prop_map(
        |(choice, threshold, start, back, root_cache, status)| Choice {
            tables: match choice.tables {
                Tables::Single => Tables::Multiple(3),
                Tables::Multiple(count) => Tables::Multiple(count),
            },
            coherence: Coherence::WriteProtect,
            invalidation: Invalidation::Selective,
            assist: Assist::None,
            format: &Radix,
            agile: Some(AgileConfig { threshold, interval_us: 0, start, back, root_cache, status }),
            ..choice
        },
    )
}

/// The operation without 64K pages. A TLB may use each of the sixteen entries for all of the page where it holds what the guest's own table says;
/// a shadow table has each piece by its own entry.
fn without_groups(op: Op) -> Op {
    const N: u64 = 1 << 63;
    match op {
        Op::Leaf { space, page, entry, to_all_spaces } => Op::Leaf { space, page, entry: entry & !N, to_all_spaces },
        Op::Wild { table, index, entry } => Op::Wild { table, index, entry: entry & !N },
        Op::Unfenced { table, index, entry } => Op::Unfenced { table, index, entry: entry & !N },
        other @ (Op::Access { .. }
        | Op::Switch { .. }
        | Op::Mode { .. }
        | Op::Fence
        | Op::Interval
        | Op::PartialPurge { .. }) => other,
    }
}

/// A guest under test.
struct Guest {
    fixture: Fixture,
    /// Every edit so far was fenced.
    fenced: bool,
    /// A table is reachable at other addresses than those that it was made for.
    wild: bool,
    /// The first pages are global: all spaces have the same there. (One that has not is the guest's mistake, which a TLB may show or not.)
    globals: bool,
}

/// This many pages are global, if any are.
const GLOBALS: u64 = 8;

impl Guest {
    fn new(choice: &Choice, globals: bool) -> Self {
        let mut fixture = Fixture::new(choice);
        for space in 0..SPACES {
            fixture.space(root(space));
        }
        for hart in 0..HARTS {
            fixture.switch(hart, root(hart as u64), hart as u16 + 1);
        }
        Self { fixture, fenced: true, wild: false, globals }
    }

    fn apply(&mut self, op: &Op) -> Result<(), TestCaseError> {
        let fixture = &mut self.fixture;
        match *op {
            Op::Access { hart, page, access } => return self.compare(hart, Gva(page << 12 | 0x128), access),
            Op::Leaf { page, entry, .. } if self.globals && page < GLOBALS => {
                let gva = Gva(page << 12);
                for space in 0..SPACES {
                    fixture.store(Fixture::entry(root(space), gva), if entry & V == 0 { 0 } else { entry | G });
                }
                fixture.fence_all(Some(gva), None);
            }
            Op::Leaf { space, page, entry, to_all_spaces } => {
                let gva = Gva(page << 12);
                fixture.store(Fixture::entry(root(space), gva), entry);
                let asid = (!to_all_spaces).then_some(space as u16 + 1);
                // One for an address is not for what a table elsewhere translates.
                if self.wild {
                    fixture.fence_all(None, None);
                } else {
                    fixture.fence_all(Some(gva), asid);
                }
            }
            Op::Wild { .. } | Op::Unfenced { .. } if self.globals => {}
            Op::Wild { table, index, entry } => {
                fixture.store(ram((1 << 20) + table * 4096 + index * 8), entry);
                fixture.fence_all(None, None);
                (self.wild, self.fenced) = (true, true);
            }
            Op::Unfenced { table, index, entry } => {
                fixture.store(ram((1 << 20) + table * 4096 + index * 8), entry);
                (self.wild, self.fenced) = (true, false);
            }
            Op::Switch { hart, space, privilege, sum } => {
                let context = TranslationContext {
                    mode: PagingMode::Sv39,
                    root: root(space),
                    asid: Asid(space as u16 + 1),
                    privilege,
                    sum,
                    mxr: false,
                };
                let was_other_mode = fixture.contexts[hart].mode != PagingMode::Sv39;
                fixture.enter(hart, context);
                if was_other_mode {
                    fixture.fence_all(None, None);
                    self.fenced = true;
                }
            }
            Op::Mode { hart, space, mode } => {
                let context = TranslationContext { mode, root: root(space), ..fixture.contexts[hart] };
                fixture.enter(hart, context);
                fixture.fence_all(None, None);
                self.fenced = true;
            }
            Op::Fence => {
                fixture.fence_all(None, None);
                self.fenced = true;
            }
            Op::Interval => fixture.end_interval(),
            Op::PartialPurge { page, .. } if self.globals && page < GLOBALS => {}
            Op::PartialPurge { space, page, handshake } => {
                let gva = Gva(page << 12);
                let at = Fixture::entry(root(space), gva);
                let old = fixture.load(at);
                assert_eq!(fixture.partial_purge(0, at, gva, handshake), old);
                // It is for the page that the entry named, at that address; what else the table translates needs a fence.
                if self.wild {
                    fixture.fence_all(None, None);
                }
            }
        }
        Ok(())
    }

    /// An access is what the model says, if nothing is left to fence; and whatever it is, the entries are allowed.
    fn compare(&mut self, hart: usize, gva: Gva, access: Access) -> Result<(), TestCaseError> {
        let gva = if self.fixture.contexts[hart].mode == PagingMode::Bare { Gva(ram(gva.0).0) } else { gva };
        let expected = model(&self.fixture, hart, gva, access);
        let got = self.fixture.access(hart, gva, access);
        if !self.fenced {
            return Ok(());
        }
        match (expected, got) {
            (Expected::Memory(gpa, written), End::Memory(hpa)) => {
                prop_assert_eq!(self.fixture.hpa(gpa), Some(hpa), "{} is {}", gva, gpa);
                // What is global may have been found by way of another space's entry.
                let own = !self.globals || gva.number() >= GLOBALS;
                for (at, entry) in written.into_iter().filter(|_| own) {
                    prop_assert_eq!(self.fixture.load(Gpa(at)), entry, "A and D of {:#x}", at);
                }
            }
            (Expected::PageFault, End::PageFault) => {}
            (Expected::Elsewhere(Some(gpa)), End::Device(device)) => prop_assert_eq!(gpa, device),
            (Expected::Elsewhere(_), End::AccessFault) => {}
            (Expected::Memory(gpa, _), got) => prop_assert!(false, "{} is {}, and not {:?}", gva, gpa, got),
            (Expected::PageFault, got) => prop_assert!(false, "{} faults, and is not {:?}", gva, got),
            (Expected::Elsewhere(at), got) => prop_assert!(false, "{} is at {:?}, and not {:?}", gva, at, got),
        }
        Ok(())
    }
}

/// Does all of `ops`, and looks at the guest once more in the end.
fn run(choice: &Choice, globals: bool, ops: &[Op]) -> Result<(), TestCaseError> {
    let mut guest = Guest::new(choice, globals);
    for op in ops {
        guest.apply(op)?;
    }
    let wrong = guest.fixture.wrong();
    prop_assert!(wrong.is_empty(), "{:?}", wrong);
    // Frames of tables that were given back are owned or free, but not lost: the guest fences, and goes on.
    guest.apply(&Op::Fence)?;
    for page in 0..16 {
        guest.compare(0, Gva(page << 12), Access::Read)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]
    #[test]
    fn a_guest_that_fences_sees_what_a_native_machine_shows(
        choice in choice(),
        globals: bool,
        ops in prop::collection::vec(op(), 1..160),
    ) {
        run(&choice, globals, &ops)?;
    }

    #[test]
    fn a_guest_under_agile_paging_does_too(
        choice in agile_choice(),
        globals: bool,
        ops in prop::collection::vec(op().prop_map(without_groups), 1..160),
    ) {
        run(&choice, globals, &ops)?;
    }
}
