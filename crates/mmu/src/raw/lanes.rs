//! Searches of several words at once, with AVX2 where the target has it.

/// Slots in a group.
pub(crate) const LANES: usize = 4;

/// Four words that are looked at together.
pub(crate) type Words = [u64; LANES];

/// The tags of a group.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub(crate) struct Tags(pub(crate) [u32; LANES]);

/// Most groups whose matches fit a mask.
pub(crate) const MOST_GROUPS: usize = u32::BITS as usize / LANES;

/// Bytes in a [`Bytes`].
pub(crate) const BYTES: usize = 32;

/// Bytes that are compared at once.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
pub(crate) struct Bytes(pub(crate) [i8; BYTES]);

/// Which tags of at most [`MOST_GROUPS`] groups are `target`: a bit each, the first one's lowest.
#[inline(always)]
pub(crate) fn matching(groups: &[Tags], target: u32) -> u32 {
    // The usual numbers, without a loop.
    if let [a] = groups {
        return engine::matching(a, target);
    }
    if let [a, b, c] = groups {
        return engine::matching_pair([a, b], target) | engine::matching(c, target) << (2 * LANES);
    }
    if let [a, b, c, d, e, f, g, h] = groups {
        let low = engine::matching_pair([a, b], target) | engine::matching_pair([c, d], target) << (2 * LANES);
        let high = engine::matching_pair([e, f], target) | engine::matching_pair([g, h], target) << (2 * LANES);
        return low | high << (4 * LANES);
    }
    matching_any(groups, target)
}

#[inline(never)]
fn matching_any(groups: &[Tags], target: u32) -> u32 {
    groups.iter().rev().fold(0, |mask, tags| mask << LANES | engine::matching(tags, target))
}

/// Which bytes are `target`: a bit each, the first one's lowest.
#[inline(always)]
pub(crate) fn matching_bytes(bytes: &Bytes, target: i8) -> u32 {
    engine::matching_bytes(bytes, target)
}

/// Makes the bytes that are `rank` 0, and those below it one more.
#[inline(always)]
pub(crate) fn rotate_ranks(bytes: &mut Bytes, rank: i8) {
    engine::rotate_ranks(bytes, rank);
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
    use super::{Bytes, Tags};
    use core::arch::x86_64::{
        _mm_castsi128_ps, _mm_cmpeq_epi32, _mm_load_si128, _mm_movemask_ps, _mm_set1_epi32, _mm256_andnot_si256,
        _mm256_castsi256_ps, _mm256_cmpeq_epi8, _mm256_cmpeq_epi32, _mm256_cmpgt_epi8, _mm256_load_si256,
        _mm256_loadu2_m128i, _mm256_movemask_epi8, _mm256_movemask_ps, _mm256_set1_epi8, _mm256_set1_epi32,
        _mm256_store_si256, _mm256_sub_epi8,
    };

    #[inline(always)]
    pub(super) fn matching(tags: &Tags, target: u32) -> u32 {
        // SAFETY: the module exists only where the target has AVX2, and the load is of 16 bytes that are aligned to 16.
        unsafe {
            let tags = _mm_load_si128(core::ptr::from_ref(tags).cast());
            let equal = _mm_cmpeq_epi32(tags, _mm_set1_epi32(target.cast_signed()));
            _mm_movemask_ps(_mm_castsi128_ps(equal)).cast_unsigned()
        }
    }

    /// Of two groups, which lie one behind the other so that one load reads both.
    #[inline(always)]
    pub(super) fn matching_pair([low, high]: [&Tags; 2], target: u32) -> u32 {
        // SAFETY: as above, of each half.
        unsafe {
            let tags = _mm256_loadu2_m128i(core::ptr::from_ref(high).cast(), core::ptr::from_ref(low).cast());
            let equal = _mm256_cmpeq_epi32(tags, _mm256_set1_epi32(target.cast_signed()));
            _mm256_movemask_ps(_mm256_castsi256_ps(equal)).cast_unsigned()
        }
    }

    #[inline(always)]
    pub(super) fn matching_bytes(bytes: &Bytes, target: i8) -> u32 {
        // SAFETY: the module exists only where the target has AVX2, and the load is of 32 bytes that are aligned to 32.
        unsafe {
            let bytes = _mm256_load_si256(core::ptr::from_ref(bytes).cast());
            _mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(target))).cast_unsigned()
        }
    }

    /// As one load and one store: the compiler makes several of a loop, and the next load of all bytes would wait for each of them.
    #[inline(always)]
    pub(super) fn rotate_ranks(bytes: &mut Bytes, rank: i8) {
        // SAFETY: the module exists only where the target has AVX2, and load and store are of 32 bytes that are aligned to 32 and borrowed
        // mutably.
        unsafe {
            let at = core::ptr::from_mut(bytes).cast();
            let (old, rank) = (_mm256_load_si256(at), _mm256_set1_epi8(rank));
            let moved = _mm256_sub_epi8(old, _mm256_cmpgt_epi8(rank, old));
            _mm256_store_si256(at, _mm256_andnot_si256(_mm256_cmpeq_epi8(old, rank), moved));
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "avx2")))]
use plain as engine;

/// The operations on lanes without AVX2.
#[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "avx2"))))]
mod plain {
    use super::{Bytes, Tags};

    pub(super) fn matching(tags: &Tags, target: u32) -> u32 {
        tags.0.iter().rev().fold(0, |mask, &tag| mask << 1 | u32::from(tag == target))
    }

    pub(super) fn matching_pair([low, high]: [&Tags; 2], target: u32) -> u32 {
        matching(low, target) | matching(high, target) << super::LANES
    }

    pub(super) fn matching_bytes(bytes: &Bytes, target: i8) -> u32 {
        bytes.0.iter().rev().fold(0, |mask, &byte| mask << 1 | u32::from(byte == target))
    }

    pub(super) fn rotate_ranks(bytes: &mut Bytes, rank: i8) {
        for other in &mut bytes.0 {
            *other = if *other == rank { 0 } else { *other + i8::from(*other < rank) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_engines_agree() {
        let words = [0, 1, 1 << 31, u32::MAX];
        let group = |number: usize| Tags(core::array::from_fn(|lane| words[number >> (2 * lane) & 3]));
        // Miri interprets: there, a part of the groups, with every word in every lane.
        for number in (0..1 << 16).step_by(if cfg!(miri) { 1021 } else { 1 }) {
            let pair = [&group(number), &group(number >> 8)];
            for target in words {
                assert_eq!(engine::matching(pair[0], target), plain::matching(pair[0], target), "{pair:?} {target}");
                assert_eq!(
                    engine::matching_pair(pair, target),
                    plain::matching_pair(pair, target),
                    "{pair:?} {target}"
                );
            }
        }
        let bytes = Bytes(core::array::from_fn(|lane| (lane * 7 % 16) as i8 - 4));
        for target in i8::MIN..=i8::MAX {
            assert_eq!(engine::matching_bytes(&bytes, target), plain::matching_bytes(&bytes, target), "{target}");
            let (mut one, mut two) = (bytes, bytes);
            engine::rotate_ranks(&mut one, target);
            plain::rotate_ranks(&mut two, target);
            assert_eq!(one.0, two.0, "{target}");
        }
    }

    #[test]
    fn matches_are_numbered_from_the_first_on() {
        let groups: Vec<Tags> = (0..MOST_GROUPS as u32).map(|group| Tags([7, group, 100, group])).collect();
        for count in 0..=MOST_GROUPS {
            let all = (1u64 << (count * LANES)) - 1;
            assert_eq!(u64::from(matching(&groups[..count], 100)), 0x4444_4444 & all, "{count}");
            assert_eq!(
                u64::from(matching(&groups[..count], 7)),
                all & if count == 8 { 0xb111_1111 } else { 0x1111_1111 }
            );
            assert_eq!(matching(&groups[..count], 2), if count > 2 { 0xa00 } else { 0 });
        }
        let mut bytes = Bytes([0; BYTES]);
        (bytes.0[0], bytes.0[31]) = (5, 5);
        assert_eq!(matching_bytes(&bytes, 5), 1 << 31 | 1);
    }

    #[test]
    fn the_first_least_is_found() {
        assert_eq!(least_gathered([5, 4, 9, 4]), (4, 1));
        assert_eq!(least_gathered([5, 5, 4, 3]), (3, 3));
        assert_eq!(least_gathered([6; 4]), (6, 0));
    }
}
