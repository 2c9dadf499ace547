//! vCPUs of one VM as a set of bits, as DMASK is one (section 3.2.2).

use core::fmt;

/// The most vCPUs of a VM: a set is one word.
pub const MOST_VCPUS: usize = 64;

/// Numbers of vCPUs of one VM, each below [`MOST_VCPUS`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct VcpuSet(u64);

impl VcpuSet {
    /// None.
    pub const EMPTY: Self = Self(0);

    /// Those numbers.
    #[must_use]
    pub fn of(numbers: &[usize]) -> Self {
        numbers.iter().copied().collect()
    }

    /// Whether `number` is in it.
    #[must_use]
    pub const fn contains(self, number: usize) -> bool {
        self.0 >> number & 1 != 0
    }

    /// Puts `number` in.
    pub const fn insert(&mut self, number: usize) {
        self.0 |= 1 << number;
    }

    /// Takes `number` out; whether it was in.
    pub const fn remove(&mut self, number: usize) -> bool {
        let was = self.contains(number);
        self.0 &= !(1 << number);
        was
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many.
    #[must_use]
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Those in either.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The first of them after `number` in a circle.
    #[must_use]
    pub fn next_after(self, number: usize) -> Option<usize> {
        let mut above = self.iter().skip_while(|&member| member <= number);
        above.next().or_else(|| self.iter().next())
    }

    /// In ascending order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let mut rest = self.0;
        core::iter::from_fn(move || {
            let number = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            Some(number)
        })
    }
}

impl FromIterator<usize> for VcpuSet {
    fn from_iter<I: IntoIterator<Item = usize>>(numbers: I) -> Self {
        let mut set = Self::EMPTY;
        numbers.into_iter().for_each(|number| set.insert(number));
        set
    }
}

impl fmt::Debug for VcpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_was_put_in() {
        let mut set = VcpuSet::of(&[0, 5, 63]);
        assert_eq!((set.len(), set.contains(5), set.contains(4)), (3, true, false));
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 5, 63]);
        assert!(set.remove(5) && !set.remove(5));
        assert_eq!(set.union(VcpuSet::of(&[1])), VcpuSet::of(&[0, 1, 63]));
    }

    #[test]
    fn the_next_goes_round() {
        let set = VcpuSet::of(&[1, 4]);
        assert_eq!([0, 1, 3, 4, 63].map(|number| set.next_after(number)), [1, 4, 4, 1, 1].map(Some));
        assert_eq!(VcpuSet::EMPTY.next_after(3), None);
    }
}
