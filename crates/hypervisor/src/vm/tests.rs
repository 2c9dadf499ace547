use super::presentation::Presentation;
use super::*;
use crate::paging::{NoVictim, PageUnavailable};
use crate::table::LeafBits;
use crate::testing::{NoProcessors, Processor, supply};
use devices::map::RAM_BASE;
use memory::{FrameError, FrameRange, HOST_BASE, HostPages};
use mmu::MmuConfig;
use proptest::prelude::*;
use types::{Access, Hpa, PageSize, SecondStageMode};

const MODES: [SecondStageMode; 3] = [SecondStageMode::Sv39x4, SecondStageMode::Sv48x4, SecondStageMode::Sv57x4];
const SIZES: [PageSize; 3] = [PageSize::Size4K, PageSize::Size2M, PageSize::Size1G];

fn nested(mode: SecondStageMode, page: PageSize) -> Backing {
    Backing::nested(mode, page, LeafStatus::Preset)
}

/// Every kind of backing that is filled on demand.
fn on_demand() -> impl Iterator<Item = Backing> {
    let flat = |page| Backing::flat(page, LeafStatus::Preset);
    let trees = MODES.into_iter().flat_map(|mode| SIZES.map(|page| nested(mode, page)));
    trees.chain([flat(PageSize::Size4K), flat(PageSize::Size2M)])
}

fn machine(ram_bytes: u64, backing: Backing) -> (Host, Vm) {
    let mut host = Host::new(Vm::host_bytes(ram_bytes, backing), HostPages::Base).unwrap();
    let vm = Vm::new(&mut host, Vmid(3), ram_bytes, backing).unwrap();
    (host, vm)
}

/// The largest page that is mapped.
fn page_of(backing: Backing) -> PageSize {
    match backing {
        Backing::Table { page, .. } => page,
        Backing::Native | Backing::Reserved | Backing::Direct { .. } => panic!("nothing is mapped"),
    }
}

fn ram(offset: u64) -> Gpa {
    RAM_BASE.wrapping_add(offset)
}

#[test]
fn populated_memory_faults_nowhere_and_is_not_touched() {
    const RAM: u64 = (6 << 20) + 8192;
    for page in [PageSize::Size4K, PageSize::Size2M] {
        let (mut host, mut vm) = machine(RAM, nested(SecondStageMode::Sv39x4, page));
        supply(&mut host, &mut vm, None, NoProcessors).populate(0).unwrap();
        let owned = host.frames.owned_bytes();
        let mut processor = Processor::new(&MmuConfig::default(), vm.vmid());
        let mut first = None;
        for offset in (0..RAM & !0x1f_ffff).step_by(4096) {
            let (found, faults) = processor.access(&mut host, &mut vm, ram(offset), Access::Write);
            let found = found.expect("RAM");
            let first = *first.get_or_insert(found);
            assert_eq!(faults, 0, "{offset:#x} with pages of {page}");
            assert_eq!(
                found,
                first.wrapping_add(offset),
                "no table lies between pages: it would touch their frames' neighbours"
            );
        }
        assert_eq!(processor.access(&mut host, &mut vm, ram(RAM - 8), Access::Write).1, 0);
        supply(&mut host, &mut vm, None, NoProcessors).populate(0).unwrap();
        assert_eq!(host.frames.owned_bytes(), owned, "populating again does nothing");
        // RAM, and a page of leaf entries for each 2M of it that has pages of 4K, two levels above it.
        let leaf_tables = if page == PageSize::Size4K { 4 } else { 1 };
        assert_eq!(owned, RAM + 4096 * (leaf_tables + 1) + 16384);
    }
    let (mut host, mut vm) = machine(1 << 20, Backing::Native);
    supply(&mut host, &mut vm, None, NoProcessors).populate(0).unwrap();
}

/// What becomes of a nested fault.
fn fault(host: &mut Host, vm: &mut Vm, gpa: Gpa, access: Access) -> Result<NestedFaultOutcome, PageUnavailable> {
    supply(host, vm, None, NoProcessors).nested_fault(0, gpa, access)
}

#[test]
fn a_page_is_as_large_as_ram_allows() {
    // One gigabyte, then 2 MiB, then two base pages.
    let bytes = (1 << 30) + (2 << 20) + 0x2000;
    for mode in MODES {
        let (mut host, mut vm) = machine(bytes, nested(mode, PageSize::Size1G));
        for (offset, size) in
            [(12_345, PageSize::Size1G), ((1 << 30) + 77, PageSize::Size2M), (bytes - 1, PageSize::Size4K)]
        {
            let before = host.frames.owned_bytes();
            let outcome = fault(&mut host, &mut vm, ram(offset), Access::Read);
            assert_eq!(outcome, Ok(NestedFaultOutcome::Mapped));
            let Presentation::Table { table, .. } = &vm.memory.second else { panic!() };
            assert_eq!(table.lookup(&host.memory, ram(offset)).unwrap().size, size);
            assert!(host.frames.owned_bytes() - before >= size.bytes());
        }
    }
}

#[test]
fn the_walker_finds_what_the_hypervisor_maps() {
    for backing in on_demand() {
        let bytes = (6 << 20) + 0x3000;
        let (mut host, mut vm) = machine(bytes, backing);
        let mut processor = Processor::new(&MmuConfig::default(), vm.vmid());
        let page = page_of(backing).min(PageSize::Size2M);
        for offset in [0, 0x1008, 3 << 20, (6 << 20) + 0x2ff8] {
            let gpa = ram(offset);
            let (hpa, faults) = processor.access(&mut host, &mut vm, gpa, Access::Write);
            let expected = if offset == 0x1008 && page == PageSize::Size2M { 0 } else { 1 };
            assert_eq!(faults, expected, "{backing:?} {gpa}");
            let piece = vm.touch(&host.memory, gpa, Access::Read).unwrap();
            assert_eq!(hpa, Some(piece.start));
        }
    }
}

#[test]
fn devices_and_nothing_are_told_apart() {
    let (mut host, mut vm) = machine(1 << 20, nested(SecondStageMode::Sv39x4, PageSize::Size4K));
    let mut outcome = |gpa| fault(&mut host, &mut vm, gpa, Access::Read).unwrap();
    for gpa in [devices::map::PLIC.base, devices::map::UART.base, devices::map::virtio_slot(7).base] {
        assert_eq!(outcome(gpa), NestedFaultOutcome::Device);
    }
    for gpa in [Gpa(0), ram(1 << 20), Gpa(RAM_BASE.0 - 1), Gpa(1 << 50), Gpa(u64::MAX)] {
        assert_eq!(outcome(gpa), NestedFaultOutcome::Nothing);
    }
    assert_eq!(outcome(ram((1 << 20) - 1)), NestedFaultOutcome::Mapped);
}

#[test]
fn nothing_is_reached_beyond_a_flat_table_or_reserved_memory() {
    for backing in [Backing::flat(PageSize::Size2M, LeafStatus::Preset), Backing::Reserved] {
        let (mut host, mut vm) = machine(3 << 20, backing);
        let mut processor = Processor::new(&MmuConfig::default(), vm.vmid());
        // Everything that the host has is behind an address that the guest might try.
        for gpa in [Gpa(0), devices::map::UART.base, Gpa(RAM_BASE.0 - 8), ram(3 << 20), ram(4 << 20), Gpa(1 << 55)] {
            assert_eq!(processor.access(&mut host, &mut vm, gpa, Access::Write), (None, 0), "{backing:?} {gpa}");
        }
        let (hpa, _) = processor.access(&mut host, &mut vm, ram((3 << 20) - 8), Access::Write);
        assert!(hpa.is_some());
    }
}

#[test]
fn a_flat_table_is_in_one_piece_or_refused() {
    let mut host = Host::new(8 << 20, HostPages::Base).unwrap();
    let backing = Backing::flat(PageSize::Size4K, LeafStatus::Preset);
    let error = Vm::new(&mut host, Vmid(1), 8 << 30, backing).unwrap_err();
    assert!(matches!(error, VmError::FlatTable { bytes: 0x100_0000, ram_bytes: 0x2_0000_0000, .. }));
    let text = error.to_string();
    assert!(text.starts_with("the flat table of 16777216 bytes for guest memory of 8589934592"), "{text}");
    let page = PageSize::Size1G;
    let backing = Backing::flat(page, LeafStatus::Preset);
    assert_eq!(Vm::new(&mut host, Vmid(1), 4096, backing).unwrap_err(), VmError::FlatPageSize(page));
    assert_eq!(host.frames.owned_bytes(), 0, "nothing was taken");
}

#[test]
fn reserved_memory_is_the_guests_own_and_zeroed() {
    let bytes = Vm::host_bytes(3 << 20, Backing::Reserved);
    let mut host = Host::new(2 * bytes, HostPages::Base).unwrap();
    let mut one = Vm::new(&mut host, Vmid(1), 3 << 20, Backing::Reserved).unwrap();
    let mut two = Vm::new(&mut host, Vmid(2), 3 << 20, Backing::Reserved).unwrap();
    assert!(!one.is_native());
    assert!(matches!(one.second_stage(), SecondStage::Reserved { offset: 0x20_0000, .. }));
    assert!(matches!(two.second_stage(), SecondStage::Reserved { offset: 0x60_0000, .. }), "aligned to 2M");
    let mut processors =
        [Processor::new(&MmuConfig::default(), one.vmid()), Processor::new(&MmuConfig::default(), two.vmid())];
    let (hpa, faults) = processors[0].access(&mut host, &mut one, ram(0x1008), Access::Write);
    assert_eq!((hpa, faults), (Some(Hpa(RAM_BASE.0 + 0x20_1008)), 0));
    let (other, _) = processors[1].access(&mut host, &mut two, ram(0x1008), Access::Write);
    assert_eq!(other, Some(Hpa(RAM_BASE.0 + 0x60_1008)));
    assert!(one.unmap_page(&host.memory, ram(0)).is_none(), "it cannot be taken back");
    let piece = two.touch(&host.memory, ram(0x1008), Access::Read).unwrap();
    assert_eq!((piece.start, piece.bytes), (other.unwrap(), (3 << 20) - 0x1008));
    let third = Vm::new(&mut host, Vmid(3), 3 << 20, Backing::Reserved);
    assert!(matches!(third, Err(VmError::Reserved(_))));
}

#[test]
fn a_native_guest_has_the_host_to_itself() {
    let (mut host, mut vm) = machine(1 << 20, Backing::Native);
    assert!(vm.is_native());
    assert_eq!(host.frames.free_bytes(), 0);
    assert_eq!(vm.second_stage(), SecondStage::Constant { ram: RAM_BASE..ram(1 << 20), offset: 0 });
    let mut processor = Processor::new(&MmuConfig::default(), vm.vmid());
    assert_eq!(processor.access(&mut host, &mut vm, ram(0x5678), Access::Read), (Some(Hpa(ram(0x5678).0)), 0));
    assert!(vm.unmap_page(&host.memory, ram(0)).is_none());
    let second = Vm::new(&mut host, Vmid(1), 4096, Backing::Native);
    assert!(matches!(second, Err(VmError::Native(FrameError::Owned(_)))));
}

#[test]
fn fixed_memory_lies_where_its_attribute_says_and_never_faults() {
    let bytes = (6 << 20) + 0x3000;
    for backing in on_demand() {
        let page = page_of(backing);
        for attribute in [MemoryAttribute::Real, MemoryAttribute::Resident] {
            let mut host = Host::new(Vm::host_bytes(bytes, backing), HostPages::Base).unwrap();
            let mut vm = Vm::with_attribute(&mut host, Vmid(3), bytes, backing, attribute).unwrap();
            let owned = host.frames.owned_bytes();
            let mut processor = Processor::new(&MmuConfig::default(), vm.vmid());
            let alpha = processor.access(&mut host, &mut vm, ram(0), Access::Read).0.unwrap().0 - RAM_BASE.0;
            assert_eq!(alpha == 0, attribute == MemoryAttribute::Real, "{attribute} {page}");
            for offset in [8, 0x1008, 3 << 20, (6 << 20) + 0x2ff8] {
                let hpa = Some(Hpa(ram(offset).0 + alpha));
                assert_eq!(processor.access(&mut host, &mut vm, ram(offset), Access::Write), (hpa, 0), "{attribute}");
                assert_eq!(processor.access(&mut host, &mut vm, ram(offset), Access::Execute), (hpa, 0));
                assert!(vm.unmap_page(&host.memory, ram(offset)).is_none(), "it is the guest's for good");
            }
            let Presentation::Table { table, .. } = &vm.memory.second else { panic!() };
            let first = table.lookup(&host.memory, ram(0)).unwrap().size;
            assert_eq!(first, page.min(PageSize::Size2M), "as large as RAM allows");
            assert_eq!(host.frames.owned_bytes(), owned, "all was there from the start");
        }
    }
}

#[test]
fn one_guest_of_a_host_is_v_equals_r_and_others_lie_beside_it() {
    let backing = nested(SecondStageMode::Sv39x4, PageSize::Size2M);
    let mut host = Host::new(4 * Vm::host_bytes(8 << 20, backing), HostPages::Base).unwrap();
    let mut add = |vmid, attribute| Vm::with_attribute(&mut host, Vmid(vmid), 8 << 20, backing, attribute);
    let mut vms =
        [MemoryAttribute::Real, MemoryAttribute::Resident, MemoryAttribute::Virtual, MemoryAttribute::Resident]
            .into_iter()
            .zip(1..)
            .map(|(attribute, vmid)| add(vmid, attribute).unwrap())
            .collect::<Vec<_>>();
    let error = add(5, MemoryAttribute::Real).unwrap_err();
    assert!(matches!(error, VmError::Real(FrameError::Owned(_))));
    assert!(error.to_string().contains("V=R") && error.to_string().contains("memory_attribute"), "{error}");
    let mut seen = std::collections::BTreeSet::new();
    for vm in &mut vms {
        let mut processor = Processor::new(&MmuConfig::default(), vm.vmid());
        for page in 0..(8 << 20) / 4096 {
            let (hpa, _) = processor.access(&mut host, vm, ram(page * 4096), Access::Write);
            assert!(seen.insert(hpa.unwrap()), "no two guests have the same frame");
        }
    }
}

#[test]
fn memory_that_cannot_be_in_one_piece_is_refused_and_nothing_is_taken() {
    let backing = nested(SecondStageMode::Sv39x4, PageSize::Size4K);
    let mut host = Host::new(8 << 20, HostPages::Base).unwrap();
    // 4 MiB above and 4 MiB less a page below a page that has an owner.
    host.frames.reserve(&host.memory, FrameRange::new(Hpa(HOST_BASE.0 + (4 << 20)), 4096).unwrap()).unwrap();
    let mut add = |bytes, attribute| Vm::with_attribute(&mut host, Vmid(1), bytes, backing, attribute);
    let error = add(5 << 20, MemoryAttribute::Resident).unwrap_err();
    assert!(matches!(error, VmError::NotContiguous(_)));
    assert!(error.to_string().contains("V=Resident") && error.to_string().contains("5242880"), "{error}");
    assert!(matches!(add(5 << 20, MemoryAttribute::Real), Err(VmError::Real(FrameError::Owned(_)))));
    assert!(matches!(add(9 << 20, MemoryAttribute::Real), Err(VmError::Real(FrameError::Outside(_)))));
    assert_eq!(host.frames.owned_bytes(), 4096);
    // Room for RAM, but not for its table.
    let mut tight = Host::new(1 << 20, HostPages::Base).unwrap();
    let refused = Vm::with_attribute(&mut tight, Vmid(1), (1 << 20) - 0x6000, backing, MemoryAttribute::Real);
    assert!(matches!(refused, Err(VmError::OutOfFrames(_))));
    let backing = Backing::flat(PageSize::Size4K, LeafStatus::Preset);
    let refused = Vm::with_attribute(&mut tight, Vmid(1), 1 << 20, backing, MemoryAttribute::Real);
    assert!(matches!(refused, Err(VmError::FlatTable { .. })));
    assert_eq!(tight.frames.owned_bytes(), 0);
    assert!(Vm::new(&mut host, Vmid(1), 5 << 20, backing).is_ok(), "pages can lie anywhere");
}

#[test]
fn impossible_machines_are_refused() {
    let mut host = Host::new(1 << 20, HostPages::Base).unwrap();
    let sv39 = nested(SecondStageMode::Sv39x4, PageSize::Size4K);
    for bytes in [0, 1, 4095, u64::MAX, u64::MAX - 4095] {
        for backing in [Backing::Native, sv39] {
            assert_eq!(Vm::new(&mut host, Vmid(1), bytes, backing).unwrap_err(), VmError::RamSize(bytes));
        }
    }
    let size = PageSize::Size64K;
    let backing = nested(SecondStageMode::Sv39x4, size);
    assert_eq!(Vm::new(&mut host, Vmid(1), 4096, backing).unwrap_err(), VmError::PageSize(size));
    let bytes = 1 << 41;
    let error = Vm::new(&mut host, Vmid(1), bytes, sv39).unwrap_err();
    assert_eq!(error, VmError::RamBeyondTable { bytes, bits: 41 });
    assert!(matches!(Vm::new(&mut host, Vmid(1), 2 << 20, Backing::Native), Err(VmError::Native(_))));
    assert_eq!(host.frames.owned_bytes(), 0, "nothing was taken");
}

#[test]
fn an_exhausted_host_says_so_and_loses_nothing() {
    let mut host = Host::new(64 * 4096, HostPages::Base).unwrap();
    let mut vm = Vm::new(&mut host, Vmid(1), 1 << 30, nested(SecondStageMode::Sv39x4, PageSize::Size4K)).unwrap();
    let mut filled = 0;
    let error = loop {
        match fault(&mut host, &mut vm, ram(filled * 4096), Access::Write) {
            Ok(outcome) => assert_eq!(outcome, NestedFaultOutcome::Mapped),
            Err(error) => break error,
        }
        filled += 1;
    };
    // The root, two tables, and the rest pages.
    let PageUnavailable::NoFrame { frames, reason: NoVictim::Off } = error else { panic!("{error}") };
    assert_eq!((filled, frames.bytes, frames.free), (64 - 4 - 2, 4096, 0));
    // A frame for the page but none for its table: the frame is not lost.
    let first = vm.unmap_page(&host.memory, ram(0)).unwrap();
    let mut processor = Processor::new(&MmuConfig::default(), vm.vmid());
    first.perform(&mut processor, &mut host.frames);
    assert!(fault(&mut host, &mut vm, ram(512 << 20), Access::Write).is_err());
    assert_eq!(host.frames.free_bytes(), 4096);
}

#[test]
fn a_discarded_page_is_flushed_before_its_frame_is_free() {
    for backing in on_demand() {
        // Too little RAM for a larger page.
        a_discarded_page_of(backing);
    }
}

fn a_discarded_page_of(backing: Backing) {
    let (mut host, mut vm) = machine(1 << 20, backing);
    let mut processor = Processor::new(&MmuConfig::default(), vm.vmid());
    let (hpa, _) = processor.access(&mut host, &mut vm, ram(0), Access::Write);
    host.memory.write(hpa.unwrap(), 0xdead_u64).unwrap();
    let invalidation = vm.unmap_page(&host.memory, ram(0x123)).unwrap();
    assert_eq!(processor.access(&mut host, &mut vm, ram(0), Access::Read), (hpa, 0), "the TLB still has it");
    let owned = host.frames.owned_bytes();
    invalidation.perform(&mut processor, &mut host.frames);
    assert_eq!(host.frames.owned_bytes(), owned - 4096);
    assert_eq!(processor.forgotten, [FrameRange::new(hpa.unwrap(), 4096).unwrap()]);
    let (again, faults) = processor.access(&mut host, &mut vm, ram(0), Access::Read);
    assert_eq!((again, faults), (hpa, 1), "the lowest frame, filled again");
    assert_eq!(host.memory.read::<u64>(again.unwrap()), Ok(0));
    assert!(vm.unmap_page(&host.memory, ram(0x5000)).is_none());
}

#[test]
fn status_bits_are_set_by_hardware_or_by_the_hypervisor() {
    let nested = |status| Backing::nested(SecondStageMode::Sv39x4, PageSize::Size4K, status);
    status_bits_are_set(nested);
    for page in [PageSize::Size4K, PageSize::Size2M] {
        status_bits_are_set(|status| Backing::flat(page, status));
    }
}

fn status_bits_are_set(backing: impl Fn(LeafStatus) -> Backing) {
    let bits = |vm: &Vm, host: &Host| match &vm.second {
        Presentation::Table { table, .. } => table.lookup(&host.memory, ram(0)).unwrap().bits,
        Presentation::Native | Presentation::Reserved | Presentation::Direct { .. } => panic!(),
    };
    let both = LeafBits::ACCESSED | LeafBits::DIRTY;

    let (mut host, mut vm) = machine(4 << 20, backing(LeafStatus::Preset));
    fault(&mut host, &mut vm, ram(0), Access::Read).unwrap();
    assert!(bits(&vm, &host).contains(both));

    for policy in [mmu::AdPolicy::Update, mmu::AdPolicy::Fault] {
        let (mut host, mut vm) = machine(4 << 20, backing(LeafStatus::Clear));
        let mut processor = Processor::new(&MmuConfig { second_stage_ad: policy, ..MmuConfig::default() }, vm.vmid());
        let (_, faults) = processor.access(&mut host, &mut vm, ram(0), Access::Read);
        assert_eq!(faults, 1);
        assert!(bits(&vm, &host).contains(LeafBits::ACCESSED) && !bits(&vm, &host).contains(LeafBits::DIRTY));
        let (_, faults) = processor.access(&mut host, &mut vm, ram(0), Access::Write);
        assert_eq!(faults, if policy == mmu::AdPolicy::Fault { 1 } else { 0 });
        assert!(bits(&vm, &host).contains(both));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Any RAM, any page size, touched in any order: the promised host memory is enough, no two pages share a byte, and what the
    /// guest writes to a page it reads there.
    #[test]
    fn guest_memory_is_memory(
        backing in prop::sample::select(on_demand().collect::<Vec<_>>()),
        pages in 1_u64..2000,
        touched in prop::collection::vec(any::<u64>(), 1..60),
    ) {
        let (mut host, mut vm) = machine(pages * 4096, backing);
        let mut processor = Processor::new(&MmuConfig::default(), vm.vmid());
        let mut model = std::collections::BTreeMap::new();
        for (value, touch) in touched.into_iter().enumerate() {
            let gpa = ram(touch % pages * 4096 + (touch >> 52) / 8 * 8);
            let (hpa, _) = processor.access(&mut host, &mut vm, gpa, Access::Write);
            host.memory.write(hpa.unwrap(), value as u64 + 1).unwrap();
            model.insert(gpa, value as u64 + 1);
        }
        for (gpa, value) in model {
            let (hpa, faults) = processor.access(&mut host, &mut vm, gpa, Access::Read);
            prop_assert_eq!((host.memory.read::<u64>(hpa.unwrap()), faults), (Ok(value), 0));
        }
    }

    /// All of RAM can be filled.
    #[test]
    fn the_promised_host_memory_is_enough(
        backing in prop::sample::select(on_demand().collect::<Vec<_>>()),
        pages in 1_u64..1500,
        start: u64,
    ) {
        let (mut host, mut vm) = machine(pages * 4096, backing);
        for number in 0..pages {
            let gpa = ram((start % pages + number) % pages * 4096);
            prop_assert!(matches!(fault(&mut host, &mut vm, gpa, Access::Write), Ok(NestedFaultOutcome::Mapped)));
        }
    }
}
