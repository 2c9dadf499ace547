//! Sizes of pages that fit into RAM.

use core::ops::Range;
use types::{Gpa, PageSize};

/// The sizes that a page of at most `largest` may have, descending.
pub(super) fn page_sizes(largest: PageSize) -> impl Iterator<Item = PageSize> {
    [PageSize::Size1G, PageSize::Size2M, PageSize::Size4K].into_iter().filter(move |&size| size <= largest)
}

/// The largest page of at most `largest` around `gpa` that lies wholly in RAM.
pub(super) fn largest_page(ram: &Range<Gpa>, gpa: Gpa, largest: PageSize) -> PageSize {
    page_sizes(largest)
        .find(|&size| {
            let start = gpa.page(size);
            start >= ram.start && start.checked_add(size.bytes()).is_some_and(|end| end <= ram.end)
        })
        .unwrap_or(PageSize::Size4K)
}
