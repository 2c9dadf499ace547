use super::*;
use config::host_model::HostModel;
use hypervisor::footprint::{ExtentModel, FootprintModel, TouchModel};
use mmu::{HostPage, MmuConfig, SecondStage, TableMemory, TlbArray};
use reference::{Ground, Memory, Policy, Stage2};
use testing::Random;
use types::{Gpa, PageSize, TranslationContext, Vmid};

/// A guest without tables, whose memory is all of the host's; no byte of it is read.
struct Plain;

impl TableMemory for Plain {
    fn read(&mut self, _: Hpa) -> Option<u64> {
        None
    }

    fn compare_exchange(&mut self, _: Hpa, old: u64, _: u64) -> Option<u64> {
        Some(old)
    }

    fn host_page(&self, page: Hpa, size: PageSize) -> HostPage {
        match size {
            PageSize::Size4K => HostPage::Ram(std::ptr::without_provenance_mut(page.0 as usize)),
            _ => HostPage::Mixed,
        }
    }
}

impl Memory for Plain {
    fn read(&mut self, _: Hpa) -> Option<u64> {
        None
    }

    fn compare_exchange(&mut self, _: Hpa, old: u64, _: u64) -> Option<u64> {
        Some(old)
    }

    fn ground(&self, _: Hpa, size: PageSize) -> Ground {
        if size == PageSize::Size4K { Ground::Memory } else { Ground::Mixed }
    }
}

const RAM: Gpa = Gpa(0x8000_0000);
const END: Gpa = Gpa(0x9000_0000);

/// Guests on one pCPU, on the machine's MMU and on that of the reference.
struct Both {
    mmu: Mmu,
    footprint: Footprint,
    plan: FootprintPlan,
    reference: (reference::Mmu, reference::Footprint),
    stamp: u64,
    page_misses: u64,
}

impl Both {
    fn new(model: &FootprintModel, [l1, l2]: [(u32, u32); 2]) -> Self {
        let array = |(sets, ways)| vec![TlbArray::new(&[PageSize::Size4K], sets, ways)];
        let config = MmuConfig { l1d: array(l1), l1i: array(l1), l2: array(l2), ..MmuConfig::default() };
        let shape = |(sets, ways): (u32, u32)| {
            let sizes = vec![PageSize::Size4K];
            vec![reference::Array { sizes, sets: sets.into(), ways: ways as usize, policy: Policy::Lru }]
        };
        let reference = reference::Config {
            l1i: shape(l1),
            l1d: shape(l1),
            l2: shape(l2),
            guest_cache: [0; 4],
            host_cache: [0; 4],
            nested_tlb: None,
            refill: None,
            first_stage_svadu: false,
            second_stage_svadu: false,
            svnapot: false,
            second_stage_groups: &[],
        };
        let plan = FootprintPlan::new(model, Hpa(END.0), 1);
        let mut both = Self {
            mmu: Mmu::new(&config).unwrap(),
            footprint: Footprint::new(plan.clone(), 1),
            plan,
            reference: (reference::Mmu::new(&reference), reference::Footprint::default()),
            stamp: 1,
            page_misses: 0,
        };
        both.enter(0);
        both
    }

    /// Another VM runs.
    fn enter(&mut self, vm: u16) {
        self.mmu.set_context(&TranslationContext::default(), Vmid(vm + 1));
        self.reference.0.set_context(&TranslationContext::default(), Vmid(vm + 1));
    }

    fn event(&mut self, vm: usize, event: FootprintEvent) {
        let at = FootprintPlace { pcpu: 0, vm };
        self.footprint.touch(at, event, &mut self.mmu, None);
        let (mmu, footprint) = &mut self.reference;
        for touched in self.plan.touched(event, at) {
            for page in touched.pages() {
                self.page_misses += u64::from(!footprint.touch(mmu, page, touched.access));
            }
        }
    }

    /// An access to a page, as the machine makes one; whether it missed the L1 and the L2.
    fn access(&mut self, page: u64, access: Access) -> [bool; 2] {
        self.stamp += u64::from(access != Access::Execute);
        let gva = Gva(RAM.0 + (page << 12));
        let before = *self.mmu.statistics();
        self.footprint.before_access(0, &mut self.mmu, (gva, access), self.stamp);
        let second = SecondStage::Constant { ram: RAM..END, offset: 0 };
        let hit = self.mmu.access(&mut Plain, &second, gva, access, self.stamp).unwrap();
        let (mmu, footprint) = &mut self.reference;
        let stage = Stage2::Constant { ram: RAM..END, offset: 0 };
        let answer = footprint.access(mmu, &mut Plain, &stage, (gva, access)).unwrap();
        assert_eq!(hit.hpa, answer.hpa);
        let (counted, expected) = (self.mmu.statistics(), self.reference.0.counts());
        let ours = [counted.l1d_misses, counted.l1i_misses, counted.l2_hits, counted.l2_misses];
        assert_eq!(ours, [expected.l1d_misses, expected.l1i_misses, expected.l2_hits, expected.l2_misses]);
        assert_eq!(self.footprint.statistics(0).page_misses, self.page_misses);
        let since = counted.since(&before);
        [since.l1d_misses + since.l1i_misses > 0, since.l2_misses > 0]
    }
}

/// Exact against the reference: random accesses of two VMs between random events of random sizes, on small TLBs.
#[test]
fn tlbs_hold_what_the_reference_says_after_any_events() {
    let seed = testing::seed("PAGEWALK_FOOTPRINT_SEED");
    for episode in 0..60 {
        let mut rng = Random::new((seed << 32) | episode);
        let mut extent = || ExtentModel { lines: 0, pages: rng.below(5) as u32 };
        let mut touch = || TouchModel { code: extent(), pcpu: extent(), vm: extent() };
        let model = FootprintModel {
            exit: touch(),
            call: touch(),
            wait: touch(),
            nested_fault: touch(),
            device: touch(),
            interrupt: touch(),
            shadow_fill: touch(),
            shadow_invalidation: touch(),
            shadow_switch: touch(),
            dispatch: touch(),
        };
        let mut shape = |sets: &[u32]| (rng.pick(sets), 1 + rng.below(8) as u32);
        let mut both = Both::new(&model, [shape(&[1, 2, 4]), shape(&[2, 4, 8])]);
        let mut vm = 0;
        for step in 0..3000 {
            match rng.below(100) {
                0..6 => both.event(vm, rng.pick(&FootprintEvent::ALL)),
                6 => {
                    vm = 1 - vm;
                    both.enter(vm as u16);
                    both.event(vm, FootprintEvent::Dispatch);
                }
                _ => {
                    let access = rng.pick(&[Access::Read, Access::Read, Access::Write, Access::Execute]);
                    both.access(rng.below(24), access);
                }
            }
            assert!(step < 3000, "PAGEWALK_FOOTPRINT_SEED={seed}: episode {episode}, step {step}");
        }
    }
}

const fn data(pages: u32) -> FootprintModel {
    const NONE: ExtentModel = ExtentModel { lines: 0, pages: 0 };
    const NOTHING: TouchModel = TouchModel { code: NONE, pcpu: NONE, vm: NONE };
    FootprintModel {
        exit: TouchModel { vm: ExtentModel { lines: 0, pages }, ..NOTHING },
        call: NOTHING,
        wait: NOTHING,
        nested_fault: NOTHING,
        device: NOTHING,
        interrupt: NOTHING,
        shadow_fill: NOTHING,
        shadow_invalidation: NOTHING,
        shadow_switch: NOTHING,
        dispatch: NOTHING,
    }
}

/// An exit of k pages and the miss that they come with displace k + 1 of the guest's 8 pages in a fully associative L1 of 8 entries. The page that was
/// used last has the time of the hypervisor's pages, and stays.
#[test]
fn a_level_of_n_ways_loses_the_lesser_of_n_and_k_entries() {
    for pages in 0..12 {
        let mut both = Both::new(&data(pages), [(1, 8), (64, 8)]);
        (0..8).for_each(|page| {
            both.access(page, Access::Read);
        });
        both.event(0, FootprintEvent::Exit);
        // They enter at a miss: until then the L1 answers as before.
        assert_eq!((0..8).map(|page| both.access(page, Access::Read)).collect::<Vec<_>>(), [[false; 2]; 8], "{pages}");
        assert_eq!(both.access(100, Access::Read), [true; 2]);
        // The pages used last come first: each of them that is there stays.
        let misses = (0..8).rev().filter(|&page| both.access(page, Access::Read)[0]).count();
        assert_eq!(misses, 7.min(pages as usize + 1), "{pages}");
    }
}

/// What a VM's exit touches is warm if the same VM exits again, and cold for another one.
#[test]
fn the_data_of_a_vm_are_warm_at_its_next_exit() {
    let mut both = Both::new(&data(5), [(1, 8), (64, 8)]);
    let mut missed = |vm| {
        let before = both.footprint.statistics(0);
        both.event(vm, FootprintEvent::Exit);
        both.footprint.statistics(0).since(&before).page_misses
    };
    assert_eq!([missed(0), missed(0), missed(1), missed(1), missed(0)], [5, 0, 5, 0, 0]);
}

#[test]
fn a_footprint_of_nothing_changes_nothing() {
    let run = |model: &FootprintModel, exits: bool| {
        let mut both = Both::new(model, [(2, 4), (4, 4)]);
        let mut rng = Random::new(1);
        for _ in 0..5000 {
            both.access(rng.below(24), rng.pick(&[Access::Read, Access::Write, Access::Execute]));
            if exits {
                FootprintEvent::ALL.into_iter().for_each(|event| both.event(0, event));
            }
        }
        (*both.mmu.statistics(), both.mmu.resident_pages(Vmid(1)))
    };
    let nothing = FootprintModel::default();
    assert_eq!(run(&nothing, true), run(&nothing, false));
    assert_ne!(run(&data(5), true), run(&data(5), false));
}

/// Lines of the shipped models go through the caches, each once in an event.
#[test]
fn an_event_uses_as_many_lines_as_the_host_model_says() {
    for name in HostModel::names() {
        let host = HostModel::load(name).unwrap();
        let (model, caches) = (host.footprint.unwrap(), host.caches.unwrap());
        let mut caches = Caches::new(&caches, 1, std::ptr::null());
        let mut footprint = Footprint::new(FootprintPlan::new(&model, HOST_BASE, 1), 1);
        let mut mmu = Mmu::new(&MmuConfig::default()).unwrap();
        let TouchModel { code, pcpu, vm } = model.exit;
        let expected = u64::from(code.lines + pcpu.lines + vm.lines);
        let at = FootprintPlace { pcpu: 0, vm: 0 };
        footprint.touch(at, FootprintEvent::Exit, &mut mmu, Some(&mut caches));
        let FootprintStatistics { events, lines, line_misses, pages, .. } = footprint.statistics(0);
        assert_eq!((events, lines, line_misses), (1, expected, expected), "{name}");
        assert_eq!(pages, u64::from(code.pages + pcpu.pages + vm.pages), "{name}");
        footprint.touch(at, FootprintEvent::Exit, &mut mmu, Some(&mut caches));
        assert_eq!(footprint.statistics(0).line_misses, expected, "{name}: they are warm");
    }
}
