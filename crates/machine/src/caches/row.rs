//! A set of a cache with LRU replacement: a row of line numbers, from the line used last to the one whose use is longest ago.
//!
//! JUSTIFICATION for unsafe: a modelled access that is not to the latest line of its set spends most of its time here. Registers of eight line numbers
//! are searched and moved by a few instructions, without a branch that depends on where in the register the line is. In a loop over single
//! numbers, a hit has a branch for each, and the host's processor cannot predict where the line is.

/// Where a line was put.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// It was in the row.
    Held,
    /// It has come in. This one, which was the last of the row, has gone.
    Taken(u32),
}

/// Whether the row holds the line.
#[inline(always)]
pub(super) fn holds(row: &[u32], line: u32) -> bool {
    row.iter().fold(false, |held, &there| held | (there == line))
}

/// Moves the line to the front of the row: each line before its place moves down by one.
#[inline(always)]
pub(super) fn use_in(row: &mut [u32], line: u32) -> Place {
    #[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
    return vector::use_in(row, line);
    #[cfg(not(all(target_arch = "x86_64", target_feature = "avx2")))]
    one_by_one(row, line, line)
}

/// Puts `first` in the first place, and each line before that of `line` moves down by one.
#[inline(always)]
fn one_by_one(row: &mut [u32], line: u32, first: u32) -> Place {
    let mut moved = first;
    for place in row {
        let there = std::mem::replace(place, moved);
        if there == line {
            return Place::Held;
        }
        moved = there;
    }
    Place::Taken(moved)
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
mod vector {
    use super::{Place, one_by_one};
    use std::arch::x86_64::{
        __m128i, __m256i, _mm_blend_epi32, _mm_castps_si128, _mm_castsi128_ps, _mm_cmpeq_epi32, _mm_cvtsi128_si32,
        _mm_loadu_si128, _mm_movemask_ps, _mm_permutevar_ps, _mm_set1_epi32, _mm_storeu_si128, _mm256_blend_epi32,
        _mm256_castsi256_ps, _mm256_castsi256_si128, _mm256_cmpeq_epi32, _mm256_loadu_si256, _mm256_movemask_ps,
        _mm256_permutevar8x32_epi32, _mm256_set1_epi32, _mm256_storeu_si256,
    };

    /// For each lane, the order that brings it to the front.
    const fn to_front<const LANES: usize>() -> [[u32; LANES]; LANES] {
        let mut orders = [[0; LANES]; LANES];
        let mut last = 0;
        while last < LANES {
            let mut lane = 0;
            while lane < LANES {
                let from = if lane == 0 {
                    last
                } else if lane <= last {
                    lane - 1
                } else {
                    lane
                };
                orders[last][lane] = from as u32;
                lane += 1;
            }
            last += 1;
        }
        orders
    }

    static TO_FRONT_OF_8: [[u32; 8]; 8] = to_front();
    static TO_FRONT_OF_4: [[u32; 4]; 4] = to_front();

    /// [`use_in`](super::use_in), eight lines at a time, then four. The rest is at most three lines.
    #[inline(always)]
    pub(super) fn use_in(row: &mut [u32], line: u32) -> Place {
        let (eights, rest) = row.as_chunks_mut::<8>();
        let (fours, rest) = rest.as_chunks_mut::<4>();
        let mut first = line;
        for eight in eights {
            match use_in_8(eight, line, first) {
                Place::Held => return Place::Held,
                Place::Taken(last) => first = last,
            }
        }
        for four in fours {
            match use_in_4(four, line, first) {
                Place::Held => return Place::Held,
                Place::Taken(last) => first = last,
            }
        }
        if rest.is_empty() { Place::Taken(first) } else { one_by_one(rest, line, first) }
    }

    /// [`one_by_one`] of eight. The lane of the line comes to the front, or the last one if none has it, and `first` takes its place there.
    #[inline(always)]
    fn use_in_8(row: &mut [u32; 8], line: u32, first: u32) -> Place {
        let at = row.as_mut_ptr().cast::<__m256i>();
        // SAFETY: the row and the order are eight numbers; AVX2 is there by the module's condition.
        unsafe {
            let lines = _mm256_loadu_si256(at);
            let equal = _mm256_cmpeq_epi32(lines, _mm256_set1_epi32(line as i32));
            let lanes = _mm256_movemask_ps(_mm256_castsi256_ps(equal));
            let lane = (lanes | 1 << 7).trailing_zeros() as usize;
            let order = _mm256_loadu_si256(TO_FRONT_OF_8[lane].as_ptr().cast());
            let moved = _mm256_permutevar8x32_epi32(lines, order);
            _mm256_storeu_si256(at, _mm256_blend_epi32::<1>(moved, _mm256_set1_epi32(first as i32)));
            if lanes != 0 {
                return Place::Held;
            }
            Place::Taken(_mm_cvtsi128_si32(_mm256_castsi256_si128(moved)) as u32)
        }
    }

    /// The same of four.
    #[inline(always)]
    fn use_in_4(row: &mut [u32; 4], line: u32, first: u32) -> Place {
        let at = row.as_mut_ptr().cast::<__m128i>();
        // SAFETY: the row and the order are four numbers; AVX2 is there by the module's condition.
        unsafe {
            let lines = _mm_loadu_si128(at);
            let equal = _mm_cmpeq_epi32(lines, _mm_set1_epi32(line as i32));
            let lanes = _mm_movemask_ps(_mm_castsi128_ps(equal));
            let lane = (lanes | 1 << 3).trailing_zeros() as usize;
            let order = _mm_loadu_si128(TO_FRONT_OF_4[lane].as_ptr().cast());
            let moved = _mm_castps_si128(_mm_permutevar_ps(_mm_castsi128_ps(lines), order));
            _mm_storeu_si128(at, _mm_blend_epi32::<1>(moved, _mm_set1_epi32(first as i32)));
            if lanes != 0 {
                return Place::Held;
            }
            Place::Taken(_mm_cvtsi128_si32(moved) as u32)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of every length up to 33, with each line that they hold and one that they do not.
    #[test]
    fn many_at_a_time_do_what_one_after_the_other_does() {
        for ways in 1..=33 {
            let row: Vec<u32> = (100..100 + ways).collect();
            for line in (100..100 + ways).chain([7]) {
                let (mut moved, mut expected) = (row.clone(), row.clone());
                assert_eq!(use_in(&mut moved, line), one_by_one(&mut expected, line, line), "{line} of {ways}");
                assert_eq!(moved, expected, "{line} of {ways}");
                assert!(holds(&moved, line) && holds(&row, line) == (line != 7));
            }
        }
    }

    /// A row that is not full has the same number several times, which is no line's.
    #[test]
    fn the_first_of_equal_numbers_counts() {
        let mut row = [u32::MAX; 11];
        assert_eq!(use_in(&mut row, 5), Place::Taken(u32::MAX));
        assert_eq!(use_in(&mut row, 6), Place::Taken(u32::MAX));
        assert_eq!(use_in(&mut row, 5), Place::Held);
        assert_eq!(row[..3], [5, 6, u32::MAX]);
    }
}
