//! A guest with shadow tables on real MMUs, without instructions: tests say what its harts do. The last hart does not translate; through it
//! the guest writes its tables.

use crate::shadow::{
    AgileConfig, Assist, Back, Clear, Coherence, Event, GuestFence, Invalidation, ShadowConfig, ShadowFault,
    ShadowFaultOutcome, ShadowStatistics, Start, StatusUpdates, Tables, Tlbs,
};
use crate::table::{LeafBits, Radix, ShadowFormat};
use crate::vm::{Backing, LeafStatus, MemoryAttribute, Vm};
use crate::walk_memory::WalkMemory;
use devices::Platform;
use devices::map::RAM_BASE;
use memory::{Host, HostPages};
use mmu::{AdPolicy, Cause, Fault, Fence, Mmu, MmuConfig, NestedFault, Purpose, SoftwareRules};
use types::{Access, Asid, Gpa, Gva, Hpa, PageSize, PagingMode, Privilege, SecondStageMode, TranslationContext, Vmid};

pub(super) const V: u64 = 1;
pub(super) const R: u64 = 1 << 1;
pub(super) const W: u64 = 1 << 2;
pub(super) const X: u64 = 1 << 3;
pub(super) const U: u64 = 1 << 4;
pub(super) const G: u64 = 1 << 5;
pub(super) const A: u64 = 1 << 6;
pub(super) const D: u64 = 1 << 7;
pub(super) const DATA: u64 = V | R | W | U | A | D;

/// Agile paging whose intervals a test ends itself.
pub(super) const AGILE: AgileConfig = AgileConfig {
    threshold: 2,
    interval_us: 0,
    start: Start::Shadow,
    back: Back::Reset,
    root_cache: 0,
    status: StatusUpdates::Exit,
};

/// RAM of the guest.
pub(super) const RAM: u64 = 64 << 20;

pub(super) const fn ram(offset: u64) -> Gpa {
    Gpa(RAM_BASE.0 + offset)
}

pub(super) const fn pte(page: Gpa, bits: u64) -> u64 {
    page.0 >> 12 << 10 | bits
}

/// What a test chooses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub(super) tables: Tables,
    pub(super) coherence: Coherence,
    pub(super) invalidation: Invalidation,
    pub(super) assist: Assist,
    pub(super) clear: Clear,
    pub(super) selection_flag: bool,
    pub(super) attribute: MemoryAttribute,
    pub(super) host_page: PageSize,
    /// A and D bits of pages that the host gives.
    pub(super) status: LeafStatus,
    pub(super) ad: AdPolicy,
    pub(super) harts: usize,
    pub(super) format: &'static dyn ShadowFormat,
    pub(super) agile: Option<AgileConfig>,
}

impl Default for Choice {
    fn default() -> Self {
        Self {
            tables: Tables::Multiple(8),
            coherence: Coherence::Fence,
            invalidation: Invalidation::Selective,
            assist: Assist::None,
            clear: Clear::Stores,
            selection_flag: true,
            attribute: MemoryAttribute::Virtual,
            host_page: PageSize::Size4K,
            status: LeafStatus::Preset,
            ad: AdPolicy::Fault,
            harts: 2,
            format: &Radix,
            agile: None,
        }
    }
}

/// How an access ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    Memory(Hpa),
    PageFault,
    AccessFault,
    Device(Gpa),
}

pub(super) struct Fixture {
    pub(super) host: Host,
    pub(super) vm: Vm,
    pub(super) mmus: Vec<Mmu>,
    pub(super) contexts: Vec<TranslationContext>,
    /// Everything that was charged, in order.
    pub(super) events: Vec<Event>,
    pub(super) ad: AdPolicy,
    walker: Walker,
    stamp: u64,
}

/// Who looks for a page in a shadow table.
#[derive(Clone, Copy)]
enum Walker {
    /// MMUs, with TLBs.
    Hardware,
    /// The fixture itself, at each access: no MMU knows the shape.
    Software,
}

struct Processors<'m> {
    mmus: &'m mut [Mmu],
    here: usize,
}

impl Tlbs for Processors<'_> {
    fn fence_here(&mut self, fence: &Fence) {
        self.mmus[self.here].fence(fence);
    }
    fn fence_everywhere(&mut self, fence: &Fence) {
        self.mmus.iter_mut().for_each(|mmu| mmu.fence(fence));
    }
}

impl Fixture {
    pub(super) fn new(choice: &Choice) -> Self {
        let backing = Backing::nested(SecondStageMode::Sv39x4, choice.host_page, choice.status);
        let config = ShadowConfig {
            tables: choice.tables,
            coherence: choice.coherence,
            invalidation: choice.invalidation,
            assist: choice.assist,
            clear: choice.clear,
            selection_flag: choice.selection_flag,
            harts: choice.harts,
            rules: SoftwareRules { ad: choice.ad, svnapot: true },
            sections_end: Gpa(0),
            section_bytes: 0,
            check: true,
            agile: choice.agile,
        };
        let bytes = 2 * Vm::host_bytes(RAM, backing) + config.host_bytes(RAM);
        let mut host = Host::new(bytes, HostPages::Base).unwrap();
        let mut vm = Vm::with_attribute(&mut host, Vmid(5), RAM, backing, choice.attribute).unwrap();
        vm.shadow_as(&mut host, config, choice.format).unwrap();
        let mmu = MmuConfig { first_stage_ad: choice.ad, ..MmuConfig::default() };
        let mmus = (0..choice.harts).map(|_| Mmu::new(&mmu).unwrap()).collect();
        let contexts = vec![TranslationContext::default(); choice.harts];
        let is_tree = choice.format.largest_page() > PageSize::Size4K;
        let walker = if is_tree { Walker::Hardware } else { Walker::Software };
        let mut fixture = Self { host, vm, mmus, contexts, events: Vec::new(), ad: choice.ad, walker, stamp: 0 };
        for hart in 0..choice.harts {
            fixture.enter(hart, TranslationContext::default());
        }
        fixture
    }

    /// The hart that does not translate.
    pub(super) fn bare(&self) -> usize {
        self.mmus.len() - 1
    }

    /// The hart translates in `context` from now on.
    pub(super) fn enter(&mut self, hart: usize, context: TranslationContext) {
        self.contexts[hart] = context;
        let mut tlbs = Processors { mmus: &mut self.mmus, here: hart };
        let event = self.vm.shadow_switch(&mut self.host, &mut tlbs, hart, &context).unwrap();
        self.events.extend(event);
        let hardware = self.vm.shadow_context(hart).unwrap();
        self.mmus[hart].set_context(&hardware, self.vm.vmid());
    }

    /// The hart runs a user of the address space with its root at `root`.
    pub(super) fn switch(&mut self, hart: usize, root: Gpa, asid: u16) {
        let (mode, privilege) = (PagingMode::Sv39, Privilege::User);
        let asid = Asid(asid);
        self.enter(hart, TranslationContext { mode, root, asid, privilege, sum: false, mxr: false });
    }

    /// An access, with all that the hypervisor does for it. A store that may be made once goes to the same place.
    pub(super) fn access(&mut self, hart: usize, gva: Gva, access: Access) -> End {
        // Each table and the page may take a fault, and stores one more.
        for _ in 0..12 {
            self.stamp += 1;
            let found = match self.walker {
                Walker::Hardware => self.walk(hart, gva, access),
                Walker::Software => self.look_up(hart, gva, access),
            };
            let fault = match found {
                Ok(hpa) => return End::Memory(hpa),
                Err(fault) => fault,
            };
            if !self.vm.shadow_handles(&fault) {
                match self.other_fault(&fault) {
                    Some(end) => return end,
                    None => continue,
                }
            }
            let mut tlbs = Processors { mmus: &mut self.mmus, here: hart };
            let (outcome, event) = match fault {
                Fault::Nested(fault) if self.vm.watches_nested_stores() => {
                    self.vm.shadow_protected_store(&mut self.host, &mut tlbs, &fault)
                }
                Fault::Page(_) | Fault::Shadow(_) | Fault::Access(_) | Fault::Nested(_) => self
                    .vm
                    .shadow_fault(&mut self.host, &mut tlbs, ShadowFault { hart, gva, access }, None)
                    .expect("there is memory enough"),
            };
            self.events.extend(event);
            match outcome {
                ShadowFaultOutcome::Mapped => {}
                ShadowFaultOutcome::PageFault => return End::PageFault,
                ShadowFaultOutcome::AccessFault => return End::AccessFault,
                ShadowFaultOutcome::Device(gpa) => return End::Device(gpa),
                ShadowFaultOutcome::StoreOnce(hpa) => return End::Memory(hpa),
            }
        }
        panic!("the hypervisor fills {gva} and the walker does not find it");
    }

    /// A fault that is not for shadow tables: how the access ends, or `None` if it is made again.
    fn other_fault(&mut self, fault: &Fault) -> Option<End> {
        match *fault {
            Fault::Page(_) => Some(End::PageFault),
            Fault::Access(_) => Some(End::AccessFault),
            Fault::Nested(NestedFault { gpa, purpose: Purpose::Data, .. }) if Platform::contains(gpa) => {
                Some(End::Device(gpa))
            }
            Fault::Nested(NestedFault { gpa, access, .. }) => {
                let resolved = self.vm.resolve(&self.host.memory, &mut self.host.frames, gpa, access);
                resolved.expect("there is memory enough").is_none().then_some(End::AccessFault)
            }
            Fault::Shadow(_) => panic!("that is for shadow tables"),
        }
    }

    /// An interval of agile paging ends.
    pub(super) fn end_interval(&mut self) {
        let mut tlbs = Processors { mmus: &mut self.mmus, here: 0 };
        let event = self.vm.end_shadow_interval(&mut self.host, &mut tlbs);
        self.events.extend(event);
    }

    fn walk(&mut self, hart: usize, gva: Gva, access: Access) -> Result<Hpa, Fault> {
        let second = self.vm.second_stage_of(hart);
        let mut memory = WalkMemory::new(&self.host.memory);
        let hit = self.mmus[hart].access(&mut memory, &second, gva, access, self.stamp)?;
        assert!(hit.host.is_some(), "shadow tables map memory alone");
        Ok(hit.hpa)
    }

    fn look_up(&self, hart: usize, gva: Gva, access: Access) -> Result<Hpa, Fault> {
        self.find(hart, gva, access).ok_or(Fault::Page(Cause::Invalid))
    }

    fn find(&self, hart: usize, gva: Gva, access: Access) -> Option<Hpa> {
        let shadow = self.vm.shadow.as_ref().unwrap();
        let table = &shadow.tables.list[shadow.harts[hart].table];
        let leaf = table.shape.lookup(&self.host.memory, gva).filter(|_| table.shape.canonical(gva) == gva)?;
        let context = self.vm.shadow_context(hart).unwrap();
        let of_user = leaf.bits.contains(LeafBits::USER);
        let owner = match (context.privilege, access) {
            (Privilege::User, _) => of_user,
            (Privilege::Supervisor, Access::Execute) => !of_user,
            (Privilege::Supervisor, Access::Read | Access::Write) => !of_user || context.sum,
        };
        let right = match access {
            Access::Read => LeafBits::READ,
            Access::Write => LeafBits::WRITE,
            Access::Execute => LeafBits::EXECUTE,
        };
        (owner && leaf.bits.contains(right)).then_some(Hpa(leaf.page.0 | gva.offset(leaf.size)))
    }

    /// The guest writes a word of its memory.
    pub(super) fn store(&mut self, at: Gpa, value: u64) {
        let End::Memory(hpa) = self.access(self.bare(), Gva(at.0), Access::Write) else { panic!("{at} is RAM") };
        self.host.memory.write(hpa, value).unwrap();
    }

    /// The word at `at`; what was never touched is zero.
    pub(super) fn load(&self, at: Gpa) -> u64 {
        let leaf = self.vm.mapped(&self.host.memory, at);
        leaf.map_or(0, |leaf| self.host.memory.read(Hpa(leaf.page.0 | at.offset(leaf.size))).unwrap())
    }

    /// Where the byte at `gpa` lies.
    pub(super) fn hpa(&self, gpa: Gpa) -> Option<Hpa> {
        self.vm.mapped(&self.host.memory, gpa).map(|leaf| Hpa(leaf.page.0 | gpa.offset(leaf.size)))
    }

    /// `sfence.vma` by one hart.
    pub(super) fn fence(&mut self, hart: usize, gva: Option<Gva>, asid: Option<u16>) {
        let asid = asid.map(Asid);
        let page = gva.map(|gva| [gva]);
        let fence = GuestFence { pages: page.as_ref().map(|page| &page[..]), asid, remote: false };
        let mut tlbs = Processors { mmus: &mut self.mmus, here: hart };
        let event = self.vm.shadow_fence(&self.host, &mut tlbs, |other| other == hart, &fence);
        self.events.extend(event);
        self.mmus[hart].fence(&Fence::Vma { gva, asid });
    }

    /// A fence of every hart, as a call.
    pub(super) fn fence_all(&mut self, gva: Option<Gva>, asid: Option<u16>) {
        let asid = asid.map(Asid);
        let page = gva.map(|gva| [gva]);
        let fence = GuestFence { pages: page.as_ref().map(|page| &page[..]), asid, remote: true };
        let mut tlbs = Processors { mmus: &mut self.mmus, here: 0 };
        let event = self.vm.shadow_fence(&self.host, &mut tlbs, |_| true, &fence);
        self.events.extend(event);
        for mmu in &mut self.mmus {
            mmu.fence(&Fence::Vvma { vmid: self.vm.vmid(), gva, asid });
        }
    }

    /// PPTLB; the old entry.
    pub(super) fn partial_purge(&mut self, hart: usize, entry: Gpa, page: Gva, handshake: bool) -> u64 {
        let mut tlbs = Processors { mmus: &mut self.mmus, here: hart };
        let purge = crate::sbi::PartialPurge { entry, page, handshake };
        let (old, event) = self.vm.shadow_partial_purge(&mut self.host, &mut tlbs, &purge).unwrap();
        self.events.extend(event);
        old
    }

    /// What was counted since the last call.
    pub(super) fn counted(&mut self) -> ShadowStatistics {
        let shadow = self.vm.shadow.as_mut().unwrap();
        std::mem::take(&mut shadow.statistics)
    }

    /// The entries that are wrong.
    pub(super) fn wrong(&self) -> Vec<String> {
        self.vm.check_shadow(&self.host.memory).iter().map(ToString::to_string).collect()
    }

    /// An address space with its tables at `root` and the pages behind: the 16 MiB from 0 on have last-level tables that are empty.
    pub(super) fn space(&mut self, root: Gpa) {
        let table = |number: u64| Gpa(root.0 + number * 4096);
        self.store(root, pte(table(1), V));
        for number in 0..8 {
            self.store(Gpa(table(1).0 + number * 8), pte(table(2 + number), V));
        }
    }

    /// Where a space has the entry of a page of its first 16 MiB.
    pub(super) const fn entry(root: Gpa, gva: Gva) -> Gpa {
        let number = gva.0 >> 12;
        Gpa(root.0 + (2 + number / 512) * 4096 + number % 512 * 8)
    }

    /// The guest maps a page of a space, without a fence.
    pub(super) fn map(&mut self, root: Gpa, gva: Gva, page: Gpa, bits: u64) {
        self.store(Self::entry(root, gva), pte(page, bits));
    }
}
