//! What atomic memory operations compute.

macro_rules! operation {
    ($($name:ident($a:ident, $b:ident) = $value:expr;)*) => {
        $(#[inline(always)]
        pub(crate) fn $name<T: Cell>($a: T, $b: T) -> T {
            $value
        })*
    };
}

operation! {
    swap(_a, b) = b;
    add(a, b) = a.plus(b);
    xor(a, b) = a ^ b;
    and(a, b) = a & b;
    or(a, b) = a | b;
    min(a, b) = a.min(b);
    max(a, b) = a.max(b);
}

/// An operand of an atomic operation, or of a load or store.
pub(crate) trait Cell:
    Copy + Ord + core::ops::BitAnd<Output = Self> + core::ops::BitOr<Output = Self> + core::ops::BitXor<Output = Self>
{
    const WIDTH: types::Width;
    /// The low bits of a register.
    fn of(register: u64) -> Self;
    /// As loads leave it in a register: extended by the type's own sign.
    fn extended(self) -> u64;
    /// As atomic operations leave it: sign-extended whatever the type.
    fn sign_extended(self) -> u64;
    fn plus(self, other: Self) -> Self;
}

macro_rules! cell {
    ($($cell:ty, $signed:ty, $width:ident;)*) => {
        $(impl Cell for $cell {
            const WIDTH: types::Width = types::Width::$width;
            #[inline(always)]
            fn of(register: u64) -> Self {
                register as $cell
            }
            #[inline(always)]
            fn extended(self) -> u64 {
                self as i64 as u64
            }
            #[inline(always)]
            fn sign_extended(self) -> u64 {
                self as $signed as i64 as u64
            }
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
        })*
    };
}

cell! {
    i8, i8, Byte;
    i16, i16, Half;
    i32, i32, Word;
    i64, i64, Double;
    u8, i8, Byte;
    u16, i16, Half;
    u32, i32, Word;
    u64, i64, Double;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsigned_word_minimum_is_sign_extended_in_the_register() {
        assert_eq!(min(0x8000_0000_u32, 0xffff_ffff).sign_extended(), 0xffff_ffff_8000_0000);
        assert_eq!(0x8000_0000_u32.extended(), 0x8000_0000);
        assert_eq!(min(-1_i32, 1).extended(), u64::MAX);
    }
}
