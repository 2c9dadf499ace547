//! A bus with flat memory at address zero, no translation and no devices.

use hart::{
    Bus, CacheLines, CodeCache, CodeView, DataView, Engine, EntryLayout, Exception, Fence, Fetched, Hart, HostPage,
    Hotness, Isa, Loaded, Reached, Stop, Stored, Trap,
    models::StateOffsets,
    report::{Outstanding, Report},
};
use std::mem::offset_of;
use types::{Access, PagingMode, TranslationContext, Width};

/// All engines. Miri runs no code that is made for the host.
pub(crate) const ENGINES: &[Engine] = if cfg!(miri) {
    &[Engine::Threaded, Engine::Matching]
} else {
    &[Engine::Threaded, Engine::Matching, Engine::Compiled(Hotness::ALL), Engine::Compiled(Hotness::BASELINE)]
};

/// Where accesses that are not the program's business end.
pub(crate) struct FlatBus {
    /// Page-aligned memory. It is no box, which nothing may point into when it moves (Miri).
    memory: Vec<Page>,
    stamp: u32,
    view: Box<View>,
    /// Contexts and fences seen, for tests that look at them.
    pub(crate) contexts: Vec<TranslationContext>,
    pub(crate) fences: Vec<Fence>,
    /// Where a byte lies that is not 0 once the external interrupt was claimed; without one the interrupt is never claimed.
    pub(crate) external: Option<usize>,
    /// How often a trap was nested.
    pub(crate) nested_traps: u32,
    misses: u32,
    /// Whether the hart has to leave at misses, and behind stores.
    pub(crate) leaves: bool,
    /// How often it had to.
    pub(crate) left: u32,
    /// Whether what lies beyond the memory is a page that the tables do not allow.
    pub(crate) page_faults: bool,
    /// The uses of lines, in order, by address, once a test wants to see them.
    pub(crate) uses: Option<Vec<(u64, Access)>>,
}

/// Caches of which nothing is known.
#[derive(Clone, Copy)]
pub(crate) struct Unknown;

impl CacheLines for Unknown {
    const STATE: Option<StateOffsets> = None;

    unsafe fn data_is_latest(self, _: *const u8) -> bool {
        false
    }
    unsafe fn code_is_latest(self, _: *const u8) -> bool {
        false
    }
}

#[repr(C, align(4096))]
#[derive(Clone, Copy)]
struct Page([u8; 4096]);

/// What loads and stores look at: as [`EntryLayout`] has it, one entry for all of the memory.
#[repr(C)]
struct View {
    base: u64,
    start: *mut u8,
    stamp: u64,
    bytes: u64,
    limits: [u64; 4],
}

impl FlatBus {
    pub(crate) fn new(bytes: usize) -> Self {
        let mut memory = vec![Page([0; 4096]); bytes >> 12];
        assert!(bytes.is_power_of_two());
        let start = memory.as_mut_ptr().cast();
        let limits = [8, 4, 2, 1].map(|width| bytes as u64 - (width - 1));
        let view = Box::new(View { base: 0, start, stamp: 0, bytes: bytes as u64, limits });
        Self {
            memory,
            stamp: 0,
            view,
            contexts: Vec::new(),
            fences: Vec::new(),
            external: None,
            nested_traps: 0,
            misses: 0,
            leaves: false,
            left: 0,
            page_faults: false,
            uses: None,
        }
    }

    pub(crate) fn start(&self) -> *const u8 {
        self.view.start
    }

    pub(crate) fn bytes(&self) -> usize {
        self.memory.len() << 12
    }

    pub(crate) fn write(&mut self, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= self.bytes());
        // SAFETY: checked.
        unsafe { self.view.start.add(at).copy_from(bytes.as_ptr(), bytes.len()) }
    }

    fn byte(&self, at: usize) -> u8 {
        assert!(at < self.bytes());
        // SAFETY: checked.
        unsafe { *self.view.start.add(at) }
    }

    /// Half of the time, in no order that a program could fall in step with.
    fn leave(&mut self) -> Result<(), Stop> {
        self.misses = self.misses.wrapping_add(1);
        let scattered = self.misses.wrapping_mul(0x9e37_79b9);
        if self.leaves && (scattered ^ scattered >> 15).wrapping_mul(0x85eb_ca6b) >> 31 == 1 {
            self.left += 1;
            return Err(Stop::Leave);
        }
        Ok(())
    }

    fn reach(&self, address: u64, width: u64, cause: Exception) -> Result<*mut u8, Trap> {
        match address.checked_add(width) {
            Some(end) if end <= self.view.bytes => Ok(self.view.start.wrapping_add(address as usize)),
            _ => Err(Trap { cause: if self.page_faults { page_fault(cause) } else { cause }, value: address }),
        }
    }
}

fn page_fault(cause: Exception) -> Exception {
    match cause {
        Exception::LoadAccess => Exception::LoadPage,
        Exception::StoreAccess => Exception::StorePage,
        Exception::InstructionAccess => Exception::InstructionPage,
        other => other,
    }
}

unsafe fn hit(view: DataView, address: u64, width: Width) -> Option<*mut u8> {
    // SAFETY: made by `data_view` below.
    let view = unsafe { &*view.0.cast::<View>() };
    (address & (width.bytes() - 1) == 0 && address < view.bytes).then(|| view.start.wrapping_add(address as usize))
}

impl Bus for FlatBus {
    /// Compiled code does not report lines: tests that look at them use other engines. There is one predicted slot, 0.
    const ENTRY: Option<EntryLayout> = Some(EntryLayout {
        shift: 0,
        base: offset_of!(View, base),
        host: offset_of!(View, start),
        stamp: offset_of!(View, stamp),
        loads: offset_of!(View, limits),
        stores: offset_of!(View, limits),
        plain_stores: None,
        loads_hit_with_stores: true,
        is_aligned: true,
    });

    type Lines = Unknown;

    fn lines(&mut self) -> Unknown {
        Unknown
    }
    fn use_line(&mut self, at: *const u8, access: Access) {
        let address = at as u64 - self.view.start as u64;
        self.uses.iter_mut().for_each(|uses| uses.push((address, access)));
    }
    fn report(&mut self, _: u64, _: Report) -> Outstanding {
        Outstanding::NOTHING
    }
    fn at(&mut self, _: u64, _: u64) {}
    fn data_view(&mut self) -> DataView {
        DataView((&raw mut *self.view).cast())
    }
    fn code_view(&mut self) -> CodeView {
        CodeView(std::ptr::null_mut())
    }
    fn stamp(&mut self) -> u32 {
        self.stamp
    }
    fn set_stamp(&mut self, stamp: u32) {
        self.stamp = stamp;
    }
    unsafe fn read_hit(view: DataView, _: u16, address: u64, width: Width, _: u32) -> Option<*const u8> {
        // SAFETY: the caller's.
        unsafe { hit(view, address, width) }.map(<*mut u8>::cast_const)
    }
    unsafe fn write_hit(view: DataView, _: u16, address: u64, width: Width, _: u32) -> Option<*mut u8> {
        // SAFETY: the caller's.
        unsafe { hit(view, address, width) }
    }
    unsafe fn fetch_hit(&mut self, _: CodeView, _: u16, address: u64, page: HostPage) -> bool {
        self.view.start.wrapping_add(address as usize & !0xfff).cast_const() == page.start()
    }
    fn load_miss(&mut self, address: u64, width: Width, _: &mut u16, _: u32) -> Result<Loaded, Stop> {
        self.leave()?;
        let at = self.reach(address, width.bytes(), Exception::LoadAccess)?;
        let mut value = [0; 8];
        // SAFETY: in the memory.
        unsafe { at.copy_to(value.as_mut_ptr(), width.bytes() as usize) };
        Ok(Loaded::Value(u64::from_le_bytes(value)))
    }
    fn store_miss(&mut self, address: u64, width: Width, value: u64, _: &mut u16, _: u32) -> Result<Stored, Stop> {
        self.leave()?;
        let at = self.reach(address, width.bytes(), Exception::StoreAccess)?;
        // SAFETY: in the memory.
        unsafe { at.copy_from(value.to_le_bytes().as_ptr(), width.bytes() as usize) };
        if self.leaves {
            return Ok(Stored::DoneAndLeave);
        }
        let last = at.wrapping_add(width.bytes() as usize - 1);
        Ok(Stored::Done([Some(HostPage::containing(at)), Some(HostPage::containing(last))]))
    }
    fn atomic_miss(&mut self, address: u64, _: Width, access: Access, _: &mut u16, _: u32) -> Result<Reached, Stop> {
        let cause = if access == Access::Read { Exception::LoadAccess } else { Exception::StoreAccess };
        Err(Trap { cause, value: address }.into())
    }
    fn fetch(&mut self, address: u64) -> Result<Fetched, Stop> {
        self.leave()?;
        let at = self.reach(address & !0xfff, 4096, Exception::InstructionAccess);
        let at = at.map_err(|trap| Trap { value: address, ..trap })?;
        Ok(Fetched { page: HostPage::containing(at), predicted: 0 })
    }
    fn set_context(&mut self, context: &TranslationContext) {
        if self.contexts.last() != Some(context) {
            self.contexts.push(*context);
        }
    }
    fn fence(&mut self, fence: Fence) {
        self.fences.push(fence);
    }
    fn foreign_writes(&mut self, _: &mut dyn FnMut(*const u8, usize)) {}
    fn time(&mut self, retired: u64) -> u64 {
        retired
    }
    fn cycle(&mut self, retired: u64) -> u64 {
        retired
    }
    fn external_interrupt(&mut self) -> bool {
        self.external.is_none_or(|claimed| self.byte(claimed) == 0)
    }
    fn counter(&mut self, counter: u32, retired: u64) -> Option<u64> {
        (counter < 11).then_some(1000 * u64::from(counter) + retired)
    }
    fn nested_trap(&mut self) -> u32 {
        self.nested_traps += 1;
        9
    }
}

/// A hart at `pc` and the cache for it.
pub(crate) fn hart_at(bus: &FlatBus, isa: Isa, pc: u64) -> (Hart, CodeCache<FlatBus>) {
    let mut hart = Hart::new(isa, PagingMode::Sv57);
    hart.set_pc(pc);
    (hart, CodeCache::new(isa, bus.start(), bus.bytes()))
}
