//! How the threaded engine is entered.
//!
//! JUSTIFICATION for unsafe: baseline code uses registers that the host's convention of calls reserves for the caller, which only assembly can say.

use crate::{bus::DataView, hart::Hart, microop::MicroOp};

/// Calls the handler of `op`, and returns what the last one returns. [Baseline code](crate::engine::baseline) may change `r12` to `r15` on the way:
/// handlers preserve them, and keep nothing in them across the jump to the next one.
///
/// # Safety
/// As for the handlers.
#[inline(always)]
pub(crate) unsafe fn enter(hart: *mut Hart, op: *mut MicroOp, acc: u64, view: DataView, environment: *mut ()) -> u64 {
    // SAFETY: by the contract; the registers are those of a call with five arguments.
    unsafe {
        let handler = (*op).handler;
        #[cfg(target_arch = "x86_64")]
        {
            let left: u64;
            std::arch::asm!(
                "call {handler}",
                handler = in(reg) handler,
                inlateout("rdi") hart => _,
                inlateout("rsi") op => _,
                inlateout("rdx") acc => _,
                inlateout("rcx") view.0 => _,
                inlateout("r8") environment => _,
                lateout("rax") left,
                out("r12") _,
                out("r13") _,
                out("r14") _,
                out("r15") _,
                clobber_abi("C"),
            );
            left
        }
        #[cfg(not(target_arch = "x86_64"))]
        handler(hart, op, acc, view, environment)
    }
}
