//! Recorded walks: some of a guest's, at the end of its region of interest, with what walk caches and nested TLB then hold and without.
//!
//! The pages are some that the processor works on: of those that its L1D holds for the address space, that in the middle, by address, which mostly
//! is one of the workload's largest array, and those with the longest, the commonest and the shortest walk; and for each reason for which accesses
//! exited in the region of interest, that of the latest one; and where there is a profile, those that instructions miss most often. A recording
//! changes nothing, neither memory nor caches nor counts.

use hypervisor::ExitReason;
use mmu::WalkRecord;
use types::Gpa;

/// The same page walked to twice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordedWalk {
    /// With nothing remembered: the longest walk to the page.
    pub whole: WalkRecord,
    /// With what earlier walks left in the walk caches and the nested TLB.
    pub cached: WalkRecord,
}

/// Walks to pages that a processor works on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordedWalks {
    /// To the page in the middle.
    pub middle: RecordedWalk,
    /// How many pages there were to choose from.
    pub pages: usize,
    /// To pages that were chosen by their walks. Of those that are equally long, only one is here.
    pub chosen: Vec<ChosenWalk>,
}

/// A walk that was chosen by its references, with what the caches then held. Of pages with equally many, it is to the first by address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChosenWalk {
    /// Why this one.
    pub choice: Choice,
    /// How many of the pages have walks with as many references; of [`Choice::Exit`], how many accesses have exited for the reason;
    /// of [`Choice::Missed`], how many loads and stores of the instruction missed the L1 there.
    pub pages: usize,
    /// The walk.
    pub walk: RecordedWalk,
}

/// Why a walk was chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// No other has more references.
    Longest,
    /// The most pages have walks with as many references.
    Commonest,
    /// No other has fewer references.
    Shortest,
    /// It is to the page whose access was the latest to exit for this reason, of those that can be walked to.
    Exit(ExitReason),
    /// It is to the page that an instruction misses most often, by the profile, in the address space with this root table.
    Missed(Gpa),
}

/// Which of these numbers of references are the longest, the commonest and the shortest, each number once: why, its index, and how many are equal.
pub(crate) fn choices(references: &[usize]) -> Vec<(Choice, usize, usize)> {
    let equal = |number: usize| references.iter().filter(|&&other| other == number).count();
    let longest = references.iter().copied().max();
    let shortest = references.iter().copied().min();
    let commonest = references.iter().copied().max_by_key(|&number| (equal(number), number));
    let mut chosen: Vec<(Choice, usize, usize)> = Vec::new();
    for (choice, number) in [(Choice::Longest, longest), (Choice::Commonest, commonest), (Choice::Shortest, shortest)] {
        let index = references.iter().position(|&other| Some(other) == number);
        if let Some(index) = index.filter(|index| chosen.iter().all(|(_, other, _)| other != index)) {
            chosen.push((choice, index, equal(references[index])));
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_the_commonest_and_the_shortest_are_chosen_each_once() {
        let of = |references: &[usize]| choices(references);
        let all = [(Choice::Longest, 1, 1), (Choice::Commonest, 2, 2), (Choice::Shortest, 0, 1)];
        assert_eq!(of(&[2, 9, 4, 4]), all);
        assert_eq!(of(&[4, 4, 4]), [(Choice::Longest, 0, 3)], "all are alike");
        assert_eq!(of(&[9, 4, 4]), [(Choice::Longest, 0, 1), (Choice::Commonest, 1, 2)]);
        assert_eq!(
            of(&[2, 9]),
            [(Choice::Longest, 1, 1), (Choice::Shortest, 0, 1)],
            "of equally many, the longer is the commonest"
        );
        assert_eq!(of(&[]), []);
    }
}
