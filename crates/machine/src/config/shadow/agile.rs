//! `agile.*`: agile paging, for the scheme `agile`. How its shadow tables are kept says `shadow.count` besides.

use keys::{key, settings};
use monitor::shadow::{AgileConfig, Assist, Back, Coherence, Invalidation, ShadowConfig, Start, StatusUpdates, Tables};
use serde::{Deserialize, Serialize};

settings! {
    /// `agile.*`.
    #[derive(Copy, Eq)]
    pub struct AgileKeys {
        pub threshold: u32 = 2 => key(
            "under `agile`: stores to a page of the guest's tables in one interval that make it nested"
        ).number(1, 1_000_000).virtual_only(),
        pub interval: u64 = 1000 => key(
            "how long an interval is, in microseconds of guest time; 0: the first never ends"
        ).unit("microseconds").virtual_only(),
        pub back: BackName = BackName::Dirty => key(
            "which nested pages become shadowed at the end of an interval: `never`, `reset`, all, or `dirty`, those that were \
             not stored to in it"
        ).virtual_only(),
        pub start: StartName = StartName::Nested => key(
            "how an address space begins: `nested`, with nested walks alone until it has lived through an interval, or `shadow`"
        ).virtual_only(),
        pub root_cache: u32 = 0 => key(
            "entries of each processor's cache of shadow roots: a change of address space that hits takes no exit"
        ).number(0, 1024).virtual_only(),
        pub status: StatusName = StatusName::Exit => key(
            "who sets A and D where a shadow entry lacks them: the hypervisor at an `exit`, or `hardware`, in all three tables"
        ).virtual_only(),
    }
}

/// `agile.back`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BackName {
    /// None.
    Never,
    /// All.
    Reset,
    /// Those that were not stored to.
    Dirty,
}

/// `agile.start`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StartName {
    /// Nested walks.
    Nested,
    /// A shadow table.
    Shadow,
}

/// `agile.status`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StatusName {
    /// The hypervisor.
    Exit,
    /// Hardware.
    Hardware,
}

impl AgileKeys {
    /// Agile paging over shadow tables as they are configured: of these there may be several, and they are kept by write-protection.
    pub(in crate::config) const fn config(&self, shadow: ShadowConfig) -> ShadowConfig {
        let tables = match shadow.tables {
            Tables::Multiple(count) => Tables::Multiple(count),
            Tables::Single => Tables::Multiple(shadow.harts),
        };
        let agile = AgileConfig {
            threshold: self.threshold,
            start: match self.start {
                StartName::Nested => Start::Nested,
                StartName::Shadow => Start::Shadow,
            },
            back: match self.back {
                BackName::Never => Back::Never,
                BackName::Reset => Back::Reset,
                BackName::Dirty => Back::Dirty,
            },
            root_cache: self.root_cache as usize,
            status: match self.status {
                StatusName::Exit => StatusUpdates::Exit,
                StatusName::Hardware => StatusUpdates::Hardware,
            },
        };
        ShadowConfig {
            tables,
            coherence: Coherence::WriteProtect,
            invalidation: Invalidation::Selective,
            assist: Assist::None,
            agile: Some(agile),
            ..shadow
        }
    }
}
