//! The `match` loop over the same micro-ops: the oracle of the threaded engine, and what builds with debug assertions use.

use super::{
    compiled,
    environment::{AfterCsr, Environment},
    sentry::Sentry,
};
use crate::{
    Bus,
    bus::DataView,
    hart::Hart,
    leave::Leave,
    microop::{ENTRY_SLOTS, Link, MicroOp, accumulator},
    ops::{Opcode, alu, atomic, float, memory, operations},
    report::Serialize,
};
use memory::{After, Atomic, AtomicOperation};
use types::Access;

/// What follows a micro-op.
enum Flow {
    /// The micro-op this many slots on.
    Skip(usize),
    /// Another micro-op.
    Go(*mut MicroOp),
    /// The link behind it.
    Take,
    /// Out of the engine.
    Leave,
}

macro_rules! define_execute {
    (
        immediate { $($imm:ident: $imm_f:ident),* $(,)? }
        register { $($reg:ident: $reg_f:ident),* $(,)? }
        load { $($load:ident: $load_t:ident),* $(,)? }
        store { $($store:ident: $store_t:ident),* $(,)? }
        float_load { $($fload:ident: $fload_t:ident),* $(,)? }
        float_store { $($fstore:ident: $fstore_t:ident),* $(,)? }
        branch { $($branch:ident: $branch_f:ident),* $(,)? }
        load_reserved { $($lr:ident: $lr_t:ident),* $(,)? }
        store_conditional { $($sc:ident: $sc_t:ident),* $(,)? }
        atomic { $($amo:ident: $amo_t:ident $amo_f:ident),* $(,)? }
        float { $($float:ident: $float_f:ident),* $(,)? }
        single { $($single:ident),* $(,)? }
    ) => {
        /// Executes one micro-op.
        ///
        /// # Safety
        /// `op` is a micro-op of a live block of this bus, and `view` of the current context.
        #[allow(clippy::undocumented_unsafe_blocks, reason = "one argument for all: the function's contract")]
        unsafe fn execute<B: Bus>(
            opcode: Opcode,
            hart: &mut Hart,
            op: *mut MicroOp,
            acc: &mut u64,
            view: &mut DataView,
            environment: &mut Environment<B>,
        ) -> Flow {
            let at = view;
            let view = *at;
            unsafe {
                let o = *op;
                let immediate = o.imm as i64 as u64;
                match opcode {
                    $(Opcode::$imm => {
                        environment.operation(hart, op, *acc);
                        hart.set_register(o.rd, alu::$imm_f(hart.register(o.rs1), immediate));
                        Flow::Skip(1)
                    })*
                    $(Opcode::$reg => {
                        environment.operation(hart, op, *acc);
                        hart.set_register(o.rd, alu::$reg_f(hart.register(o.rs1), hart.register(o.rs2 as u8)));
                        Flow::Skip(1)
                    })*
                    $(Opcode::$load => {
                        let deliver = |hart: &mut Hart, op: &MicroOp, value: $load_t| {
                            hart.set_register(op.rd, atomic::Cell::extended(value));
                        };
                        match memory::load_hit::<$load_t, B>(hart, op, *acc, view, environment) {
                            Some(value) => hit(acc, || deliver(hart, &o, value)),
                            None if memory::load_hits_page_slot::<$load_t, B>(hart, op, *acc, view, environment) => Flow::Go(op),
                            None => after(memory::load_miss::<$load_t, B>(hart, op, *acc, environment, deliver), op, acc),
                        }
                    })*
                    $(Opcode::$fload => {
                        let deliver = |hart: &mut Hart, op: &MicroOp, value: $fload_t| {
                            hart.f[op.rd as usize] = float::boxed(value);
                        };
                        match memory::load_hit::<$fload_t, B>(hart, op, *acc, view, environment) {
                            Some(value) => hit(acc, || deliver(hart, &o, value)),
                            None if memory::load_hits_page_slot::<$fload_t, B>(hart, op, *acc, view, environment) => Flow::Go(op),
                            None => after(memory::load_miss::<$fload_t, B>(hart, op, *acc, environment, deliver), op, acc),
                        }
                    })*
                    $(Opcode::$store => {
                        let value = hart.register(o.rd);
                        match memory::store_hit::<$store_t, B>(hart, value, op, *acc, view) {
                            Some(at) => stored(hart, op, acc, environment, at),
                            None if memory::store_hits_page_slot::<$store_t, B>(hart, op, *acc, view, environment) => Flow::Go(op),
                            None => after(memory::store_miss::<$store_t, B>(hart, value, op, *acc, environment), op, acc),
                        }
                    })*
                    $(Opcode::$fstore => {
                        let value = hart.f[o.rd as usize];
                        match memory::store_hit::<$fstore_t, B>(hart, value, op, *acc, view) {
                            Some(at) => stored(hart, op, acc, environment, at),
                            None if memory::store_hits_page_slot::<$fstore_t, B>(hart, op, *acc, view, environment) => Flow::Go(op),
                            None => after(memory::store_miss::<$fstore_t, B>(hart, value, op, *acc, environment), op, acc),
                        }
                    })*
                    $(Opcode::$branch => {
                        let taken = alu::$branch_f(hart.register(o.rs1), hart.register(o.rd));
                        environment.branch(hart, op, *acc, taken);
                        if taken { Flow::Take } else { Flow::Skip(3) }
                    })*
                    $(Opcode::$lr => {
                        atomic_op::<$lr_t, B>(hart, op, acc, view, environment, AtomicOperation { kind: Atomic::Reserve, modify: atomic::swap })
                    })*
                    $(Opcode::$sc => {
                        atomic_op::<$sc_t, B>(hart, op, acc, view, environment, AtomicOperation { kind: Atomic::Conditional, modify: atomic::swap })
                    })*
                    $(Opcode::$amo => {
                        atomic_op::<$amo_t, B>(hart, op, acc, view, environment, AtomicOperation { kind: Atomic::Modify, modify: atomic::$amo_f })
                    })*
                    $(Opcode::$float => {
                        environment.operation(hart, op, *acc);
                        float::$float_f(hart, &o);
                        Flow::Skip(1)
                    })*
                    Opcode::Li => {
                        environment.operation(hart, op, *acc);
                        hart.set_register(o.rd, immediate);
                        Flow::Skip(1)
                    }
                    Opcode::Auipc => {
                        environment.operation(hart, op, *acc);
                        hart.set_register(o.rd, hart.page.wrapping_add(immediate));
                        Flow::Skip(1)
                    }
                    Opcode::Nop => {
                        environment.serialize(hart, op, *acc, Serialize::Fence);
                        Flow::Skip(1)
                    }
                    Opcode::FetchLine => {
                        environment.fetch_line(hart, op, *acc, o.imm);
                        Flow::Skip(1)
                    }
                    Opcode::Jal => {
                        environment.operation(hart, op, *acc);
                        hart.set_register(o.rd, hart.page.wrapping_add(u64::from(o.rs2)));
                        Flow::Take
                    }
                    Opcode::Jalr | Opcode::JalrAligned => {
                        let target = hart.register(o.rs1).wrapping_add(immediate) & !1;
                        if opcode == Opcode::JalrAligned && target & 2 != 0 {
                            return step(hart, op);
                        }
                        environment.operation(hart, op, *acc);
                        hart.set_register(o.rd, hart.page.wrapping_add(u64::from(o.rs2)));
                        *acc = acc.wrapping_add((*op.add(1).cast::<Link>()).cost);
                        if accumulator::spent(*acc) {
                            hart.pc = target;
                            hart.leave = Leave::Budget;
                            return Flow::Leave;
                        }
                        environment.jump(hart, *acc, target).map_or(Flow::Leave, Flow::Go)
                    }
                    Opcode::Csr => match environment.access_csr(hart, op, *acc) {
                        Some(AfterCsr::Next) => Flow::Skip(1),
                        Some(AfterCsr::View(fresh)) => {
                            *at = fresh;
                            Flow::Skip(1)
                        }
                        None => step(hart, op),
                    },
                    Opcode::MisalignedJump | Opcode::System | Opcode::Straddle => step(hart, op),
                    Opcode::FloatGate => if hart.float_open() { Flow::Skip(1) } else { step(hart, op) },
                    Opcode::Next => Flow::Take,
                    Opcode::Resolve => environment.resolve(hart, *acc, op).map_or(Flow::Leave, Flow::Go),
                    Opcode::Compiled => {
                        let left = compiled::enter::<B>(hart, op, *acc, view, (&raw mut *environment).cast());
                        *acc = left.acc;
                        if left.next.is_null() { Flow::Leave } else { Flow::Go(left.next) }
                    }
                    Opcode::Moved => Flow::Go(op.offset(o.imm as isize)),
                    Opcode::Stale => {
                        hart.pc = hart.page.wrapping_add(immediate);
                        hart.leave = Leave::Lookup;
                        Flow::Leave
                    }
                }
            }
        }
    };
}
operations!(define_execute);

/// Runs from `op` until the hart leaves the engine, or the sentry stops it; returns the accumulator. Under a sentry that looks at it, blocks that
/// are compiled are interpreted.
///
/// # Safety
/// `op` is the first micro-op of a live block of this bus, and `view` of the current context.
pub(crate) unsafe fn run<B: Bus, S: Sentry>(
    hart: &mut Hart,
    mut op: *mut MicroOp,
    mut acc: u64,
    mut view: DataView,
    environment: &mut Environment<B>,
    sentry: &mut S,
) -> u64 {
    loop {
        let opcode = environment.opcode(op);
        if S::LOOKS {
            // SAFETY: by the contract, and every flow below leads to a micro-op of a live block.
            if let Some(cause) = unsafe { sentry.stops(hart, (opcode, op), acc, environment) } {
                hart.leave = Leave::Stopped(cause);
                hart.at = op as usize;
                return acc;
            }
            if opcode == Opcode::Compiled {
                // SAFETY: the block that is compiled follows.
                op = unsafe { op.add(ENTRY_SLOTS) };
                continue;
            }
        }
        // SAFETY: by the contract, and every flow below leads to a micro-op of a live block.
        match unsafe { execute(opcode, hart, op, &mut acc, &mut view, environment) } {
            // SAFETY: as above.
            Flow::Skip(slots) => op = unsafe { op.add(slots) },
            Flow::Go(target) => op = target,
            Flow::Take => {
                // SAFETY: a link and its resolver follow every micro-op that takes one.
                let (link, resolver) = unsafe { (&*op.add(1).cast::<Link>(), &*op.add(2)) };
                acc = acc.wrapping_add(link.cost);
                if accumulator::spent(acc) {
                    hart.pc = hart.page.wrapping_add(resolver.imm as i64 as u64);
                    hart.leave = Leave::Budget;
                    return acc;
                }
                op = link.target;
            }
            Flow::Leave => return acc,
        }
    }
}

/// An access that hit.
fn hit(acc: &mut u64, deliver: impl FnOnce()) -> Flow {
    deliver();
    *acc = acc.wrapping_add(accumulator::ACCESS);
    Flow::Skip(1)
}

/// A store that hit.
///
/// # Safety
/// As for [`execute`]; a hit lies in the memory that the code cache was made for, and is the bus's.
unsafe fn stored<B: Bus>(
    hart: &Hart,
    op: *const MicroOp,
    acc: &mut u64,
    environment: &mut Environment<B>,
    at: *mut u8,
) -> Flow {
    // SAFETY: by the contract.
    unsafe {
        environment.use_data_line(hart, op, *acc, at, Access::Write);
        if environment.holds_code(at) {
            environment.code_written(at);
        }
    }
    *acc = acc.wrapping_add(accumulator::ACCESS);
    Flow::Skip(1)
}

/// After a miss.
fn after(after: After, op: *mut MicroOp, acc: &mut u64) -> Flow {
    match after {
        After::Retry => Flow::Go(op),
        After::Done => hit(acc, || ()),
        After::Leave => Flow::Leave,
        After::DoneAndLeave => {
            hit(acc, || ());
            Flow::Leave
        }
    }
}

/// LR, SC and AMOs.
///
/// # Safety
/// As for [`execute`].
unsafe fn atomic_op<T: atomic::Cell, B: Bus>(
    hart: &mut Hart,
    op: *mut MicroOp,
    acc: &mut u64,
    view: DataView,
    environment: &mut Environment<B>,
    operation: AtomicOperation<T>,
) -> Flow {
    // SAFETY: by the contract.
    unsafe {
        match memory::atomic_hit::<T, B>(hart, op, *acc, view, environment, operation) {
            Some(()) => hit(acc, || ()),
            None => after(memory::atomic_miss::<T, B>(hart, op, *acc, environment, operation), op, acc),
        }
    }
}

/// Leaves the instruction at `op` to the run loop.
fn step(hart: &mut Hart, op: *mut MicroOp) -> Flow {
    hart.leave = Leave::Step;
    hart.at = op as usize;
    Flow::Leave
}
