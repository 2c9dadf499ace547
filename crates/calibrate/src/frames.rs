//! Frames that the kernel hands out from all over its memory, as one does that has run for long.
//!
//! Where the frames of a program lie depends on what ran before it: a kernel whose memory was hardly used hands them out in a row. Below a hypervisor,
//! frames in a row cost less to translate, since their entries in the hypervisor's table share cache lines. So a pool of base pages is taken, and an eighth
//! of them, in random order, is given back. A kernel hands single frames out before it cuts larger blocks, and those first that were freed last on the same
//! processor (Linux, mm/page_alloc.c). So threads and programs that the caller's thread starts get these.

use crate::host::Host;
use crate::pages::{BASE, Pages, memory};
use crate::random::Random;
use crate::raw::Mapping;
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// Bytes of the pool, if there is as much memory.
const POOL: u64 = 4 << 30;
/// The part of memory that the pool takes at most: one in so many.
const OF_MEMORY: u64 = 2;
/// Fewer bytes would have no room for a program.
const LEAST_POOL: u64 = 1 << 30;
/// One page in so many is given back.
const GIVEN_BACK: usize = 8;

/// Frames that lie far apart are the next that the kernel hands out, while this value lives and its thread is not moved.
#[derive(Debug)]
pub struct ScatteredFrames {
    pool: Mapping,
    /// Where the thread ran before.
    processors: CpuSet,
}

impl ScatteredFrames {
    /// Frames from all over a pool of 4 GiB, or of half of the memory that is available. The calling thread stays on its processor.
    ///
    /// # Errors
    /// Why there are none, in words.
    pub fn take() -> Result<Self, String> {
        let available = Host::find().available;
        let bytes = POOL.min(available / OF_MEMORY);
        if bytes < LEAST_POOL {
            let needed = (OF_MEMORY * LEAST_POOL) >> 20;
            return Err(format!("{needed} MiB of available memory are needed, and {} MiB are there", available >> 20));
        }
        Self::of_pool(bytes as usize).map(|(frames, _)| frames)
    }

    /// Those of a pool, and the pages of it that were given back.
    fn of_pool(bytes: usize) -> Result<(Self, Vec<u32>), String> {
        let failed = |error: rustix::io::Errno| format!("this thread cannot stay on its processor: {error}");
        let pool = memory(bytes, Pages::Base)?;
        let processors = sched_getaffinity(None).map_err(failed)?;
        let mut own = CpuSet::new();
        own.set(sched_getcpu());
        sched_setaffinity(None, &own).map_err(failed)?;
        let mut frames = Self { pool, processors };
        let count = frames.pool.bytes() / BASE;
        let mut order = Random::new(1).order(count);
        order.truncate(count / GIVEN_BACK);
        for &page in &order {
            let page = page as usize;
            frames.pool.give_back(page..page + 1).map_err(|error| format!("a page cannot be given back: {error}"))?;
        }
        Ok((frames, order))
    }

    /// Bytes of memory that the frames lie all over.
    #[must_use]
    pub const fn span(&self) -> u64 {
        self.pool.bytes() as u64
    }
}

impl Drop for ScatteredFrames {
    fn drop(&mut self) {
        // It was allowed there before. If it no longer is, it stays where it is.
        let _ = sched_setaffinity(None, &self.processors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    /// The numbers of the frames of a mapping's pages (proc_pid_pagemap(5)): 0 where there is none, or for a process without CAP_SYS_ADMIN.
    fn frames(mapping: &Mapping) -> Vec<u64> {
        let pagemap = File::open("/proc/self/pagemap").unwrap();
        let pages = mapping.addresses().step_by(BASE);
        let entry = |address: usize| {
            let mut bytes = [0; 8];
            pagemap.read_exact_at(&mut bytes, (address / BASE * 8) as u64).unwrap();
            u64::from_le_bytes(bytes) & ((1 << 55) - 1)
        };
        pages.map(entry).collect()
    }

    #[test]
    fn memory_comes_from_pages_that_were_given_back() {
        let before = sched_getaffinity(None).unwrap();
        let (scattered, given) = ScatteredFrames::of_pool(256 << 20).unwrap();
        assert_eq!((scattered.span(), given.len()), (256 << 20, 8192));
        let kept: HashSet<u64> = frames(&scattered.pool).into_iter().filter(|&frame| frame != 0).collect();
        let next = memory(4 << 20, Pages::Base).unwrap();
        let next = frames(&next);
        let privileged = next.iter().any(|&frame| frame != 0);
        assert_eq!(kept.is_empty(), !privileged);
        if privileged {
            // Seven of eight frames of the pool are kept, so that nearly each of the others has one beside it. Whatever else this processor frees meanwhile is
            // handed out as well. Of memory as it comes, one page of a hundred lies there.
            let among = next
                .iter()
                .filter(|&&frame| kept.contains(&frame.wrapping_sub(1)) || kept.contains(&(frame + 1)))
                .count();
            assert!(among > next.len() / 4, "{among} of {} pages lie among those of the pool", next.len());
        }
        drop(scattered);
        assert_eq!(sched_getaffinity(None).unwrap(), before);
    }
}
