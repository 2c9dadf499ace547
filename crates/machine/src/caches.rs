//! Modelled caches, for the fidelity `cycles`: where the lines of data, instructions and table entries are, and what it takes to get them.
//!
//! Each pCPU has an L1D, an L1I and perhaps an L2 of its own; the last level, if there is one, is everybody's. All are indexed by
//! physical address, allocate on loads and stores alike, and replace the line of a set whose use is longest ago, exactly; an L2 or a last level may have
//! another [replacement](mmu::Replacement). What a level holds beside the levels above it is [`Contents`]. A use looks for its line from the top down and brings it to every level that it was missed in.
//!
//! The levels above are asked for every use, but a use of the line that was used last in its set changes nothing, and costs nothing beside
//! the instruction: the hart sees that by itself, through [`lines::MachineLines`], and does not come here.
//!
//! What is not modelled: write-backs, coherence between processors, prefetchers and several misses at a time (docs/caches.md). The hypervisor's own
//! accesses are, if the user asks for them (docs/footprint.md).

mod level;
pub(crate) mod lines;
mod pace;
mod row;
mod statistics;
mod walk;

pub use statistics::{CacheStatistics, Found};
pub(crate) use walk::CachedWalk;

use config::host_model::Contents;
use config::host_model::caches::{CacheModel, CachesModel, WalkerName};
use level::{Level as Cache, Used};
use timing::{Level, Line, Surroundings, WalkerPort};
use types::{Access, Cycles};

/// Who asks for a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Asks {
    Data,
    Fetch,
    Walker,
    /// A prefetcher, for the L1D or the L2.
    Prefetcher(Level),
    /// The hypervisor, for data or instructions of its own.
    Hypervisor(Access),
}

impl Asks {
    /// Whether it is no part of the guest's counts.
    const fn is_uncounted(self) -> bool {
        matches!(self, Self::Prefetcher(_) | Self::Hypervisor(_))
    }
}

/// The caches of all pCPUs.
#[derive(Debug)]
pub(crate) struct Caches {
    own: Vec<OwnCaches>,
    llc: Option<Cache>,
    llc_contents: Contents,
    walker: WalkerName,
    latencies: Latencies,
    /// The process's address of the first byte of memory.
    base: usize,
}

/// The caches of one pCPU, and what happened in them.
#[derive(Debug)]
struct OwnCaches {
    l1d: Cache,
    l1i: Cache,
    l2: Option<Cache>,
    l2_contents: Contents,
    statistics: CacheStatistics,
    /// Thousandths of a cycle that an instruction took in the latest turn; 0 before it.
    pace: u64,
}

/// Cycles to get a line from where it was found.
#[derive(Clone, Copy, Debug)]
struct Latencies {
    l1d: u64,
    l1i: u64,
    l2: u64,
    llc: u64,
    memory: u64,
}

impl Latencies {
    fn of(&self, found: Found, l1: u64) -> u64 {
        match found {
            Found::L1 => l1,
            Found::L2 => self.l2,
            Found::Llc => self.llc,
            Found::Memory => self.memory,
        }
    }
}

impl Caches {
    /// Empty caches of `processors` pCPUs as `model` has them, for memory that lies at `base` in the process.
    pub(crate) fn new(model: &CachesModel, processors: usize, base: *const u8) -> Self {
        let latency = |cache: &Option<CacheModel>| cache.as_ref().map_or(0, |cache| cache.latency);
        let contents = |cache: &Option<CacheModel>| cache.as_ref().map_or(Contents::Any, |cache| cache.contents);
        let own = || OwnCaches {
            l1d: Cache::new(&model.l1d),
            l1i: Cache::new(&model.l1i),
            l2: model.l2.as_ref().map(Cache::new),
            l2_contents: contents(&model.l2),
            statistics: CacheStatistics::default(),
            pace: 0,
        };
        Self {
            own: (0..processors).map(|_| own()).collect(),
            llc: model.llc.as_ref().map(Cache::new),
            llc_contents: contents(&model.llc),
            walker: model.walker,
            latencies: Latencies {
                l1d: model.l1d.latency,
                l1i: model.l1i.latency,
                l2: latency(&model.l2),
                llc: latency(&model.llc),
                memory: model.memory,
            },
            base: base.addr(),
        }
    }

    /// Bytes of a line of instructions.
    pub(crate) fn fetch_line(&self) -> u32 {
        self.own[0].l1i.line_bytes()
    }

    /// What has happened in the caches of a processor.
    pub(crate) fn statistics(&self, processor: usize) -> &CacheStatistics {
        &self.own[processor].statistics
    }

    /// An access of a hart on `processor` to the byte at `at` in the process: the time beyond that of the L1 is counted.
    pub(crate) fn use_line(&mut self, processor: usize, at: *const u8, access: Access) {
        let offset = (at.addr() - self.base) as u64;
        let (asks, l1) = match access {
            Access::Read | Access::Write => (Asks::Data, self.latencies.l1d),
            Access::Execute => (Asks::Fetch, self.latencies.l1i),
        };
        let found = self.find(processor, offset, asks);
        let stall = Cycles(self.latencies.of(found, l1).saturating_sub(l1));
        let statistics = &mut self.own[processor].statistics;
        match asks {
            Asks::Fetch => statistics.fetch_stalls += stall,
            Asks::Data | Asks::Walker | Asks::Prefetcher(_) | Asks::Hypervisor(_) => statistics.data_stalls += stall,
        }
    }

    /// The same, for a model of time that has stalls of its own: the line's number, and where it was.
    pub(crate) fn locate(&mut self, processor: usize, at: *const u8, access: Access) -> (Line, Level) {
        let offset = (at.addr() - self.base) as u64;
        let asks = match access {
            Access::Read | Access::Write => Asks::Data,
            Access::Execute => Asks::Fetch,
        };
        let found = self.find(processor, offset, asks);
        (self.line(offset), found.into())
    }

    /// The line of data of the byte at `at` in the process.
    #[inline]
    pub(crate) fn line_at(&self, at: *const u8) -> Line {
        self.line((at.addr() - self.base) as u64)
    }

    /// The same of a table entry that a walk reads.
    fn locate_table_line(&mut self, processor: usize, offset: u64) -> (Line, Level) {
        let found = self.find(processor, offset, Asks::Walker);
        self.own[processor].statistics.walk[found as usize] += 1;
        (self.line(offset), found.into())
    }

    /// A prefetcher brings a line into the L1D or the L2: where it was.
    pub(crate) fn prefetch(&mut self, processor: usize, line: Line, into: Level) -> Level {
        let offset = line.0 * u64::from(self.own[0].l1d.line_bytes());
        self.find(processor, offset, Asks::Prefetcher(into)).into()
    }

    /// The hypervisor uses a line of its own, `offset` bytes behind the start of memory: where it was.
    pub(crate) fn use_line_of_hypervisor(&mut self, processor: usize, offset: u64, access: Access) -> Found {
        self.find(processor, offset, Asks::Hypervisor(access))
    }

    /// Bytes of a line of an L1.
    pub(crate) fn line_bytes(&self, access: Access) -> u32 {
        let OwnCaches { l1d, l1i, .. } = &self.own[0];
        if access == Access::Execute { l1i.line_bytes() } else { l1d.line_bytes() }
    }

    /// The line of data at an offset.
    fn line(&self, offset: u64) -> Line {
        Line(offset / u64::from(self.own[0].l1d.line_bytes()))
    }

    /// What a core has around it, where a hit of the L2 TLB takes so many cycles.
    pub(crate) fn surroundings(&self, l2_tlb: u64) -> Surroundings {
        let Latencies { l1d, l1i: _, l2, llc, memory } = self.latencies;
        Surroundings {
            latencies: [l1d, l2, llc, memory],
            l2_tlb,
            walker: match self.walker {
                WalkerName::L1d => WalkerPort::L1d,
                WalkerName::L2 => WalkerPort::L2,
            },
            lines_of_page: 4096 / u64::from(self.own[0].l1d.line_bytes()),
        }
    }

    /// A table entry that a walk on `processor` reads, `offset` bytes into memory: all of its time is counted.
    fn use_table_line(&mut self, processor: usize, offset: u64) -> Cycles {
        let found = self.find(processor, offset, Asks::Walker);
        self.own[processor].statistics.walk[found as usize] += 1;
        Cycles(self.latencies.of(found, self.latencies.l1d))
    }

    /// A walker of a processor uses the lines of the entries at these offsets at once (`None` is outside memory): the step takes as long as the longest of them.
    fn use_table_lines(&mut self, processor: usize, offsets: impl Iterator<Item = u64>) {
        let latencies = offsets.map(|offset| self.use_table_line(processor, offset));
        let longest = latencies.max().unwrap_or(Cycles(0));
        self.own[processor].statistics.walk_time += longest;
    }

    /// Looks for a line from the top down, and brings it to where it was missed. Most uses end in the first level, which is a part of the caller.
    #[inline(always)]
    fn find(&mut self, processor: usize, offset: u64, asks: Asks) -> Found {
        let OwnCaches { l1d, l1i, statistics, .. } = &mut self.own[processor];
        // Prefetches and the hypervisor's uses are not counted.
        let counted = u64::from(!asks.is_uncounted());
        let first = match asks {
            Asks::Fetch | Asks::Hypervisor(Access::Execute) => Some((l1i, &mut statistics.l1i_misses)),
            Asks::Data | Asks::Prefetcher(Level::L1) | Asks::Hypervisor(Access::Read | Access::Write) => {
                Some((l1d, &mut statistics.l1d_misses))
            }
            Asks::Walker | Asks::Prefetcher(Level::L2 | Level::Llc | Level::Memory) => None,
        };
        if let Some((l1, misses)) = first {
            if l1.use_line(offset) == Used::Hit {
                return Found::L1;
            }
            *misses += counted;
        } else if asks == Asks::Walker
            && self.walker == WalkerName::L1d
            && self.own[processor].l1d.use_line(offset) == Used::Hit
        {
            return Found::L1;
        }
        self.find_below(processor, offset, counted)
    }

    /// The same below the first level. `counted` is 1 for what is a part of the guest's counts, else 0.
    #[inline(never)]
    fn find_below(&mut self, processor: usize, offset: u64, counted: u64) -> Found {
        let OwnCaches { l1d, l1i, l2, l2_contents, statistics, pace: _ } = &mut self.own[processor];
        let mut evicted = None;
        if let Some(l2) = l2 {
            statistics.l2_accesses += counted;
            match l2.use_line(offset) {
                Used::Hit => return Found::L2,
                Used::Filled(victim) => evicted = victim,
            }
            statistics.l2_misses += counted;
            if let Some(victim) = evicted
                && *l2_contents == Contents::Inclusive
            {
                l1d.remove(victim, l2.line_bytes());
                l1i.remove(victim, l2.line_bytes());
            }
        }
        if self.llc.is_none() {
            return Found::Memory;
        }
        statistics.llc_accesses += counted;
        let found = self.find_in_llc(offset, evicted);
        if found == Found::Memory {
            self.own[processor].statistics.llc_misses += counted;
        }
        found
    }

    /// The last level's part: what is missed above it is looked for, what was `evicted` above may come in.
    fn find_in_llc(&mut self, offset: u64, evicted: Option<u64>) -> Found {
        let Self { own, llc: Some(llc), llc_contents, .. } = self else { return Found::Memory };
        if llc_contents.are_given_up_above() {
            let held = match llc_contents {
                Contents::Exclusive => llc.give_up(offset),
                Contents::Any | Contents::Inclusive | Contents::Victims => llc.use_if_held(offset),
            };
            if let Some(victim) = evicted {
                llc.use_line(victim);
            }
            return if held { Found::Llc } else { Found::Memory };
        }
        match llc.use_line(offset) {
            Used::Hit => Found::Llc,
            Used::Filled(victim) => {
                if let Some(victim) = victim
                    && *llc_contents == Contents::Inclusive
                {
                    let bytes = llc.line_bytes();
                    for caches in own {
                        caches.l1d.remove(victim, bytes);
                        caches.l1i.remove(victim, bytes);
                        caches.l2.iter_mut().for_each(|l2| l2.remove(victim, bytes));
                    }
                }
                Found::Memory
            }
        }
    }
}

#[cfg(test)]
mod tests;
