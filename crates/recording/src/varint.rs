//! Numbers of variable length: seven bits to a byte, the lowest first.

/// The most bytes of a number of 64 bits.
const LONGEST: usize = 10;

/// Appends `value`.
pub(crate) fn put(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// Reads a number at `at`, which moves behind it; `None` if the bytes end first, or are longer than 64 bits.
#[inline]
pub(crate) fn take(from: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0;
    for number in 0..LONGEST {
        let byte = *from.get(*at)?;
        *at += 1;
        let bits = u64::from(byte & 0x7f);
        if number == LONGEST - 1 && bits > 1 {
            return None;
        }
        value |= bits << (7 * number);
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// A difference as a number that is small where the difference is.
#[inline]
pub(crate) const fn zigzag(difference: i64) -> u64 {
    (difference << 1 ^ difference >> 63).cast_unsigned()
}

/// The difference that [`zigzag`] made `value` of.
#[inline]
pub(crate) const fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_read_back(value: u64, difference: i64) {
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            let mut at = 0;
            prop_assert_eq!(take(&bytes, &mut at), Some(value));
            prop_assert_eq!(at, bytes.len());
            prop_assert_eq!(take(&bytes[..bytes.len() - 1], &mut 0), None);
            prop_assert_eq!(unzigzag(zigzag(difference)), difference);
        }
    }

    #[test]
    fn a_number_of_more_than_64_bits_is_refused() {
        let mut bytes = vec![0xff; 9];
        bytes.push(2);
        assert_eq!(take(&bytes, &mut 0), None);
        bytes[9] = 1;
        assert_eq!(take(&bytes, &mut 0), Some(u64::MAX));
    }
}
