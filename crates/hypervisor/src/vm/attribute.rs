//! Memory attributes of a VM (paper 000, section 2, Fig. 1): how its level 1 memory lies in level 0 memory.

use core::fmt;
use memory::{FrameRange, Host};
use types::{Gpa, Hpa, PageSize};

use super::VmError;
use super::page_sizes::page_sizes;

/// How a VM's memory lies in the host's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MemoryAttribute {
    /// V=R: hPA = gPA. One VM of a host at the most, as all have their RAM at the same gPA.
    Real,
    /// V=Resident: hPA = gPA + α, α ≠ 0, in one piece that is the VM's from start to end.
    Resident,
    /// V=V: pageable. Frames on demand, anywhere; where paging is on, they are taken away again.
    #[default]
    Virtual,
}

impl MemoryAttribute {
    /// Whether all of RAM has its place from the start.
    #[must_use]
    pub const fn is_fixed(self) -> bool {
        !matches!(self, Self::Virtual)
    }

    /// The paper's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Real => "V=R",
            Self::Resident => "V=Resident",
            Self::Virtual => "V=V",
        }
    }
}

impl fmt::Display for MemoryAttribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where a VM's RAM lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Store {
    /// At hPA = gPA.
    Identity,
    /// At hPA = gPA + this, modulo 2^64.
    Offset(u64),
    /// In pages of host memory, as the table that maps them says.
    Paged,
}

impl Store {
    /// Takes the frames that a VM with RAM at `ram`, in pages of at most `page`, has from the start.
    pub(super) fn new(
        host: &mut Host,
        ram: &core::ops::Range<Gpa>,
        attribute: MemoryAttribute,
        page: PageSize,
    ) -> Result<Self, VmError> {
        let bytes = ram.end.0 - ram.start.0;
        match attribute {
            MemoryAttribute::Virtual => Ok(Self::Paged),
            MemoryAttribute::Real => {
                let own = FrameRange::new(Hpa(ram.start.0), bytes).ok_or(VmError::RamSize(bytes))?;
                host.frames.reserve(&host.memory, own).map_err(VmError::Real)?;
                Ok(Self::Identity)
            }
            MemoryAttribute::Resident => {
                let (least, page) = Self::above(ram, page);
                let frames = host
                    .frames
                    .allocate_contiguous_from(&host.memory, least, bytes, page)
                    .map_err(VmError::NotContiguous)?;
                Ok(Self::Offset(frames.start().0.wrapping_sub(ram.start.0)))
            }
        }
    }

    /// The same for the hypervisor's segment, which may have faulty frames: those among them. A piece without any is not looked for first.
    pub(super) fn with_faults(
        host: &mut Host,
        ram: &core::ops::Range<Gpa>,
        attribute: MemoryAttribute,
    ) -> Result<(Self, Vec<Hpa>), VmError> {
        if attribute == MemoryAttribute::Real {
            return Self::new(host, ram, attribute, PageSize::Size4K).map(|store| (store, Vec::new()));
        }
        // The guest's own large pages are to be whole in the host.
        let (least, page) = Self::above(ram, PageSize::Size1G);
        let bytes = ram.end.0 - ram.start.0;
        let taken = host.frames.allocate_with_faults(&host.memory, least, bytes, page);
        let (frames, faulty) = taken.map_err(VmError::Segment)?;
        Ok((Self::Offset(frames.start().0.wrapping_sub(ram.start.0)), faulty))
    }

    /// The largest page that RAM has at all; and an address above hPA = gPA, so that α is never 0.
    fn above(ram: &core::ops::Range<Gpa>, page: PageSize) -> (Hpa, PageSize) {
        let bytes = ram.end.0 - ram.start.0;
        let page = page_sizes(page).find(|size| size.bytes() <= bytes).unwrap_or_default();
        (Hpa(ram.start.0).wrapping_add(page.bytes()), page)
    }

    /// The frames of `ram` that are the VM's whatever it touches.
    pub(super) fn fixed(self, ram: &core::ops::Range<Gpa>) -> Option<FrameRange> {
        FrameRange::new(self.hpa(ram.start)?, ram.end.0 - ram.start.0)
    }

    /// Where the byte at `gpa` lies, where that is fixed.
    pub(super) const fn hpa(self, gpa: Gpa) -> Option<Hpa> {
        match self {
            Self::Identity => Some(Hpa(gpa.0)),
            Self::Offset(offset) => Some(Hpa(gpa.0.wrapping_add(offset))),
            Self::Paged => None,
        }
    }
}
