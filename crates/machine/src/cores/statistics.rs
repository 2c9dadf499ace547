//! What is counted of out-of-order cores.

use serde::{Deserialize, Serialize};
use types::Cycles;

macro_rules! statistics {
    ($($(#[$about:meta])* $name:ident,)*) => {
        /// Time of a core, or of several, beyond the dispatch of its instructions. All but the width is in ticks, of which a cycle has `width`.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
        pub struct CoreStatistics {
            /// Instructions dispatched in a cycle.
            pub width: u64,
            $($(#[$about])* pub $name: u64,)*
        }

        impl CoreStatistics {
            /// Adds what was counted elsewhere.
            pub fn add(&mut self, other: &Self) {
                self.width = other.width;
                $(self.$name += other.$name;)*
            }

            /// What was counted since `earlier`, a copy of the same statistics.
            #[must_use]
            pub fn since(&self, earlier: &Self) -> Self {
                Self { width: self.width, $($name: self.$name - earlier.$name,)* }
            }

            /// All ticks of it.
            fn all(&self) -> u64 {
                [$(self.$name),*].iter().sum()
            }
        }
    };
}

statistics! {
    /// Waits for data.
    data,
    /// Waits for translation.
    translation,
    /// Waits for the store buffer.
    stores,
    /// Mispredicted branches and traps, in the front end.
    redirects,
    /// Lines of instructions.
    fetch,
}

impl CoreStatistics {
    /// What `instructions` took, translation apart.
    pub(crate) fn guest(&self, instructions: u64) -> Cycles {
        Cycles(self.total(instructions).0 - self.translation().0)
    }

    /// What translation took.
    pub(crate) fn translation(&self) -> Cycles {
        Cycles(self.translation / self.width)
    }

    /// What `instructions` took.
    fn total(&self, instructions: u64) -> Cycles {
        Cycles((instructions + self.all()) / self.width)
    }
}
