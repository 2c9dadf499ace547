//! Every way to a result against SoftFloat's, over millions of operands that crowd the borders; and SoftFloat's specialisation against
//! what the RISC-V specification says.

use std::fmt::Debug;

use softfloat_wrapper::{Float, RoundingMode};
use testing::Random;

use super::*;

/// Operands per operation, mode and format.
const ROUNDS: u32 = 200_000;

/// A format whose bits the generator can make.
trait Sample: Format {
    /// The low bits of `raw` as a number.
    fn bits(raw: u64) -> Self::Bits;

    /// A number with this sign, biased exponent and fraction.
    fn compose(random: &mut Random, exponent: u64) -> Self::Bits {
        let width = Self::PRECISION - 1;
        // Fractions of few bits make exact results and ties; all ones carry over into the next binade.
        let fraction = match random.below(6) {
            0 => 0,
            1 => u64::MAX,
            2 => random.bits() << (width - 1 - random.below(12) as u32),
            3 => 1 << random.below(u64::from(width)),
            _ => random.bits(),
        } & ((1 << width) - 1);
        let sign = random.below(2) << if Self::PRECISION == 24 { 31 } else { 63 };
        Self::bits(sign | exponent << width | fraction)
    }

    /// An operand: corner exponents, neighbours of the limits of the host's ways, small integers, or any bits at all.
    fn sample(random: &mut Random) -> Self::Bits {
        let top = u64::from(Self::MAX_EXPONENT);
        let bias = top / 2;
        let precision = u64::from(Self::PRECISION);
        let exponent = match random.below(10) {
            0 => random.below(4),
            1 => top - random.below(4),
            2 => 2 * precision + random.below(9),
            3 => bias / 2 + random.below(2 * precision),
            4 => bias + bias / 2 - random.below(2 * precision),
            5 | 6 => bias - 3 + random.below(6),
            7 => return Self::from_signed(random.below(4096) as i64 - 2048).to_bits(),
            8 => return Self::bits(random.bits()),
            _ => bias - precision + random.below(2 * precision),
        };
        Self::compose(random, exponent)
    }
}

impl Sample for f32 {
    fn bits(raw: u64) -> u32 {
        raw as u32
    }
}

impl Sample for f64 {
    fn bits(raw: u64) -> u64 {
        raw
    }
}

/// Compares `ours`, entered with several accrued flags, with what `soft` computes.
fn agree<T: Copy + PartialEq + Debug>(
    operands: &dyn Debug,
    rounding: Rounding,
    ours: impl Fn(Rounding, &mut Flags) -> T,
    soft: impl Fn(RoundingMode) -> T,
) {
    let mut raised = Flags::NONE;
    let expected = soft::run(rounding, &mut raised, soft);
    for before in [Flags::NONE, Flags::INEXACT, Flags::INVALID] {
        let mut flags = before;
        let result = ours(rounding, &mut flags);
        assert_eq!((result, flags), (expected, before | raised), "{operands:x?} {rounding:?} {before:?}");
    }
}

/// Runs `check` on random operands in every mode. The seed of the day and `stream` name the operands.
fn for_each_case(stream: u64, mut check: impl FnMut(&mut Random, Rounding)) {
    let mut random = Random::nth(testing::seed("PAGEWALK_FUZZ_SEED"), stream);
    for _ in 0..ROUNDS {
        // The host has ways of its own in the first mode only.
        for rounding in Rounding::ALL.into_iter().chain([Rounding::NearestEven; 3]) {
            check(&mut random, rounding);
        }
    }
}

type Binary<F> = fn(<F as Format>::Bits, <F as Format>::Bits, Rounding, &mut Flags) -> <F as Format>::Bits;
type SoftBinary<F> = fn(&<F as Format>::Soft, <F as Format>::Soft, RoundingMode) -> <F as Format>::Soft;

fn check_binary<F: Sample>(ours: Binary<F>, soft: SoftBinary<F>) {
    for_each_case(1, |random, rounding| {
        let (a, b) = (F::sample(random), F::sample(random));
        agree(
            &(a, b),
            rounding,
            |mode, flags| ours(a, b, mode, flags),
            |mode| soft(&soft::number::<F>(a), soft::number::<F>(b), mode).to_bits(),
        );
    });
}

#[test]
fn sums_and_differences_agree_with_softfloat() {
    check_binary::<f32>(add::<f32>, softfloat_wrapper::Float::add);
    check_binary::<f64>(add::<f64>, softfloat_wrapper::Float::add);
    check_binary::<f32>(sub::<f32>, softfloat_wrapper::Float::sub);
    check_binary::<f64>(sub::<f64>, softfloat_wrapper::Float::sub);
}

#[test]
fn products_agree_with_softfloat() {
    check_binary::<f32>(mul::<f32>, softfloat_wrapper::Float::mul);
    check_binary::<f64>(mul::<f64>, softfloat_wrapper::Float::mul);
}

#[test]
fn quotients_agree_with_softfloat() {
    check_binary::<f32>(div::<f32>, softfloat_wrapper::Float::div);
    check_binary::<f64>(div::<f64>, softfloat_wrapper::Float::div);
}

fn check_roots<F: Sample>() {
    for_each_case(2, |random, rounding| {
        let mut a = F::sample(random);
        if random.below(4) == 0 {
            // A square, so that the root may be exact.
            a = mul::<F>(a, a, Rounding::NearestEven, &mut Flags::default());
        }
        agree(&a, rounding, |mode, flags| sqrt::<F>(a, mode, flags), |mode| soft::number::<F>(a).sqrt(mode).to_bits());
    });
}

#[test]
fn roots_agree_with_softfloat() {
    check_roots::<f32>();
    check_roots::<f64>();
}

fn check_fused<F: Sample>() {
    for_each_case(3, |random, rounding| {
        let (a, b) = (F::sample(random), F::sample(random));
        let c = match random.below(3) {
            // Cancels the product, or all of it but its residue.
            0 => sign_negate::<F>(mul::<F>(a, b, rounding, &mut Flags::default()), F::sample(random)),
            _ => F::sample(random),
        };
        let product = |mode, negate: bool, c: F::Bits| {
            let a = F::with_sign(a, F::is_negative(a) ^ negate);
            soft::number::<F>(a).fused_mul_add(soft::number::<F>(b), soft::number::<F>(c), mode).to_bits()
        };
        let minus_c = F::with_sign(c, !F::is_negative(c));
        let operands = (a, b, c);
        match random.below(4) {
            0 => agree(&operands, rounding, |m, f| fmadd::<F>(a, b, c, m, f), |m| product(m, false, c)),
            1 => agree(&operands, rounding, |m, f| fmsub::<F>(a, b, c, m, f), |m| product(m, false, minus_c)),
            2 => agree(&operands, rounding, |m, f| fnmsub::<F>(a, b, c, m, f), |m| product(m, true, c)),
            _ => agree(&operands, rounding, |m, f| fnmadd::<F>(a, b, c, m, f), |m| product(m, true, minus_c)),
        }
    });
}

#[test]
fn fused_products_agree_with_softfloat() {
    check_fused::<f32>();
    check_fused::<f64>();
}

#[test]
fn conversions_between_formats_agree_with_softfloat() {
    for_each_case(4, |random, rounding| {
        let single = f32::sample(random);
        let double = match random.below(2) {
            0 => f64::sample(random),
            // The neighbourhood of a single, down to its subnormals.
            _ => f64::from(f32::from_bits(single)).to_bits() ^ (random.bits() >> random.below(64)) & 0xffff_ffff,
        };
        agree(&double, rounding, |m, f| narrow(double, m, f), |m| soft::number::<f64>(double).to_f32(m).to_bits());
        agree(&single, rounding, |_, f| widen(single, f), |m| soft::number::<f32>(single).to_f64(m).to_bits());
    });
}

fn check_to_integers<F: Sample>() {
    for_each_case(5, |random, rounding| {
        let a = match random.below(2) {
            0 => F::sample(random),
            // Magnitudes around one and around the limits of the integers.
            _ => {
                let exponent = [0, 1, 31, 32, 63, 64, 24, 53][random.below(8) as usize] + random.below(3);
                F::compose(random, u64::from(F::MAX_EXPONENT / 2) + exponent - 2)
            }
        };
        let number = soft::number::<F>(a);
        agree(&a, rounding, |m, f| to_integer::<F, i32>(a, m, f), |m| i64::from(number.to_i32(m, true)) as u64);
        agree(&a, rounding, |m, f| to_integer::<F, u32>(a, m, f), |m| i64::from(number.to_u32(m, true) as i32) as u64);
        agree(&a, rounding, |m, f| to_integer::<F, i64>(a, m, f), |m| number.to_i64(m, true) as u64);
        agree(&a, rounding, |m, f| to_integer::<F, u64>(a, m, f), |m| number.to_u64(m, true));
    });
}

#[test]
fn conversions_to_integers_agree_with_softfloat() {
    check_to_integers::<f32>();
    check_to_integers::<f64>();
}

fn check_from_integers<F: Sample>() {
    for_each_case(6, |random, rounding| {
        let n = (random.bits() >> random.below(64)) ^ 0u64.wrapping_sub(random.below(2));
        let soft =
            |m: RoundingMode| (F::Soft::from_i64(n as i64, m).to_bits(), F::Soft::from_i32(n as i32, m).to_bits());
        let soft_unsigned =
            |m: RoundingMode| (F::Soft::from_u64(n, m).to_bits(), F::Soft::from_u32(n as u32, m).to_bits());
        agree(&n, rounding, |m, f| (from_integer::<F, i64>(n, m, f), from_integer::<F, i32>(n, m, f)), soft);
        agree(&n, rounding, |m, f| (from_integer::<F, u64>(n, m, f), from_integer::<F, u32>(n, m, f)), soft_unsigned);
    });
}

#[test]
fn conversions_from_integers_agree_with_softfloat() {
    check_from_integers::<f32>();
    check_from_integers::<f64>();
}

fn check_compares<F: Sample>() {
    for_each_case(7, |random, rounding| {
        let a = F::sample(random);
        let b = if random.below(4) == 0 { sign_copy::<F>(a, F::sample(random)) } else { F::sample(random) };
        let number = soft::number::<F>;
        agree(&(a, b), rounding, |_, f| eq::<F>(a, b, f), |_| number(a).eq(number(b)));
        agree(&(a, b), rounding, |_, f| lt::<F>(a, b, f), |_| number(a).lt(number(b)));
        agree(&(a, b), rounding, |_, f| le::<F>(a, b, f), |_| number(a).le(number(b)));
    });
}

#[test]
fn compares_agree_with_softfloat() {
    check_compares::<f32>();
    check_compares::<f64>();
}

const QUIET: u64 = 0xfff8_0000_0000_0001;
const SIGNALING: u64 = 0x7ff0_0000_0000_0001;
const CANONICAL: u64 = f64::CANONICAL_NAN;
const INFINITY: u64 = f64::INFINITY.to_bits();
const ONE: u64 = 1f64.to_bits();
const MINUS_ZERO: u64 = 1 << 63;

/// SoftFloat was built in its RISC-V specialisation, not in that of x86.
#[test]
fn nans_are_canonical() {
    let mut flags = Flags::NONE;
    assert_eq!(add::<f64>(QUIET, ONE, Rounding::NearestEven, &mut flags), CANONICAL);
    assert_eq!(widen(0xffff_ffff, &mut flags), CANONICAL);
    assert_eq!(narrow(QUIET, Rounding::NearestEven, &mut flags), f32::CANONICAL_NAN);
    assert_eq!(flags, Flags::NONE);
    assert_eq!(mul::<f64>(SIGNALING, ONE, Rounding::NearestEven, &mut flags), CANONICAL);
    assert_eq!(flags, Flags::INVALID);
}

/// 21.6: "The fused multiply-add instructions must set the invalid operation exception flag when the multiplicands are infinity and
/// zero, even when the addend is a quiet NaN."
#[test]
fn infinity_times_zero_plus_nan_is_invalid() {
    let mut flags = Flags::NONE;
    assert_eq!(fmadd::<f64>(INFINITY, 0, QUIET, Rounding::NearestEven, &mut flags), CANONICAL);
    assert_eq!(flags, Flags::INVALID);
}

/// A result that is tiny before rounding, but rounds up to the smallest normal number as if the exponent had no bound, is not tiny.
#[test]
fn tininess_is_detected_after_rounding() {
    let smallest = f64::MIN_POSITIVE.to_bits();
    let mut flags = Flags::NONE;
    // (2 - 2^-52) * 2^-1022 * (0.5 + 2^-53) = 2^-1022 * (1 - 2^-106): rounds to 2^-1022 with 53 bits as well.
    let product = mul::<f64>(smallest | ((1 << 52) - 1), 0x3fe0_0000_0000_0001, Rounding::NearestEven, &mut flags);
    assert_eq!((product, flags), (smallest, Flags::INEXACT));
    // 2^-1022 * (1 - 2^-53) has 53 bits: it is tiny, and half way between two subnormal numbers.
    let mut flags = Flags::NONE;
    let product = mul::<f64>(smallest, 0x3fef_ffff_ffff_ffff, Rounding::NearestEven, &mut flags);
    assert_eq!((product, flags), (smallest, Flags::INEXACT | Flags::UNDERFLOW));
}

#[test]
fn division_by_zero_and_overflow_raise_their_flags() {
    let mut flags = Flags::NONE;
    assert_eq!(div::<f64>(ONE, MINUS_ZERO, Rounding::NearestEven, &mut flags), INFINITY | MINUS_ZERO);
    assert_eq!(flags, Flags::DIVIDE_BY_ZERO);
    let mut flags = Flags::NONE;
    let largest = f64::MAX.to_bits();
    assert_eq!(add::<f64>(largest, largest, Rounding::TowardZero, &mut flags), largest);
    assert_eq!(flags, Flags::OVERFLOW | Flags::INEXACT);
}

#[test]
fn minimum_and_maximum_prefer_numbers_and_order_zeros() {
    let cases = [
        (0, MINUS_ZERO, MINUS_ZERO, 0, Flags::NONE),
        (MINUS_ZERO, 0, MINUS_ZERO, 0, Flags::NONE),
        (ONE, 0, 0, ONE, Flags::NONE),
        (ONE, INFINITY, ONE, INFINITY, Flags::NONE),
        (ONE, QUIET, ONE, ONE, Flags::NONE),
        (QUIET, ONE, ONE, ONE, Flags::NONE),
        (QUIET, QUIET, CANONICAL, CANONICAL, Flags::NONE),
        (ONE, SIGNALING, ONE, ONE, Flags::INVALID),
        (SIGNALING, ONE, ONE, ONE, Flags::INVALID),
        (QUIET, SIGNALING, CANONICAL, CANONICAL, Flags::INVALID),
    ];
    for (a, b, smaller, larger, raised) in cases {
        let (mut low, mut high) = (Flags::NONE, Flags::NONE);
        assert_eq!((min::<f64>(a, b, &mut low), low), (smaller, raised), "min {a:x} {b:x}");
        assert_eq!((max::<f64>(a, b, &mut high), high), (larger, raised), "max {a:x} {b:x}");
    }
}

#[test]
fn classes_are_those_of_the_table() {
    let subnormal = 1;
    let classes = [
        INFINITY | MINUS_ZERO,
        ONE | MINUS_ZERO,
        subnormal | MINUS_ZERO,
        MINUS_ZERO,
        0,
        subnormal,
        ONE,
        INFINITY,
        SIGNALING,
        QUIET,
    ];
    for (class, bits) in classes.into_iter().enumerate() {
        assert_eq!(classify::<f64>(bits), 1 << class);
    }
    assert_eq!(classify::<f32>(0xff80_0000), 1);
    assert_eq!(classify::<f32>(0x7fa0_0000), 1 << 8);
}

#[test]
fn signs_are_injected_into_any_bits() {
    assert_eq!(sign_copy::<f64>(SIGNALING, MINUS_ZERO), SIGNALING | MINUS_ZERO);
    assert_eq!(sign_negate::<f64>(ONE, MINUS_ZERO), ONE);
    assert_eq!(sign_xor::<f64>(MINUS_ZERO, MINUS_ZERO), 0);
}

#[test]
fn singles_are_boxed() {
    assert_eq!(nan_box(0x3f80_0000), 0xffff_ffff_3f80_0000);
    assert_eq!(nan_unbox(0xffff_ffff_3f80_0000), 0x3f80_0000);
    assert_eq!(nan_unbox(0xffff_fffe_3f80_0000), f32::CANONICAL_NAN);
}

/// 21.7, table of invalid conversions.
#[test]
fn conversions_to_integers_saturate() {
    let to = |number: f64| {
        let mut flags = Flags::NONE;
        let mode = Rounding::TowardZero;
        let bits = number.to_bits();
        let words = [to_integer::<f64, i32>(bits, mode, &mut flags), to_integer::<f64, u32>(bits, mode, &mut flags)];
        let longs = [to_integer::<f64, i64>(bits, mode, &mut flags), to_integer::<f64, u64>(bits, mode, &mut flags)];
        (words, longs, flags)
    };
    let high = ([0x7fff_ffff, u64::MAX], [i64::MAX as u64, u64::MAX], Flags::INVALID);
    let low = ([i64::from(i32::MIN) as u64, 0], [i64::MIN as u64, 0], Flags::INVALID);
    assert_eq!(to(f64::NAN), high);
    assert_eq!(to(f64::INFINITY), high);
    assert_eq!(to(1e30), high);
    assert_eq!(to(f64::NEG_INFINITY), low);
    assert_eq!(to(-1e30), low);
    assert_eq!(to(-0.75), ([0, 0], [0, 0], Flags::INEXACT));
}

/// Machines run in parallel: SoftFloat's mode and flags must not be shared between threads.
#[test]
fn threads_do_not_share_modes_or_flags() {
    let third = |rounding| {
        let mut flags = Flags::NONE;
        (div::<f64>(ONE, 3f64.to_bits(), rounding, &mut flags), flags)
    };
    let (up, down) = (third(Rounding::Up).0, third(Rounding::Down).0);
    assert_eq!(up, down + 1);
    std::thread::scope(|scope| {
        for (rounding, expected) in [(Rounding::Up, up), (Rounding::Down, down), (Rounding::TowardZero, down)] {
            scope.spawn(move || {
                for _ in 0..100_000 {
                    assert_eq!(third(rounding), (expected, Flags::INEXACT));
                    let mut flags = Flags::NONE;
                    assert_eq!(div::<f64>(ONE, ONE, rounding, &mut flags), ONE);
                    assert_eq!(flags, Flags::NONE);
                }
            });
        }
    });
}
