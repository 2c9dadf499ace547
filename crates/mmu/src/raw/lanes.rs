//! Comparisons of four words at once.

/// Words in a group.
pub(crate) const LANES: usize = 4;

/// Which words of a group are `wanted`: a bit each.
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
#[inline(always)]
pub(crate) fn matching(group: &[u64; LANES], wanted: u64) -> u32 {
    use core::arch::x86_64::{
        _mm256_castsi256_pd, _mm256_cmpeq_epi64, _mm256_loadu_si256, _mm256_movemask_pd, _mm256_set1_epi64x,
    };
    // SAFETY: the function exists only where the target has AVX2, and the load is of the group's 32 bytes.
    unsafe {
        let words = _mm256_loadu_si256(group.as_ptr().cast());
        let equal = _mm256_cmpeq_epi64(words, _mm256_set1_epi64x(wanted.cast_signed()));
        _mm256_movemask_pd(_mm256_castsi256_pd(equal)).cast_unsigned()
    }
}

/// Which words of a group are `wanted`: a bit each.
#[cfg(not(all(target_arch = "x86_64", target_feature = "avx2")))]
#[inline(always)]
pub(crate) fn matching(group: &[u64; LANES], wanted: u64) -> u32 {
    plainly(group, wanted)
}

/// The same, one word after the other.
#[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "avx2"))))]
fn plainly(group: &[u64; LANES], wanted: u64) -> u32 {
    group.iter().rev().fold(0, |mask, &word| mask << 1 | u32::from(word == wanted))
}

/// The least word and its first lane.
#[inline(always)]
pub(crate) fn least(group: &[u64; LANES]) -> (u64, usize) {
    let lower = |one: (u64, usize), two: (u64, usize)| if two.0 < one.0 { two } else { one };
    let [a, b, c, d] = *group;
    lower(lower((a, 0), (b, 1)), lower((c, 2), (d, 3)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_comparing_agree() {
        let words = [0, 1, 1 << 63, u64::MAX];
        for number in 0..256usize {
            let group = core::array::from_fn(|lane| words[number >> (2 * lane) & 3]);
            for wanted in words {
                assert_eq!(matching(&group, wanted), plainly(&group, wanted), "{group:?} {wanted}");
            }
        }
        assert_eq!(matching(&[7, 8, 7, 9], 7), 0b0101);
    }

    #[test]
    fn finds_the_first_least() {
        assert_eq!(least(&[5, 4, 9, 4]), (4, 1));
        assert_eq!(least(&[5, 5, 3, 4]), (3, 2));
        assert_eq!(least(&[u64::MAX; 4]), (u64::MAX, 0));
    }
}
