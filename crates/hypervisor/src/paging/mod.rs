//! Paging of V=V machines by the hypervisor: when frames run short, pages go to a swap file, and come back when they are touched.
//!
//! # Which page goes
//! A clock (second chance) over the frames of the host, of every owner: the hand stops at a page whose A bit is clear, and clears A of
//! those that it passes. Where a table's A bits tell nothing, as they are set from the start, it is first in, first out. A superpage is
//! split where the hand stops, into the next smaller size, until there is a base page to take; what comes back, comes back in base pages.
//!
//! # How it goes
//! Pages leave in batches of 32, with one flush for a batch and VM:
//!
//! 1. The page's contents are written to its slot of the swap file, unless they are there already (a page that came from there, with D
//!    clear) or all zeroes. That may fail: the page then stays. Processors take turns, so no other processor writes to it from here on.
//! 2. `Vm::unmap_page` takes it out of the VM's tables.
//! 3. [`Invalidation::perform`](crate::Invalidation::perform) flushes every processor and frees the frames.
//!
//! # Who must not notice
//! Between its flush and the guest's next access, no code may keep a page's frame number.
//! * A TLB, walk cache or nested TLB does not: it was fenced. Nor does translated code: it was dropped.
//! * A hart in the middle of an instruction knows where its page of code and its reservation lie, and perhaps the first half of a
//!   misaligned access. Therefore a flush, or a page that comes in, ends its run, and it starts again with the instruction (`hart::Stop::Leave`).
//! * A device in the middle of a request has slices of its buffers. Their frames are *pinned* until the request is done
//!   (`DmaMemory::release`), and the hand passes them by.

mod core_map;
mod counts;
mod faulty;
mod pager;
mod supply;
mod swap;

pub use counts::PagingCounts;
pub use faulty::FaultyFrame;
pub use pager::Pager;
pub use supply::{FrameReclaim, NoVictim, PageUnavailable};
pub use swap::{Swap, SwapError};
