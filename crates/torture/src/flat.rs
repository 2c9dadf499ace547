//! This project's hart on flat memory: no translation, no TLB, no devices.
//!
//! JUSTIFICATION for unsafe: [`hart::Bus`] hands out host pointers. Here they lead into one allocation, after a check of the bounds.

use hart::{
    Bus, CodeCache, CodeView, Counts, DataView, Engine, EntryLayout, Exception, Exit, Fence, Fetched, Hart, HostPage,
    Hotness, Isa, Loaded, NoCaches, Place, Reached, Stop, StopCause, Stored, Trap, Watch,
    report::{Outstanding, Report},
};
use std::mem::offset_of;
use std::sync::Arc;
use types::{Access, PagingMode, TranslationContext, Width};

use crate::executor::{Executor, ExecutorError};
use crate::image::{CODE, DATA, Image, system_call};

/// Where the supervisor of [`SUPERVISOR`] is.
pub(crate) const SUPERVISOR_AT: u64 = 0x1000;
/// Instructions per byte of code that are enough for any image, as loops are short; one that needs more does not end.
const INSTRUCTIONS_PER_BYTE: u32 = 64;

const A0: u8 = 10;
const A1: u8 = 11;
const A2: u8 = 12;
const A7: u8 = 17;
const T0: u8 = 5;
const T1: u8 = 6;
const T2: u8 = 7;
/// `scause` of an `ecall` from U-mode.
const USER_CALL: u64 = 8;

const fn csrw(csr: u32, register: u8) -> u32 {
    csr << 20 | (register as u32) << 15 | 0x1073
}

const fn csrr(register: u8, csr: u32) -> u32 {
    csr << 20 | (register as u32) << 7 | 0x2073
}

/// The only supervisor code: it enters the image in U-mode, and reports every trap by an SBI call with `scause`, `sepc` and `stval` in
/// `t0` to `t2`; then goes on at `t1`.
pub(crate) const SUPERVISOR: [u32; 11] = {
    const SSTATUS: u32 = 0x100;
    const STVEC: u32 = 0x105;
    const SCOUNTEREN: u32 = 0x106;
    const SEPC: u32 = 0x141;
    const SCAUSE: u32 = 0x142;
    const STVAL: u32 = 0x143;
    const ECALL: u32 = 0x73;
    const SRET: u32 = 0x1020_0073;
    [
        csrw(SSTATUS, T0),
        csrw(SCOUNTEREN, T0),
        csrw(STVEC, T2),
        csrw(SEPC, T1),
        SRET,
        csrr(T0, SCAUSE),
        csrr(T1, SEPC),
        csrr(T2, STVAL),
        ECALL,
        csrw(SEPC, T1),
        SRET,
    ]
};
/// Where in it traps are handled.
pub(crate) const HANDLER_AT: u64 = SUPERVISOR_AT + 5 * 4;
/// `sstatus.FS` is Initial, and `scounteren` lets U-mode read all counters: the supervisor writes the same word to both.
pub(crate) const STATUS_AND_COUNTERS: u64 = 1 << 13 | 0b111;

/// The hart under one of its engines.
#[derive(Debug)]
pub struct Flat {
    engine: Engine,
    slice: Option<u32>,
    debugger: Debugger,
    name: String,
}

/// Whether a debugger stops the hart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Debugger {
    /// None does.
    Absent,
    /// Before each instruction that is at a multiple of this many bytes.
    Stops(u64),
}

impl Flat {
    /// The hart under `engine`, in runs as long as the image lets it.
    pub fn new(engine: Engine) -> Self {
        Self { engine, slice: None, debugger: Debugger::Absent, name: format!("{engine:?}").to_lowercase() }
    }

    /// The hart under `engine`, in runs of about `slice` instructions. A reservation ends with a run, so that a store-conditional may
    /// fail where it need not.
    pub fn sliced(engine: Engine, slice: u32) -> Self {
        let name = format!("{} by {slice}", format!("{engine:?}").to_lowercase());
        Self { engine, slice: Some(slice), debugger: Debugger::Absent, name }
    }

    /// The same, while a debugger stops the hart before each instruction; from one at a multiple of `bytes` it goes on to the next stop, from others to
    /// the end of the run.
    #[must_use]
    pub fn stopped_at_each(self, bytes: u64) -> Self {
        Self { debugger: Debugger::Stops(bytes), ..self }
    }

    /// As [`Executor::run`]; returns also what the hart counted.
    ///
    /// # Errors
    /// If the image does not reach its end, or does what it has no business to.
    pub fn run_counted(&self, image: &Image) -> Result<(Vec<u8>, Counts), ExecutorError> {
        self.run_noting(image, |_| ())
    }

    /// As [`Self::run_counted`], and calls `note` with where the hart is at the end of each run.
    ///
    /// # Errors
    /// As [`Self::run_counted`].
    pub fn run_noting(&self, image: &Image, mut note: impl FnMut(Place)) -> Result<(Vec<u8>, Counts), ExecutorError> {
        let guest = |message: String| ExecutorError::Guest { executor: self.name.clone(), message };
        let mut memory = Memory::new(DATA + image.data.len() as u64);
        let supervisor: Vec<u8> = SUPERVISOR.iter().flat_map(|word| word.to_le_bytes()).collect();
        for (address, bytes) in [(SUPERVISOR_AT, &supervisor), (CODE, &image.code), (DATA, &image.data)] {
            memory.bytes_mut()[address as usize..][..bytes.len()].copy_from_slice(bytes);
        }
        let isa = Isa::default();
        let mut code = CodeCache::new(isa, memory.bytes().as_ptr(), memory.bytes().len());
        let mut hart = Hart::new(isa, PagingMode::Bare);
        hart.set_pc(SUPERVISOR_AT);
        hart.set_register(T0, STATUS_AND_COUNTERS);
        hart.set_register(T1, CODE);
        hart.set_register(T2, HANDLER_AT);

        // Images are smaller than a call's reach, so the limit fits.
        let limit = image.code.len() as u32 * INSTRUCTIONS_PER_BYTE;
        let slice = self.slice.unwrap_or(limit);
        let mut output = Vec::new();
        // Besides the slices, a run ends at a few system calls.
        for _ in 0..16 + limit / slice {
            let exit = self.run_once(&mut hart, &mut code, &mut memory, slice);
            note(hart.place());
            match exit {
                Exit::Budget => {}
                Exit::SupervisorCall if hart.register(T0) == USER_CALL => match hart.register(A7) {
                    system_call::WRITE => {
                        let [start, bytes] = [A1, A2].map(|number| hart.register(number));
                        let written = memory.bytes().get(start as usize..start.saturating_add(bytes) as usize);
                        let written = written.ok_or_else(|| guest(format!("writes {bytes} bytes from {start:#x}")))?;
                        output.extend_from_slice(written);
                        hart.set_register(A0, bytes);
                        hart.set_register(T1, hart.register(T1) + 4);
                    }
                    system_call::EXIT if output.len() == image.data.len() => {
                        let compiles = cfg!(all(target_arch = "x86_64", target_os = "linux"));
                        let made = match self.engine {
                            Engine::Compiled(Hotness::ALL) => code.units(),
                            // A build with debug assertions executes no host code, and makes it all the same.
                            Engine::Compiled(Hotness::BASELINE) => code.baseline_blocks(),
                            _ => 1,
                        };
                        assert!(made > 0 || !compiles, "nothing was compiled");
                        return Ok((output, hart.counts()));
                    }
                    call => {
                        return Err(guest(format!("makes system call {call} after {} bytes of output", output.len())));
                    }
                },
                Exit::SupervisorCall => {
                    let [cause, pc, value] = [T0, T1, T2].map(|number| hart.register(number));
                    return Err(guest(format!("trap {cause} at {pc:#x}, value {value:#x}")));
                }
                exit => return Err(guest(format!("{exit:?} at {:#x}", hart.pc()))),
            }
        }
        Err(guest(format!("does not end; it is at {:#x}", hart.pc())))
    }

    /// A run of the hart, with the debugger's stops on the way.
    fn run_once(&self, hart: &mut Hart, code: &mut CodeCache<Memory>, memory: &mut Memory, slice: u32) -> Exit {
        let Debugger::Stops(bytes) = self.debugger else { return hart.run(code, memory, slice, self.engine) };
        let watch = |place| Watch::new(Arc::default()).stepping().after(place, StopCause::Step);
        hart.set_watch(Some(Watch::new(Arc::default()).stepping()));
        let mut exit = hart.run(code, memory, slice, self.engine);
        while let Exit::Stopped(_) = exit {
            let place = hart.place();
            hart.set_watch(place.pc.is_multiple_of(bytes).then(|| watch(place)));
            exit = hart.resume(code, memory, self.engine);
        }
        exit
    }
}

impl Executor for Flat {
    fn name(&self) -> &str {
        &self.name
    }

    fn run(&self, image: &Image) -> Result<Vec<u8>, ExecutorError> {
        self.run_counted(image).map(|(output, _)| output)
    }
}

/// A page of host memory; blocks of code are keyed by page.
#[derive(Clone)]
#[repr(C, align(4096))]
struct Page([u8; 4096]);

/// Flat memory from address zero on. Loads and stores hit what one of a few [entries](Entry) answers, so that they miss now and then.
pub(crate) struct Memory {
    pages: Vec<Page>,
    extent: Extent,
    entries: Box<[Entry; ENTRIES]>,
    fetches: Box<Fetches>,
    stamp: u32,
}

/// What compiled code knows of fetches: the two pages around the one that was looked up last, so that some of its jumps hit and others do not.
struct Fetches {
    entry: Entry,
    clock: u64,
}

/// Where the memory is.
struct Extent {
    start: *mut u8,
    bytes: u64,
}

/// Entries of a view.
const ENTRIES: usize = 4;

/// An entry as [`EntryLayout`] has it, of one page.
#[derive(Clone, Copy)]
#[repr(C, align(128))]
struct Entry {
    base: u64,
    host: u64,
    stamp: u64,
    loads: [u64; 4],
    stores: [u64; 4],
    plain_stores: [u64; 4],
}

/// The limits of an entry where accesses hit.
const LIMITS: [u64; 4] = [4089, 4093, 4095, 4096];

impl Entry {
    /// Answers nothing.
    const NONE: Self = Self { base: 0, host: 0, stamp: 0, loads: [0; 4], stores: [0; 4], plain_stores: [0; 4] };

    /// Where an access that hits goes.
    fn hit(&mut self, limits: [u64; 4], address: u64, width: Width, stamp: u32) -> Option<*mut u8> {
        let distance = address.wrapping_sub(self.base);
        let hits = distance < limits[3 - width.bytes().ilog2() as usize];
        if hits {
            self.stamp = u64::from(stamp);
        }
        hits.then(|| std::ptr::with_exposed_provenance_mut(self.host.wrapping_add(distance) as usize))
    }
}

impl Extent {
    /// Where `width` bytes at `address` are, if they are in the memory.
    fn pointer(&self, address: u64, width: Width) -> Option<*mut u8> {
        let fits = address < self.bytes && width.bytes() <= self.bytes - address;
        fits.then(|| self.start.wrapping_add(address as usize))
    }
}

impl Memory {
    pub(crate) fn new(bytes: u64) -> Self {
        let mut pages = vec![Page([0; 4096]); bytes.div_ceil(4096) as usize];
        let extent = Extent { start: pages.as_mut_ptr().cast(), bytes: pages.len() as u64 * 4096 };
        Self {
            pages,
            extent,
            entries: Box::new([Entry::NONE; ENTRIES]),
            fetches: Box::new(Fetches { entry: Entry::NONE, clock: 0 }),
            stamp: 0,
        }
    }

    /// Makes an entry answer accesses to the page of an aligned `address`, if it is one; loads alone where it does not do stores. Every second
    /// page's entry answers no stores until one asks.
    fn fill(&mut self, address: u64, width: Width, store: bool, predicted: &mut u16) -> bool {
        let page = address & !0xfff;
        let aligned = address & (width.bytes() - 1) == 0;
        let Some(at) = self.extent.pointer(page, Width::Byte).filter(|_| aligned) else { return false };
        let stores = if store || page & 0x1000 == 0 { LIMITS } else { [0; 4] };
        *predicted = (page >> 12) as u16 % ENTRIES as u16;
        self.entries[usize::from(*predicted)] =
            Entry { base: page, host: at.expose_provenance() as u64, loads: LIMITS, stores, ..Entry::NONE };
        true
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: pages are arrays of bytes without padding.
        unsafe { std::slice::from_raw_parts(self.extent.start, self.pages.len() * 4096) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and the reference is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.extent.start, self.pages.len() * 4096) }
    }
}

/// An access outside the memory.
fn fault(cause: Exception, address: u64) -> Trap {
    Trap { cause, value: address }
}

impl Bus for Memory {
    const ENTRY: Option<EntryLayout> = Some(EntryLayout {
        shift: size_of::<Entry>().ilog2() as u8,
        base: offset_of!(Entry, base),
        host: offset_of!(Entry, host),
        stamp: offset_of!(Entry, stamp),
        loads: offset_of!(Entry, loads),
        stores: offset_of!(Entry, stores),
        plain_stores: Some(offset_of!(Entry, plain_stores)),
        loads_hit_with_stores: true,
        is_aligned: false,
    });

    const FETCHES: bool = true;

    type Lines = NoCaches;

    fn lines(&mut self) -> NoCaches {
        NoCaches
    }

    fn use_line(&mut self, _: *const u8, _: Access) {}

    fn report(&mut self, _: u64, _: Report) -> Outstanding {
        Outstanding::NOTHING
    }

    fn at(&mut self, _: u64, _: u64) {}

    fn data_view(&mut self) -> DataView {
        DataView(self.entries.as_mut_ptr().cast())
    }

    fn code_view(&mut self) -> CodeView {
        CodeView((&raw mut self.fetches.entry).cast())
    }

    fn fetch_clock(&mut self) -> *mut u64 {
        &raw mut self.fetches.clock
    }

    fn stamp(&mut self) -> u32 {
        self.stamp
    }

    fn set_stamp(&mut self, stamp: u32) {
        // Nothing here depends on time; it only must not wrap within a run.
        self.stamp = stamp & 0xff_ffff;
    }

    unsafe fn read_hit(view: DataView, predicted: u16, address: u64, width: Width, stamp: u32) -> Option<*const u8> {
        // SAFETY: the view is one of this bus, made by `data_view`, and the predicted slot one that `fill` gave out, or 0; the entries live as
        // long as the bus.
        let entry = unsafe { &mut *view.0.cast::<Entry>().add(usize::from(predicted)) };
        entry.hit(entry.loads, address, width, stamp).map(<*mut u8>::cast_const)
    }

    unsafe fn write_hit(view: DataView, predicted: u16, address: u64, width: Width, stamp: u32) -> Option<*mut u8> {
        // SAFETY: as in `read_hit`.
        let entry = unsafe { &mut *view.0.cast::<Entry>().add(usize::from(predicted)) };
        entry.hit(entry.stores, address, width, stamp)
    }

    unsafe fn allow_plain_stores(view: DataView, predicted: u16, is_plain: impl FnOnce(*const u8) -> bool) {
        // SAFETY: as in `read_hit`.
        let entry = unsafe { &mut *view.0.cast::<Entry>().add(usize::from(predicted)) };
        if is_plain(std::ptr::with_exposed_provenance(entry.host as usize)) {
            entry.plain_stores = entry.stores;
        }
    }

    fn code_appears(&mut self, page: HostPage) {
        let code = self.entries.iter_mut().filter(|entry| entry.host == page.start() as u64);
        code.for_each(|entry| entry.plain_stores = [0; 4]);
    }

    unsafe fn fetch_hit(&mut self, _: CodeView, _: u16, address: u64, page: HostPage) -> bool {
        self.extent.pointer(address & !0xfff, Width::Byte).is_some_and(|at| HostPage::containing(at) == page)
    }

    fn load_miss(&mut self, address: u64, width: Width, predicted: &mut u16, _: u32) -> Result<Loaded, Stop> {
        if self.fill(address, width, false, predicted) {
            return Ok(Loaded::Retry);
        }
        self.extent.pointer(address, width).ok_or(fault(Exception::LoadAccess, address))?;
        let mut value = [0; 8];
        let bytes = width.bytes() as usize;
        value[..bytes].copy_from_slice(&self.bytes()[address as usize..][..bytes]);
        Ok(Loaded::Value(u64::from_le_bytes(value)))
    }

    fn store_miss(
        &mut self,
        address: u64,
        width: Width,
        value: u64,
        predicted: &mut u16,
        _: u32,
    ) -> Result<Stored, Stop> {
        if self.fill(address, width, true, predicted) {
            return Ok(Stored::Retry);
        }
        let at = self.extent.pointer(address, width).ok_or(fault(Exception::StoreAccess, address))?;
        let bytes = width.bytes() as usize;
        self.bytes_mut()[address as usize..][..bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
        Ok(Stored::Done([at, at.wrapping_add(bytes - 1)].map(|at| Some(HostPage::containing(at)))))
    }

    fn atomic_miss(
        &mut self,
        address: u64,
        width: Width,
        access: Access,
        predicted: &mut u16,
        _: u32,
    ) -> Result<Reached, Stop> {
        if self.fill(address, width, access == Access::Write, predicted) {
            return Ok(Reached::Retry);
        }
        Err(fault(Exception::StoreAccess, address).into())
    }

    fn fetch(&mut self, address: u64) -> Result<Fetched, Stop> {
        let at = self.extent.pointer(address, Width::Half).ok_or(fault(Exception::InstructionAccess, address))?;
        let pages = address & !0x1fff;
        let host = (at.expose_provenance() as u64).wrapping_sub(address - pages);
        let loads = LIMITS.map(|limit| limit + 0x1000);
        self.fetches.entry = Entry { base: pages, host, loads, ..Entry::NONE };
        Ok(Fetched { page: HostPage::containing(at), predicted: 0 })
    }

    fn set_context(&mut self, _: &TranslationContext) {}

    fn fence(&mut self, _: Fence) {}

    /// Only the hart writes to this memory.
    fn foreign_writes(&mut self, _: &mut dyn FnMut(*const u8, usize)) {}

    fn time(&mut self, retired: u64) -> u64 {
        retired
    }

    fn cycle(&mut self, retired: u64) -> u64 {
        retired
    }

    /// There is no interrupt controller: what is pending stays.
    fn external_interrupt(&mut self) -> bool {
        true
    }

    fn counter(&mut self, _: u32, _: u64) -> Option<u64> {
        None
    }

    /// No clock depends on traps here.
    fn nested_trap(&mut self) -> u32 {
        0
    }
}
