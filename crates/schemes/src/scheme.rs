//! The trait that a scheme implements.

use crate::facts::Facts;
use crate::key_problem::KeyProblem;
use crate::shadow_keys::ShadowKeys;
use crate::worst_case::WorstCase;
use core::fmt::Debug;
use hypervisor::shadow::ShadowConfig;
use hypervisor::{Backing, FilterSize, LeafStatus, MemoryAttribute, ShadowFormat};
use keys::{GroupValues, KeyGroup};
use mmu::{Mmu, SoftwareRules};
use types::{PageSize, SecondStageMode};

/// A way to get from guest virtual to host physical addresses.
///
/// A scheme whose hypervisor maps the guest's memory with large pages, needs its facts, its closed form and its backing:
///
/// ```
/// use schemes::prelude::*;
///
/// #[derive(Debug)]
/// struct Large;
///
/// impl Scheme for Large {
///     fn facts(&self) -> &'static Facts {
///         const FACTS: Facts = Facts {
///             name: "large",
///             aliases: &[],
///             summary: "nested paging; the hypervisor's pages have 2M",
///             ..builtin::PAGED
///         };
///         &FACTS
///     }
///
///     fn worst_case(&self, guest: u32, host: u32) -> WorstCase {
///         // A leaf of 2M is one level above those of 4K.
///         WorstCase::two_dimensional(guest, host - 1)
///     }
///
///     fn backing(&self, memory: &GuestMemory) -> Backing {
///         Backing::nested(memory.mode, PageSize::Size2M, memory.status)
///     }
/// }
///
/// assert_eq!(Large.worst_case(4, 4).references, 19);
/// ```
pub trait Scheme: Debug + Sync {
    /// What it is.
    fn facts(&self) -> &'static Facts;

    /// The longest walk of a program's access, where the guest's tables have `guest` levels and the hypervisor's tree `host`. Under a scheme
    /// with a guest's segment, of an access inside it.
    fn worst_case(&self, guest: u32, host: u32) -> WorstCase;

    /// The hypervisor's side: what it keeps to translate a guest's physical memory. A design of tables of one's own is a
    /// [`TableDesign`](hypervisor::TableDesign).
    fn backing(&self, memory: &GuestMemory) -> Backing;

    /// The tables that the hypervisor derives from the guest's own and its own, and that the hardware walks instead: how they are kept, and
    /// their format. `None` if the hardware walks the guest's own.
    fn shadow(&self, memory: &GuestMemory) -> Option<ShadowTables> {
        let _ = memory;
        None
    }

    /// What is wrong with the keys that the scheme uses, if anything. What each takes by itself is in its declaration.
    fn problem(&self, memory: &GuestMemory) -> Option<KeyProblem> {
        let _ = memory;
        None
    }

    /// The hardware's side: what each processor has that others have not, such as a [format of tables](Mmu::set_table_format) or a
    /// [level behind the last TLB](Mmu::add_outer_level).
    fn equip(&self, mmu: &mut Mmu, keys: &GroupValues) {
        let _ = (mmu, keys);
    }

    /// Its own configuration keys.
    fn keys(&self) -> Option<KeyGroup> {
        None
    }
}

/// A scheme that lives as long as the program.
pub type SchemeRef = &'static dyn Scheme;

/// Shadow tables of a guest.
#[derive(Clone, Copy, Debug)]
pub struct ShadowTables {
    /// How they are kept.
    pub config: ShadowConfig,
    /// What they are made of: [`Radix`](hypervisor::Radix) for trees as the guest's.
    pub format: &'static dyn ShadowFormat,
}

/// What a configuration says of a guest's memory.
#[derive(Clone, Debug)]
pub struct GuestMemory {
    /// Shape of the hypervisor's tree.
    pub mode: SecondStageMode,
    /// The largest page that the hypervisor maps.
    pub page: PageSize,
    /// A and D bits of a page that it maps.
    pub status: LeafStatus,
    /// The escape filter of the hypervisor's segment.
    pub filter: FilterSize,
    /// How the guest's memory lies in the host's.
    pub attribute: MemoryAttribute,
    /// Harts of the guest.
    pub harts: u32,
    /// How software reads the guest's tables.
    pub rules: SoftwareRules,
    /// How shadow tables are kept, where the scheme has them.
    pub shadow: ShadowKeys,
    /// The values of the scheme's own keys.
    pub keys: GroupValues,
}

impl GuestMemory {
    /// Shadow tables as they are configured.
    #[must_use]
    pub const fn shadow_config(&self) -> ShadowConfig {
        self.shadow.config(self.harts, self.rules)
    }

    /// What is wrong with the keys of shadow tables, if anything.
    #[must_use]
    pub fn shadow_problem(&self) -> Option<KeyProblem> {
        self.shadow.problem(self.harts, self.attribute)
    }
}
