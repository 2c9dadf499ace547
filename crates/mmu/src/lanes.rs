//! Searches over groups of four words: one AVX2 register each, if the compiler is given nothing harder to see.

/// Words in a group.
pub(crate) const LANES: usize = 4;

/// Why nothing was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Miss {
    /// The word is nowhere: a second search, whatever it accepts, would find nothing either.
    Absent,
    /// It is there, but was not accepted.
    Refused,
}

impl Miss {
    /// How two searches together missed.
    #[inline(always)]
    pub(crate) const fn and(self, other: Self) -> Self {
        match self {
            Self::Absent => other,
            Self::Refused => self,
        }
    }
}

/// The first lane of `wanted` that `accept` takes.
#[inline(always)]
pub(crate) fn find(group: &[u64; LANES], wanted: u64, accept: impl Fn(usize) -> bool) -> Result<usize, Miss> {
    // Most groups do not have it, and for those this is all.
    if !group.iter().fold(false, |found, &word| found | (word == wanted)) {
        return Err(Miss::Absent);
    }
    for (lane, &word) in group.iter().enumerate() {
        if word == wanted && accept(lane) {
            return Ok(lane);
        }
    }
    Err(Miss::Refused)
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
    fn finds_what_is_accepted() {
        let group = [1, 2, 3, 2];
        assert_eq!(find(&group, 2, |_| true), Ok(1));
        assert_eq!(find(&group, 2, |lane| lane > 1), Ok(3));
        assert_eq!(find(&group, 2, |_| false), Err(Miss::Refused));
        assert_eq!(find(&group, 5, |_| true), Err(Miss::Absent));
    }

    #[test]
    fn finds_the_first_least() {
        assert_eq!(least(&[5, 4, 9, 4]), (4, 1));
        assert_eq!(least(&[5, 5, 3, 4]), (3, 2));
        assert_eq!(least(&[u64::MAX; 4]), (u64::MAX, 0));
    }
}
