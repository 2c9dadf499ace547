//! Why a translation fails, precisely. What becomes of it (a guest's trap, an exit) is decided by the caller.

use core::fmt;
use types::{Access, Gpa};

/// Why the tables of one stage refuse an address. Each names the step of the walk that found it
/// (RISC-V Privileged 1.13, section 12.3.2, "Virtual Address Translation Process").
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Cause {
    /// First stage: the bits above the translated ones do not repeat the topmost one.
    NotCanonical,
    /// Second stage: a bit above the translated ones is set.
    TooWide,
    /// Second stage without a tree: beyond the flat table, or outside the reserved memory.
    OutOfBounds,
    /// Step 3: V = 0.
    Invalid,
    /// Step 3: W = 1 with R = 0.
    WriteWithoutRead,
    /// Step 3: a reserved bit or encoding: bits 63–54 (63 is N with Svnapot), or U, A, D of a pointer.
    Reserved,
    /// Step 4: the last level holds a pointer.
    NoLeaf,
    /// Step 5: a superpage's low PPN bits are not zero.
    Misaligned,
    /// Step 6: a page of U accessed from S without SUM, or fetched from S.
    UserPage,
    /// Step 6: a page of S accessed from U; or, in the second stage, a leaf with U = 0.
    SupervisorPage,
    /// Step 8: a load from a page that is not readable.
    NotReadable,
    /// Step 8: a store to a page that is not writable.
    NotWritable,
    /// Step 8: a fetch from a page that is not executable.
    NotExecutable,
    /// Step 9 without Svadu: A = 0.
    NotAccessed,
    /// Step 9 without Svadu: a store with D = 0.
    NotDirty,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotCanonical => "the address is not canonical",
            Self::TooWide => "the address has bits above those that are translated",
            Self::OutOfBounds => "the address is beyond the table",
            Self::Invalid => "an entry is invalid",
            Self::WriteWithoutRead => "an entry permits stores and no loads",
            Self::Reserved => "an entry has a reserved encoding",
            Self::NoLeaf => "the last level has a pointer to a table",
            Self::Misaligned => "a large page is not aligned",
            Self::UserPage => "the page is one of U-mode",
            Self::SupervisorPage => "the page is one of S-mode",
            Self::NotReadable => "the page is not readable",
            Self::NotWritable => "the page is not writable",
            Self::NotExecutable => "the page is not executable",
            Self::NotAccessed => "the A bit is not set",
            Self::NotDirty => "the D bit is not set",
        })
    }
}

/// What the second stage translated for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Purpose {
    /// The guest's own access.
    Data,
    /// An implicit access to a table of the guest: a PTE read, or the write of its A and D bits.
    Table,
}

/// The second stage refuses a guest physical address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NestedFault {
    /// The address, exact to the byte; of the PTE where the purpose is a table.
    pub gpa: Gpa,
    /// The access made to `gpa`. For a table it is `Read` or `Write`, whatever the guest's access was.
    pub access: Access,
    /// What for.
    pub purpose: Purpose,
    /// Why.
    pub cause: Cause,
}

/// Why no memory answers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AccessCause {
    /// A PTE of the first stage lies outside memory.
    FirstStageTable,
    /// A PTE of the second stage lies outside memory.
    SecondStageTable,
    /// Without translation, an address that exceeds the 56 bits of physical address.
    TooWide,
}

impl fmt::Display for AccessCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FirstStageTable => "an entry of the guest's tables is outside memory",
            Self::SecondStageTable => "an entry of the second stage's tables is outside memory",
            Self::TooWide => "the address exceeds 56 bits",
        })
    }
}

/// Why an access fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The first stage refuses: the guest's page fault of the access.
    Page(Cause),
    /// An entry of a shadow table refuses, where hardware knows one from the guest's: the hypervisor's to handle.
    Shadow(Cause),
    /// No memory answers: the guest's access fault of the access.
    Access(AccessCause),
    /// The second stage refuses: the hypervisor's to handle (a guest-page fault), or a device's address.
    Nested(NestedFault),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Page(cause) => write!(f, "page fault of the guest: {cause}"),
            Self::Shadow(cause) => write!(f, "shadow fault, which the hypervisor handles: {cause}"),
            Self::Access(cause) => write!(f, "access fault: {cause}"),
            Self::Nested(NestedFault { gpa, cause, .. }) => {
                write!(f, "nested fault at guest physical address {:#x}, which the hypervisor handles: {cause}", gpa.0)
            }
        }
    }
}
