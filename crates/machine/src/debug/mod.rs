//! A machine under a debugger: where it stops, and what it then is, without any effect on it.
//!
//! A stop takes no simulated time. A hart is stopped in the middle of its turn, and goes on with the rest of the turn, so that the order of turns is
//! that of a run without a debugger. What is read here changes no TLB, no A or D bit and no count. Only what a debugger writes changes the guest.

mod session;
mod view;

pub use hart::{DataKind, DataWatch, Registers, StopCause, StopPoints};
pub use hypervisor::PeekError;
pub use mmu::{Fault, Permits, ResidentSpace, TlbContents, TlbEntry};
pub use session::{DebugEvent, DebugSession, DebugStop};
pub use view::{HartActivity, HartView, LookError};
