//! What randomised tests share: where their choices come from.
//!
//! A generator of test cases draws from [`Random`]. The choices come from a seed in a test that runs by itself, and from the bytes of an
//! input under a coverage-guided fuzzer, so that one generator serves both.

mod random;
mod seed;

pub use random::Random;
pub use seed::{number, seed};
