//! The shipped MMU and the model of `reference`, side by side: each does the same, and everything that can be seen of
//! them is compared after each step.
//!
//! Accesses are made as a hart makes them: the entry that the instruction remembers is probed in the view first, and
//! only if it does not answer is the MMU called. So the hit path, its lazily valid views and its stamps are held as
//! well: the model is told which entry was predicted, and checks for itself that the entry was one that may answer.

use super::builder::{self, A, D, G, R, Shape, U, W, X};
use super::config;
use super::format::FlatByFormat;
use super::memory::{HostMemory, POINTERS};
use super::ops::{Op, PCS, Place, SegmentOp, TABLES, VMS};
use mmu::{
    AccessCause, Cause, DirectSegment, EscapeFilter, Fault, Fence, Groups, Hit, HostPages, L1Entry, Mmu, MmuConfig,
    Purpose, Registers, SecondStage, Segment, Segments, ShadowRoot,
};
use reference::{Answer, Position, Prediction, Stage2};
use std::collections::{BTreeMap, HashMap};
use testing::Random;
use types::{Access, Gpa, Gva, Hpa, PageSize, PagingMode, Privilege, SecondStageMode, TranslationContext, Vmid, Width};

/// hPA of virtual machine n is gPA + n × this, but for the constant ones that say otherwise.
const VM_SPACING: u64 = 1 << 49;
/// gPA of the guest's table pages, and of the (wider) root that is one of them.
pub(super) const GUEST_TABLES: u64 = 0x8010_0000;
/// hPA of the second stage's table pages, plus the virtual machine's spacing.
pub(super) const HOST_TABLES: u64 = 0x8800_0000;
/// Ends within a page of every size.
const RAM_END: u64 = 11 * VM_SPACING + 0x40_6021_3000;

/// What a run reached, so that a test can insist on it.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    pub counts: BTreeMap<String, u64>,
}

impl Coverage {
    fn note(&mut self, what: impl Into<String>) {
        *self.counts.entry(what.into()).or_default() += 1;
    }

    pub fn of(&self, what: &str) -> u64 {
        self.counts.get(what).copied().unwrap_or(0)
    }

    pub fn add(&mut self, other: &Self) {
        for (what, count) in &other.counts {
            *self.counts.entry(what.clone()).or_default() += count;
        }
    }
}

pub(super) struct Vm {
    vmid: Vmid,
    pub(super) second: SecondStage,
    pub(super) stage: Stage2,
    /// hPA − gPA, as the hypervisor maps it.
    pub(super) offset: u64,
}

/// An instruction that accesses memory, or a fetch.
#[derive(Clone, Copy)]
struct Instruction {
    /// Which one.
    pc: u8,
    gva: Gva,
    access: Access,
    width: Width,
}

#[derive(Clone, Copy)]
struct Remembered {
    slot: u16,
    position: Position,
}

/// Both sides.
pub struct Harness {
    pub(super) mmu: Mmu,
    pub(super) memory: HostMemory,
    model: reference::Mmu,
    model_memory: HostMemory,
    pub(super) vms: Vec<Vm>,
    pub(super) vm: usize,
    pub(super) context: TranslationContext,
    pub(super) clock: u64,
    next_table: u64,
    /// Last entry of each instruction, of data and of fetches.
    remembered: [Vec<Option<Remembered>>; 2],
    /// Last page of each instruction.
    places: [Place; PCS as usize],
    /// The model's name for each slot, learnt on misses.
    names: [HashMap<u16, Position>; 2],
    /// Whether base pages are mapped alone, and segments not used: what the MMU has a fast path for.
    base_pages: bool,
    /// The maxima of references and steps of a walk, which the MMU starts again with each access, so that each walk's are seen.
    max_refs: u64,
    max_steps: u64,
    coverage: Coverage,
}

/// The policies of small arrays, whose sets become full.
fn policies(config: &MmuConfig) -> Coverage {
    let mut coverage = Coverage::default();
    let levels = [("l1i", &config.l1i[..]), ("l1d", &config.l1d), ("l2", &config.l2)];
    let levels = levels.into_iter().chain([("nested tlb", config.nested_tlb.as_slice())]);
    for (level, arrays) in levels {
        for array in arrays.iter().filter(|array| array.ways > 1 && array.entries() < 64) {
            coverage.note(format!("{} of the {level}", array.replacement.facts().name));
        }
    }
    coverage
}

fn virtual_machines() -> Vec<Vm> {
    let constant = |vmid, ram: core::ops::Range<u64>, offset: u64| {
        let ram = Gpa(ram.start)..Gpa(ram.end);
        Vm {
            vmid: Vmid(vmid),
            second: SecondStage::Constant { ram: ram.clone(), offset },
            stage: Stage2::Constant { ram, offset },
            offset,
        }
    };
    let nested = |vmid, number: u64, mode| {
        let offset = number * VM_SPACING;
        let root = Hpa(HOST_TABLES + offset);
        Vm {
            vmid: Vmid(vmid),
            second: SecondStage::Nested { mode, root },
            stage: Stage2::Nested { mode, root },
            offset,
        }
    };
    let agile = |vmid, number: u64, mode| {
        let offset = number * VM_SPACING;
        let root = Hpa(HOST_TABLES + offset);
        let shadow = ShadowRoot::NONE;
        Vm {
            vmid: Vmid(vmid),
            second: SecondStage::Agile { mode, root, shadow },
            stage: Stage2::Agile { mode, root, shadow: shadow.bits() },
            offset,
        }
    };
    let flat = |vmid, number: u64, table, first, bytes: u64| {
        let (table, first, entries) = (Hpa(table), Gpa(first), bytes / 4096);
        Vm {
            vmid: Vmid(vmid),
            second: SecondStage::Flat { table, first, entries },
            stage: Stage2::Flat { table, first, entries },
            offset: number * VM_SPACING,
        }
    };
    let other = |vm: Vm| match vm.second {
        SecondStage::Flat { table, first, entries } => {
            Vm { second: SecondStage::Other(FlatByFormat::registers(table, first, entries)), ..vm }
        }
        _ => vm,
    };
    let reserved = |vmid, ram: core::ops::Range<u64>, offset: u64| {
        let ram = Gpa(ram.start)..Gpa(ram.end);
        Vm {
            vmid: Vmid(vmid),
            second: SecondStage::Reserved { ram: ram.clone(), offset },
            stage: Stage2::Reserved { ram, offset },
            offset,
        }
    };
    vec![
        constant(0, 0x8000_0000..0x1_c023_5000, 0),
        nested(1, 1, SecondStageMode::Sv39x4),
        nested(0x3fff, 2, SecondStageMode::Sv48x4),
        nested(0x2000, 3, SecondStageMode::Sv57x4),
        // Huge pages are whole, and 64K pages not aligned in the host.
        constant(7, 0x8000_0000..1 << 49, 4 * VM_SPACING + 0x5000),
        constant(8, 0x8000_0000..3 << 48, 5 * VM_SPACING),
        // A flat table that ends within what guests use.
        flat(9, 6, HOST_TABLES + 6 * VM_SPACING, 0x8000_0000, 0xff_6021_3000),
        // Another that the host's memory cuts off, and that begins within a superpage.
        flat(10, 7, RAM_END - 0x10_0000, 0x7fe0_5000, 0xf0_0000_0000),
        reserved(11, 0x8000_0000..0xff_c023_5000, 8 * VM_SPACING + 0x20_0000),
        // A flat table in a format that is not supported.
        other(flat(14, 11, HOST_TABLES + 11 * VM_SPACING, 0x8000_0000, 0x30_6021_3000)),
        agile(12, 9, SecondStageMode::Sv39x4),
        agile(13, 10, SecondStageMode::Sv48x4),
    ]
}

fn fault(of: Fault) -> reference::Fault {
    match of {
        Fault::Page(of) => reference::Fault::Page(cause(of)),
        Fault::Shadow(of) => reference::Fault::Shadow(cause(of)),
        Fault::Access(AccessCause::FirstStageTable) => reference::Fault::FirstStageTable,
        Fault::Access(AccessCause::SecondStageTable) => reference::Fault::SecondStageTable,
        Fault::Access(AccessCause::TooWide) => reference::Fault::PhysicalTooWide,
        Fault::Nested(of) => reference::Fault::Nested {
            gpa: of.gpa,
            access: of.access,
            table: of.purpose == Purpose::Table,
            cause: cause(of.cause),
        },
    }
}

fn cause(of: Cause) -> reference::Cause {
    match of {
        Cause::NotCanonical => reference::Cause::NotCanonical,
        Cause::TooWide => reference::Cause::TooWide,
        Cause::OutOfBounds => reference::Cause::OutOfBounds,
        Cause::Invalid => reference::Cause::Invalid,
        Cause::WriteWithoutRead => reference::Cause::WriteWithoutRead,
        Cause::Reserved => reference::Cause::Reserved,
        Cause::NoLeaf => reference::Cause::NoLeaf,
        Cause::Misaligned => reference::Cause::Misaligned,
        Cause::UserPage => reference::Cause::UserPage,
        Cause::SupervisorPage => reference::Cause::SupervisorPage,
        Cause::NotReadable => reference::Cause::NotReadable,
        Cause::NotWritable => reference::Cause::NotWritable,
        Cause::NotExecutable => reference::Cause::NotExecutable,
        Cause::NotAccessed => reference::Cause::NotAccessed,
        Cause::NotDirty => reference::Cause::NotDirty,
    }
}

fn counts(of: &mmu::MmuStatistics) -> reference::Counts {
    reference::Counts {
        l1d_misses: of.l1d_misses,
        l1i_misses: of.l1i_misses,
        l2_hits: of.l2_hits,
        l2_misses: of.l2_misses,
        segment_hits: of.segment_hits,
        guest_segment_hits: of.guest_segment_hits,
        hypervisor_segment_hits: of.hypervisor_segment_hits,
        hypervisor_segment_pages: of.hypervisor_segment_pages,
        escape_hits: of.escape_hits,
        walks: of.walks,
        refills: of.refills,
        refill_instructions: of.refill_instructions,
        agile_walks: of.agile_walks,
        guest_refs: of.guest_refs,
        host_refs: of.host_refs,
        max_refs: of.max_refs,
        steps: of.steps(),
        max_steps: of.max_steps,
        guest_cache_hits: of.guest_cache_hits,
        host_cache_hits: of.host_cache_hits,
        nested_tlb_hits: of.nested_tlb_hits,
        nested_tlb_misses: of.nested_tlb_misses,
        guest_updates: of.guest_updates,
        host_updates: of.host_updates,
    }
}

fn side(access: Access) -> usize {
    usize::from(access == Access::Execute)
}

/// Bits within which an address is made: the mode's, or what physical addresses have.
fn bits(mode: PagingMode) -> u32 {
    if mode == PagingMode::Bare { 50 } else { mode.address_bits() }
}

fn sign_extended(address: u64, bits: u32) -> u64 {
    ((address << (64 - bits)).cast_signed() >> (64 - bits)).cast_unsigned()
}

/// The size of page with which an address is mapped: mostly the same for all of a region, so that mapping one page does
/// not unmap the others.
pub(super) fn size_for(rng: &mut Random, address: u64, levels: u32, groups: Groups) -> PageSize {
    let index = |level: u32| address >> (12 + 9 * level) & 511;
    let size = if rng.one_in(300) {
        rng.pick(&PageSize::ALL)
    } else if index(4) == 2 {
        PageSize::Size256T
    } else if matches!(index(3), 1 | 255) {
        PageSize::Size512G
    } else if matches!(index(2), 2 | 256) {
        PageSize::Size1G
    } else if matches!(index(1), 1 | 511) {
        PageSize::Size2M
    } else if groups == Groups::Svnapot && address & 0x1_0000 != 0 {
        PageSize::Size64K
    } else if groups == Groups::GranularityHints && address & 0x8_0000 != 0 {
        PageSize::Size256K
    } else if groups == Groups::GranularityHints && address & 0x4_0000 != 0 {
        PageSize::Size32K
    } else {
        PageSize::Size4K
    };
    size.min(PageSize::of_level(levels - 1))
}

impl Harness {
    pub fn new(config: &MmuConfig) -> Self {
        let mut mmu = Mmu::new(config).expect("the configuration is one that can be built");
        mmu.set_table_format(Box::new(FlatByFormat));
        let ram = 0x8000_0000..RAM_END;
        let nothing = || vec![None; PCS as usize];
        Self {
            mmu,
            memory: HostMemory::new(ram.clone()),
            model: reference::Mmu::new(&config::model(config)),
            model_memory: HostMemory::new(ram),
            vms: virtual_machines(),
            vm: 0,
            context: TranslationContext::default(),
            clock: 0,
            next_table: 0,
            remembered: [nothing(), nothing()],
            places: [Place { indices: [0; 5], offset: 0, wild: None }; PCS as usize],
            names: [HashMap::new(), HashMap::new()],
            base_pages: false,
            max_refs: 0,
            max_steps: 0,
            coverage: policies(config),
        }
    }

    /// With base pages alone, and without segments.
    pub fn of_base_pages(config: &MmuConfig) -> Self {
        Self { base_pages: true, ..Self::new(config) }
    }

    fn gva(&self, place: Place) -> Gva {
        let bits = bits(self.context.mode);
        match (place.wild, self.context.mode) {
            (Some(_), _) => Gva(place.address(bits)),
            (None, PagingMode::Bare) => Gva(self.gpa(place).0),
            (None, _) => Gva(sign_extended(place.address(bits), bits)),
        }
    }

    /// Often in memory, sometimes a device's or unmapped.
    pub(super) fn gpa(&self, place: Place) -> Gpa {
        let address = place.address(50);
        Gpa(match place.indices[4] % 4 {
            0 | 1 if place.wild.is_none() => 0x8000_0000 + (address & 0xff_ffff_ffff),
            _ => address,
        })
    }

    fn write(&mut self, at: u64, word: u64) {
        self.memory.write(at, word);
        self.model_memory.write(at, word);
    }

    pub(super) fn map(
        &mut self,
        shape: Shape,
        offset: u64,
        (tables, root): (u64, u64),
        address: u64,
        leaf: (u32, u64),
    ) {
        let before = self.next_table;
        for memory in [&mut self.memory, &mut self.model_memory] {
            let mut next = before;
            // The first four pages are roots: a wide one, or four of the guest's. The others are given out in turn,
            // even if they are in use: then two trees share a table, perhaps at different levels.
            let new_table = || {
                next += 1;
                let table = tables + (4 + next % u64::from(TABLES - 4)) * 0x1000;
                builder::pte(table, if next.is_multiple_of(8) { G } else { 0 })
            };
            builder::map_page(memory, builder::Tree { shape, offset, root }, address, leaf, new_table);
            self.next_table = next;
        }
    }

    fn map_guest(&mut self, gva: Gva, size: PageSize, gpa: Gpa, flags: u64) {
        let size = if self.base_pages { PageSize::Size4K } else { size };
        if self.context.mode == PagingMode::Bare {
            return;
        }
        let shape = Shape { levels: self.context.mode.levels(), wide_root: false };
        let offset = self.vms[self.vm].offset;
        let leaf = builder::leaf(gpa.page(size).0 & ((1 << 56) - 1), size, flags);
        let roots = (GUEST_TABLES, self.context.root.0);
        self.map(shape, offset, roots, gva.0, leaf);
    }

    fn map_host(&mut self, gpa: Gpa, size: PageSize, flags: u64) {
        let size = if self.base_pages { PageSize::Size4K } else { size };
        let hpa = self.host_page(gpa, size);
        self.map_host_leaf(gpa, builder::leaf(hpa.0, size, flags));
    }

    /// The page of the host that `gpa` is mapped to.
    pub(super) fn host_page(&self, gpa: Gpa, size: PageSize) -> Hpa {
        Hpa(gpa.page(size).0.wrapping_add(self.vms[self.vm].offset) & ((1 << 56) - 1)).page(size)
    }

    fn map_host_leaf(&mut self, gpa: Gpa, leaf: (u32, u64)) {
        let vm = &self.vms[self.vm];
        match vm.second {
            SecondStage::Nested { mode, root } | SecondStage::Agile { mode, root, .. } => {
                let shape = Shape { levels: mode.levels(), wide_root: true };
                let roots = (HOST_TABLES + vm.offset, root.0);
                self.map(shape, 0, roots, gpa.0, leaf);
            }
            SecondStage::Flat { table, first, entries } => {
                for (at, pte) in builder::flat(table.0, first.0, entries, gpa.0, leaf) {
                    self.write(at, pte);
                }
            }
            SecondStage::Other(Registers([table, first, entries])) => {
                for (at, pte) in builder::flat(table, first, entries, gpa.0, leaf) {
                    self.write(at, pte);
                }
            }
            SecondStage::Constant { .. } | SecondStage::Reserved { .. } => {}
        }
    }

    /// Makes sure that the guest's tables are where they were written.
    fn map_tables(&mut self) {
        let size = if self.base_pages { PageSize::Size4K } else { PageSize::Size2M };
        for page in 0..((u64::from(TABLES) + 0x100) << 12).div_ceil(size.bytes()) {
            self.map_host(Gpa(0x8000_0000 + page * size.bytes()), size, R | W | X | U | A | D);
        }
    }

    /// What the run reached.
    pub fn finish(mut self) -> Coverage {
        let counts = *self.mmu.statistics();
        let mut add = |what: &str, count| *self.coverage.counts.entry(what.to_owned()).or_default() += count;
        for level in 0..4 {
            add(&format!("guest cache, level {}", level + 1), counts.guest_cache_hits[level]);
            add(&format!("host cache, level {}", level + 1), counts.host_cache_hits[level]);
        }
        for (tables, &walks) in counts.agile_walks.iter().enumerate() {
            add(&format!("agile, {tables} tables nested"), walks);
        }
        add("l2", counts.l2_hits);
        add("refills", counts.refills);
        add("both segments", counts.segment_hits);
        add("guest segment", counts.guest_segment_hits);
        add("hypervisor segment", counts.hypervisor_segment_hits);
        add("escapes", counts.escape_hits);
        add("nested tlb", counts.nested_tlb_hits);
        add("guest updates", counts.guest_updates);
        add("host updates", counts.host_updates);
        self.coverage
    }

    /// Does one thing on both sides and compares them.
    pub fn step(&mut self, op: Op) {
        match op {
            Op::Access { pc, place, access, width } => self.access(pc, place, access, width),
            Op::Again { pc, double_word, access } => {
                let place = Place { offset: double_word % 512 * 8, ..self.places[usize::from(pc % PCS)] };
                self.access(pc, place, access, Width::Double);
            }
            Op::Mispredict { pc, other } => {
                for side in &mut self.remembered {
                    side[pc as usize] = side[other as usize];
                }
            }
            Op::MapGuest { place, size, target, flags } => {
                self.map_guest(self.gva(place), size, self.gpa(target), flags);
            }
            Op::MapHost { place, size, flags } => self.map_host(self.gpa(place), size, flags),
            Op::EditGuest { table, entry, pte } => {
                let at = GUEST_TABLES + u64::from(table % TABLES) * 0x1000 + u64::from(entry) * 8;
                self.write(at + self.vms[self.vm].offset, pte);
            }
            Op::EditHost { table, entry, pte } => {
                let at = HOST_TABLES + u64::from(table % TABLES) * 0x1000 + u64::from(entry) * 8;
                self.write(at + self.vms[self.vm].offset, pte);
            }
            Op::BreakTable { table, level, flags } => {
                let gpa = Gpa(GUEST_TABLES + u64::from(table % TABLES) * 0x1000);
                let pte = builder::pte(gpa.0 + self.vms[self.vm].offset, flags);
                self.map_host_leaf(gpa, (level, pte));
            }
            Op::Context { vm, mode, root, asid, privilege, sum, mxr } => {
                self.vm = usize::from(vm % VMS);
                let root = Gpa(GUEST_TABLES + u64::from(root) * 0x1000);
                self.set_context(TranslationContext { mode, root, asid, privilege, sum, mxr });
                self.set_shadow_root();
            }
            Op::Status { privilege, sum, mxr } => {
                self.set_context(TranslationContext { privilege, sum, mxr, ..self.context });
            }
            Op::Segments { .. } if self.base_pages => {}
            Op::Segments { guest, hypervisor } => self.segments(guest, hypervisor),
            Op::Fence(fence) => {
                let vmid = |vm: u8| self.vms[usize::from(vm % VMS)].vmid;
                let fence = fence.make(|place| self.gva(place), |place| self.gpa(place), vmid);
                self.fence(fence);
            }
            Op::HostPage { page, l1 } => self.use_host_page(Hpa(u64::from(page) << 12), l1),
        }
        // As for a hart whose counter is about to wrap.
        if self.clock.is_multiple_of(1021) {
            self.clock = self.mmu.renumber_stamps();
        }
        self.compare();
    }

    fn use_host_page(&mut self, page: Hpa, l1: Option<Access>) {
        self.clock += 1;
        let mut pages = HostPages::of(&mut self.mmu);
        let found = match l1 {
            Some(access) => pages.use_in_l1(page, access, self.clock),
            None => pages.use_in_l2(page),
        };
        assert_eq!(found, self.model.use_host_page(page, l1), "{page} {l1:?}");
        let level = if l1.is_some() { "L1" } else { "L2" };
        self.coverage.note(format!("host page, {}in {level}", if found { "" } else { "not " }));
    }

    fn compare(&mut self) {
        let Self { max_refs, max_steps, .. } = *self;
        let counted = reference::Counts { max_refs, max_steps, ..counts(self.mmu.statistics()) };
        assert_eq!(counted, *self.model.counts());
        assert_eq!(self.memory.updates, self.model_memory.updates, "A and D bits");
        self.memory.updates.clear();
        self.model_memory.updates.clear();
    }

    fn set_context(&mut self, context: TranslationContext) {
        self.context = context;
        let vmid = self.vms[self.vm].vmid;
        self.mmu.set_context(&context, vmid);
        self.model.set_context(&context, vmid);
    }

    fn segments(&mut self, guest: Option<SegmentOp>, hypervisor: Option<SegmentOp>) {
        let offset = self.vms[self.vm].offset;
        let guest = guest.map(|op| {
            let place = Place { wild: None, ..op.place };
            let base = self.gva(place).page(PageSize::Size4K).0;
            (op, base, self.gpa(op.target.unwrap_or(place)).page(PageSize::Size4K).0)
        });
        let hypervisor = hypervisor.map(|op| {
            // The guest's tables are below the first places.
            let base = self.gpa(Place { wild: None, ..op.place }).page(PageSize::Size4K).0;
            (op, base, op.target.map_or(base + offset, |place| self.gpa(place).page(PageSize::Size4K).0))
        });
        // Near the top of the guest's addresses a range would wrap.
        let ranged = |(op, base, target): (SegmentOp, u64, u64)| {
            let limit = base.checked_add(op.pages * 4096)?;
            target.checked_add(op.pages * 4096)?;
            Some((op, base..limit, target))
        };
        let (guest, hypervisor) = (guest.and_then(ranged), hypervisor.and_then(ranged));
        let escaping =
            |op: &SegmentOp, base: u64| op.escaping.iter().flatten().map(|page| base + page * 4096).collect::<Vec<_>>();
        let filter = |op: &SegmentOp, base: u64| {
            let mut filter = EscapeFilter::new(1 << op.filter.0, 1 << op.filter.1).unwrap();
            escaping(op, base).into_iter().for_each(|address| filter.insert(address));
            filter
        };
        let model = |op: &SegmentOp, range: &core::ops::Range<u64>, target: u64| reference::Segment {
            base: range.start,
            limit: range.end,
            offset: target.wrapping_sub(range.start),
            escaping: escaping(op, range.start),
            bits: 1 << op.filter.0,
            hashes: 1 << op.filter.1,
        };
        let mut segments = Segments::default();
        if let Some((op, range, target)) = &guest {
            let segment = Segment::of_guest(Gva(range.start)..Gva(range.end), Gpa(*target)).expect("whole pages");
            segments.guest = DirectSegment { segment, escape: filter(op, range.start) };
        }
        if let Some((op, range, target)) = &hypervisor {
            let segment = Segment::of_hypervisor(Gpa(range.start)..Gpa(range.end), Hpa(*target)).expect("whole pages");
            segments.hypervisor = DirectSegment { segment, escape: filter(op, range.start) };
        }
        self.mmu.set_segments(&segments);
        let of = |it: &Option<(SegmentOp, core::ops::Range<u64>, u64)>| {
            it.as_ref().map(|(op, range, target)| model(op, range, *target))
        };
        self.model.set_segments(of(&guest), of(&hypervisor));
    }

    fn fence(&mut self, fence: Fence) {
        self.mmu.fence(&fence);
        match fence {
            Fence::Vma { gva, asid } => {
                self.coverage.note(format!("vma {} {}", gva.is_some(), asid.is_some()));
                self.model.fence_first(self.vms[self.vm].vmid, gva, asid);
            }
            Fence::Vvma { vmid, gva, asid } => {
                self.coverage.note(format!("vvma {} {}", gva.is_some(), asid.is_some()));
                self.model.fence_first(vmid, gva, asid);
            }
            Fence::Gvma { gpa, vmid } => {
                self.coverage.note(format!("gvma {} {}", gpa.is_some(), vmid.is_some()));
                self.model.fence_second(gpa, vmid);
            }
        }
    }

    /// One access, as a hart makes it.
    fn access(&mut self, pc: u8, place: Place, access: Access, width: Width) {
        self.places[usize::from(pc % PCS)] = place;
        let (gva, width) = match access {
            // Fetches are of parcels of two bytes.
            Access::Execute => (Gva(self.gva(place).0 & !1), Width::Half),
            Access::Read | Access::Write => (self.gva(place), width),
        };
        let remembered = self.remembered[side(access)][usize::from(pc % PCS)];
        self.clock += 1;
        if let Some(Remembered { slot, position }) = remembered
            && let Some(pointer) = self.probe(slot, gva, access, width)
        {
            let Prediction::Right(answer) = self.model.predict(gva, access, position) else {
                panic!("{access:?} of {gva} hits an entry that the model does not let answer");
            };
            self.check_pointer(&answer, Some(pointer), access);
            self.coverage.note("predicted");
            return;
        }
        for attempt in 0..3 {
            let second = self.vms[self.vm].second.clone();
            let got = self.reach(&second, gva, access);
            let want = self.model.access(&mut self.model_memory, &self.vms[self.vm].stage, gva, access);
            let seen = got.map_err(fault).map(|hit| (hit.gpa, hit.hpa, hit.page));
            assert_eq!(seen, want.map(|answer| (answer.gpa, answer.hpa, answer.page)), "{access:?} of {gva}");
            match (got, want) {
                (Ok(hit), Ok(answer)) => return self.hit(Instruction { pc, gva, access, width }, &hit, &answer),
                (Err(fault), _) => self.fault(gva, access, fault),
                (Ok(_), Err(_)) => unreachable!("they were compared"),
            }
            let mut rng = Random::new(self.clock ^ u64::from(pc));
            if rng.one_in(4) {
                return;
            }
            if attempt == 1 && rng.one_in(8) {
                // What the handler replaced may be in a walk cache: without a fence the access faults for ever.
                let vmid = Some(self.vms[self.vm].vmid);
                self.map_tables();
                let nested = matches!(got, Err(Fault::Nested(_)));
                let gvma = Fence::Gvma { gpa: None, vmid };
                self.fence(if nested { gvma } else { Fence::Vma { gva: None, asid: None } });
            }
            self.compare();
            self.clock += 1;
        }
    }

    /// An access, of which it is known how many references its walk made.
    fn reach(&mut self, second: &SecondStage, gva: Gva, access: Access) -> Result<Hit, Fault> {
        self.mmu.restart_maximum();
        let before = *self.mmu.statistics();
        let got = self.reach_as_machines_do(second, gva, access);
        let then = self.mmu.statistics();
        assert_eq!(then.max_refs, then.refs() - before.refs(), "{access:?} of {gva}");
        assert_eq!(then.max_steps, then.steps() - before.steps(), "{access:?} of {gva}");
        self.max_refs = self.max_refs.max(then.max_refs);
        self.max_steps = self.max_steps.max(then.max_steps);
        got
    }

    /// First the fast path, then the general one; with notes of how far the first came.
    fn reach_as_machines_do(&mut self, second: &SecondStage, gva: Gva, access: Access) -> Result<Hit, Fault> {
        let Self { mmu, memory, clock, .. } = self;
        let stage = match second {
            SecondStage::Constant { .. } => "native",
            SecondStage::Nested { .. } => "nested",
            SecondStage::Agile { .. } => "agile",
            SecondStage::Flat { .. } => "flat",
            SecondStage::Reserved { .. } => "reserved",
            SecondStage::Other(_) => "other",
        };
        let before = *mmu.statistics();
        let unfinished = match mmu.fast_access(memory, || second.clone(), gva, access, *clock) {
            Err(unfinished) => unfinished,
            Ok(slot) => {
                let hit = mmu.hit(slot, gva, access);
                assert!(hit.host.is_some(), "the fast path is for memory");
                let then = mmu.statistics();
                self.coverage.note(match (then.l2_hits > before.l2_hits, then.walks > before.walks) {
                    (true, _) => "fast L2".to_owned(),
                    (_, true) => format!("fast walk, {stage}"),
                    _ => "fast L1".to_owned(),
                });
                return Ok(hit);
            }
        };
        let then = *unfinished.statistics();
        let walked = then.walks > before.walks;
        let got = unfinished.finish(memory, || second.clone());
        let misses = |counts: &mmu::MmuStatistics| counts.l1d_misses + counts.l1i_misses;
        let of_table = match got {
            Err(Fault::Nested(fault)) => fault.purpose == Purpose::Table,
            Err(Fault::Access(_)) => true,
            Ok(_) | Err(Fault::Page(_) | Fault::Shadow(_)) => mmu.statistics().guest_refs > then.guest_refs,
        };
        self.coverage.note(match (walked, of_table) {
            (true, true) => format!("left at a table, {stage}"),
            (true, false) => format!("left at the page, {stage}"),
            (false, _) if misses(&then) > misses(&before) => "left before the walk".to_owned(),
            (false, _) => "left at once".to_owned(),
        });
        got
    }

    fn hit(&mut self, instruction: Instruction, hit: &Hit, answer: &Answer) {
        let Instruction { pc, gva, access, width } = instruction;
        self.check_pointer(answer, hit.host, access);
        self.coverage.note(format!("{} page, {}", hit.page, if answer.memory { "memory" } else { "device" }));
        match self.vms[self.vm].second {
            SecondStage::Flat { .. } if hit.page == PageSize::Size2M => self.coverage.note("flat superpage"),
            SecondStage::Reserved { .. } => self.coverage.note("reserved"),
            SecondStage::Other(_) if hit.page == PageSize::Size2M => {
                self.coverage.note("superpage of another format");
            }
            _ => {}
        }
        let known = *self.names[side(access)].entry(hit.slot).or_insert(answer.position);
        assert_eq!(known, answer.position, "site {}", hit.slot);
        let remembered = Remembered { slot: hit.slot, position: answer.position };
        self.remembered[side(access)][usize::from(pc % PCS)] = Some(remembered);

        // Now the same instruction hits, unless it must come to the MMU each time. A load beyond the end of its 4K may hit a larger page.
        let crosses = gva.0 % 0x1000 + width.bytes() > 0x1000;
        let may_miss = crosses && hit.page != PageSize::Size4K;
        let must_miss = !answer.memory
            || match access {
                Access::Read | Access::Execute => crosses && !may_miss,
                Access::Write => !gva.is_aligned(width.bytes()),
            };
        if self.clock.is_multiple_of(4) {
            self.clock += 1;
            let again = self.probe(hit.slot, gva, access, width);
            if again.is_some() {
                let prediction = self.model.predict(gva, access, answer.position);
                assert!(matches!(prediction, Prediction::Right(_)), "{prediction:?}");
            }
            if !may_miss || must_miss {
                assert_eq!(again.is_none(), must_miss, "{access:?} of {gva}, device or not within a page: {must_miss}");
            }
            self.coverage.note(if must_miss { "must miss" } else { "armed" });
        }
    }

    fn check_pointer(&self, answer: &Answer, pointer: Option<*mut u8>, access: Access) {
        let expected = answer.memory.then_some(POINTERS + answer.hpa.0 as usize);
        assert_eq!(pointer.map(<*mut u8>::addr), expected, "{access:?}");
    }

    fn probe(&mut self, slot: u16, gva: Gva, access: Access, width: Width) -> Option<*mut u8> {
        match access {
            Access::Read => {
                let view = self.mmu.data_view();
                // SAFETY: the view is this MMU's, and the slot came from it.
                unsafe { L1Entry::read_hit(view, slot, gva, width, self.clock) }
            }
            Access::Write => {
                let view = self.mmu.data_view();
                // SAFETY: as above.
                unsafe { L1Entry::write_hit(view, slot, gva, width, self.clock) }
            }
            Access::Execute if self.clock.is_multiple_of(3) => {
                assert_eq!(self.mmu.fetch_hit(u16::MAX, gva), None, "no such site");
                self.mmu.fetch_hit(slot, gva)
            }
            Access::Execute => {
                let (view, stamp) = (self.mmu.fetch_view(), self.mmu.fetch_stamp());
                // SAFETY: as above; the slot is one of fetches.
                unsafe { L1Entry::execute_hit(view, slot, gva, stamp) }
            }
        }
    }

    /// Flags of a leaf that mostly allows the access.
    pub(super) fn leaf_flags(&self, rng: &mut Random, access: Access) -> u64 {
        let mut flags = match access {
            _ if !rng.one_in(4) => R | W | X,
            Access::Read => R,
            Access::Write => R | W,
            Access::Execute => X,
        };
        flags |= if rng.one_in(3) { 0 } else { D };
        flags |= if rng.one_in(8) { 0 } else { A };
        flags |= if rng.one_in(8) { G } else { 0 };
        flags | if self.context.privilege == Privilege::User { U } else { 0 }
    }

    /// Most faults are handled, as a system would: by mapping what was missing.
    fn fault(&mut self, gva: Gva, access: Access, fault: Fault) {
        let mut rng = Random::new(self.clock);
        match fault {
            Fault::Page(cause) => {
                self.coverage.note(format!("first stage {cause:?}"));
                if rng.one_in(8) {
                    return;
                }
                let flags = self.leaf_flags(&mut rng, access);
                let size = size_for(
                    &mut rng,
                    gva.0,
                    self.context.mode.levels(),
                    Groups::of_svnapot(self.mmu.config().svnapot),
                );
                let target = self.gpa(Place { wild: None, ..Place::random(&mut rng) });
                self.map_guest(gva, size, target, flags);
            }
            Fault::Shadow(cause) => {
                self.coverage.note(format!("shadow table {cause:?}"));
                if !rng.one_in(8) {
                    self.map_shadow(gva, access, &mut rng);
                }
            }
            Fault::Access(cause) => self.coverage.note(format!("access {cause:?}")),
            Fault::Nested(fault) => {
                self.coverage.note(format!("second stage {:?}", fault.cause));
                self.coverage.note(format!("{:?} refused", fault.purpose));
                let levels = match self.vms[self.vm].second {
                    SecondStage::Nested { mode, .. } | SecondStage::Agile { mode, .. } => mode.levels(),
                    // Entries of 4K and 2M.
                    SecondStage::Flat { .. } | SecondStage::Other(_) => 2,
                    SecondStage::Reserved { .. } => return,
                    SecondStage::Constant { .. } => panic!("a constant stage has nothing that refuses"),
                };
                if rng.one_in(16) {
                    return;
                }
                let mut flags = if rng.one_in(8) { R | U } else { R | W | X | U };
                flags |= if rng.one_in(4) { 0 } else { A };
                flags |= if rng.one_in(3) { 0 } else { D };
                let groups = if levels > 2 { self.mmu.config().second_stage_groups } else { Groups::None };
                let size = size_for(&mut rng, fault.gpa.0, levels, groups);
                if groups == Groups::GranularityHints && size == PageSize::Size2M && rng.one_in(2) {
                    // 512 leaves instead of one a level up.
                    let hpa = self.host_page(fault.gpa, size);
                    self.map_host_leaf(fault.gpa, (0, builder::group(hpa.0, size, flags)));
                } else {
                    self.map_host(fault.gpa, size, flags);
                }
            }
        }
    }
}
