//! A guest with tables, native or nested, for tests that say exactly what happens.

use super::builder::{Shape, Tree, leaf, map_page, pte};
use super::memory::HostMemory;
use mmu::{Fault, Hit, Mmu, MmuConfig, NoObserver, Observer, SecondStage};
use types::{Access, Asid, Gpa, Gva, Hpa, PageSize, PagingMode, Privilege, SecondStageMode, TranslationContext, Vmid};

pub const GUEST_ROOT: u64 = 0x8010_0000;
pub const HOST_ROOT: u64 = 0x8800_0000;

pub struct Fixture<O = NoObserver> {
    pub memory: HostMemory,
    pub mmu: Mmu<O>,
    pub second: SecondStage,
    pub context: TranslationContext,
    pub vmid: Vmid,
    next_table: u64,
    clock: u64,
}

impl Fixture {
    /// Sv39 from U, ASID 1, VMID 1, over memory from 0x8000_0000 on at hPA = gPA.
    pub fn native(config: &MmuConfig) -> Self {
        Self::observed(config, NoObserver)
    }

    /// Sv39 from U on a second stage of Sv39x4, with nothing mapped.
    pub fn nested(config: &MmuConfig) -> Self {
        let second = SecondStage::Nested { mode: SecondStageMode::Sv39x4, root: Hpa(HOST_ROOT) };
        Self::new(Mmu::new(config).unwrap(), second)
    }
}

impl<O: Observer> Fixture<O> {
    /// A native one with an observer.
    pub fn observed(config: &MmuConfig, observer: O) -> Self {
        let ram = Gpa(0x8000_0000)..Gpa(1 << 45);
        Self::new(Mmu::observed(config, observer).unwrap(), SecondStage::Constant { ram, offset: 0 })
    }

    fn new(mmu: Mmu<O>, second: SecondStage) -> Self {
        let context = TranslationContext {
            mode: PagingMode::Sv39,
            root: Gpa(GUEST_ROOT),
            asid: Asid(1),
            privilege: Privilege::User,
            ..TranslationContext::default()
        };
        let mut fixture = Self {
            memory: HostMemory::new(0x8000_0000..1 << 45),
            mmu,
            second,
            context,
            vmid: Vmid(1),
            next_table: 0,
            clock: 0,
        };
        fixture.enter();
        fixture
    }

    /// Makes what `context` and `vmid` say the current context.
    pub fn enter(&mut self) {
        self.mmu.set_context(&self.context, self.vmid);
    }

    fn map_in(&mut self, shape: Shape, root: u64, address: u64, leaf: (u32, u64)) {
        let Self { memory, next_table, .. } = self;
        let new_table = || {
            *next_table += 0x1000;
            pte(root + 0x10_0000 + *next_table, 0)
        };
        map_page(memory, Tree { shape, offset: 0, root }, address, leaf, new_table);
    }

    /// Maps in the guest's current tables, which lie at hPA = gPA.
    pub fn map(&mut self, gva: u64, size: PageSize, gpa: u64, flags: u64) {
        let shape = Shape { levels: self.context.mode.levels(), wide_root: false };
        self.map_in(shape, self.context.root.0, gva, leaf(gpa, size, flags));
    }

    /// Maps in the second stage's tables.
    pub fn map_host(&mut self, gpa: u64, size: PageSize, hpa: u64, flags: u64) {
        let SecondStage::Nested { mode, root } = self.second else { panic!("there is no second stage") };
        self.map_in(Shape { levels: mode.levels(), wide_root: true }, root.0, gpa, leaf(hpa, size, flags));
    }

    pub fn access(&mut self, gva: u64, access: Access) -> Result<Hit, Fault> {
        self.clock += 1;
        self.mmu.access(&mut self.memory, &self.second, Gva(gva), access, self.clock)
    }

    /// Whether a load walks.
    pub fn walks(&mut self, gva: u64) -> bool {
        let before = self.mmu.statistics().walks;
        self.access(gva, Access::Read).unwrap();
        self.mmu.statistics().walks > before
    }

    pub fn stamp(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }
}
