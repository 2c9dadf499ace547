//! Searches over words in groups of four: one AVX2 register, if the compiler is given nothing harder to see.

/// Words in a group.
pub(crate) const LANES: usize = 4;

/// Whether some word is `wanted`.
#[inline(always)]
fn any(group: &[u64; LANES], wanted: u64) -> bool {
    group.iter().fold(false, |found, &word| found | (word == wanted))
}

/// Why nothing was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Miss {
    /// The word is nowhere: a second search, for whatever payload, would find nothing either.
    Absent,
    /// It is there, but was not accepted.
    Refused,
}

/// The first position of `wanted` that `accept` takes.
#[inline(always)]
pub(crate) fn find(groups: &[[u64; LANES]], wanted: u64, accept: impl Fn(usize) -> bool) -> Result<usize, Miss> {
    let mut miss = Miss::Absent;
    for (number, group) in groups.iter().enumerate() {
        // Most groups do not have it, and for those this is all.
        if any(group, wanted) {
            for (lane, &word) in group.iter().enumerate() {
                let position = number * LANES + lane;
                if word == wanted && accept(position) {
                    return Ok(position);
                }
            }
            miss = Miss::Refused;
        }
    }
    Err(miss)
}

/// The first position of the least word.
#[inline(always)]
pub(crate) fn least(groups: &[[i64; LANES]]) -> usize {
    let mut lanes = [i64::MAX; LANES];
    for group in groups {
        for (lane, &word) in lanes.iter_mut().zip(group) {
            *lane = if word < *lane { word } else { *lane };
        }
    }
    let least = lanes.into_iter().fold(i64::MAX, i64::min);
    for (number, group) in groups.iter().enumerate() {
        if group.iter().fold(false, |found, &word| found | (word == least)) {
            let lane = group.iter().position(|&word| word == least).unwrap_or(0);
            return number * LANES + lane;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_is_accepted() {
        let groups = [[1, 2, 3, 4], [2, 6, 2, 8]];
        assert_eq!(find(&groups, 2, |_| true), Ok(1));
        assert_eq!(find(&groups, 2, |position| position > 1), Ok(4));
        assert_eq!(find(&groups, 2, |position| position > 4), Ok(6));
        assert_eq!(find(&groups, 2, |position| position > 6), Err(Miss::Refused));
        assert_eq!(find(&groups, 5, |_| true), Err(Miss::Absent));
    }

    #[test]
    fn finds_the_first_least() {
        assert_eq!(least(&[[5, 4, 9, 4], [6, 4, 7, 8]]), 1);
        assert_eq!(least(&[[5, 4, 9, 4], [6, 3, 7, 8]]), 5);
        assert_eq!(least(&[[i64::MAX; 4]]), 0);
    }
}
