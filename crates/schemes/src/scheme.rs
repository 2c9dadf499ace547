//! The trait that a scheme implements.

use crate::facts::Facts;
use crate::worst_case::WorstCase;
use core::fmt::Debug;
use keys::{GroupValues, KeyGroup};
use mmu::Mmu;
use monitor::{Backing, FilterSize, LeafStatus};
use types::{PageSize, SecondStageMode};

/// A way to get from guest virtual to host physical addresses.
pub trait Scheme: Debug + Sync {
    /// What it is.
    fn facts(&self) -> &'static Facts;

    /// The longest walk of a program's access, where the guest's tables have `guest` levels and the hypervisor's tree `host`. Under a scheme
    /// with a guest's segment, of an access inside it.
    fn worst_case(&self, guest: u32, host: u32) -> WorstCase;

    /// The hypervisor's side: what it keeps to translate a guest's physical memory. A design of tables of one's own is a
    /// [`TableDesign`](monitor::TableDesign).
    fn backing(&self, memory: &GuestMemory) -> Backing;

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
    /// Whether the guest's own tables serve as shadow tables (Virtual Equal Shadow, `shadow.ves`).
    pub guest_tables_are_shadow: bool,
    /// The values of the scheme's own keys.
    pub keys: GroupValues,
}
