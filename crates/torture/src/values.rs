//! Operand values that crowd the corners.

use testing::Random;

const INTEGERS: [u64; 20] = [
    0,
    1,
    2,
    u64::MAX,
    u64::MAX - 1,
    i64::MAX as u64,
    i64::MIN as u64,
    i64::MIN as u64 + 1,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_ffff,
    0x1_0000_0000,
    0xffff_ffff_8000_0000,
    0xffff_ffff_7fff_ffff,
    0x7f,
    0x80,
    0xffff,
    0x8000,
    31,
];

/// A value for an integer register: a corner, a small number, a shifted pattern or any bits.
fn integer(random: &mut Random) -> u64 {
    match random.index(5) {
        0 | 1 => random.pick(&INTEGERS),
        2 => (random.between(-70, 70)) as u64,
        3 => random.bits() >> random.index(64),
        _ => random.bits(),
    }
}

const SINGLES: [u32; 10] = [
    0,
    0x3f80_0000, // one
    0x7f80_0000, // infinity
    0x7fc0_0000, // the canonical NaN
    0x7fc0_0001, // another quiet NaN
    0x7f80_0001, // a signalling NaN
    0x0000_0001, // the smallest subnormal number
    0x007f_ffff, // the largest subnormal number
    0x0080_0000, // the smallest normal number
    0x7f7f_ffff, // the largest number
];

const DOUBLES: [u64; 10] = [
    0,
    0x3ff0_0000_0000_0000,
    0x7ff0_0000_0000_0000,
    0x7ff8_0000_0000_0000,
    0x7ff8_0000_0000_0001,
    0x7ff0_0000_0000_0001,
    0x0000_0000_0000_0001,
    0x000f_ffff_ffff_ffff,
    0x0010_0000_0000_0000,
    0x7fef_ffff_ffff_ffff,
];

/// A single: zero, subnormal, border of a binade, limit of an integer type, infinity, NaN, small integer or any bits.
fn single(random: &mut Random) -> u32 {
    let sign = (random.index(2) as u32) << 31;
    if random.one_in(4) {
        return sign | random.pick(&SINGLES);
    }
    let fraction = match random.index(4) {
        0 => 0,
        1 => 0x7f_ffff,
        2 => 1 << random.index(23),
        _ => random.bits() as u32 & 0x7f_ffff,
    };
    let exponent = match random.index(8) {
        0 => random.index(3),
        1 => 255 - random.index(3),
        2 => 127 + random.pick(&[0, 22, 23, 24, 30, 31, 32, 62, 63, 64]),
        3 => return (random.between(-100, 100) as f32).to_bits(),
        4 => random.index(256),
        _ => 120 + random.index(16),
    };
    sign | (exponent as u32) << 23 | fraction
}

/// A double, as [`single`]; also around the limits of singles.
fn double(random: &mut Random) -> u64 {
    let sign = (random.index(2) as u64) << 63;
    if random.one_in(4) {
        return sign | random.pick(&DOUBLES);
    }
    let fraction = match random.index(5) {
        0 => 0,
        1 => (1 << 52) - 1,
        2 => 1 << random.index(52),
        3 => (random.bits() & 0xff_ffff) << 28,
        _ => random.bits() & ((1 << 52) - 1),
    };
    let exponent = match random.index(9) {
        0 => random.index(3),
        1 => 2047 - random.index(3),
        2 => 1023 + random.pick(&[0, 30, 31, 32, 51, 52, 53, 62, 63, 64]),
        3 => 1023 + random.pick(&[126, 127, 128]),
        4 => 1023 - random.pick(&[125, 126, 127, 148, 149, 150]),
        5 => return (random.between(-100, 100) as f64).to_bits(),
        6 => random.index(2048),
        _ => 1015 + random.index(16),
    };
    sign | (exponent as u64) << 52 | fraction
}

/// A value for a floating-point register: a double, a boxed single, or a single that is not properly boxed.
fn float(random: &mut Random, likely: Likely) -> u64 {
    let boxed = 0xffff_ffff_0000_0000;
    match (random.index(16), likely) {
        (0, _) => random.bits() << 32 | u64::from(single(random)),
        (1, _) => (boxed - (1 << 32)) | u64::from(single(random)),
        (2..4, Likely::Double) | (4.., Likely::Single) => boxed | u64::from(single(random)),
        _ => double(random),
    }
}

#[derive(Clone, Copy)]
enum Likely {
    Single,
    Double,
}

/// All integer registers: some values come more than once, as compares and branches want.
pub(crate) fn integers(random: &mut Random) -> [u64; 32] {
    let pool: [u64; 4] = std::array::from_fn(|_| integer(random));
    std::array::from_fn(|_| if random.one_in(3) { random.pick(&pool) } else { integer(random) })
}

/// All floating-point registers: likely singles in the lower half and doubles in the upper, and some values more than once, with either
/// sign, as cancellation and minimum want.
pub(crate) fn floats(random: &mut Random) -> [u64; 32] {
    let singles: [u64; 4] = std::array::from_fn(|_| float(random, Likely::Single));
    let doubles: [u64; 4] = std::array::from_fn(|_| float(random, Likely::Double));
    std::array::from_fn(|number| {
        let (pool, likely, sign) =
            if number < 16 { (&singles, Likely::Single, 1 << 31) } else { (&doubles, Likely::Double, 1 << 63) };
        match random.index(4) {
            0 => random.pick(pool),
            1 => random.pick(pool) ^ sign,
            _ => float(random, likely),
        }
    })
}

/// Eight bytes of memory.
pub(crate) fn memory(random: &mut Random) -> u64 {
    match random.index(4) {
        0 => double(random),
        1 => u64::from(single(random)) << 32 | u64::from(single(random)),
        2 => integer(random),
        _ => random.bits(),
    }
}
