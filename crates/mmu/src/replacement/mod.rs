//! Replacement policies of TLB arrays, and of caches: which page, or line, of a full set makes room.
//!
//! A policy is a [`Replacement`] in a separate file with its [`PolicyFacts`], and a line in [`POLICIES`]. Parsing, help, the documentation
//! and refusals come from that list. An array that names none has LRU.
//!
//! Every policy keeps to the same rules. An empty way is filled first, the lowest of the set; a page that the set already holds is replaced in
//! place, which is a use of it; a fence empties ways.

mod by_array;
mod drrip;
mod fifo;
mod generator;
mod lru;
mod policy;
mod random;
mod recency;
mod srrip;
#[cfg(test)]
mod tests;
mod tree_plru;

pub(crate) use by_array::ByArray;
pub use policy::{PolicyFacts, Replacement, Shape};
pub(crate) use recency::Recency;

use core::fmt;
use core::str::FromStr;

/// The policies that are shipped, in the order in which they are listed to users.
pub static POLICIES: [&PolicyFacts; 6] =
    [&lru::FACTS, &tree_plru::FACTS, &fifo::FACTS, &random::FACTS, &srrip::FACTS, &drrip::FACTS];

/// The replacement policy that an array has.
#[derive(Clone, Copy)]
pub struct ReplacementPolicy {
    facts: &'static PolicyFacts,
    seed: u64,
}

impl ReplacementPolicy {
    /// Exact LRU, which every array has that names no other.
    pub const LRU: Self = Self::of(&lru::FACTS, 0);

    /// A policy, which may be one that is not shipped.
    #[must_use]
    pub const fn of(facts: &'static PolicyFacts, seed: u64) -> Self {
        Self { facts, seed }
    }

    /// What is known of it.
    #[must_use]
    pub const fn facts(&self) -> &'static PolicyFacts {
        self.facts
    }

    /// The seed of its random choices; 0 where it makes none.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// Whether it is [`Self::LRU`], which TLBs and caches implement themselves.
    #[must_use]
    pub fn is_lru(&self) -> bool {
        core::ptr::eq(self.facts, Self::LRU.facts)
    }

    /// The state of an array whose ways are all empty.
    #[must_use]
    pub fn build(&self, shape: Shape) -> Box<dyn Replacement> {
        (self.facts.build)(shape, self.seed)
    }
}

impl Default for ReplacementPolicy {
    fn default() -> Self {
        Self::LRU
    }
}

impl PartialEq for ReplacementPolicy {
    fn eq(&self, other: &Self) -> bool {
        (self.facts.name, self.seed) == (other.facts.name, other.seed)
    }
}

impl Eq for ReplacementPolicy {}

impl fmt::Debug for ReplacementPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for ReplacementPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.seed {
            0 => f.write_str(self.facts.name),
            seed => write!(f, "{}:{seed}", self.facts.name),
        }
    }
}

/// A text that names no policy.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PolicyError {
    /// There is no policy of that name.
    #[error("`{0}` is not a replacement policy ({list})", list = names())]
    Unknown(String),
    /// What follows the name is no seed.
    #[error("`{0}` is not a seed: a number from 0 to 18446744073709551615")]
    Seed(String),
    /// A seed follows the name of a policy that makes no random choices.
    #[error("`{0}` takes no seed")]
    Unseeded(&'static str),
}

/// The names of the shipped policies, in a text.
fn names() -> String {
    POLICIES.map(|facts| facts.name).join(", ")
}

impl FromStr for ReplacementPolicy {
    type Err = PolicyError;

    /// A name of [`POLICIES`], and after a colon the seed.
    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let (name, seed) = text.split_once(':').map_or((text, None), |(name, seed)| (name, Some(seed)));
        let facts = POLICIES.into_iter().find(|facts| facts.name == name);
        let facts = facts.ok_or_else(|| PolicyError::Unknown(name.to_owned()))?;
        match seed {
            None => Ok(Self::of(facts, 0)),
            Some(_) if !facts.seeded => Err(PolicyError::Unseeded(facts.name)),
            Some(seed) => Ok(Self::of(facts, seed.parse().map_err(|_| PolicyError::Seed(seed.to_owned()))?)),
        }
    }
}
