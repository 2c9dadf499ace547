//! Floating-point operations on the hart's registers. The arithmetic itself is in [`crate::float`].
//!
//! None of them traps: the unit is on and the rounding mode valid, which the block's gate has checked.

use super::Opcode;
use crate::{
    float::{self, Rounding, nan_box, nan_unbox},
    hart::Hart,
    microop::MicroOp,
};

/// What a floating-point load of four or eight bytes leaves in the register.
pub(crate) trait Boxed {
    fn boxed(self) -> u64;
}

impl Boxed for i32 {
    #[inline(always)]
    fn boxed(self) -> u64 {
        nan_box(self as u32)
    }
}

impl Boxed for i64 {
    #[inline(always)]
    fn boxed(self) -> u64 {
        self as u64
    }
}

#[inline(always)]
pub(crate) fn boxed(value: impl Boxed) -> u64 {
    value.boxed()
}

impl Opcode {
    /// Whether a floating-point operation has a rounding-mode field.
    pub(crate) const fn rounds(self) -> bool {
        use Opcode as O;
        !matches!(
            self,
            O::FsgnjS
                | O::FsgnjnS
                | O::FsgnjxS
                | O::FminS
                | O::FmaxS
                | O::FeqS
                | O::FltS
                | O::FleS
                | O::FclassS
                | O::FsgnjD
                | O::FsgnjnD
                | O::FsgnjxD
                | O::FminD
                | O::FmaxD
                | O::FeqD
                | O::FltD
                | O::FleD
                | O::FclassD
                | O::FmvXW
                | O::FmvWX
                | O::FmvXD
                | O::FmvDX
        )
    }
}

/// The rounding mode of an operation: its own, or `frm`'s.
#[inline(always)]
fn rounding(hart: &Hart, op: &MicroOp) -> Rounding {
    const DYNAMIC: u8 = 7;
    let own = (op.imm & 7) as u8;
    let field = if own == DYNAMIC { hart.frm } else { own };
    Rounding::from_field(field).unwrap_or(Rounding::NearestEven)
}

/// A format's registers: singles are NaN-boxed.
trait Registers: float::Format {
    fn read(hart: &Hart, number: u8) -> Self::Bits;
    fn write(hart: &mut Hart, number: u8, bits: Self::Bits);
}

impl Registers for f32 {
    #[inline(always)]
    fn read(hart: &Hart, number: u8) -> u32 {
        nan_unbox(hart.f[usize::from(number)])
    }
    #[inline(always)]
    fn write(hart: &mut Hart, number: u8, bits: u32) {
        hart.f[usize::from(number)] = nan_box(bits);
    }
}

impl Registers for f64 {
    #[inline(always)]
    fn read(hart: &Hart, number: u8) -> u64 {
        hart.f[usize::from(number)]
    }
    #[inline(always)]
    fn write(hart: &mut Hart, number: u8, bits: u64) {
        hart.f[usize::from(number)] = bits;
    }
}

/// Executes an operation that mostly needs no call, where it needs none; whether it did. The handlers ask here first, so that the
/// frequent way saves no registers.
#[inline(always)]
pub(crate) fn quickly(opcode: Opcode, hart: &mut Hart, op: &MicroOp) -> bool {
    const DYNAMIC: u8 = 7;
    let own = (op.imm & 7) as u8;
    if own != 0 && (own != DYNAMIC || hart.frm != 0) {
        return false;
    }
    macro_rules! quickly {
        ($format:ident, $f:ident) => {{
            let (a, b) = ($format::read(hart, op.rs1), $format::read(hart, op.rs2 as u8));
            let result = float::$f::<$format>(a, b, hart.fflags);
            result.map(|bits| $format::write(hart, op.rd, bits)).is_some()
        }};
        (fused $format:ident, $f:ident) => {{
            let (a, b) = ($format::read(hart, op.rs1), $format::read(hart, op.rs2 as u8));
            let c = $format::read(hart, (op.imm >> 8) as u8);
            let result = float::$f::<$format>(a, b, c, hart.fflags);
            result.map(|bits| $format::write(hart, op.rd, bits)).is_some()
        }};
    }
    match opcode {
        Opcode::FaddS => quickly!(f32, add_quickly),
        Opcode::FaddD => quickly!(f64, add_quickly),
        Opcode::FsubS => quickly!(f32, sub_quickly),
        Opcode::FsubD => quickly!(f64, sub_quickly),
        Opcode::FmulS => quickly!(f32, mul_quickly),
        Opcode::FmulD => quickly!(f64, mul_quickly),
        Opcode::FmaddS => quickly!(fused f32, fmadd_quickly),
        Opcode::FmaddD => quickly!(fused f64, fmadd_quickly),
        Opcode::FmsubS => quickly!(fused f32, fmsub_quickly),
        Opcode::FmsubD => quickly!(fused f64, fmsub_quickly),
        Opcode::FnmsubS => quickly!(fused f32, fnmsub_quickly),
        Opcode::FnmsubD => quickly!(fused f64, fnmsub_quickly),
        Opcode::FnmaddS => quickly!(fused f32, fnmadd_quickly),
        Opcode::FnmaddD => quickly!(fused f64, fnmadd_quickly),
        _ => false,
    }
}

macro_rules! operation {
    // f = f op f, rounded
    (rounded $($single:ident $double:ident: $f:ident;)*) => {
        $(operation!(@rounded $single f32 $f); operation!(@rounded $double f64 $f);)*
    };
    (@rounded $name:ident $format:ident $f:ident) => {
        #[inline(always)]
        pub(crate) fn $name(hart: &mut Hart, op: &MicroOp) {
            let (a, b) = ($format::read(hart, op.rs1), $format::read(hart, op.rs2 as u8));
            let rounding = rounding(hart, op);
            let result = float::$f::<$format>(a, b, rounding, &mut hart.fflags);
            $format::write(hart, op.rd, result);
        }
    };
    // f = ±(f * f) ± f
    (fused $($single:ident $double:ident: $f:ident;)*) => {
        $(operation!(@fused $single f32 $f); operation!(@fused $double f64 $f);)*
    };
    (@fused $name:ident $format:ident $f:ident) => {
        #[inline(always)]
        pub(crate) fn $name(hart: &mut Hart, op: &MicroOp) {
            let (a, b) = ($format::read(hart, op.rs1), $format::read(hart, op.rs2 as u8));
            let c = $format::read(hart, (op.imm >> 8) as u8);
            let rounding = rounding(hart, op);
            let result = float::$f::<$format>(a, b, c, rounding, &mut hart.fflags);
            $format::write(hart, op.rd, result);
        }
    };
    // f = sign of f, of f
    (sign $($single:ident $double:ident: $f:ident;)*) => {
        $(operation!(@sign $single f32 $f); operation!(@sign $double f64 $f);)*
    };
    (@sign $name:ident $format:ident $f:ident) => {
        #[inline(always)]
        pub(crate) fn $name(hart: &mut Hart, op: &MicroOp) {
            let result = float::$f::<$format>($format::read(hart, op.rs1), $format::read(hart, op.rs2 as u8));
            $format::write(hart, op.rd, result);
        }
    };
    // f = choice of f, f
    (choice $($single:ident $double:ident: $f:ident;)*) => {
        $(operation!(@choice $single f32 $f); operation!(@choice $double f64 $f);)*
    };
    (@choice $name:ident $format:ident $f:ident) => {
        #[inline(always)]
        pub(crate) fn $name(hart: &mut Hart, op: &MicroOp) {
            let (a, b) = ($format::read(hart, op.rs1), $format::read(hart, op.rs2 as u8));
            let result = float::$f::<$format>(a, b, &mut hart.fflags);
            $format::write(hart, op.rd, result);
        }
    };
    // x = f compared with f
    (comparison $($single:ident $double:ident: $f:ident;)*) => {
        $(operation!(@comparison $single f32 $f); operation!(@comparison $double f64 $f);)*
    };
    (@comparison $name:ident $format:ident $f:ident) => {
        #[inline(always)]
        pub(crate) fn $name(hart: &mut Hart, op: &MicroOp) {
            let (a, b) = ($format::read(hart, op.rs1), $format::read(hart, op.rs2 as u8));
            let result = float::$f::<$format>(a, b, &mut hart.fflags);
            hart.set_register(op.rd, u64::from(result));
        }
    };
    // x = integer of f; f = float of x
    (conversion $($to_single:ident $to_double:ident $from_single:ident $from_double:ident: $integer:ident;)*) => {
        $(
            operation!(@to_integer $to_single f32 $integer);
            operation!(@to_integer $to_double f64 $integer);
            operation!(@from_integer $from_single f32 $integer);
            operation!(@from_integer $from_double f64 $integer);
        )*
    };
    (@to_integer $name:ident $format:ident $integer:ident) => {
        #[inline(always)]
        pub(crate) fn $name(hart: &mut Hart, op: &MicroOp) {
            let (a, rounding) = ($format::read(hart, op.rs1), rounding(hart, op));
            let result = float::to_integer::<$format, $integer>(a, rounding, &mut hart.fflags);
            hart.set_register(op.rd, result);
        }
    };
    (@from_integer $name:ident $format:ident $integer:ident) => {
        #[inline(always)]
        pub(crate) fn $name(hart: &mut Hart, op: &MicroOp) {
            let (a, rounding) = (hart.register(op.rs1), rounding(hart, op));
            let result = float::from_integer::<$format, $integer>(a, rounding, &mut hart.fflags);
            $format::write(hart, op.rd, result);
        }
    };
}

operation! { rounded
    fadd_s fadd_d: add;
    fsub_s fsub_d: sub;
    fmul_s fmul_d: mul;
    fdiv_s fdiv_d: div;
}
operation! { fused
    fmadd_s fmadd_d: fmadd;
    fmsub_s fmsub_d: fmsub;
    fnmsub_s fnmsub_d: fnmsub;
    fnmadd_s fnmadd_d: fnmadd;
}
operation! { sign
    fsgnj_s fsgnj_d: sign_copy;
    fsgnjn_s fsgnjn_d: sign_negate;
    fsgnjx_s fsgnjx_d: sign_xor;
}
operation! { choice
    fmin_s fmin_d: min;
    fmax_s fmax_d: max;
}
operation! { comparison
    feq_s feq_d: eq;
    flt_s flt_d: lt;
    fle_s fle_d: le;
}
operation! { conversion
    fcvt_w_s fcvt_w_d fcvt_s_w fcvt_d_w: i32;
    fcvt_wu_s fcvt_wu_d fcvt_s_wu fcvt_d_wu: u32;
    fcvt_l_s fcvt_l_d fcvt_s_l fcvt_d_l: i64;
    fcvt_lu_s fcvt_lu_d fcvt_s_lu fcvt_d_lu: u64;
}

macro_rules! unary {
    ($($single:ident $double:ident |$format:ident, $hart:ident, $op:ident| $body:block;)*) => {
        $(
            #[inline(always)]
            pub(crate) fn $single($hart: &mut Hart, $op: &MicroOp) {
                type $format = f32;
                $body
            }
            #[inline(always)]
            pub(crate) fn $double($hart: &mut Hart, $op: &MicroOp) {
                type $format = f64;
                $body
            }
        )*
    };
}

unary! {
    fsqrt_s fsqrt_d |F, hart, op| {
        let (a, rounding) = (F::read(hart, op.rs1), rounding(hart, op));
        let root = float::sqrt::<F>(a, rounding, &mut hart.fflags);
        F::write(hart, op.rd, root);
    };
    fclass_s fclass_d |F, hart, op| {
        let class = float::classify::<F>(F::read(hart, op.rs1));
        hart.set_register(op.rd, class);
    };
}

/// The raw low word, boxed or not, sign-extended.
#[inline(always)]
pub(crate) fn fmv_x_w(hart: &mut Hart, op: &MicroOp) {
    let bits = hart.f[usize::from(op.rs1)];
    hart.set_register(op.rd, bits as i32 as i64 as u64);
}

#[inline(always)]
pub(crate) fn fmv_w_x(hart: &mut Hart, op: &MicroOp) {
    let bits = hart.register(op.rs1) as u32;
    f32::write(hart, op.rd, bits);
}

#[inline(always)]
pub(crate) fn fmv_x_d(hart: &mut Hart, op: &MicroOp) {
    let bits = f64::read(hart, op.rs1);
    hart.set_register(op.rd, bits);
}

#[inline(always)]
pub(crate) fn fmv_d_x(hart: &mut Hart, op: &MicroOp) {
    let bits = hart.register(op.rs1);
    f64::write(hart, op.rd, bits);
}

#[inline(always)]
pub(crate) fn fcvt_s_d(hart: &mut Hart, op: &MicroOp) {
    let (a, rounding) = (f64::read(hart, op.rs1), rounding(hart, op));
    let single = float::narrow(a, rounding, &mut hart.fflags);
    f32::write(hart, op.rd, single);
}

#[inline(always)]
pub(crate) fn fcvt_d_s(hart: &mut Hart, op: &MicroOp) {
    let a = f32::read(hart, op.rs1);
    let double = float::widen(a, &mut hart.fflags);
    f64::write(hart, op.rd, double);
}
