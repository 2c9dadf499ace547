//! How much of its recordings a page has room for.

/// How many of something each of several runs may have, so that a page does not grow with the number of runs.
pub(super) fn share(of_page: usize, runs: usize, least: usize, most: usize) -> usize {
    (of_page / runs.max(1)).clamp(least, most)
}

/// The most runs of a kind on a page.
pub(super) const MOST_RUNS: usize = 48;

/// That a page does not have all runs, if it does not.
pub(super) fn left_out(runs: usize) -> Option<String> {
    let text =
        || format!("The page has the first {MOST_RUNS} of {runs} runs. The file of the recording has all of them.");
    (runs > MOST_RUNS).then(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_shared_by_its_runs() {
        assert_eq!([1, 4, 1000].map(|runs| share(2000, runs, 20, 600)), [600, 500, 20]);
        assert!(left_out(48).is_none() && left_out(49).is_some_and(|text| text.contains("48 of 49")));
    }
}
