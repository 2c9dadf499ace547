//! A guest under a scheme, on a processor without walk caches.

use crate::scheme::{GuestMemory, SchemeRef, ShadowTables};
use crate::shadow_keys::ShadowKeys;
use hypervisor::shadow::{ShadowFault, ShadowFaultOutcome, Tlbs};
use hypervisor::{
    Backing, Dma, FilterSize, FlushTlbs, FrameReclaim, LeafStatus, MemoryAttribute, NestedFaultOutcome, Vm, WalkMemory,
};
use keys::GroupValues;
use memory::{FrameRange, Host, HostPages};
use mmu::{
    AdPolicy, DirectSegment, EscapeFilter, Fault, Fence, Hit, Mmu, MmuConfig, MmuStatistics, Segment, Segments,
    SoftwareRules, WalkCaches,
};
use types::{Access, Gpa, Gva, PageSize, PagingMode, Privilege, SecondStageMode, TranslationContext, Vmid};

/// Memory of the guest.
pub(super) const RAM_BYTES: u64 = 32 << 20;
/// Where it begins.
pub(super) const RAM: Gpa = Gpa(0x8000_0000);
const VMID: Vmid = Vmid(5);
/// The guest's one hart.
const HART: usize = 0;

/// What a configuration says of that memory.
pub(crate) fn memory(mode: SecondStageMode) -> GuestMemory {
    GuestMemory {
        mode,
        page: PageSize::Size4K,
        status: LeafStatus::Preset,
        filter: FilterSize::default(),
        attribute: MemoryAttribute::Virtual,
        harts: 1,
        rules: SoftwareRules { ad: AdPolicy::Fault, svnapot: true },
        shadow: ShadowKeys { check: true, ..ShadowKeys::default() },
        keys: GroupValues::default(),
    }
}

/// A processor, the hypervisor's VM, and the host.
pub(super) struct Fixture {
    pub(super) host: Host,
    pub(super) vm: Vm,
    pub(super) mmu: Processor,
}

/// The processor's MMU.
pub(super) struct Processor {
    pub(super) mmu: Mmu,
    accesses: u64,
}

impl FlushTlbs for &mut Processor {
    fn fence(&mut self, fence: &Fence) {
        self.mmu.fence(fence);
    }

    fn forget_code(&mut self, _: FrameRange) {}
}

impl Tlbs for Processor {
    fn fence_here(&mut self, fence: &Fence) {
        self.mmu.fence(fence);
    }

    fn fence_everywhere(&mut self, fence: &Fence) {
        self.mmu.fence(fence);
    }
}

impl Fixture {
    pub(super) fn new(scheme: SchemeRef, mode: SecondStageMode) -> Self {
        let memory = memory(mode);
        let backing: Backing = scheme.backing(&memory);
        let name = scheme.facts().name;
        let shadow = scheme.shadow(&memory);
        let shadow_bytes = shadow.map_or(0, |shadow| shadow.config.host_bytes(RAM_BYTES));
        let host_bytes = Vm::host_bytes(RAM_BYTES, backing) + shadow_bytes;
        let mut host = Host::new(host_bytes, HostPages::Base).expect("there is room");
        let mut vm = Vm::new(&mut host, VMID, RAM_BYTES, backing).unwrap_or_else(|error| panic!("{name}: {error}"));
        if let Some(ShadowTables { config, format }) = shadow {
            vm.shadow_as(&mut host, config, format).expect("there is room");
        }
        let config = MmuConfig {
            first_stage_ad: memory.rules.ad,
            walk_caches: WalkCaches::OFF,
            nested_tlb: None,
            ..MmuConfig::default()
        };
        let mut mmu = Mmu::new(&config).expect("the default MMU can be made");
        scheme.equip(&mut mmu, &memory.keys);
        Self { host, vm, mmu: Processor { mmu, accesses: 0 } }
    }

    /// Translates from now on by guest tables at `root`.
    pub(super) fn set_context(&mut self, mode: PagingMode, root: Gpa) {
        // A guest's segment is for its programs.
        let privilege = Privilege::User;
        let context = TranslationContext { mode, root, privilege, ..TranslationContext::default() };
        let Self { host, vm, mmu } = self;
        vm.shadow_switch(host, mmu, HART, &context).expect("there is room for a table");
        mmu.mmu.set_context(&vm.shadow_context(HART).unwrap_or(context), VMID);
    }

    /// An interval ends, after which the hypervisor looks again at which tables it shadows.
    pub(super) fn end_interval(&mut self) {
        self.vm.end_shadow_interval(&mut self.host, &mut self.mmu);
    }

    /// Shadow tables say what the tables that they are derived from say.
    pub(super) fn check_shadow(&self) {
        if self.vm.is_shadowed() {
            let wrong: Vec<String> = self.vm.check_shadow(&self.host.memory).iter().map(ToString::to_string).collect();
            assert!(wrong.is_empty(), "{wrong:?}");
        }
    }

    /// Loads the segment registers: the hypervisor's, and one of the guest's from `range` to `target`.
    pub(super) fn set_segments(&mut self, guest: Option<(core::ops::Range<Gva>, Gpa)>) {
        let guest = guest.and_then(|(range, target)| Segment::of_guest(range, target)).unwrap_or_default();
        let guest = DirectSegment { segment: guest, escape: EscapeFilter::default() };
        let hypervisor = self.vm.hypervisor_segment().cloned().unwrap_or_default();
        self.mmu.mmu.set_segments(&Segments { guest, hypervisor });
    }

    fn supply(&mut self) -> FrameReclaim<'_, &mut Processor> {
        let Self { host, vm, mmu } = self;
        FrameReclaim {
            memory: &host.memory,
            frames: &mut host.frames,
            vms: core::slice::from_mut(vm),
            pager: None,
            processors: mmu,
        }
    }

    /// Writes a word of the guest's memory, as the guest would.
    pub(super) fn write(&mut self, at: Gpa, word: u64) {
        let dma = Dma::new(self.supply(), 0);
        dma.write(at, &word.to_le_bytes()).expect("it is RAM");
        assert_eq!(dma.finish().unavailable, None);
    }

    /// Takes the page at `gpa` from the guest, as its balloon does; whether there was one.
    pub(super) fn discard(&mut self, gpa: Gpa) -> bool {
        self.supply().discard(0, [gpa]) > 0
    }

    /// An access on a processor that remembers nothing, and what its walk counted. Pages that are missing are filled first.
    pub(super) fn access(&mut self, gva: Gva, access: Access) -> Result<(Hit, MmuStatistics), Fault> {
        for _ in 0..64 {
            match self.try_access(gva, access) {
                Err(fault) if self.vm.shadow_handles(&fault) => {
                    if self.shadow_fault(&fault, gva, access) != ShadowFaultOutcome::Mapped {
                        return Err(fault);
                    }
                }
                Err(Fault::Nested(fault)) => {
                    let outcome = self.supply().nested_fault(0, fault.gpa, fault.access);
                    if outcome != Ok(NestedFaultOutcome::Mapped) {
                        return Err(Fault::Nested(fault));
                    }
                }
                other => return other,
            }
        }
        panic!("the hypervisor maps what {gva} needs, and the walker does not find it");
    }

    /// What the hypervisor does about a fault of a shadow table.
    fn shadow_fault(&mut self, fault: &Fault, gva: Gva, access: Access) -> ShadowFaultOutcome {
        let Self { host, vm, mmu } = self;
        let (outcome, _) = match fault {
            Fault::Nested(fault) if vm.watches_nested_stores() => vm.shadow_protected_store(host, mmu, fault),
            Fault::Page(_) | Fault::Shadow(_) | Fault::Access(_) | Fault::Nested(_) => vm
                .shadow_fault(host, mmu, ShadowFault { hart: HART, gva, access }, None)
                .expect("there is memory enough"),
        };
        outcome
    }

    /// One attempt of the access: a fault is returned, and no page is filled.
    pub(super) fn try_access(&mut self, gva: Gva, access: Access) -> Result<(Hit, MmuStatistics), Fault> {
        let Self { host, vm, mmu: Processor { mmu, accesses } } = self;
        mmu.fence(&Fence::Vma { gva: None, asid: None });
        mmu.fence(&Fence::Gvma { gpa: None, vmid: None });
        mmu.reset_statistics();
        *accesses += 1;
        let hit = mmu.access(&mut WalkMemory::new(&host.memory), &vm.second_stage_of(HART), gva, access, *accesses)?;
        Ok((hit, *mmu.statistics()))
    }
}
