//! What is counted of agile paging.

macro_rules! agile_counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counts of one VM. Walks by their mode are in `mmu::MmuStatistics`.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
        pub struct AgileStatistics {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl AgileStatistics {
            /// What was counted since `earlier`, a copy of the same VM's.
            #[must_use]
            pub fn since(&self, earlier: &Self) -> Self {
                Self { $($name: self.$name - earlier.$name,)* }
            }

            /// Adds what was counted at another time.
            pub fn add(&mut self, other: &Self) {
                $(self.$name += other.$name;)*
            }
        }
    };
}

agile_counts! {
    /// Pages of the guest's tables that became nested.
    to_nested,
    /// Pages that became shadowed again.
    to_shadow,
    /// Address spaces that had begun nested and got a shadow table.
    spaces_to_shadow,
    /// Switching entries made, and roots.
    switches,
    /// Stores to shadowed tables that the nested table refused.
    nested_table_writes,
    /// Ends of intervals at which there was something to do.
    intervals,
    /// Nested pages that were found to be stored to in an interval.
    dirty,
    /// Entries of nested pages that an interval has changed: this many write traps, at the least, were avoided.
    avoided,
    /// Changes of address space that hit the root cache.
    root_cache_hits,
    /// A and D bits that hardware set in all three tables.
    status_updates,
}
