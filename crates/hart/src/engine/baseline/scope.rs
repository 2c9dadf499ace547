//! Which operations have templates.

use super::templates::BusLayout;
use crate::ops::{Class, Opcode};

/// Whether a block ends with the micro-op.
pub(super) fn is_last(opcode: Opcode) -> bool {
    use Opcode as O;
    matches!(opcode, O::Jal | O::Jalr | O::JalrAligned | O::MisalignedJump | O::System | O::Next | O::Straddle)
}

/// Whether the template only computes its result, from registers and immediates: it leaves the code nowhere.
pub(super) fn computes(opcode: Opcode, bus: &BusLayout) -> bool {
    let class = matches!(opcode.class(), Class::immediate | Class::register);
    has_template(opcode, bus) && (class || matches!(opcode, Opcode::Li | Opcode::Auipc))
}

/// Whether there is a template for the operation. Those without are rare, long, or may end the block in other ways.
pub(super) fn has_template(opcode: Opcode, bus: &BusLayout) -> bool {
    use Opcode as O;
    match opcode.class() {
        Class::immediate | Class::load | Class::store | Class::float_load | Class::float_store | Class::branch => true,
        Class::register => {
            !matches!(opcode, O::Mulhsu | O::Div | O::Divu | O::Rem | O::Remu | O::Divw | O::Divuw | O::Remw | O::Remuw)
        }
        _ if opcode == O::Jalr => bus.fetches.is_some(),
        _ => matches!(opcode, O::Li | O::Auipc | O::Nop | O::Jal | O::Next),
    }
}
