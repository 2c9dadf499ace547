//! `agile`: agile paging, whose walks begin in a shadow table and go on nested where the guest's table changes often (Gandhi, Hill and Swift,
//! ISCA 2016).

use super::nested;
use crate::facts::{Facts, Family, Walked};
use crate::key_problem::KeyProblem;
use crate::scheme::{GuestMemory, Scheme, ShadowTables};
use crate::worst_case::WorstCase;
use keys::{KeyGroup, key, settings};
use hypervisor::shadow::{AgileConfig, Assist, Back, Coherence, Invalidation, ShadowConfig, Start, StatusUpdates, Tables};
use hypervisor::{Backing, LeafStatus, Radix};
use serde::{Deserialize, Serialize};

/// The scheme.
#[derive(Debug)]
pub(super) struct Agile;

const FACTS: Facts = Facts {
    name: "agile",
    aliases: &[],
    summary: "a walk that begins in a shadow table, and goes on in two dimensions where the guest's table changes often",
    page: Some("agile.md"),
    walked: Walked::ShadowTables,
    family: Family::Shadow,
    hypervisor_changes: "required: shadow tables, and a mode for each page of the guest's tables",
    section_obstacle: Some("its shadow tables lead to tables of the guest, and to none of sections"),
    ..nested::FACTS
};

impl Scheme for Agile {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    /// Fully nested. With s levels of the shadow table before the switch it is s + (n − s)(m + 1).
    fn worst_case(&self, guest: u32, host: u32) -> WorstCase {
        WorstCase::two_dimensional(guest, host)
    }

    fn backing(&self, memory: &GuestMemory) -> Backing {
        nested::nested(memory)
    }

    fn shadow(&self, memory: &GuestMemory) -> Option<ShadowTables> {
        Some(ShadowTables { config: memory.keys.read::<AgileKeys>().over(memory.shadow_config()), format: &Radix })
    }

    fn keys(&self) -> Option<KeyGroup> {
        Some(KeyGroup::of::<AgileKeys>("agile"))
    }

    fn problem(&self, memory: &GuestMemory) -> Option<KeyProblem> {
        let takes_dirty_bits = memory.keys.read::<AgileKeys>().back == BackName::Dirty;
        let pager = memory.status == LeafStatus::Clear;
        let problem = "`dirty` takes the dirty bits that the pager goes by (host_memory); `reset` does not";
        let dirty = (takes_dirty_bits && pager).then(|| KeyProblem { key: "agile.back", problem: problem.to_owned() });
        memory.shadow_problem().or(dirty)
    }
}

settings! {
    /// `agile.*`.
    #[derive(Copy, Eq)]
    struct AgileKeys {
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
enum BackName {
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
enum StartName {
    /// Nested walks.
    Nested,
    /// A shadow table.
    Shadow,
}

/// `agile.status`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StatusName {
    /// The hypervisor.
    Exit,
    /// Hardware.
    Hardware,
}

impl AgileKeys {
    /// Agile paging over shadow tables as they are configured: there may be several, and write-protection keeps them coherent.
    const fn over(&self, shadow: ShadowConfig) -> ShadowConfig {
        let tables = match shadow.tables {
            Tables::Multiple(count) => Tables::Multiple(count),
            Tables::Single => Tables::Multiple(shadow.harts),
        };
        let agile = AgileConfig {
            threshold: self.threshold,
            interval_us: self.interval,
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
