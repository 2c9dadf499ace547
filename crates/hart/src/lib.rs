//! One vCPU: RV64GC decode and execution, S-mode CSRs and traps.
//!
//! The hart knows nothing of TLBs or devices: it states what it needs as the trait [`Bus`]. Instructions are decoded once
//! into [blocks](code) of micro-ops, which one of three engines executes: [`Engine::Threaded`] (each micro-op's handler
//! ends in a jump to the next one's), [`Engine::Matching`] (a `match` over the same micro-ops, the oracle) or [`Engine::Compiled`] (threaded, and
//! hot blocks as code of the host).
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
mod system;
mod trap;
mod trap_loop;

pub use bus::{
    Bus, CacheLines, CodeView, DataView, EntryLayout, Fence, Fetched, Loaded, NoCaches, Reached, Stop, Stored,
};
pub use code::CodeCache;
pub use engine::compiled::{CODE_BYTES, CodeMemoryError, reserve_code};
pub use engine::{Engine, Hotness};
pub use hart::{Counts, Exit, Hart};
pub use host_page::HostPage;
pub use interrupt::Interrupt;
pub use isa::Isa;
pub use registers::Registers;
pub use trap::{Exception, Trap, cause_name};
pub use trap_loop::{NESTED_TRAP_INSTRUCTIONS, TrapLoop};
