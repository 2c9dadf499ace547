//! Values of keys of the top level that are names.

use hypervisor::MemoryAttribute;
use serde::{Deserialize, Serialize};

/// `fidelity`, from the one with the fewest models to the one with the most.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FidelityName {
    /// A table reference has a fixed cost, and other accesses have none.
    #[default]
    Counts,
    /// Data, instructions and table entries come through modelled caches.
    Cycles,
    /// Through modelled caches as well, and what waits for them overlaps as in an out-of-order core.
    Core,
}

/// `fast_forward`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FastForwardName {
    /// Caches and cores are modelled all the time.
    #[default]
    Off,
    /// Caches are modelled all the time, cores in regions of interest only.
    Warm,
    /// Both in regions of interest only.
    On,
}

/// `footprint`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FootprintName {
    /// The hypervisor's work costs its cycles, and leaves caches and TLBs as they are.
    #[default]
    Off,
    /// It touches the lines and pages that the host model says.
    On,
}

/// `guest_time`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GuestTimeName {
    /// All cycles of a pCPU.
    #[default]
    Cycles,
    /// The cycles of instructions whose translation costs nothing.
    Instructions,
}

/// `memory_attribute`, by the names of paper 000.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum AttributeName {
    /// hPA = gPA.
    #[serde(rename = "V=R")]
    Real,
    /// hPA = gPA + α.
    #[serde(rename = "V=Resident")]
    Resident,
    /// Pageable.
    #[default]
    #[serde(rename = "V=V")]
    Virtual,
}

impl AttributeName {
    /// The attribute.
    #[must_use]
    pub const fn attribute(self) -> MemoryAttribute {
        match self {
            Self::Real => MemoryAttribute::Real,
            Self::Resident => MemoryAttribute::Resident,
            Self::Virtual => MemoryAttribute::Virtual,
        }
    }
}

/// `engine`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineName {
    /// Threaded dispatch.
    Threaded,
    /// A `match` loop, the others' oracle.
    Match,
    /// Threaded dispatch, and hot code compiled to code of the host.
    Compiled,
    /// The same, with baseline code for each block as soon as it is found: for tests of the templates.
    #[serde(rename = "baseline-all")]
    BaselineAll,
    /// The same, with all code compiled as soon as it is found: for tests of the compiler.
    #[serde(rename = "compiled-all")]
    CompiledAll,
}
