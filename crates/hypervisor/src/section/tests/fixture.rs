//! A host with a few VMs: nested tables, and a pCPU for each, whose guest translates nothing itself, so that its addresses are
//! guest physical.

use crate::section::{
    MapRequest, SectionFault, SectionFaultError, SectionHost, SectionManager, SectionMapError, SectionUnmapError,
    VmProfile, Window,
};
use crate::table::{FlushTlbs, HostTable, Leaf, LeafBits, NestedTable};
use crate::walk_memory::WalkMemory;
use memory::registry::{Change, Granularities, Registry, Reservation, ReservedMemory, Scope, SectionName};
use memory::section::{Lifetime, SectionId};
use memory::{FrameRange, Host, HostPages};
use mmu::{Fault, Fence, Mmu, MmuConfig};
use std::collections::BTreeMap;
use types::{Access, Gpa, Gva, Hpa, PageSize, SecondStageMode, TranslationContext, Vmid};

pub(super) const PAGE: u64 = 4096;
pub(super) const MIB: u64 = 1 << 20;
pub(super) const GIB: u64 = 1 << 30;

/// Where every VM's RAM begins; it has 64 KiB of it.
pub(super) const RAM: Gpa = Gpa(0x8000_0000);
pub(super) const RAM_BYTES: u64 = 16 * PAGE;

/// The pCPUs.
pub(super) struct Processors {
    mmus: BTreeMap<Vmid, Mmu>,
    stamp: u64,
    pub(super) fences: u64,
    pub(super) forgotten: Vec<FrameRange>,
}

impl FlushTlbs for Processors {
    fn fence(&mut self, fence: &Fence) {
        self.fences += 1;
        self.mmus.values_mut().for_each(|mmu| mmu.fence(fence));
    }

    fn forget_code(&mut self, frames: FrameRange) {
        self.forgotten.push(frames);
    }
}

pub(super) struct Fixture {
    pub(super) host: Host,
    pub(super) tables: BTreeMap<Vmid, NestedTable>,
    pub(super) processors: Processors,
    pub(super) manager: SectionManager,
}

/// A reservation: name, bytes, ALLOC, page tables.
pub(super) type Reserved<'a> = (&'a str, u64, bool, bool);

pub(super) fn name(text: &str) -> SectionName {
    SectionName::new(text, Scope::System).unwrap()
}

/// A map of all of `text` at `at` by VM `vm`.
pub(super) fn whole(vm: u16, text: &str, at: u64) -> MapRequest {
    MapRequest::whole(Vmid(vm), name(text), Gpa(at))
}

impl Fixture {
    /// A host of `bytes` bytes with these reservations, and no VMs.
    pub(super) fn new(bytes: u64, reserved: &[Reserved<'_>]) -> Self {
        Self::with_sizes(bytes, reserved, Granularities::RISCV)
    }

    pub(super) fn with_sizes(bytes: u64, reserved: &[Reserved<'_>], sizes: Granularities) -> Self {
        let mut registry = Registry::default();
        for &(text, bytes, alloc, page_tables) in reserved {
            registry.add(Reservation::new(name(text), bytes).unwrap()).unwrap();
            let change =
                Change { alloc: Some(alloc), zeroed: Some(alloc), page_tables: Some(page_tables), ..Change::default() };
            registry.modify(&name(text), change).unwrap();
        }
        let mut host = Host::new(bytes, HostPages::Base).unwrap();
        let reserved = ReservedMemory::honour(&registry, &mut host, 0, Granularities::RISCV).unwrap();
        assert!(reserved.refused().is_empty(), "{:?}", reserved.refused());
        let processors = Processors { mmus: BTreeMap::new(), stamp: 0, fences: 0, forgotten: Vec::new() };
        Self { host, tables: BTreeMap::new(), processors, manager: SectionManager::new(reserved, sizes) }
    }

    /// Adds a VM whose every page of RAM holds its number and the page's.
    pub(super) fn add_vm(&mut self, vm: u16, mode: SecondStageMode, quota: u64) {
        let vmid = Vmid(vm);
        let (memory, frames) = (&self.host.memory, &mut self.host.frames);
        let mut table = NestedTable::new(memory, frames, mode, vmid).unwrap();
        for offset in (0..RAM_BYTES).step_by(PAGE as usize) {
            let page = frames.allocate(memory, PageSize::Size4K).unwrap().start();
            memory.write(page, Self::private_tag(vm, offset)).unwrap();
            let leaf = Leaf { page, size: PageSize::Size4K, bits: LeafBits::FULL };
            table.map(memory, frames, RAM.wrapping_add(offset), leaf).unwrap();
        }
        self.tables.insert(vmid, table);
        let mut mmu = Mmu::new(&MmuConfig::default()).unwrap();
        mmu.set_context(&TranslationContext::default(), vmid);
        self.processors.mmus.insert(vmid, mmu);
        let taken = vec![Gpa(0)..RAM.wrapping_add(RAM_BYTES)];
        self.manager.add_vm(VmProfile {
            vmid,
            group: (vm >= 100).then_some(7),
            mode,
            links: true,
            limit: Gpa(1 << mode.address_bits()),
            taken,
            quota,
        });
    }

    /// What a page of a VM's own RAM holds.
    pub(super) fn private_tag(vm: u16, offset: u64) -> u64 {
        0xdead_0000_0000_0000 | u64::from(vm) << 32 | offset
    }

    /// The manager, and what it works on.
    pub(super) fn parts(&mut self) -> (&mut SectionManager, SectionHost<'_, BTreeMap<Vmid, NestedTable>, Processors>) {
        let on = SectionHost { host: &mut self.host, tables: &mut self.tables, processors: &mut self.processors };
        (&mut self.manager, on)
    }

    pub(super) fn create(&mut self, text: &str, bytes: u64, lifetime: Lifetime) -> SectionId {
        let (manager, mut on) = self.parts();
        manager.create_resident(&mut on, &name(text), bytes, lifetime).unwrap()
    }

    pub(super) fn map(&mut self, request: &MapRequest) -> Result<Window, SectionMapError> {
        let (manager, mut on) = self.parts();
        manager.map(&mut on, request)
    }

    pub(super) fn unmap(&mut self, vm: u16, at: u64) -> Result<(), SectionUnmapError> {
        let (manager, mut on) = self.parts();
        manager.unmap(&mut on, Vmid(vm), Gpa(at))
    }

    pub(super) fn remove_vm(&mut self, vm: u16) {
        let (manager, mut on) = self.parts();
        manager.remove_vm(&mut on, Vmid(vm)).unwrap();
        self.processors.fence(&Fence::Gvma { gpa: None, vmid: Some(Vmid(vm)) });
        let mut table = self.tables.remove(&Vmid(vm)).unwrap();
        for offset in (0..RAM_BYTES).step_by(PAGE as usize) {
            if let Some(leaf) = table.take(&self.host.memory, RAM.wrapping_add(offset)) {
                self.host.frames.free(FrameRange::new(leaf.page, PAGE).unwrap()).unwrap();
            }
        }
        Box::new(table).free(&self.host.memory, &mut self.host.frames);
        self.processors.mmus.remove(&Vmid(vm));
    }

    pub(super) fn fault(&mut self, vm: u16, gpa: Gpa, access: Access) -> Result<SectionFault, SectionFaultError> {
        let (manager, mut on) = self.parts();
        manager.fault(&mut on, Vmid(vm), gpa, access)
    }

    /// Where VM `vm`'s access ends up, with its faults handled, and how many there were; an access fault of the guest, or one that
    /// the host cannot answer, is `None`.
    pub(super) fn access(&mut self, vm: u16, gpa: u64, access: Access) -> (Option<Hpa>, u32) {
        let table = &self.tables[&Vmid(vm)];
        let second = mmu::SecondStage::Nested { mode: table.mode(), root: table.root() };
        for faults in 0..4 {
            self.processors.stamp += 1;
            let mmu = self.processors.mmus.get_mut(&Vmid(vm)).unwrap();
            let stamp = self.processors.stamp;
            match mmu.access(&mut WalkMemory::new(&self.host.memory), &second, Gva(gpa), access, stamp) {
                Ok(hit) => return (Some(hit.hpa), faults),
                Err(Fault::Nested(fault)) => match self.fault(vm, fault.gpa, fault.access) {
                    Ok(SectionFault::Resolved(_)) => {}
                    Ok(SectionFault::Denied(_) | SectionFault::Elsewhere) | Err(_) => return (None, faults),
                },
                Err(other) => panic!("{other:?}"),
            }
        }
        panic!("the hypervisor maps {gpa:#x} and the walker does not find it");
    }

    /// What VM `vm` reads at `gpa`.
    pub(super) fn read(&mut self, vm: u16, gpa: u64) -> Option<u64> {
        let (hpa, _) = self.access(vm, gpa, Access::Read);
        hpa.map(|hpa| self.host.memory.read(hpa).unwrap())
    }

    /// VM `vm` writes `value` to `gpa`, if it may.
    pub(super) fn write(&mut self, vm: u16, gpa: u64, value: u64) -> bool {
        let (hpa, _) = self.access(vm, gpa, Access::Write);
        hpa.is_some_and(|hpa| self.host.memory.write(hpa, value).is_ok())
    }

    /// Bytes of host memory that have an owner.
    pub(super) fn owned(&self) -> u64 {
        self.host.frames.owned_bytes()
    }
}
