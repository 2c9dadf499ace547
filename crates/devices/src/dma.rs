//! Guest memory as a device sees it: guest physical addresses whose pages lie anywhere in host memory.
//!
//! Under nested paging a guest's pages are scattered over host frames, and a page may have no frame yet. [`DmaMemory`] is what the
//! hypervisor implements: it hands out host memory piece by piece and fills a missing page on the way. [`Ram`] makes of it a
//! [`vm_memory::GuestMemory`], whose `get_slices` allows such pieces, so that the rings are walked by `virtio-queue` unchanged.

use std::iter::FusedIterator;
use types::Gpa;
use vm_memory::bitmap::BS;
use vm_memory::guest_memory::GuestMemorySliceIterator;
use vm_memory::{
    GuestAddress, GuestMemory, GuestMemoryError, GuestMemoryRegion, GuestMemoryRegionBytes, GuestMemoryResult,
    GuestRegionCollection, GuestUsize, Permissions, VolatileSlice,
};

/// What a device does to guest memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DmaAccess {
    /// The device reads.
    Read,
    /// The device writes.
    Write,
}

/// Why a piece of guest memory cannot be had.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DmaError {
    /// The address is not in the guest's RAM: the guest is at fault.
    #[error("{0} is not in RAM")]
    NotRam(Gpa),
    /// The page has no frame and none is to be had: the host is at fault.
    #[error("no frame for {0}")]
    NoFrame(Gpa),
}

/// The RAM of a guest, as its devices reach it. Implemented by the hypervisor.
///
/// Takes `&self`, as `vm-memory` does: an implementation that fills pages keeps its tables in a cell.
pub trait DmaMemory {
    /// Whether all of `[gpa, gpa + bytes)` is RAM, filled or not. Must fill nothing: a hostile guest asks for whole gigabytes.
    /// True for an empty range. A range that leaves the 64-bit space is not RAM.
    fn contains(&self, gpa: Gpa, bytes: u64) -> bool;

    /// The host memory of a non-empty prefix of `[gpa, gpa + bytes)`; `bytes` is not 0. The prefix may end anywhere, but not
    /// inside a 4 KiB page unless the range does, so that ring entries are never split.
    ///
    /// For [`DmaAccess::Write`] the caller is about to write: a caller that tracks dirty pages or keeps decoded instructions
    /// of the page acts now.
    ///
    /// # Errors
    /// [`DmaError`], naming the address.
    fn slice(&self, gpa: Gpa, bytes: usize, access: DmaAccess) -> Result<VolatileSlice<'_>, DmaError>;

    /// The caller is done with every slice it was handed: until here their memory stays the guest's page, and from now on the page may
    /// move. To be called after each request, so that what has to stay is one request's.
    fn release(&self);
}

/// [`DmaMemory`] as the guest memory of `vm-memory`.
#[derive(Clone, Copy)]
pub(crate) struct Ram<'m>(pub(crate) &'m dyn DmaMemory);

impl GuestMemory for Ram<'_> {
    type PhysicalMemory = GuestRegionCollection<NoRegion>;
    type Bitmap = ();

    fn check_range(&self, addr: GuestAddress, count: usize, _access: Permissions) -> bool {
        self.0.contains(Gpa(addr.0), count as u64)
    }

    fn get_slices<'a>(
        &'a self,
        addr: GuestAddress,
        count: usize,
        access: Permissions,
    ) -> GuestMemoryResult<impl GuestMemorySliceIterator<'a, BS<'a, ()>>> {
        let access = if access.has_write() { DmaAccess::Write } else { DmaAccess::Read };
        Ok(Slices { memory: self.0, next: Gpa(addr.0), left: count, access })
    }
}

/// The pieces of a range, in order; ends after the first error.
struct Slices<'m> {
    memory: &'m dyn DmaMemory,
    next: Gpa,
    left: usize,
    access: DmaAccess,
}

impl<'m> Iterator for Slices<'m> {
    type Item = GuestMemoryResult<VolatileSlice<'m>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let slice = self.memory.slice(self.next, self.left, self.access).map_err(GuestMemoryError::from);
        self.left = match &slice {
            // An implementation that breaks its contract ends the range early instead of looping or running past the end.
            Ok(slice) if (1..=self.left).contains(&slice.len()) => {
                self.next = self.next.wrapping_add(slice.len() as u64);
                self.left - slice.len()
            }
            Ok(_) => {
                self.left = 0;
                return Some(Err(GuestMemoryError::InvalidBackendAddress));
            }
            Err(_) => 0,
        };
        Some(slice)
    }
}

impl FusedIterator for Slices<'_> {}

impl<'m> GuestMemorySliceIterator<'m, ()> for Slices<'m> {}

impl From<DmaError> for GuestMemoryError {
    fn from(error: DmaError) -> Self {
        match error {
            DmaError::NotRam(gpa) => Self::InvalidGuestAddress(GuestAddress(gpa.0)),
            DmaError::NoFrame(_) => Self::HostAddressNotAvailable,
        }
    }
}

/// The region type of a memory that has no regions.
#[derive(Debug)]
pub(crate) enum NoRegion {}

impl GuestMemoryRegion for NoRegion {
    type B = ();

    fn len(&self) -> GuestUsize {
        match *self {}
    }

    fn start_addr(&self) -> GuestAddress {
        match *self {}
    }

    fn bitmap(&self) {
        match *self {}
    }
}

impl GuestMemoryRegionBytes for NoRegion {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::RAM_BASE;
    use crate::testing::{ContiguousRam, ScatteredRam, load, store};
    use vm_memory::{Bytes, GuestMemoryBackend, GuestMemoryMmap};

    #[test]
    fn a_range_over_scattered_pages_reads_as_written() {
        let ram = ScatteredRam::new(1 << 20);
        let text: Vec<u8> = (0..20_000_u32).map(|index| (index % 253) as u8).collect();
        store(&ram, RAM_BASE.wrapping_add(0x1ffd), &text);
        assert_eq!(load(&ram, RAM_BASE.wrapping_add(0x1ffd), text.len()), text);
        assert_eq!(ram.filled(), 6);
        let slices: Vec<_> = Ram(&ram)
            .get_slices(GuestAddress(RAM_BASE.0 + 0x1ffd), 0x1004, Permissions::Read)
            .unwrap()
            .map(|slice| slice.unwrap().len())
            .collect();
        assert_eq!(slices, [3, 0x1000, 1]);
    }

    #[test]
    fn contiguous_memory_is_one_slice() {
        let ram = ContiguousRam::new(1 << 20);
        assert_eq!(Ram(&ram).get_slices(GuestAddress(RAM_BASE.0), 1 << 20, Permissions::Read).unwrap().count(), 1);
    }

    #[test]
    fn checking_a_range_fills_nothing() {
        let ram = ScatteredRam::new(1 << 20);
        let check = |gpa, bytes| Ram(&ram).check_range(GuestAddress(gpa), bytes, Permissions::Write);
        assert!(check(RAM_BASE.0, 1 << 20));
        assert!(!check(RAM_BASE.0, (1 << 20) + 1));
        assert!(!check(u64::MAX, usize::MAX));
        assert!(check(0, 0));
        assert_eq!(ram.filled(), 0);
    }

    #[test]
    fn a_range_ends_at_the_first_error() {
        let ram = ScatteredRam::with_frames(1 << 20, 1);
        let ram = Ram(&ram);
        let mut slices = ram.get_slices(GuestAddress(RAM_BASE.0), 0x3000, Permissions::Write).unwrap();
        assert!(slices.next().unwrap().is_ok());
        assert!(matches!(slices.next(), Some(Err(GuestMemoryError::HostAddressNotAvailable))));
        assert!(slices.next().is_none());
    }

    /// A memory that hands out slices of one length, whatever was asked.
    struct Stubborn(GuestMemoryMmap, usize);

    impl DmaMemory for Stubborn {
        fn contains(&self, _gpa: Gpa, _bytes: u64) -> bool {
            true
        }

        fn slice(&self, gpa: Gpa, _bytes: usize, _access: DmaAccess) -> Result<VolatileSlice<'_>, DmaError> {
            self.0.get_slice(GuestAddress(0), self.1).map_err(|_| DmaError::NotRam(gpa))
        }

        fn release(&self) {}
    }

    #[test]
    fn a_memory_that_breaks_its_contract_is_an_error() {
        for length in [0, 9] {
            let memory = Stubborn(GuestMemoryMmap::from_ranges(&[(GuestAddress(0), 0x1000)]).unwrap(), length);
            assert!(Ram(&memory).read_obj::<u64>(GuestAddress(0)).is_err(), "{length}");
        }
    }
}
