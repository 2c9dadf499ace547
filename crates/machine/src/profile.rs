//! Profiles: which instruction, page and address space each event of translation is charged to (docs/profile.md).
//!
//! A profile samples nothing. A bus that is profiled compares the counters of its pCPU before and after each call that can change them, and
//! charges the difference to the instruction that made the call. So whatever the counters count is charged once, and the sum of a profile is
//! the count of the run. What changes between such calls is charged when it is found: to the instruction that the hart left at.
//!
//! The delay that an out-of-order core takes from translation shows only after the access. It is charged to the latest miss before it.
//!
//! These modules know nothing of the machine. `state/profile.rs` reads its counters for them, and `state/introspection.rs` the memory of guests.

mod account;
mod callers;
mod cells;
mod counters;
mod fold;
mod increments;
mod ledger;
mod mappings;
mod rates;
mod site;

pub(crate) use ledger::{Ledger, Mark, Reading};
pub(crate) use rates::Waiting;
pub(crate) use site::Page;

pub use account::{Caller, NamedRange, Profile, ProfileDetail, Row};
pub use counters::{Counter, Counters};
pub use mappings::{SpaceMapping, SpaceProcess};
pub use rates::Rates;
pub use site::{Site, Space, Touched};
