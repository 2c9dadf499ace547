//! What handlers have in common: where they go on after a miss, a store to code and an atomic operation.

use crate::{
    Bus,
    bus::DataView,
    engine::environment::Environment,
    hart::Hart,
    leave::Leave,
    microop::{MicroOp, accumulator},
    ops::{
        atomic,
        memory::{self, After, AtomicOperation},
    },
};
use types::Access;

/// Continues at `$op`, a micro-op of a live block of this engine's bus.
macro_rules! go {
    ($hart:expr, $op:expr, $acc:expr, $view:expr, $env:expr) => {{
        let next: *mut MicroOp = $op;
        return ((*next).handler)($hart, next, $acc, $view, $env);
    }};
}

/// Where the resolver (or stale entry) at `op` leads.
///
/// # Safety
/// `op` is a micro-op of a live block whose `imm` is an offset from the start of the page.
#[inline(always)]
pub(super) unsafe fn target_of(hart: *const Hart, op: *const MicroOp) -> u64 {
    // SAFETY: by the contract.
    unsafe { (*hart).page.wrapping_add((*op).imm as i64 as u64) }
}

/// Continues after a miss.
///
/// # Safety
/// As for the handlers.
#[inline(always)]
pub(super) unsafe fn go_after(
    after: After,
    hart: *mut Hart,
    op: *mut MicroOp,
    acc: u64,
    view: DataView,
    env: *mut (),
) -> u64 {
    // SAFETY: as for the handlers; a memory micro-op is never the last of its block.
    unsafe {
        match after {
            After::Retry => go!(hart, op, acc, view, env),
            After::Done => go!(hart, op.add(1), acc.wrapping_add(accumulator::ACCESS), view, env),
            After::Leave => acc,
            After::DoneAndLeave => acc.wrapping_add(accumulator::ACCESS),
        }
    }
}

/// After a store to a page that holds code.
///
/// # Safety
/// As for the handlers; `at` is what the store wrote to.
#[cold]
pub(super) unsafe extern "C" fn wrote_code<B: Bus>(
    hart: *mut Hart,
    op: *mut MicroOp,
    acc: u64,
    view: DataView,
    env: *mut (),
    at: *mut u8,
) -> u64 {
    // SAFETY: the environment is exclusively ours for the run; a store is never the last micro-op of its block, and dropped blocks
    // stay in memory.
    unsafe {
        (*env.cast::<Environment<B>>()).use_data_line(&*hart, op, acc, at, Access::Write);
        (*env.cast::<Environment<B>>()).code_written(at);
        go!(hart, op.add(1), acc.wrapping_add(accumulator::ACCESS), view, env)
    }
}

/// LR, SC and AMOs: hit path and miss path in one, as they are rare.
///
/// # Safety
/// As for the handlers.
#[inline(always)]
pub(super) unsafe fn atomic_op<T: atomic::Cell, B: Bus>(
    hart: *mut Hart,
    op: *mut MicroOp,
    acc: u64,
    view: DataView,
    env: *mut (),
    operation: AtomicOperation<T>,
) -> u64 {
    // SAFETY: as for the handlers.
    unsafe {
        let environment = &mut *env.cast::<Environment<B>>();
        match memory::atomic_hit::<T, B>(&mut *hart, op, acc, view, environment, operation) {
            Some(()) => go!(hart, op.add(1), acc.wrapping_add(accumulator::ACCESS), view, env),
            None => {
                let after = memory::atomic_miss::<T, B>(&mut *hart, op, acc, environment, operation);
                go_after(after, hart, op, acc, view, env)
            }
        }
    }
}

/// Leaves the instruction at `op` to the run loop.
///
/// # Safety
/// As for the handlers.
pub(super) unsafe extern "C" fn step(hart: *mut Hart, op: *mut MicroOp, acc: u64, _: DataView, _: *mut ()) -> u64 {
    // SAFETY: the hart is exclusively ours for the run.
    let hart = unsafe { &mut *hart };
    hart.leave = Leave::Step;
    hart.at = op as usize;
    acc
}
