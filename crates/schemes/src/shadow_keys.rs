//! `shadow.*`: how shadow tables are kept, for every scheme that has them.

use crate::key_problem::KeyProblem;
use hypervisor::MemoryAttribute;
use hypervisor::shadow::{self, ShadowConfig};
use keys::{key, settings};
use mmu::SoftwareRules;
use serde::{Deserialize, Serialize};
use types::Gpa;

settings! {
    /// `shadow.*`.
    #[derive(Copy, Eq)]
    pub struct ShadowKeys {
        pub tables: TablesName = TablesName::Multiple => key(
            "under `shadow`: `multiple` tables, one for each address space, or a `single` one for each hart, emptied at \
             each change of address space"
        ).virtual_only(),
        pub count: u32 = 16 => key(
            "the most tables under `multiple`, 1 to 1024 and no fewer than harts; the one that has been unused for \
             longest gives way"
        ).number(1, 1024).virtual_only(),
        pub coherence: CoherenceName = CoherenceName::Fence => key(
            "what keeps tables like the guest's: its `fence` instructions, as TLBs are kept, or `write-protect`: a store \
             to a page of the guest's tables exits"
        ).virtual_only(),
        pub invalidation: InvalidationName = InvalidationName::Selective => key(
            "what a fence with operands, or a PPTLB, invalidates: `selective`, what it names, `full`, everything, or \
             `conventional`: a PPTLB everything, a fence what it names"
        ).virtual_only(),
        pub clear: ClearName = ClearName::Stores => key(
            "how a full invalidation clears entries: `stores`, each by one, or `blocks`, 64 bytes at a time by an \
             instruction as Zicboz has"
        ).virtual_only(),
        pub assist: AssistName = AssistName::None => key(
            "events that the host's hardware mode handles without an exit: `none`, `vm-assist` (entries that are \
             missing), or `msa` (invalidations and changes of table as well)"
        ).virtual_only(),
        pub selection_flag: OnOff = OnOff::On => key(
            "`on`: a table that has not been in use since the last full invalidation is spared it"
        ).virtual_only(),
        pub ves: bool = false => key(
            "Virtual Equal Shadow: the guest's own table is walked in place of a shadow table; for `memory_attribute` \
             `V=R` alone"
        ).virtual_only(),
        pub check: bool = false => key(
            "every entry is compared with what it should be, at fences and after the run"
        ).virtual_only(),
    }
}

/// `shadow.tables`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TablesName {
    /// One for each vCPU.
    Single,
    /// One for each address space, up to `shadow.count`.
    Multiple,
}

/// `shadow.coherence`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CoherenceName {
    /// The guest's fences.
    Fence,
    /// Guest tables are write-protected.
    WriteProtect,
}

/// `shadow.invalidation`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InvalidationName {
    /// Every table, in full.
    Full,
    /// Every table, in full, for PPTLB; what the fence names, for a fence.
    Conventional,
    /// What the fence names.
    Selective,
}

/// `shadow.clear`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClearName {
    /// Each entry by a store.
    Stores,
    /// Eight entries by an instruction.
    Blocks,
}

/// `shadow.assist`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AssistName {
    /// Nothing: every event is an exit.
    None,
    /// Validations.
    VmAssist,
    /// The Multi-Shadow Assist: selective invalidations and switches besides.
    Msa,
}

/// A switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "named as what they say")]
pub enum OnOff {
    On,
    Off,
}

impl ShadowKeys {
    /// What is wrong with the keys for a guest with this many harts, if anything.
    pub(crate) fn problem(&self, harts: u32, attribute: MemoryAttribute) -> Option<KeyProblem> {
        if self.ves && attribute != MemoryAttribute::Real {
            let problem = "the guest's own table can be used with memory_attribute V=R only".to_owned();
            return Some(KeyProblem { key: "shadow.ves", problem });
        }
        if self.tables == TablesName::Multiple && self.count < harts {
            let problem = format!("a guest with {harts} harts uses as many tables at a time");
            return Some(KeyProblem { key: "shadow.count", problem });
        }
        None
    }

    /// As the hypervisor takes them.
    pub(crate) const fn config(&self, harts: u32, rules: SoftwareRules) -> ShadowConfig {
        ShadowConfig {
            tables: match self.tables {
                TablesName::Single => shadow::Tables::Single,
                TablesName::Multiple => shadow::Tables::Multiple(self.count as usize),
            },
            coherence: match self.coherence {
                CoherenceName::Fence => shadow::Coherence::Fence,
                CoherenceName::WriteProtect => shadow::Coherence::WriteProtect,
            },
            invalidation: match self.invalidation {
                InvalidationName::Full => shadow::Invalidation::Full,
                InvalidationName::Conventional => shadow::Invalidation::Conventional,
                InvalidationName::Selective => shadow::Invalidation::Selective,
            },
            clear: match self.clear {
                ClearName::Stores => shadow::Clear::Stores,
                ClearName::Blocks => shadow::Clear::Blocks,
            },
            assist: match self.assist {
                AssistName::None => shadow::Assist::None,
                AssistName::VmAssist => shadow::Assist::VmAssist,
                AssistName::Msa => shadow::Assist::MultiShadow,
            },
            selection_flag: matches!(self.selection_flag, OnOff::On),
            harts: harts as usize,
            rules,
            sections_end: Gpa(0),
            section_bytes: 0,
            check: self.check,
            agile: None,
        }
    }
}
