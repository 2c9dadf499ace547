//! Frames that the kernel hands out from all over its memory, as one does that has run for long.
//!
//! Where the frames of a program lie depends on what ran before it: a kernel whose memory was hardly used hands them out in a row. Below a hypervisor,
//! frames in a row cost less to translate, since their entries in the hypervisor's table share cache lines. So a pool of base pages is taken, and an eighth
//! of them, in random order, is given back. A kernel hands single frames out before it cuts larger blocks, and those first that were freed last on the same
//! processor (Linux, mm/page_alloc.c). So threads and programs that the caller's thread starts get these.

use crate::host::Host;
use crate::pages::{BASE, Pages, memory};
use crate::pinned::Pinned;
use crate::random::Random;
use crate::raw::Mapping;

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
    _pinned: Pinned,
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
        let mut frames = Self::hold(bytes as usize)?;
        frames.give_back()?;
        Ok(frames)
    }

    /// Has a pool, and nothing of it given back.
    fn hold(bytes: usize) -> Result<Self, String> {
        let pool = memory(bytes, Pages::Base)?;
        let pinned = Pinned::here().map_err(|error| format!("this thread cannot stay on its processor: {error}"))?;
        Ok(Self { pool, _pinned: pinned })
    }

    /// Gives a part of the pool back, in random order: the numbers of these pages.
    fn give_back(&mut self) -> Result<Vec<u32>, String> {
        let count = self.pool.bytes() / BASE;
        let mut order = Random::new(1).order(count);
        order.truncate(count / GIVEN_BACK);
        for &page in &order {
            let page = page as usize;
            self.pool.give_back(page..page + 1).map_err(|error| format!("a page cannot be given back: {error}"))?;
        }
        Ok(order)
    }

    /// Bytes of memory that the frames lie all over.
    #[must_use]
    pub const fn span(&self) -> u64 {
        self.pool.bytes() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::sched_getaffinity;
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

    /// How many of 1024 pages that come next were given back; `None` for a process that learns no numbers of frames.
    fn given_again() -> Option<usize> {
        let mut scattered = ScatteredFrames::hold(256 << 20).unwrap();
        let pool = frames(&scattered.pool);
        let order = scattered.give_back().unwrap();
        assert_eq!((scattered.span(), order.len()), (256 << 20, 8192));
        let given: HashSet<u64> = order.iter().map(|&page| pool[page as usize]).collect();
        let next = frames(&memory(4 << 20, Pages::Base).unwrap());
        let privileged = pool.iter().all(|&frame| frame != 0);
        assert_eq!(privileged, next.iter().all(|&frame| frame != 0));
        privileged.then(|| next.iter().filter(|frame| given.contains(frame)).count())
    }

    /// What other tests free on this processor meanwhile is handed out before, so that one of several pools has to do.
    #[test]
    fn memory_comes_from_pages_that_were_given_back() {
        let before = sched_getaffinity(None).unwrap();
        let again: Vec<Option<usize>> = (0..4).map(|_| given_again()).collect();
        assert!(again.iter().any(|again| again.is_none_or(|again| again > 1024 * 9 / 10)), "{again:?}");
        assert_eq!(sched_getaffinity(None).unwrap(), before);
    }
}
