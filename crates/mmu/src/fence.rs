//! Which entries a fence removes: exactly these.

use types::{Asid, Gpa, Gva, Vmid};

/// An address-translation fence (RISC-V Privileged 1.13, sections 12.2.1 and 19.3.2). Absent operands mean *all*.
///
/// `Vma` and `Vvma` remove what comes from the first stage's tables:
///
/// | gva | asid | TLB entries | guest walk-cache entries |
/// |---|---|---|---|
/// | – | – | all of the VMID | all of the VMID |
/// | – | a | of ASID a, not global ones | of ASID a, not global ones |
/// | v | – | of pages that hold v, in every ASID, and global ones | none |
/// | v | a | of pages that hold v, in ASID a, not global ones | none |
///
/// A fence with an address orders leaf PTEs only, so walk caches keep what they have. Entries made without first-stage
/// translation are not concerned; nor are the nested TLB and the second stage's walk cache. A `gva` that no mode
/// translates removes nothing.
///
/// `Gvma` removes what comes from the second stage's tables, of one VMID or of all:
///
/// | gpa | TLB entries | nested TLB | host walk-cache entries |
/// |---|---|---|---|
/// | – | all | all | all |
/// | g | all (as in hardware, they do not know their gPA) | of pages that hold g | none |
///
/// The guest's walk-cache entries hold guest physical addresses, and are not concerned.
///
/// TLB entries are those of the L1s, of the L2 and of [outer levels](crate::OuterTlb).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fence {
    /// `sfence.vma`, in the VMID of the current context.
    Vma {
        /// A page of this address.
        gva: Option<Gva>,
        /// This address space.
        asid: Option<Asid>,
    },
    /// `hfence.vvma`: the same for a VMID that need not be current.
    Vvma {
        /// The virtual machine.
        vmid: Vmid,
        /// A page of this address.
        gva: Option<Gva>,
        /// This address space.
        asid: Option<Asid>,
    },
    /// `hfence.gvma`.
    Gvma {
        /// A page of this address.
        gpa: Option<Gpa>,
        /// This virtual machine.
        vmid: Option<Vmid>,
    },
}
