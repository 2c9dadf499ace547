//! Lines that a core waits for: miss registers, latencies, and what is under way.

use crate::{
    arrivals::LineArrivals,
    event::{Level, Line},
    slots::{Slot, Slots},
    surroundings::{Surroundings, WalkerPort},
    ticks::Ticks,
};
use types::Gva;

/// The caches, as a core asks them to bring a line before it is needed.
pub trait PrefetchLines {
    /// Brings a line into the L1D or the L2, and to the levels below as an access would; where it was found.
    fn prefetch(&mut self, line: Line, into: Level) -> Level;

    /// The first line of the page of 4K that `page` is mapped to for loads; `None` if there is none. Nothing changes.
    fn page(&mut self, page: Gva) -> Option<Line>;
}

/// Who uses a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum User {
    /// A load or store.
    Data,
    /// A page walker.
    Walker,
    /// The prefetcher of the L2, which passes the L1D by.
    L2Prefetcher,
}

/// A use of a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    pub(crate) line: Line,
    pub(crate) found: Level,
    /// When the line is asked for.
    pub(crate) time: Ticks,
    /// When the instruction was dispatched, which is no later.
    pub(crate) dispatch: Ticks,
}

/// A line that was prefetched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Prefetched {
    pub(crate) line: Line,
    pub(crate) into: Level,
    pub(crate) found: Level,
}

/// What a request for a line takes.
#[derive(Clone, Copy, Debug, Default)]
struct Registers {
    l1d: Option<Slot>,
    l2: Option<Slot>,
}

/// The lines that a core waits for.
#[derive(Debug)]
pub(crate) struct Misses {
    /// Miss registers.
    l1d: Slots,
    l2: Slots,
    /// Lines under way.
    lines: LineArrivals,
    /// The dispatch of the latest instruction that used a line.
    now: Ticks,
    latencies: [Ticks; 4],
    walker: WalkerPort,
}

impl Misses {
    /// With this many miss registers of the L1D and the L2, for a clock with this many ticks in a cycle.
    pub(crate) fn new([l1d, l2]: [u32; 2], around: &Surroundings, width: u64) -> Self {
        Self {
            l1d: Slots::new(l1d),
            l2: Slots::new(l2),
            lines: LineArrivals::new(),
            now: Ticks(0),
            latencies: around.latencies.map(|cycles| Ticks(cycles * width)),
            walker: around.walker,
        }
    }

    /// When a line that is in the L1D, or on its way there, arrives for an instruction dispatched at `dispatch`; `None` if it is there by then.
    #[inline]
    fn arrival(&mut self, line: Line, dispatch: Ticks) -> Option<Ticks> {
        self.lines.find(dispatch, line)
    }

    /// When the data of a line are there. A miss takes a miss register of each level that it misses until then.
    #[inline(always)]
    pub(crate) fn use_line(&mut self, used: Use, user: User) -> Ticks {
        let Use { line, found, time, dispatch } = used;
        self.now = dispatch;
        let arrives = self.arrival(line, dispatch).unwrap_or(Ticks(0));
        let latency = self.latencies[found as usize];
        if found == Level::L1 {
            return arrives.max(time + latency);
        }
        self.request(used, user, arrives)
    }

    /// Requests a line that the L1D does not hold, and returns when it arrives: not before `earliest`.
    #[inline(never)]
    fn request(&mut self, used: Use, user: User, earliest: Ticks) -> Ticks {
        let Use { line, found, time, dispatch } = used;
        let (registers, begin) = self.choose(found, time, user);
        let done = earliest.max(begin + self.latencies[found as usize]);
        self.occupy(registers, done);
        self.lines.expect(line, done, dispatch);
        done
    }

    /// A prefetch, if the miss registers are free that it may need: it does not wait for them. Where the line was.
    pub(crate) fn prefetch(
        &mut self,
        line: Line,
        into: Level,
        time: Ticks,
        caches: &mut impl PrefetchLines,
    ) -> Option<Level> {
        let l1d = if into == Level::L1 { Some(self.l1d.choose_free(time)?) } else { None };
        let l2 = self.l2.choose_free(time)?;
        let found = caches.prefetch(line, into);
        if found > into {
            let registers = Registers { l1d, l2: (found > Level::L2).then_some(l2) };
            let done = time + self.latencies[found as usize];
            self.occupy(registers, done);
            self.lines.expect(line, done, self.now);
        }
        Some(found)
    }

    /// Whether the L1D waits for no more than `most` lines at a time.
    #[inline]
    pub(crate) fn l1d_waits_for_at_most(&self, most: u32, time: Ticks) -> bool {
        self.l1d.at_most(most, time)
    }

    /// A prefetch that another clock of the same core has decided on. The line is in the caches, so that this clock cannot drop the prefetch: it
    /// waits for miss registers.
    pub(crate) fn follow(&mut self, prefetched: Prefetched, time: Ticks) {
        let Prefetched { line, into, found } = prefetched;
        if found <= into {
            return;
        }
        let user = if into == Level::L1 { User::Data } else { User::L2Prefetcher };
        let (registers, begin) = self.choose(found, time, user);
        let done = begin + self.latencies[found as usize];
        self.occupy(registers, done);
        self.lines.expect(line, done, self.now);
    }

    /// Becomes a copy of other registers of the same numbers and latencies.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        let Self { l1d, l2, lines, now, latencies, walker } = other;
        self.l1d.copy_from(l1d);
        self.l2.copy_from(l2);
        self.lines.copy_from(lines);
        (self.now, self.latencies, self.walker) = (*now, *latencies, *walker);
    }

    /// The miss registers for a request, and when it begins.
    #[inline]
    fn choose(&self, found: Level, time: Ticks, user: User) -> (Registers, Ticks) {
        let passes_l1d = match user {
            User::Data => true,
            User::Walker => self.walker == WalkerPort::L1d,
            User::L2Prefetcher => false,
        };
        let l1d = passes_l1d.then(|| self.l1d.choose(time));
        let time = l1d.map_or(time, |slot| slot.begin);
        let l2 = (found > Level::L2).then(|| self.l2.choose(time));
        (Registers { l1d, l2 }, l2.map_or(time, |slot| slot.begin))
    }

    #[inline]
    fn occupy(&mut self, registers: Registers, until: Ticks) {
        if let Some(slot) = registers.l1d {
            self.l1d.occupy(slot, until);
        }
        if let Some(slot) = registers.l2 {
            self.l2.occupy(slot, until);
        }
    }

    /// Cycles from a request to data that the L1D has.
    pub(crate) fn l1_latency(&self) -> Ticks {
        self.latencies[Level::L1 as usize]
    }

    /// The time beyond that of the first level that a line of instructions takes.
    pub(crate) fn fetch_latency(&self, found: Level) -> Ticks {
        self.latencies[found as usize].since(self.l1_latency())
    }

    /// Whether a line may be under way.
    #[inline]
    pub(crate) fn has_under_way(&self, line: Line) -> bool {
        self.lines.may_have(line)
    }

    /// All lines have arrived.
    pub(crate) fn forget_lines(&mut self) {
        self.lines.drop_arrived(Ticks(u64::MAX));
    }

    /// Counts of the lines under way ([`LineArrivals::counts`]).
    pub(crate) fn lines_under_way(&self) -> *const u16 {
        self.lines.counts()
    }

    /// When all lines under way have arrived.
    pub(crate) fn latest(&self) -> Ticks {
        self.lines.latest()
    }
}
