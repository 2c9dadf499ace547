use super::*;
use crate::dma::Dma;
use crate::paging::{PagingCounts, Swap};
use crate::testing::{Processor, supply};
use crate::vm::{Backing, LeafStatus, MemoryAttribute};
use devices::map::RAM_BASE;
use devices::{DmaAccess, DmaError, DmaMemory};
use memory::{FrameRange, Host, HostPages};
use mmu::MmuConfig;
use proptest::prelude::*;
use std::collections::BTreeMap;
use types::{SecondStageMode, Vmid};

const PAGE: u64 = PageSize::Size4K.bytes();

/// A guest on a host that pages.
struct Fixture {
    host: Host,
    vm: Vm,
    pager: Pager,
    processor: Processor,
}

fn ram(page: u64) -> Gpa {
    RAM_BASE.wrapping_add(page * PAGE)
}

impl Fixture {
    /// RAM of `pages` base pages in host memory of `frames`.
    fn new(pages: u64, frames: u64, page: PageSize, status: LeafStatus, swap: Swap) -> Self {
        let mut host = Host::new(frames * PAGE, HostPages::Base).unwrap();
        let backing = Backing::nested(SecondStageMode::Sv39x4, page, status);
        let vm = Vm::new(&mut host, Vmid(3), pages * PAGE, backing).unwrap();
        let pager = Pager::new(&host.memory, swap);
        let processor = Processor::new(&MmuConfig::default(), vm.vmid());
        Self { host, vm, pager, processor }
    }

    fn simple(pages: u64, frames: u64) -> Self {
        Self::new(pages, frames, PageSize::Size4K, LeafStatus::Clear, unlimited())
    }

    fn supply(&mut self) -> FrameReclaim<'_, &mut Processor> {
        supply(&mut self.host, &mut self.vm, Some(&mut self.pager), &mut self.processor)
    }

    /// The guest's own load or store, through its TLBs.
    fn access(&mut self, gpa: Gpa, access: Access) -> Result<memory::FrameRange, PageUnavailable> {
        let Self { host, vm, pager, processor } = self;
        let (hpa, _) = processor.try_access(host, vm, Some(pager), gpa, access)?;
        Ok(FrameRange::new(hpa.unwrap().page(PageSize::Size4K), PAGE).unwrap())
    }

    fn write(&mut self, gpa: Gpa, value: u64) -> Result<(), PageUnavailable> {
        let frame = self.access(gpa, Access::Write)?;
        self.host.memory.write(frame.start().wrapping_add(gpa.offset(PageSize::Size4K)), value).unwrap();
        Ok(())
    }

    fn read(&mut self, gpa: Gpa) -> Result<u64, PageUnavailable> {
        let frame = self.access(gpa, Access::Read)?;
        Ok(self.host.memory.read(frame.start().wrapping_add(gpa.offset(PageSize::Size4K))).unwrap())
    }

    fn counts(&mut self) -> PagingCounts {
        self.pager.take_counts()
    }
}

fn unlimited() -> Swap {
    Swap::create(None, None).unwrap()
}

#[test]
fn every_page_comes_back_as_it_went() {
    for (page, status) in [
        (PageSize::Size4K, LeafStatus::Clear),
        (PageSize::Size4K, LeafStatus::Preset),
        (PageSize::Size2M, LeafStatus::Clear),
        (PageSize::Size1G, LeafStatus::Preset),
    ] {
        let mut fixture = Fixture::new(4096, 1024, page, status, unlimited());
        for number in 0..4096 {
            fixture.write(ram(number), number + 1).unwrap();
        }
        for number in (0..4096).rev() {
            assert_eq!(fixture.read(ram(number)), Ok(number + 1), "{page} {status:?}");
        }
        let counts = fixture.counts();
        assert!(counts.out >= 3072 && counts.in_ >= 3072, "{counts:?}");
        assert!(fixture.host.frames.owned_bytes() <= 1024 * PAGE);
    }
}

#[test]
fn what_is_not_written_needs_no_file() {
    let mut fixture = Fixture::simple(4096, 1024);
    // Read only: zeroes that were there from the start. Written, but with zeroes: seen by looking.
    for number in 0..2048 {
        assert_eq!(fixture.read(ram(number)), Ok(0));
        fixture.write(ram(2048 + number), 0).unwrap();
    }
    let counts = fixture.counts();
    assert_eq!((counts.out, counts.clean, counts.in_), (0, 0, 0));
    assert!(counts.zero >= 3072, "{counts:?}");
}

#[test]
fn a_page_that_comes_back_and_is_only_read_goes_again_for_nothing() {
    let mut fixture = Fixture::simple(4096, 1024);
    for number in 0..4096 {
        fixture.write(ram(number), number + 1).unwrap();
    }
    fixture.counts();
    for _ in 0..2 {
        for number in 0..4096 {
            assert_eq!(fixture.read(ram(number)), Ok(number + 1));
        }
    }
    let counts = fixture.counts();
    // Only what had its frame when the reading began is still to be written, once.
    assert!(counts.out <= 1024 && counts.clean >= 6000, "{counts:?}");
    assert_eq!(counts.zero, 0);
}

#[test]
fn a_page_in_use_is_passed_by_and_one_that_is_not_goes() {
    let mut fixture = Fixture::simple(4096, 1024);
    let busy = 16;
    fixture.write(ram(busy), 77).unwrap();
    let mut ins = 0;
    for number in 0..4096 {
        fixture.write(ram(number), 1 + number).unwrap();
        fixture.counts();
        fixture.read(ram(busy)).unwrap();
        ins += fixture.counts().in_;
    }
    assert!(ins <= 6, "the busy page came back {ins} times");
    // Where A tells nothing it goes each time that its turn comes.
    let mut fixture = Fixture::new(4096, 1024, PageSize::Size4K, LeafStatus::Preset, unlimited());
    let mut blind = 0;
    for number in 0..4096 {
        fixture.write(ram(number), 1 + number).unwrap();
        fixture.counts();
        fixture.read(ram(busy)).unwrap();
        blind += fixture.counts().in_;
    }
    assert!(blind >= 3, "{blind}");
}

#[test]
fn tlbs_and_translated_code_forget_a_page_before_another_has_its_frame() {
    let mut fixture = Fixture::simple(4096, 1024);
    let mut where_ = BTreeMap::new();
    for number in 0..1500 {
        let frame = fixture.access(ram(number), Access::Write).unwrap();
        where_.insert(number, frame);
        // Everything else that the TLBs still know is where the tables say.
        for (&other, &frame) in where_.iter().rev().take(40) {
            let Fixture { host, vm, processor, .. } = &mut fixture;
            if let Ok(hpa) = processor.translate(host, vm, ram(other), Access::Write) {
                let now = vm.page(&host.memory, ram(other)).expect("the TLB knows a page that has no frame").page;
                assert_eq!(hpa, Some(now), "page {other}, in {frame} at first");
            }
        }
    }
    let forgotten = &fixture.processor.forgotten;
    let taken = fixture.pager.counts.taken();
    assert_eq!(forgotten.len() as u64, taken);
    assert!(taken >= 1500 - 1024 && taken.is_multiple_of(BATCH), "{taken}");
    assert_eq!(fixture.processor.mmu.statistics().gvma_fences, taken / BATCH, "one flush for a batch");
}

#[test]
fn a_superpage_is_split_before_any_of_it_goes() {
    let mut fixture = Fixture::new(4096, 1800, PageSize::Size2M, LeafStatus::Clear, unlimited());
    for number in [0, 512] {
        fixture.write(ram(number), number + 1).unwrap();
        assert_eq!(fixture.vm.page(&fixture.host.memory, ram(number)).unwrap().size, PageSize::Size2M);
    }
    // No third superpage fits, so that base pages are as good, until the first is split.
    for number in 1024..4096 {
        fixture.write(ram(number), number + 1).unwrap();
        assert_eq!(fixture.vm.page(&fixture.host.memory, ram(number)).unwrap().size, PageSize::Size4K);
    }
    let counts = fixture.counts();
    assert!(counts.zero > 0 && counts.zero + counts.out == counts.taken(), "most of it was never touched: {counts:?}");
    assert!(fixture.vm.page(&fixture.host.memory, ram(1)).is_none_or(|leaf| leaf.size == PageSize::Size4K));
    for number in [0, 512].into_iter().chain(1024..4096) {
        assert_eq!(fixture.read(ram(number)), Ok(number + 1));
    }
}

#[test]
fn frames_of_a_request_stay_until_it_is_done() {
    let mut fixture = Fixture::simple(4096, 256);
    for number in 0..1000 {
        fixture.write(ram(number), number + 1).unwrap();
    }
    let dma = Dma::new(fixture.supply(), 0);
    let slices: Vec<_> = (0..100).map(|number| dma.slice(ram(number * 7), 8, DmaAccess::Read).unwrap()).collect();
    // Others come meanwhile, as many as there are frames for.
    for number in 2000..2100 {
        dma.slice(ram(number), 8, DmaAccess::Write).unwrap().copy_from(&u64::to_le_bytes(number));
    }
    for (number, slice) in slices.iter().enumerate() {
        let mut bytes = [0; 8];
        slice.copy_to(&mut bytes);
        assert_eq!(u64::from_le_bytes(bytes), number as u64 * 7 + 1);
    }
    // More than there is: the request fails, and says why.
    let mut number = 1000;
    let error = loop {
        match dma.slice(ram(number), 8, DmaAccess::Write) {
            Ok(_) => number += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error, DmaError::NoFrame(ram(number)));
    dma.release();
    assert!(dma.slice(ram(number), 8, DmaAccess::Write).is_ok(), "all of them may go now");
    let unavailable = dma.finish().unavailable.unwrap();
    assert!(matches!(&unavailable, PageUnavailable::NoFrame { reason: NoVictim::Fixed, .. }), "{unavailable}");
    assert!(unavailable.to_string().contains(&(256 * PAGE).to_string()), "{unavailable}");
    assert_eq!(fixture.read(ram(2050)), Ok(2050));
}

#[test]
fn the_guest_whose_page_cannot_be_had_is_told_the_numbers() {
    // A swap file of a hundred pages.
    let swap = Swap::create(None, Some(100 * PAGE)).unwrap();
    let mut fixture = Fixture::new(4096, 256, PageSize::Size4K, LeafStatus::Clear, swap);
    let mut number = 0;
    let error = loop {
        match fixture.write(ram(number), number + 1) {
            Ok(()) => number += 1,
            Err(error) => break error,
        }
    };
    let text = error.to_string();
    assert!(
        text.contains("0 free bytes of 1048576") && text.contains("swap file is full, with 409600 bytes"),
        "{text}"
    );
    // Root and two tables are the hypervisor's.
    assert_eq!(number, 256 - 4 - 2 + 100, "every frame and every slot is used");
    // Nothing is lost: what is there can be read, and what is discarded makes room.
    for number in (0..number).rev() {
        assert_eq!(fixture.read(ram(number)), Ok(number + 1));
    }
    assert!(fixture.supply().discard(0, (0..200).map(ram)) > 0);
    for number in 200..number {
        assert_eq!(fixture.read(ram(number)), Ok(number + 1));
    }
    fixture.write(ram(0), 5).unwrap();
}

#[test]
fn a_disk_that_is_full_ends_one_guest_and_loses_nothing() {
    let full = std::fs::File::options().read(true).write(true).open("/dev/full").unwrap();
    let mut fixture = Fixture::new(1024, 256, PageSize::Size4K, LeafStatus::Clear, Swap::in_file(full, None));
    let filled = (0..1024).take_while(|&number| fixture.write(ram(number), number + 1).is_ok()).count() as u64;
    assert_eq!(filled, 256 - 4 - 2);
    let error = fixture.write(ram(filled), 1).unwrap_err().to_string();
    assert!(error.contains("cannot be written: No space left"), "{error}");
    for number in 0..filled {
        assert_eq!(fixture.read(ram(number)), Ok(number + 1));
    }
}

#[test]
fn a_page_given_up_is_zero_whether_it_had_a_frame_or_not() {
    for page in [PageSize::Size4K, PageSize::Size2M] {
        let mut fixture = Fixture::new(4096, 1024, page, LeafStatus::Clear, unlimited());
        for number in 0..4096 {
            fixture.write(ram(number), number + 1).unwrap();
        }
        let owned = fixture.host.frames.owned_bytes();
        let freed = fixture.supply().discard(0, (1000..3000).map(|number| ram(number).wrapping_add(123)));
        assert_eq!(fixture.host.frames.owned_bytes(), owned - freed * PAGE);
        assert_eq!(fixture.supply().discard(0, (1000..3000).map(ram)), 0, "once is all");
        for number in 0..4096 {
            let left = if (1000..3000).contains(&number) { 0 } else { number + 1 };
            assert_eq!(fixture.read(ram(number)), Ok(left), "{page}");
        }
        // Anything that a hostile guest may name.
        assert_eq!(fixture.supply().discard(0, [Gpa(0), ram(4096), Gpa(u64::MAX), Gpa(0x0c00_0000)]), 0);
    }
}

#[test]
fn one_page_of_a_superpage_can_be_given_up_without_a_pager() {
    let backing = |page| Backing::nested(SecondStageMode::Sv48x4, page, LeafStatus::Preset);
    for page in [PageSize::Size2M, PageSize::Size1G] {
        let mut host = Host::new(Vm::host_bytes(1 << 30, backing(page)), HostPages::Base).unwrap();
        let mut vm = Vm::new(&mut host, Vmid(1), 1 << 30, backing(page)).unwrap();
        let mut processor = Processor::new(&MmuConfig::default(), vm.vmid());
        let before = [5, 7].map(|number| processor.access(&mut host, &mut vm, ram(number), Access::Write).0.unwrap());
        let freed = supply(&mut host, &mut vm, None, &mut processor).discard(0, [ram(6)]);
        assert_eq!((freed, processor.forgotten.len()), (1, 1));
        let after = [5, 7].map(|number| processor.access(&mut host, &mut vm, ram(number), Access::Write));
        assert_eq!(after, before.map(|hpa| (Some(hpa), 0)), "its neighbours are where they were");
        assert_eq!(processor.access(&mut host, &mut vm, ram(6), Access::Read).1, 1);
        assert_eq!(vm.page(&host.memory, ram(6)).unwrap().size, PageSize::Size4K);
    }
}

#[test]
fn fixed_memory_is_never_taken_and_pages_of_others_are() {
    let mut host = Host::new(2048 * PAGE, HostPages::Base).unwrap();
    let backing = Backing::nested(SecondStageMode::Sv39x4, PageSize::Size4K, LeafStatus::Clear);
    let mut add =
        |vmid, pages, attribute| Vm::with_attribute(&mut host, Vmid(vmid), pages * PAGE, backing, attribute).unwrap();
    let mut vms = [
        add(1, 512, MemoryAttribute::Real),
        add(2, 512, MemoryAttribute::Resident),
        add(3, 4096, MemoryAttribute::Virtual),
        add(4, 4096, MemoryAttribute::Virtual),
    ];
    let mut pager = Pager::new(&host.memory, unlimited());
    let mut processor = Processor::new(&MmuConfig::default(), Vmid(1));
    let Host { memory, frames } = &mut host;
    let mut frames_of = BTreeMap::new();
    // Everybody writes their name, in turns; the two pageable ones together have less than a quarter of what they want.
    for number in 0..4096 {
        for vm in 0..4 {
            let mut supply =
                FrameReclaim { memory, frames, vms: &mut vms, pager: Some(&mut pager), processors: &mut processor };
            let Some(piece) = supply.fill(vm, ram(number), Access::Write).unwrap() else { continue };
            memory.write(piece.start, number << 8 | vm as u64).unwrap();
            if vm < 2 {
                frames_of.insert((vm, number), piece.start);
            }
        }
    }
    for number in (0..4096).rev() {
        for vm in 0..4 {
            let mut supply =
                FrameReclaim { memory, frames, vms: &mut vms, pager: Some(&mut pager), processors: &mut processor };
            let Some(piece) = supply.fill(vm, ram(number), Access::Read).unwrap() else { continue };
            assert_eq!(memory.read(piece.start), Ok(number << 8 | vm as u64));
            assert!(frames_of.get(&(vm, number)).is_none_or(|&frame| frame == piece.start), "fixed");
        }
    }
    // One ends: all that it had is the other's.
    let mut supply =
        FrameReclaim { memory, frames, vms: &mut vms, pager: Some(&mut pager), processors: &mut processor };
    supply.release(2);
    assert!(supply.frames.free_bytes() > 300 * PAGE);
    for number in 0..4096 {
        let piece = supply.fill(3, ram(number), Access::Read).unwrap().unwrap();
        assert_eq!(memory.read(piece.start), Ok(number << 8 | 3));
    }
    let again = supply.fill(2, ram(9), Access::Read).unwrap().unwrap();
    assert_eq!(memory.read::<u64>(again.start), Ok(0));
}

/// What a guest, a device or the balloon does.
#[derive(Clone, Debug)]
enum Step {
    Write(u64, u64),
    Read(u64),
    DeviceWrites(u64, Vec<u8>),
    DeviceReads(u64, usize),
    Discard(u64, u64),
}

fn steps(pages: u64) -> impl Strategy<Value = Vec<Step>> {
    let offset = 0..pages * 512;
    let step = prop_oneof![
        4 => (offset.clone(), any::<u64>()).prop_map(|(word, value)| Step::Write(word * 8, (value % 3).wrapping_mul(value))),
        4 => offset.clone().prop_map(|word| Step::Read(word * 8)),
        2 => (0..pages * PAGE, prop::collection::vec(any::<u8>(), 1..12_000)).prop_map(|(at, bytes)| Step::DeviceWrites(at, bytes)),
        2 => (0..pages * PAGE, 1..12_000_usize).prop_map(|(at, bytes)| Step::DeviceReads(at, bytes)),
        1 => (0..pages, 1..64_u64).prop_map(|(page, count)| Step::Discard(page, count)),
    ];
    prop::collection::vec(step, 1..400)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// Memory under pressure is memory: whatever guest, devices and balloon do, everything reads as written last.
    #[test]
    fn paged_memory_is_memory(
        page in prop::sample::select(&[PageSize::Size4K, PageSize::Size2M, PageSize::Size1G][..]),
        status in prop::sample::select(&[LeafStatus::Clear, LeafStatus::Preset][..]),
        frames in 40_u64..700,
        steps in steps(1100),
    ) {
        const PAGES: u64 = 1100;
        let mut fixture = Fixture::new(PAGES, frames, page, status, unlimited());
        let mut model = vec![0_u8; (PAGES * PAGE) as usize];
        let at = |offset: u64| RAM_BASE.wrapping_add(offset);
        for step in steps {
            match step {
                Step::Write(offset, value) => {
                    fixture.write(at(offset), value).unwrap();
                    model[offset as usize..][..8].copy_from_slice(&value.to_le_bytes());
                }
                Step::Read(offset) => {
                    let expected = model[offset as usize..][..8].try_into().unwrap();
                    prop_assert_eq!(fixture.read(at(offset)), Ok(u64::from_le_bytes(expected)));
                }
                Step::DeviceWrites(offset, bytes) => {
                    let fits = bytes.len().min((PAGES * PAGE - offset) as usize);
                    Dma::new(fixture.supply(), 0).write(at(offset), &bytes[..fits]).unwrap();
                    model[offset as usize..][..fits].copy_from_slice(&bytes[..fits]);
                }
                Step::DeviceReads(offset, bytes) => {
                    let mut read = vec![0xee; bytes.min((PAGES * PAGE - offset) as usize)];
                    Dma::new(fixture.supply(), 0).read(at(offset), &mut read).unwrap();
                    prop_assert_eq!(&read[..], &model[offset as usize..][..read.len()]);
                }
                Step::Discard(page, count) => {
                    let end = (page + count).min(PAGES);
                    fixture.supply().discard(0, (page..end).map(ram));
                    model[(page * PAGE) as usize..(end * PAGE) as usize].fill(0);
                }
            }
        }
        let mut all = vec![1; model.len()];
        Dma::new(fixture.supply(), 0).read(at(0), &mut all).unwrap();
        prop_assert!(all == model);
    }
}
