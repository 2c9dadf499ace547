//! Integer computation and comparison, on 64-bit registers.

macro_rules! binary {
    ($($name:ident($a:ident, $b:ident) = $value:expr;)*) => {
        $(#[inline(always)]
        pub(crate) const fn $name($a: u64, $b: u64) -> u64 {
            $value
        })*
    };
}

macro_rules! comparison {
    ($($name:ident($a:ident, $b:ident) = $value:expr;)*) => {
        $(#[inline(always)]
        pub(crate) const fn $name($a: u64, $b: u64) -> bool {
            $value
        })*
    };
}

/// The low word, sign-extended, as every `W` instruction leaves its result.
#[inline(always)]
const fn word(value: u32) -> u64 {
    value as i32 as i64 as u64
}

binary! {
    add(a, b) = a.wrapping_add(b);
    sub(a, b) = a.wrapping_sub(b);
    sll(a, b) = a.wrapping_shl(b as u32);
    srl(a, b) = a.wrapping_shr(b as u32);
    sra(a, b) = (a as i64).wrapping_shr(b as u32) as u64;
    slt(a, b) = ((a as i64) < (b as i64)) as u64;
    sltu(a, b) = (a < b) as u64;
    xor(a, b) = a ^ b;
    or(a, b) = a | b;
    and(a, b) = a & b;
    addw(a, b) = word((a as u32).wrapping_add(b as u32));
    subw(a, b) = word((a as u32).wrapping_sub(b as u32));
    sllw(a, b) = word((a as u32).wrapping_shl(b as u32));
    srlw(a, b) = word((a as u32).wrapping_shr(b as u32));
    sraw(a, b) = (a as i32).wrapping_shr(b as u32) as i64 as u64;
    mul(a, b) = a.wrapping_mul(b);
    mulh(a, b) = ((a as i64 as i128 * b as i64 as i128) >> 64) as u64;
    mulhsu(a, b) = ((a as i64 as i128 * b as i128) >> 64) as u64;
    mulhu(a, b) = ((a as u128 * b as u128) >> 64) as u64;
    mulw(a, b) = word((a as u32).wrapping_mul(b as u32));
    // Division by zero and overflow do not trap: they have the results of table 7.1 of volume I.
    div(a, b) = if b == 0 { u64::MAX } else { (a as i64).wrapping_div(b as i64) as u64 };
    divu(a, b) = match a.checked_div(b) { Some(quotient) => quotient, None => u64::MAX };
    rem(a, b) = if b == 0 { a } else { (a as i64).wrapping_rem(b as i64) as u64 };
    remu(a, b) = match a.checked_rem(b) { Some(remainder) => remainder, None => a };
    divw(a, b) = if b as u32 == 0 { u64::MAX } else { (a as i32).wrapping_div(b as i32) as i64 as u64 };
    divuw(a, b) = match (a as u32).checked_div(b as u32) { Some(quotient) => word(quotient), None => u64::MAX };
    remw(a, b) = if b as u32 == 0 { word(a as u32) } else { (a as i32).wrapping_rem(b as i32) as i64 as u64 };
    remuw(a, b) = match (a as u32).checked_rem(b as u32) { Some(remainder) => word(remainder), None => word(a as u32) };
}

comparison! {
    eq(a, b) = a == b;
    ne(a, b) = a != b;
    lt(a, b) = (a as i64) < (b as i64);
    ge(a, b) = (a as i64) >= (b as i64);
    ltu(a, b) = a < b;
    geu(a, b) = a >= b;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_has_the_results_of_the_manual() {
        let min = i64::MIN as u64;
        assert_eq!((div(7, 0), rem(7, 0)), (u64::MAX, 7));
        assert_eq!((div(min, u64::MAX), rem(min, u64::MAX)), (min, 0));
        let min_word = word(0x8000_0000);
        assert_eq!((divw(min_word, u64::MAX), remw(min_word, u64::MAX)), (min_word, 0));
        assert_eq!((divuw(0x1_8000_0000, 1), remuw(0x8000_0001, 0)), (min_word, word(0x8000_0001)));
    }

    #[test]
    fn shifts_use_five_or_six_bits() {
        assert_eq!((sll(1, 65), sllw(1, 33), sra(min(), 63)), (2, 2, u64::MAX));
        fn min() -> u64 {
            i64::MIN as u64
        }
    }

    #[test]
    fn high_products() {
        assert_eq!(mulh(u64::MAX, u64::MAX), 0);
        assert_eq!(mulhu(u64::MAX, u64::MAX), u64::MAX - 1);
        assert_eq!(mulhsu(u64::MAX, u64::MAX), u64::MAX);
    }
}
