//! The tests of machines with `vos` and small guests. They are one executable, since each would be linked with the whole machine again.

mod common;

mod groups;
mod guests;
mod paging;
mod plain_stores;
mod segments;
mod sharing;
mod steal;
