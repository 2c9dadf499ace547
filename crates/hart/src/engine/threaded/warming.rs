//! The handler of a block's first micro-op as long as the block has no host code: it counts.

use super::handler;
use crate::{Bus, bus::DataView, engine::environment::Environment, hart::Hart, microop::MicroOp};

/// Counts one execution of the block, and does what the micro-op does.
///
/// # Safety
/// As for the handlers.
pub(crate) unsafe extern "C" fn warming<B: Bus>(
    hart: *mut Hart,
    op: *mut MicroOp,
    acc: u64,
    view: DataView,
    env: *mut (),
) -> u64 {
    // SAFETY: as for the handlers; the micro-op's own handler goes on.
    unsafe {
        let environment = &mut *env.cast::<Environment<B>>();
        environment.executes(op);
        let opcode = environment.opcode(op);
        handler::<B>(opcode)(hart, op, acc, view, env)
    }
}
