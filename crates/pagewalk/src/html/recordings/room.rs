//! How much of its recordings a page has room for. It stays under 5 MB with all of them at their limits, which `html/size_tests.rs` tests.

use std::borrow::Cow;

/// How many of something each of several runs may have, so that a page does not grow with the number of runs.
pub(super) fn share(of_page: usize, runs: usize, least: usize, most: usize) -> usize {
    (of_page / runs.max(1)).clamp(least, most)
}

/// The most runs of a kind on a page.
pub(super) const MOST_RUNS: usize = 32;

/// That a page does not have all runs, if it does not.
pub(super) fn left_out(runs: usize) -> Option<String> {
    let text =
        || format!("The page has the first {MOST_RUNS} of {runs} runs. The file of the recording has all of them.");
    (runs > MOST_RUNS).then(text)
}

/// The most characters of a name, and how many of them are from its end: what a template is instantiated with stands in the middle.
const LONGEST: usize = 100;
const FROM_END: usize = 40;

/// A name as far as there is room for it. Commands, paths and names of C++ and Rust can have kilobytes, and a page repeats them.
pub(super) fn shortened(name: &str) -> Cow<'_, str> {
    let length = name.chars().count();
    if length <= LONGEST {
        return Cow::Borrowed(name);
    }
    let begin = name.chars().take(LONGEST - FROM_END - 1);
    Cow::Owned(begin.chain(['…']).chain(name.chars().skip(length - FROM_END)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_too_long_keeps_its_ends() {
        let name = format!("begin{}end", "ä".repeat(1000));
        let short = shortened(&name);
        assert_eq!(short.chars().count(), LONGEST);
        assert!(short.starts_with("beginä") && short.ends_with("äend") && short.contains("ä…ä"), "{short}");
        assert_eq!(shortened("main"), "main");
    }

    #[test]
    fn a_page_is_shared_by_its_runs() {
        assert_eq!([1, 4, 1000].map(|runs| share(2000, runs, 20, 600)), [600, 500, 20]);
        assert!(left_out(32).is_none() && left_out(33).is_some_and(|text| text.contains("32 of 33")));
    }
}
