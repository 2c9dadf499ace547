//! Searches of groups of four words, with AVX2 where the target has it.

/// Words in a group.
pub(crate) const LANES: usize = 4;

/// Four words that are looked at together.
pub(crate) type Words = [u64; LANES];

/// Which words of some groups are `wanted`: a bit each, the first group's lowest. At most sixteen groups.
#[inline(always)]
pub(crate) fn matching<const N: usize>(groups: [&Words; N], wanted: u64) -> u64 {
    const { assert!(N * LANES <= u64::BITS as usize) };
    let mut mask = 0;
    for (number, group) in groups.into_iter().enumerate() {
        mask |= u64::from(engine::matching(group, wanted)) << (number * LANES);
    }
    mask
}

/// The least of four words that are in registers, and its first lane. (A vector load of words just gathered would wait
/// for each of their stores.)
#[inline(always)]
pub(crate) fn least_gathered([a, b, c, d]: Words) -> (u64, usize) {
    let lower = |one: (u64, usize), two: (u64, usize)| if two.0 < one.0 { two } else { one };
    lower(lower((a, 0), (b, 1)), lower((c, 2), (d, 3)))
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
mod engine {
    use super::Words;
    use core::arch::x86_64::{
        __m256i, _mm256_castsi256_pd, _mm256_cmpeq_epi64, _mm256_loadu_si256, _mm256_movemask_pd, _mm256_set1_epi64x,
    };

    #[inline(always)]
    fn load(group: &Words) -> __m256i {
        // SAFETY: the module exists only where the target has AVX2, and the load is of the group's 32 bytes.
        unsafe { _mm256_loadu_si256(group.as_ptr().cast()) }
    }

    #[inline(always)]
    pub(super) fn matching(group: &Words, wanted: u64) -> u32 {
        // SAFETY: the module exists only where the target has AVX2.
        unsafe {
            let equal = _mm256_cmpeq_epi64(load(group), _mm256_set1_epi64x(wanted.cast_signed()));
            _mm256_movemask_pd(_mm256_castsi256_pd(equal)).cast_unsigned()
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "avx2")))]
use plain as engine;

/// The same without AVX2.
#[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "avx2"))))]
mod plain {
    use super::Words;

    pub(super) fn matching(group: &Words, wanted: u64) -> u32 {
        group.iter().rev().fold(0, |mask, &word| mask << 1 | u32::from(word == wanted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_engines_agree() {
        let words = [0, 1, 1 << 62, i64::MAX.cast_unsigned()];
        for number in 0..256usize {
            let group: Words = core::array::from_fn(|lane| words[number >> (2 * lane) & 3]);
            for wanted in words {
                assert_eq!(engine::matching(&group, wanted), plain::matching(&group, wanted), "{group:?} {wanted}");
            }
        }
    }

    #[test]
    fn matches_are_numbered_from_the_first_group_on() {
        assert_eq!(matching([&[7, 8, 7, 9], &[1, 2, 3, 7]], 7), 0b1000_0101);
    }

    #[test]
    fn the_first_least_is_found() {
        assert_eq!(least_gathered([5, 4, 9, 4]), (4, 1));
        assert_eq!(least_gathered([5, 5, 4, 3]), (3, 3));
        assert_eq!(least_gathered([6; 4]), (6, 0));
    }
}
