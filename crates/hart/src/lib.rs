//! One vCPU: RV64GC decode and execution, S-mode CSRs and traps.
//!
//! The hart knows nothing of TLBs or devices: it states what it needs as the trait [`Bus`]. Instructions are decoded once
//! into [blocks](code) of micro-ops, which one of three engines executes: [`Engine::Threaded`] (each micro-op's handler
//! ends in a jump to the next one's), [`Engine::Matching`] (a `match` over the same micro-ops, the oracle) or [`Engine::Compiled`] (threaded, and
//! hot blocks as code of the host).
//!
//! A bus without a fast path has each access answered by the functions of a miss. Here it is 4 KiB of memory at address 0:
//!
//! ```
//! use hart::report::{Outstanding, Report};
//! use hart::{
//!     Bus, CodeCache, CodeView, DataView, Engine, Exception, Exit, Fence, Fetched, Hart, HostPage, Isa, Loaded, NoCaches, Reached,
//!     Stop, Stored, Trap,
//! };
//! use types::{Access, PagingMode, TranslationContext, Width};
//!
//! #[repr(align(4096))]
//! struct Page([u8; 4096]);
//!
//! struct Memory {
//!     page: Box<Page>,
//!     stamp: u32,
//! }
//!
//! impl Memory {
//!     fn bytes(&mut self, address: u64, width: Width, cause: Exception) -> Result<&mut [u8], Trap> {
//!         let start = usize::try_from(address).unwrap_or(usize::MAX);
//!         let end = start.saturating_add(width.bytes() as usize);
//!         self.page.0.get_mut(start..end).ok_or(Trap { cause, value: address })
//!     }
//! }
//!
//! impl Bus for Memory {
//!     type Lines = NoCaches;
//!
//!     fn load_miss(&mut self, address: u64, width: Width, _: &mut u16, _: u32) -> Result<Loaded, Stop> {
//!         let bytes = self.bytes(address, width, Exception::LoadAccess)?;
//!         let mut value = [0; 8];
//!         value[..bytes.len()].copy_from_slice(bytes);
//!         Ok(Loaded::Value(u64::from_le_bytes(value)))
//!     }
//!     fn store_miss(&mut self, address: u64, width: Width, value: u64, _: &mut u16, _: u32) -> Result<Stored, Stop> {
//!         let bytes = self.bytes(address, width, Exception::StoreAccess)?;
//!         bytes.copy_from_slice(&value.to_le_bytes()[..bytes.len()]);
//!         let page = HostPage::containing(self.page.0.as_ptr());
//!         Ok(Stored::Done([Some(page), None]))
//!     }
//!     fn fetch(&mut self, address: u64) -> Result<Fetched, Stop> {
//!         if address >= 4096 {
//!             return Err(Trap { cause: Exception::InstructionAccess, value: address }.into());
//!         }
//!         Ok(Fetched { page: HostPage::containing(self.page.0.as_ptr()), predicted: 0 })
//!     }
//!     // The rest answers that there is nothing.
//!     # fn lines(&mut self) -> NoCaches { NoCaches }
//!     # fn use_line(&mut self, _: *const u8, _: Access) {}
//!     # fn report(&mut self, _: u64, _: Report) -> Outstanding { Outstanding::NOTHING }
//!     # fn at(&mut self, _: u64, _: u64) {}
//!     # fn data_view(&mut self) -> DataView { DataView(std::ptr::null_mut()) }
//!     # fn code_view(&mut self) -> CodeView { CodeView(std::ptr::null_mut()) }
//!     # fn stamp(&mut self) -> u32 { self.stamp }
//!     # fn set_stamp(&mut self, stamp: u32) { self.stamp = stamp }
//!     # unsafe fn read_hit(_: DataView, _: u16, _: u64, _: Width, _: u32) -> Option<*const u8> { None }
//!     # unsafe fn write_hit(_: DataView, _: u16, _: u64, _: Width, _: u32) -> Option<*mut u8> { None }
//!     # unsafe fn fetch_hit(&mut self, _: CodeView, _: u16, _: u64, _: HostPage) -> bool { false }
//!     # fn atomic_miss(&mut self, address: u64, _: Width, _: Access, _: &mut u16, _: u32) -> Result<Reached, Stop> {
//!     #     Err(Trap { cause: Exception::StoreAccess, value: address }.into())
//!     # }
//!     # fn set_context(&mut self, _: &TranslationContext) {}
//!     # fn fence(&mut self, _: Fence) {}
//!     # fn foreign_writes(&mut self, _: &mut dyn FnMut(*const u8, usize)) {}
//!     # fn time(&mut self, retired: u64) -> u64 { retired }
//!     # fn cycle(&mut self, retired: u64) -> u64 { retired }
//!     # fn external_interrupt(&mut self) -> bool { false }
//!     # fn counter(&mut self, _: u32, _: u64) -> Option<u64> { None }
//!     # fn nested_trap(&mut self) -> u32 { 0 }
//! }
//!
//! let program: [u32; 4] = [
//!     0x02a0_0513, // addi a0, x0, 42
//!     0x10a0_3023, // sd a0, 256(x0)
//!     0x1000_3583, // ld a1, 256(x0)
//!     0x0000_0073, // ecall
//! ];
//! let mut memory = Memory { page: Box::new(Page([0; 4096])), stamp: 0 };
//! for (place, word) in memory.page.0.chunks_mut(4).zip(program) {
//!     place.copy_from_slice(&word.to_le_bytes());
//! }
//! let mut code = CodeCache::new(Isa::default(), memory.page.0.as_ptr(), 4096);
//! let mut hart = Hart::new(Isa::default(), PagingMode::Sv39);
//! hart.set_pc(0);
//! assert_eq!(hart.run(&mut code, &mut memory, 100, Engine::Matching), Exit::SupervisorCall);
//! assert_eq!(hart.register(11), 42);
//! let counts = hart.counts();
//! assert_eq!((counts.instructions, counts.loads, counts.stores), (4, 1, 1));
//! ```
//!
//! Specification: The RISC-V Instruction Set Manual, volumes I (20240411) and II (Privileged 1.13).

mod bus;
mod code;
mod csr;
mod decode;
mod engine;
pub mod float;
mod hart;
mod host_page;
mod interrupt;
mod isa;
mod leave;
mod microop;
mod ops;
#[cfg(feature = "planted")]
mod planted;
mod registers;
pub mod report;
mod system;
mod trap;
mod trap_loop;
mod watch;

pub use bus::{
    Bus, CacheLines, CodeView, DataView, EntryLayout, Fence, Fetched, Loaded, NoCaches, Reached, Sites, Stop, Stored,
};
pub use code::{CodeCache, models};
pub use engine::code_memory::{CODE_BYTES, CodeMemoryError, reserve_code};
pub use engine::{Engine, Hotness};
pub use hart::accesses::PageUse;
pub use hart::instructions::{DataAccess, DataUse, Retired};
pub use hart::transfer::Transfer;
pub use hart::{Counts, Exit, Hart};
pub use host_page::HostPage;
pub use interrupt::Interrupt;
pub use isa::Isa;
pub use registers::Registers;
pub use trap::{Exception, Trap, cause_name};
pub use trap_loop::{NESTED_TRAP_INSTRUCTIONS, TrapLoop};
pub use watch::{DataKind, DataWatch, Place, StopCause, StopPoints, Watch};
