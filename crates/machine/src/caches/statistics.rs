//! What is counted of modelled caches.

use types::Cycles;

/// Where a line was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// In the L1 that was asked.
    L1,
    /// In the L2.
    L2,
    /// In the last level.
    Llc,
    /// In memory.
    Memory,
}

impl From<Found> for timing::Level {
    fn from(found: Found) -> Self {
        match found {
            Found::L1 => Self::L1,
            Found::L2 => Self::L2,
            Found::Llc => Self::Llc,
            Found::Memory => Self::Memory,
        }
    }
}

macro_rules! statistics {
    ($($(#[$about:meta])* $name:ident: $counter:ty,)*) => {
        /// Counts of a processor's caches, or of several. The last level's are of the accesses that came from there.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
        pub struct CacheStatistics {
            $($(#[$about])* pub $name: $counter,)*
            /// Table entries that walks read, by where they were found: [`Found`].
            pub walk: [u64; 4],
        }

        impl CacheStatistics {
            /// Adds what was counted elsewhere.
            pub fn add(&mut self, other: &Self) {
                $(self.$name += other.$name;)*
                self.walk = std::array::from_fn(|found| self.walk[found] + other.walk[found]);
            }

            /// What was counted since `earlier`, a copy of the same statistics.
            #[must_use]
            pub fn since(&self, earlier: &Self) -> Self {
                Self {
                    $($name: self.$name - earlier.$name,)*
                    walk: std::array::from_fn(|found| self.walk[found] - earlier.walk[found]),
                }
            }
        }
    };
}

statistics! {
    /// Lines that loads and stores did not find in the L1D.
    l1d_misses: u64,
    /// Lines that fetches did not find in the L1I.
    l1i_misses: u64,
    /// Lines looked for in the L2.
    l2_accesses: u64,
    /// Those that were not there.
    l2_misses: u64,
    /// Lines looked for in the last level.
    llc_accesses: u64,
    /// Those that were not there.
    llc_misses: u64,
    /// Time that loads and stores took beyond that of the L1D.
    data_stalls: Cycles,
    /// Time that fetches took beyond that of the L1I.
    fetch_stalls: Cycles,
    /// Time of the table entries that walks read.
    walk_time: Cycles,
}

impl CacheStatistics {
    /// Table entries that walks found there.
    #[must_use]
    pub const fn walk_found(&self, found: Found) -> u64 {
        self.walk[found as usize]
    }

    /// Time that the guest's instructions took beyond what they take when all is in the L1s.
    #[must_use]
    pub fn stalls(&self) -> Cycles {
        self.data_stalls + self.fetch_stalls
    }
}
