//! What compiled code calls where a model may be affected: the same as the interpreters do at the micro-op.
//!
//! SAFETY (all): compiled code calls with what it was entered with, and a micro-op of a live block whose registers have not changed yet. The budget in the
//! accumulator is less by the instructions of the block before it.

use crate::{
    Bus,
    engine::{
        environment::{DataUse, Environment},
        operands::Set,
    },
    hart::Hart,
    microop::MicroOp,
    report::{BranchOutcome, DataKind, DataPlace, DataReport, Report, Reports, Serialize},
};
use types::Access;

/// The access at `op` has hit the byte that the exchange names, and its line may matter. `report` is what the core gets, except for the place.
///
/// # Safety
/// As for the handlers.
#[inline(always)]
unsafe fn use_line<B: Bus>(hart: *mut Hart, acc: u64, environment: *mut (), access: Access, report: DataReport) {
    // SAFETY: above.
    unsafe {
        let environment = &mut *environment.cast::<Environment<B>>();
        let at = environment.exchange.at as *const u8;
        match B::REPORTS {
            Reports::None => environment.use_line(DataUse { address: report.address, at, access }),
            Reports::Instructions => {
                let report = DataReport { place: environment.data_place(at), ..report };
                environment.report(&*hart, acc, Report::Data(report));
            }
        }
    }
}

macro_rules! accesses {
    ($($name:ident: $kind:ident $access:ident, $set:ident;)*) => {
        $(
            #[doc = "Such an access has hit; a store is about to be made."]
            pub(super) unsafe extern "C" fn $name<B: Bus>(
                hart: *mut Hart,
                op: *mut MicroOp,
                acc: u64,
                environment: *mut (),
                address: u64,
            ) {
                // SAFETY: above.
                unsafe {
                    let (register, base) = (Set::$set((*op).rd).registers(), Set::x((*op).rs1).registers());
                    let nothing = Set::default().registers();
                    let (writes, stores) = match DataKind::$kind {
                        DataKind::Load => (register, nothing),
                        DataKind::Store | DataKind::Atomic => (nothing, register),
                    };
                    let (kind, place) = (DataKind::$kind, DataPlace::Completed);
                    let report = DataReport { kind, writes, address_of: base, stores, address, place };
                    use_line::<B>(hart, acc, environment, Access::$access, report);
                }
            }
        )*
    };
}

accesses! {
    load: Load Read, x;
    float_load: Load Read, f;
    store: Store Write, x;
    float_store: Store Write, f;
}

/// Execution comes to another line of instructions.
pub(super) unsafe extern "C" fn fetch_line<B: Bus>(
    hart: *mut Hart,
    op: *mut MicroOp,
    acc: u64,
    environment: *mut (),
    _: u64,
) {
    // SAFETY: above.
    unsafe {
        let environment = &mut *environment.cast::<Environment<B>>();
        let at = (*hart).host_page.start().wrapping_add((*op).imm as usize);
        match B::REPORTS {
            Reports::None => environment.bus().use_line(at, Access::Execute),
            Reports::Instructions => environment.report(&*hart, acc, Report::FetchLine(at)),
        }
    }
}

/// So many micro-ops from `op` on compute, and are about to be executed. They are in adjacent slots.
pub(super) unsafe extern "C" fn operations<B: Bus>(
    hart: *mut Hart,
    op: *mut MicroOp,
    acc: u64,
    environment: *mut (),
    number: u64,
) {
    // SAFETY: above.
    unsafe { (*environment.cast::<Environment<B>>()).report_operations(&*hart, op, acc, number as usize) }
}

/// A branch was predicted (0), or mispredicted (1).
pub(super) unsafe extern "C" fn resolved<B: Bus>(
    hart: *mut Hart,
    op: *mut MicroOp,
    acc: u64,
    environment: *mut (),
    mispredicted: u64,
) {
    // SAFETY: above.
    unsafe {
        let reads = Set::x((*op).rs1).and(Set::x((*op).rd)).registers();
        let outcome = if mispredicted == 0 { BranchOutcome::Predicted } else { BranchOutcome::Mispredicted };
        let environment = &mut *environment.cast::<Environment<B>>();
        environment.report(&*hart, acc, Report::Resolved { outcome, reads });
    }
}

/// A fence.
pub(super) unsafe extern "C" fn fence<B: Bus>(
    hart: *mut Hart,
    _: *mut MicroOp,
    acc: u64,
    environment: *mut (),
    _: u64,
) {
    // SAFETY: above.
    unsafe { (*environment.cast::<Environment<B>>()).report(&*hart, acc, Report::Serialize(Serialize::Fence)) }
}
