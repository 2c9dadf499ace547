//! A host with a few guests that have shadow tables, on real MMUs, without instructions: each has two harts that run users of an address space, and one that
//! does not translate, through which it writes its tables.

use crate::section::{MapRequest, SectionHost, SectionManager, VmProfile, Window};
use crate::shadow::{
    Assist, Clear, Coherence, GuestFence, Invalidation, ShadowConfig, ShadowFault, ShadowFaultOutcome, Tables, Tlbs,
};
use crate::table::FlushTlbs;
use crate::vm::{Backing, LeafStatus, ReclaimRequest, Vm};
use crate::walk_memory::WalkMemory;
use devices::map::RAM_BASE;
use memory::registry::{Change, Granularities, Registry, Reservation, ReservedMemory, Scope, SectionName};
use memory::section::{BackingFile, Lifetime, SectionId};
use memory::{FrameRange, Host, HostPages};
use mmu::{AdPolicy, Fence, Mmu, MmuConfig, SoftwareRules};
use types::{Access, Asid, Gpa, Gva, Hpa, PageSize, PagingMode, Privilege, SecondStageMode, TranslationContext, Vmid};

pub(super) const V: u64 = 1;
pub(super) const R: u64 = 1 << 1;
pub(super) const W: u64 = 1 << 2;
pub(super) const X: u64 = 1 << 3;
pub(super) const U: u64 = 1 << 4;
pub(super) const G: u64 = 1 << 5;
pub(super) const A: u64 = 1 << 6;
pub(super) const D: u64 = 1 << 7;
/// What most pages have.
pub(super) const DATA: u64 = V | R | W | U | A | D;

pub(super) const PAGE: u64 = 4096;
pub(super) const MIB: u64 = 1 << 20;
/// RAM of each guest.
pub(super) const RAM: u64 = 8 * MIB;
/// Where every guest has its section, and where its users see that.
pub(super) const AT: Gpa = Gpa(4 << 30);
pub(super) const SEEN: Gva = Gva(64 << 20);

pub(super) const fn ram(offset: u64) -> Gpa {
    Gpa(RAM_BASE.0 + offset)
}

pub(super) const fn pte(page: Gpa, bits: u64) -> u64 {
    page.0 >> 12 << 10 | bits
}

/// How an access ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    Memory(Hpa),
    PageFault,
    AccessFault,
}

/// Harts of a guest, and which of them does not translate.
const HARTS: usize = 3;
const BARE: usize = 2;

/// The MMUs of all harts.
struct Mmus<'m> {
    all: &'m mut [Mmu],
    here: usize,
}

impl Tlbs for Mmus<'_> {
    fn fence_here(&mut self, fence: &Fence) {
        self.all[self.here].fence(fence);
    }
    fn fence_everywhere(&mut self, fence: &Fence) {
        self.all.iter_mut().for_each(|mmu| mmu.fence(fence));
    }
}

impl FlushTlbs for Mmus<'_> {
    fn fence(&mut self, fence: &Fence) {
        self.fence_everywhere(fence);
    }
    fn forget_code(&mut self, _: FrameRange) {}
}

pub(super) struct Fixture {
    pub(super) host: Host,
    pub(super) vms: Vec<Vm>,
    pub(super) manager: SectionManager,
    mmus: Vec<Mmu>,
    stamp: u64,
}

pub(super) fn name(text: &str) -> SectionName {
    SectionName::new(text, Scope::System).unwrap()
}

impl Fixture {
    /// This many guests, numbered from 0, that map nothing yet. The sections `alloc` are preallocated.
    pub(super) fn new(guests: u16, coherence: Coherence, host_page: PageSize, alloc: &[(&str, u64)]) -> Self {
        let mut registry = Registry::default();
        for &(text, bytes) in alloc {
            registry.add(Reservation::new(name(text), bytes).unwrap()).unwrap();
            let change = Change { alloc: Some(true), zeroed: Some(true), page_tables: Some(true), ..Change::default() };
            registry.modify(&name(text), change).unwrap();
        }
        let mut host = Host::new(256 * MIB, HostPages::Base).unwrap();
        let sizes = Granularities::RISCV.at_most(host_page);
        let reserved = ReservedMemory::honour(&registry, &mut host, 0, sizes).unwrap();
        let mut fixture =
            Self { host, vms: Vec::new(), manager: SectionManager::new(reserved, sizes), mmus: Vec::new(), stamp: 0 };
        let mode = SecondStageMode::Sv39x4;
        for guest in 0..guests {
            let vmid = Vmid(guest + 1);
            // RAM in pages of a size that a tree has.
            let page = if host_page == PageSize::Size64K { PageSize::Size4K } else { host_page };
            let backing = Backing::nested(mode, page, LeafStatus::Preset);
            let mut vm = Vm::new(&mut fixture.host, vmid, RAM, backing).unwrap();
            let config = ShadowConfig {
                tables: Tables::Multiple(4),
                coherence,
                invalidation: Invalidation::Selective,
                assist: Assist::None,
                clear: Clear::Stores,
                selection_flag: true,
                harts: HARTS,
                rules: SoftwareRules { ad: AdPolicy::Fault, svnapot: true },
                sections_end: Gpa(8 << 30),
                section_bytes: 64 * MIB,
                check: true,
                agile: None,
            };
            vm.shadow_with(&mut fixture.host, config).unwrap();
            fixture.vms.push(vm);
            fixture.mmus.extend((0..HARTS).map(|_| Mmu::new(&MmuConfig::default()).unwrap()));
            let taken = vec![Gpa(0)..ram(RAM)];
            let limit = Gpa(1 << 38);
            fixture.manager.add_vm(VmProfile { vmid, group: None, mode, links: true, limit, taken, quota: 8 });
            for hart in 0..HARTS {
                fixture.enter(guest.into(), hart, TranslationContext::default());
            }
        }
        fixture
    }

    fn on<T>(&mut self, act: impl FnOnce(&mut SectionManager, &mut SectionHost<'_, Vec<Vm>, Mmus<'_>>) -> T) -> T {
        let mut processors = Mmus { all: &mut self.mmus, here: 0 };
        let mut on = SectionHost { host: &mut self.host, tables: &mut self.vms, processors: &mut processors };
        act(&mut self.manager, &mut on)
    }

    pub(super) fn create(&mut self, text: &str, bytes: u64, lifetime: Lifetime) -> SectionId {
        self.on(|manager, on| manager.create_resident(on, &name(text), bytes, lifetime).unwrap())
    }

    pub(super) fn create_pageable(&mut self, text: &str, bytes: u64, file: BackingFile) -> SectionId {
        self.manager.create_pageable(&name(text), bytes, file, Lifetime::Permanent).unwrap()
    }

    pub(super) fn delete(&mut self, text: &str) {
        self.on(|manager, on| manager.delete(on, &name(text)).unwrap());
    }

    pub(super) fn map(&mut self, guest: usize, text: &str, at: Gpa) -> Window {
        let request = MapRequest::whole(Vmid(guest as u16 + 1), name(text), at);
        self.on(|manager, on| manager.map(on, &request).unwrap())
    }

    pub(super) fn map_to_read(&mut self, guest: usize, text: &str, at: Gpa) -> Window {
        let request = MapRequest::whole(Vmid(guest as u16 + 1), name(text), at).read_only();
        self.on(|manager, on| manager.map(on, &request).unwrap())
    }

    pub(super) fn unmap(&mut self, guest: usize, at: Gpa) {
        self.on(|manager, on| manager.unmap(on, Vmid(guest as u16 + 1), at).unwrap());
    }

    /// The guest ends; nothing of it runs any more.
    pub(super) fn end(&mut self, guest: usize) {
        self.on(|manager, on| manager.remove_vm(on, Vmid(guest as u16 + 1)).unwrap());
    }

    fn enter(&mut self, guest: usize, hart: usize, context: TranslationContext) {
        let index = HARTS * guest + hart;
        let mut tlbs = Mmus { all: &mut self.mmus, here: index };
        self.vms[guest].shadow_switch(&mut self.host, &mut tlbs, hart, &context).unwrap();
        let hardware = self.vms[guest].shadow_context(hart).unwrap();
        self.mmus[index].set_context(&hardware, self.vms[guest].vmid());
    }

    /// The guest's users run in the address space with its root at `root`, in RAM.
    pub(super) fn switch(&mut self, guest: usize, root: u64, asid: u16) {
        let (mode, privilege, root) = (PagingMode::Sv39, Privilege::User, ram(root));
        let context = TranslationContext { mode, root, asid: Asid(asid), privilege, sum: false, mxr: false };
        (0..BARE).for_each(|hart| self.enter(guest, hart, context));
    }

    /// Makes a space of three tables at `root`: what follows maps the gigabyte from 0, and what follows that the 2M at [`SEEN`].
    pub(super) fn space(&mut self, guest: usize, root: u64) {
        self.store(guest, ram(root), pte(ram(root + PAGE), V));
        self.directory(guest, root, pte(ram(root + 2 * PAGE), V));
    }

    /// Sets the entry of a space that maps the 2M at [`SEEN`].
    pub(super) fn directory(&mut self, guest: usize, root: u64, entry: u64) {
        self.store(guest, ram(root + PAGE + (SEEN.0 >> 21) * 8), entry);
    }

    /// Sets the entry of a space for page `page` from [`SEEN`] on.
    pub(super) fn leaf(&mut self, guest: usize, root: u64, page: u64, entry: u64) {
        self.store(guest, ram(root + 2 * PAGE + page * 8), entry);
    }

    /// Maps this many pages from [`SEEN`] on to what begins at `gpa`, one by one.
    pub(super) fn leaves(&mut self, guest: usize, root: u64, gpa: Gpa, pages: u64, bits: u64) {
        (0..pages).for_each(|page| self.leaf(guest, root, page, pte(gpa.wrapping_add(page * PAGE), bits)));
    }

    /// An access by a guest's hart, with all that the hypervisor does for it.
    pub(super) fn reach(&mut self, guest: usize, hart: usize, gva: Gva, access: Access) -> End {
        let index = HARTS * guest + hart;
        for _ in 0..8 {
            self.stamp += 1;
            let second = self.vms[guest].second_stage();
            let mut memory = WalkMemory::new(&self.host.memory);
            if let Ok(hit) = self.mmus[index].access(&mut memory, &second, gva, access, self.stamp) {
                return End::Memory(hit.hpa);
            }
            let mut tlbs = Mmus { all: &mut self.mmus, here: index };
            let sections = Some(&mut self.manager);
            let refused = ShadowFault { hart, gva, access };
            match self.vms[guest].shadow_fault(&mut self.host, &mut tlbs, refused, sections) {
                Ok((ShadowFaultOutcome::Mapped, _)) => {}
                Ok((ShadowFaultOutcome::PageFault, _)) => return End::PageFault,
                Ok((ShadowFaultOutcome::AccessFault | ShadowFaultOutcome::Device(_), _)) => return End::AccessFault,
                Ok((ShadowFaultOutcome::StoreOnce(hpa), _)) => return End::Memory(hpa),
                Err(ReclaimRequest::Section { gpa, access }) => {
                    let vmid = self.vms[guest].vmid();
                    self.on(|manager, on| manager.fault(on, vmid, gpa, access).unwrap());
                }
                Err(wanted) => panic!("{wanted:?}: there is memory enough"),
            }
        }
        panic!("the hypervisor fills {gva} and the walker does not find it");
    }

    /// What the guest's user reads at byte `offset` from [`SEEN`] on.
    pub(super) fn read(&mut self, guest: usize, offset: u64) -> Result<u64, End> {
        match self.reach(guest, 0, SEEN.wrapping_add(offset), Access::Read) {
            End::Memory(hpa) => Ok(self.host.memory.read(hpa).unwrap()),
            end => Err(end),
        }
    }

    /// The guest's user writes there.
    pub(super) fn write(&mut self, guest: usize, offset: u64, value: u64) -> Result<(), End> {
        match self.reach(guest, 0, SEEN.wrapping_add(offset), Access::Write) {
            End::Memory(hpa) => {
                self.host.memory.write(hpa, value).unwrap();
                Ok(())
            }
            end => Err(end),
        }
    }

    /// The guest writes a word of its memory.
    pub(super) fn store(&mut self, guest: usize, at: Gpa, value: u64) {
        let End::Memory(hpa) = self.reach(guest, BARE, Gva(at.0), Access::Write) else { panic!("{at} is RAM") };
        self.host.memory.write(hpa, value).unwrap();
    }

    /// `sfence.vma` by both users of the guest.
    pub(super) fn fence(&mut self, guest: usize, offset: Option<u64>) {
        (0..BARE).for_each(|hart| self.fence_one(guest, hart, offset));
    }

    /// `sfence.vma` by one.
    pub(super) fn fence_one(&mut self, guest: usize, hart: usize, offset: Option<u64>) {
        let gva = offset.map(|offset| SEEN.wrapping_add(offset));
        let page = gva.map(|gva| [gva]);
        let fence = GuestFence { pages: page.as_ref().map(|page| &page[..]), asid: None, remote: false };
        let mut tlbs = Mmus { all: &mut self.mmus, here: HARTS * guest + hart };
        self.vms[guest].shadow_fence(&self.host, &mut tlbs, |other| other == hart, &fence);
        self.mmus[HARTS * guest + hart].fence(&Fence::Vma { gva, asid: None });
    }

    /// How often the guest's tables were linked to a section's.
    pub(super) fn links(&self, guest: usize) -> u64 {
        self.vms[guest].shadow_statistics().unwrap().links
    }

    /// Every entry that is wrong, of any guest.
    pub(super) fn wrong(&self) -> Vec<String> {
        let wrong = self.vms.iter().flat_map(|vm| vm.check_shadow(&self.host.memory));
        wrong.map(|wrong| wrong.to_string()).collect()
    }
}
