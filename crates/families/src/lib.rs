//! Many LRU TLBs over one pass of a recording.
//!
//! A study of TLBs replays one recording on many native machines that differ in their TLBs and page-walk caches alone. What such machines have in
//! common is done once here: the recording is decoded, and each page is looked up in the guest's tables. One LRU [stack] counts for all
//! numbers of ways, and systems with the same L1 share its misses. What a system counts is what a full replay counts, to the unit (docs/record.md). A pass that
//! cannot know it ends with an [`Obstacle`], and nothing is approximated.
//!
//! Modules use those of the lines below theirs:
//!
//! ```text
//! pass                    events, the region of interest
//! batch                   levels and walks of all systems
//! pages                   what an access finds
//! level, names            the configurations of a level; identifiers of pages
//! walks, region           page-walk caches; what is measured
//! stack, tables, counts
//! obstacle
//! ```
#![forbid(unsafe_code)]

mod batch;
mod counts;
mod level;
mod names;
mod obstacle;
mod pages;
mod pass;
mod region;
mod stack;
mod tables;
mod walks;

pub use batch::takes;
pub use counts::Counts;
pub use obstacle::Obstacle;
pub use pass::Pass;
