//! Loading a guest: what kernel a file is, where its parts go, and whether everything fits.
//!
//! ```text
//!  RAM:  kernel segments ............ free ............ device tree, initrd │ end
//! ```
//! The initrd ends with RAM and the device tree ends where the initrd starts, so that they are as far as can be from the kernel,
//! which unpacks itself upwards. All is decided and checked first ([`Plan`]); then it is written ([`Plan::write`]).

mod elf;
mod flat;
mod kernel;
mod parts;
mod raw;

pub use elf::ElfProblem;
pub use flat::FlatProblem;
pub use kernel::KernelProblem;
pub use parts::{Format, Kernel, Segment};
pub use raw::RawProblem;

use core::ops::Range;
use hypervisor::{Dma, FlushTlbs, GuestMemoryError};
use types::{Gpa, PageSize};

/// Somewhere to write a guest's memory by guest physical address. The memory is zero before.
pub trait GuestPhysical {
    /// Why it cannot be written.
    type Error;

    /// Copies `bytes` to `gpa`.
    ///
    /// # Errors
    /// Where that is not memory, or no memory is left for it.
    fn write(&mut self, gpa: Gpa, bytes: &[u8]) -> Result<(), Self::Error>;
}

impl<P: FlushTlbs> GuestPhysical for Dma<'_, P> {
    type Error = GuestMemoryError;

    fn write(&mut self, gpa: Gpa, bytes: &[u8]) -> Result<(), GuestMemoryError> {
        Dma::write(self, gpa, bytes)
    }
}

/// What to boot.
#[derive(Clone, Copy, Debug)]
pub struct BootFiles<'f> {
    /// What errors call the kernel: its file's name.
    pub kernel_name: &'f str,
    /// The kernel's file.
    pub kernel: &'f [u8],
    /// Where a kernel without a header is loaded and entered; `None` for one whose format says so.
    pub load_address: Option<Gpa>,
    /// The initial RAM file system.
    pub initrd: Option<&'f [u8]>,
    /// RAM in bytes below which the guest is known not to work.
    pub least_memory: u64,
}

/// Why a guest cannot be loaded.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LoadError {
    /// The kernel's file is none.
    #[error("{file}: {problem}")]
    Kernel {
        /// The file.
        file: String,
        /// What is wrong with it.
        problem: KernelProblem,
    },
    /// RAM is smaller than the guest is known to need.
    #[error("{file}: needs {} MiB of memory, and the guest has {}", .least >> 20, Mebibytes(*.ram))]
    LeastMemory {
        /// The kernel's file.
        file: String,
        /// What it needs, in bytes.
        least: u64,
        /// What there is, in bytes.
        ram: u64,
    },
    /// RAM is too small for what is to be in it at the start.
    #[error(
        "{file}: the guest's memory of {} has no room for the kernel, which ends {} into it, and {} of {what}",
        Mebibytes(*.ram), Mebibytes(*.kernel), Mebibytes(*.bytes)
    )]
    NoRoom {
        /// The kernel's file.
        file: String,
        /// What is too large.
        what: &'static str,
        /// How large it is, in bytes.
        bytes: u64,
        /// From the start of RAM to the kernel's end, in bytes.
        kernel: u64,
        /// Size of RAM, in bytes.
        ram: u64,
    },
}

/// A number of bytes as people read it.
struct Mebibytes(u64);

impl core::fmt::Display for Mebibytes {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.0 {
            bytes if bytes < 1 << 20 => write!(f, "{bytes} bytes"),
            bytes => write!(f, "{}.{} MiB", bytes >> 20, ((bytes & 0xf_ffff) * 10) >> 20),
        }
    }
}

/// Where everything goes but the device tree, which cannot be written before it is known where the initrd is.
#[derive(Clone, Debug)]
pub struct Plan<'f> {
    files: BootFiles<'f>,
    kernel: Kernel<'f>,
    ram: Range<Gpa>,
    /// Where the initrd starts, or RAM ends.
    top: Gpa,
}

impl<'f> Plan<'f> {
    /// Reads the kernel and finds room for the initrd in `ram`.
    ///
    /// # Errors
    /// [`LoadError`].
    pub fn new(files: BootFiles<'f>, ram: Range<Gpa>) -> Result<Self, LoadError> {
        let file = || files.kernel_name.to_owned();
        let size = ram.end.0 - ram.start.0;
        // First of all: every other complaint would only be a consequence.
        if size < files.least_memory {
            return Err(LoadError::LeastMemory { file: file(), least: files.least_memory, ram: size });
        }
        let kernel = Kernel::parse(files.kernel, files.load_address, &ram)
            .map_err(|problem| LoadError::Kernel { file: file(), problem })?;
        let top = ram.end;
        let mut plan = Self { files, kernel, ram, top };
        if let Some(initrd) = files.initrd {
            plan.top = plan.below_top("the initrd", initrd.len() as u64)?;
        }
        Ok(plan)
    }

    /// Where hart 0 starts.
    #[must_use]
    pub fn entry(&self) -> Gpa {
        self.kernel.entry
    }

    /// Where the initrd is.
    #[must_use]
    pub fn initrd(&self) -> Option<Range<Gpa>> {
        self.files.initrd.map(|initrd| self.top..self.top.wrapping_add(initrd.len() as u64))
    }

    /// Where a device tree of `bytes` bytes goes: 4 KiB aligned, below the initrd.
    ///
    /// # Errors
    /// [`LoadError::NoRoom`].
    pub fn tree(&self, bytes: u64) -> Result<Gpa, LoadError> {
        self.below_top("the device tree", bytes)
    }

    /// Room that a device tree of `bytes` bytes has to grow by. Boot loaders add to the tree where it lies, and U-Boot 2025.01 writes beyond
    /// one without room, which OpenSBI always leaves. A Linux Image, which reads a tree to its last byte, has a tree without room.
    #[must_use]
    pub fn tree_room(&self, bytes: u64) -> u64 {
        // U-Boot adds the initrd's place, a seed and its version.
        const LEAST: u64 = 1024;
        let page = PageSize::Size4K.bytes();
        match self.kernel.format {
            Format::Image => 0,
            // The rest of its last page moves nothing.
            Format::Elf => bytes.next_multiple_of(page) - bytes,
            Format::Raw => (bytes + LEAST).next_multiple_of(page) - bytes,
        }
    }

    /// Writes everything, with the device tree at `tree_at`, where [`Self::tree`] put it.
    ///
    /// # Errors
    /// What `memory` says.
    pub fn write<M: GuestPhysical>(&self, memory: &mut M, tree_at: Gpa, tree: &[u8]) -> Result<(), M::Error> {
        for segment in &self.kernel.segments {
            memory.write(segment.at, segment.bytes)?;
        }
        if let Some(initrd) = self.files.initrd {
            memory.write(self.top, initrd)?;
        }
        memory.write(tree_at, tree)
    }

    /// The last page boundary with `bytes` bytes between it and the top, all above the kernel.
    fn below_top(&self, what: &'static str, bytes: u64) -> Result<Gpa, LoadError> {
        self.top
            .0
            .checked_sub(bytes)
            .map(|at| Gpa(at).page(PageSize::Size4K))
            .filter(|&at| at >= self.kernel.end)
            .ok_or_else(|| LoadError::NoRoom {
                file: self.files.kernel_name.to_owned(),
                what,
                bytes,
                kernel: self.kernel.end.0 - self.ram.start.0,
                ram: self.ram.end.0 - self.ram.start.0,
            })
    }
}

#[cfg(test)]
mod tests;
