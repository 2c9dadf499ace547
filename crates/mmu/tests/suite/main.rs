//! The tests of the MMU's interface. They are one executable, since each would compile the whole MMU again for memory of its own.

mod common;

mod agile;
mod closed_form;
mod configuration;
mod differential;
mod fences;
mod observers;
mod outer_levels;
mod page_offsets;
mod recorded_walks;
mod regressions;
mod segments;
