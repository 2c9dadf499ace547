//! All unsafe code of the crate.
//!
//! JUSTIFICATION: the first is `view`: a load or store that hits must cost a few instructions with the view's
//! address in a register; a slice would have to be fetched from the MMU and checked on each. The hart writes stamps
//! while it holds no reference to the MMU, so the entries are reached through raw pointers on both sides. The second is
//! `lanes`: a miss searches sets at half a dozen places; with the processor's comparison of four words at once, an L1
//! miss that hits the L2 takes half the time. The third is `prefetch`, which has no safe form.
#![allow(unsafe_code)]

mod fast_copy;
pub(crate) mod lanes;
mod prefetch;

pub use fast_copy::L1Entry;
pub(crate) use fast_copy::{Answers, FastCopies};
pub(crate) use prefetch::prefetch;
