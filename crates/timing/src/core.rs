//! The core: its clock, and a second one for which translation takes no time.
//!
//! What translation costs is the difference of the two. A share of the core's own stalls would be another number: a walk that ends while the core waits
//! for data anyway is in such a share, and costs nothing, and a walk that keeps a miss from its overlap with others costs more than its own length.

use crate::{
    arrivals::GROUPS,
    engine::Engine,
    event::{Access, Branch, Hit, Level, Load, Operation, Register, Registers, Serialize, Store, Translation, Way},
    misses::{PrefetchLines, Prefetched},
    model::CoreModel,
    predictor::{Outcome, Predictor, PredictorState},
    prefetcher::Prefetchers,
    surroundings::Surroundings,
    ticks::{Index, Ticks},
    time::{Stalls, Time},
};
use types::{Cycles, Gva, PageGroups};

/// Whether the clocks differ.
///
/// Where nothing is outstanding in either, all that comes takes as long on both. So the second clock rests until an access takes time for its
/// translation, and becomes a copy of the first one there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Clocks {
    /// The first clock keeps the time of both.
    Joined,
    /// Each keeps its own.
    Apart,
}

/// An out-of-order core: the clock of one processor. The [crate documentation](crate) says which events it takes, and when.
#[derive(Debug)]
pub struct Core {
    width: u64,
    /// The core.
    real: Engine,
    /// The core if translation took no time: the same instructions and prefetches.
    ideal: Engine,
    clocks: Clocks,
    /// What was lost until the clocks were joined for the last time.
    before: Before,
    prefetchers: Prefetchers,
    /// What the access at hand has made the prefetchers bring.
    prefetched: Vec<Prefetched>,
    predictor: Predictor,
}

/// Where the state of a core lies that a caller may look at by itself, to see that an instruction needs no report.
///
/// A load needs none that hits the L1D and the first level of TLBs, names no register of [`Core::waiting`], and waits for no line and no walk: the count of
/// its line is zero in both tables, and [`Core::walks`] does not have its page.
#[derive(Clone, Copy, Debug)]
pub struct CoreState {
    /// The branch predictor.
    pub predictor: PredictorState,
    /// Counts of the lines under way on the two clocks, by the line's number and `under_way_mask`. A count may be too large.
    pub under_way: [*const u16; 2],
    /// The number of counts in a table, less one.
    pub under_way_mask: u64,
}

/// The account at the latest join.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    /// What the ideal clock had lost, and the real one.
    ideal: Stalls,
    real: Stalls,
    translation: i64,
}

impl Core {
    /// A core in which nothing has happened. The numbers are in the ranges that their declarations have.
    #[must_use]
    pub fn new(model: &CoreModel, around: &Surroundings) -> Self {
        Self {
            width: model.width,
            real: Engine::new(model, around),
            ideal: Engine::new(model, around),
            clocks: Clocks::Joined,
            before: Before::default(),
            prefetchers: Prefetchers::new(&model.prefetch, around.lines_of_page),
            prefetched: Vec::new(),
            predictor: Predictor::new(&model.predictor),
        }
    }

    /// Whether the instruction at `index` may wait for anything that is outstanding. If not, only long events have to be reported from there on.
    #[inline]
    pub fn is_busy(&mut self, index: Index) -> bool {
        let busy = self.real.is_busy(index);
        match self.clocks {
            Clocks::Joined => busy,
            Clocks::Apart => {
                let busy = self.ideal.is_busy(index) || busy;
                if !busy {
                    self.join();
                }
                busy
            }
        }
    }

    /// Registers whose values may not be there. What reads or writes none of them, and is no access, needs no report.
    #[inline]
    #[must_use]
    pub fn waiting(&self) -> Registers {
        match self.clocks {
            Clocks::Joined => self.real.waiting(),
            Clocks::Apart => self.real.waiting().and(self.ideal.waiting()),
        }
    }

    /// An instruction that computes. Needs no report while it reads and writes no register of [`Self::waiting`].
    #[inline]
    pub fn operation(&mut self, index: Index, operation: Operation) {
        self.each(|clock| clock.operation(index, operation));
    }

    /// A load. One that the L1D and the first level of TLBs answer needs no report while nothing is outstanding.
    #[inline]
    pub fn load(&mut self, index: Index, load: Load<'_>, caches: &mut impl PrefetchLines) {
        self.part_for(load.access.translation);
        let requested = self.real.load(index, &load);
        self.prefetch(&load.access, requested, caches);
        if self.clocks == Clocks::Apart {
            let access = load.access.translated_at_once();
            let requested = self.ideal.load(index, &Load { access, ..load });
            self.ideal.follow(&self.prefetched, requested);
        }
    }

    /// A load that the L1D and the first level of TLBs answer, as [`Self::load`] has it: into `destination`, from an address of these registers.
    #[inline]
    pub fn load_hit(&mut self, index: Index, hit: Hit, address_of: Registers, destination: Option<Register>) {
        let load = Load { destination, address_of, access: hit.access() };
        self.each(|clock| {
            clock.load(index, &load);
        });
    }

    /// A store of the same kind, of these registers.
    #[inline]
    pub fn store_hit(&mut self, index: Index, hit: Hit, address_of: Registers, data: Registers) {
        let store = Store { data, address_of, access: hit.access() };
        self.each(|clock| {
            clock.store(index, &store);
        });
    }

    /// A store. As for [`Self::load`].
    #[inline]
    pub fn store(&mut self, index: Index, store: Store<'_>, caches: &mut impl PrefetchLines) {
        self.part_for(store.access.translation);
        let requested = self.real.store(index, &store);
        self.prefetch(&store.access, requested, caches);
        if self.clocks == Clocks::Apart {
            let access = store.access.translated_at_once();
            let requested = self.ideal.store(index, &Store { access, ..store });
            self.ideal.follow(&self.prefetched, requested);
        }
    }

    /// An atomic operation, which loads and then stores the same line: the store's data depend on what is loaded.
    pub fn atomic(&mut self, index: Index, load: Load<'_>, data: Registers, caches: &mut impl PrefetchLines) {
        self.part_for(load.access.translation);
        self.each(|clock| clock.begin_atomic(index));
        self.load(index, load, caches);
        let loaded = load.destination.map_or(Registers::NONE, Register::set);
        let access = Access { found: Level::L1, ..load.access.translated_at_once() };
        self.store(index, Store { data: data.and(loaded), address_of: Registers::NONE, access }, caches);
    }

    /// A conditional branch: every one has to be reported, as the predictor learns from all.
    #[inline]
    pub fn branch(&mut self, index: Index, branch: Branch) -> Outcome {
        let outcome = self.predict(branch.pc, branch.way);
        self.resolve(index, outcome, branch.sources);
        outcome
    }

    /// The part of a branch that the predictor has: all of it where that is right and nothing is outstanding.
    #[inline]
    pub fn predict(&mut self, pc: u64, way: Way) -> Outcome {
        self.predictor.resolve(pc, way)
    }

    /// Where the state of the core lies that a caller may look at by itself. It stays there as long as the core is where it is.
    pub fn state(&mut self) -> CoreState {
        CoreState {
            predictor: self.predictor.state(),
            under_way: [self.real.lines_under_way(), self.ideal.lines_under_way()],
            under_way_mask: GROUPS as u64 - 1,
        }
    }

    /// Pages that walks may be under way for when the instruction at `index` is dispatched.
    #[inline]
    #[must_use]
    pub fn walks(&self, index: Index) -> PageGroups {
        match self.clocks {
            Clocks::Joined => self.real.walks(index),
            Clocks::Apart => self.real.walks(index).and(self.ideal.walks(index)),
        }
    }

    /// Whether a load that the L1D and the first level of TLBs answer has to be reported while something is outstanding. `names` are the registers that it
    /// reads and writes. A caller may see the same by [`Self::state`].
    #[inline]
    #[must_use]
    pub fn load_matters(&self, index: Index, hit: Hit, names: Registers) -> bool {
        self.waiting().intersects(names)
            || self.real.has_under_way(hit.line)
            || self.ideal.has_under_way(hit.line)
            || self.walks(index).may_have(hit.address)
    }

    /// The other part, for a branch whose condition reads `sources`.
    #[inline]
    pub fn resolve(&mut self, index: Index, outcome: Outcome, sources: Registers) {
        match outcome {
            Outcome::Predicted => self.each(|clock| clock.predicted(index, sources)),
            Outcome::Mispredicted => self.each(|clock| clock.mispredicted(index, sources)),
        }
    }

    /// The caller looks at the time before the instruction at `index`: what is known to delay those before it is in it.
    pub fn settle(&mut self, index: Index) {
        self.each(|clock| {
            clock.front_end(index);
        });
    }

    /// A fetch of an address that the first level of TLBs has no translation of, before the dispatch of the instruction at `index`.
    pub fn fetch_translation(&mut self, index: Index, address: Gva, translation: Translation<'_>) {
        self.part_for(translation);
        self.real.fetch_translation(index, address, translation);
        if self.clocks == Clocks::Apart {
            self.ideal.fetch_translation(index, address, Translation::FirstLevel);
        }
    }

    /// A fetch of a line that the L1I has not, before the dispatch of the instruction at `index`.
    pub fn fetch_line(&mut self, index: Index, found: Level) {
        self.each(|clock| clock.fetch_line(index, found));
    }

    /// Something before the instruction at `index` is not executed beside others.
    pub fn serialize(&mut self, index: Index, serialize: Serialize) {
        self.each(|clock| clock.serialize(index, serialize));
    }

    /// The time at which the instruction at `index` would be dispatched.
    pub fn now(&mut self, index: Index) -> Cycles {
        Cycles(self.real.dispatch(index).0 / self.width)
    }

    /// Where the time went so far, beyond one tick for each instruction.
    #[must_use]
    pub fn time(&self) -> Time {
        let Before { ideal, real, translation } = self.before;
        let walking = self.real.walking();
        match self.clocks {
            Clocks::Joined => Time { stalls: ideal + (self.real.stalls() - real), translation, walking },
            Clocks::Apart => Time {
                stalls: ideal + (self.ideal.stalls() - real),
                translation: translation + (self.real.delay().0 as i64 - self.ideal.delay().0 as i64),
                walking,
            },
        }
    }

    /// The cycles of this many ticks.
    #[must_use]
    pub fn cycles(&self, ticks: Ticks) -> Cycles {
        Cycles(ticks.0 / self.width)
    }

    #[inline]
    fn each(&mut self, event: impl Fn(&mut Engine)) {
        event(&mut self.real);
        if self.clocks == Clocks::Apart {
            event(&mut self.ideal);
        }
    }

    /// The clocks part before an access if its translation takes time.
    #[inline]
    fn part_for(&mut self, translation: Translation<'_>) {
        match (self.clocks, translation) {
            (Clocks::Apart, _) | (Clocks::Joined, Translation::FirstLevel) => {}
            (Clocks::Joined, Translation::SecondLevel | Translation::Walk(_)) => {
                self.ideal.copy_from(&self.real);
                self.clocks = Clocks::Apart;
            }
        }
    }

    /// Nothing is outstanding in either clock: from here on they differ by a constant.
    fn join(&mut self) {
        // The ideal clock has nothing under way. Its lines would be compared as long as it rests.
        self.ideal.forget_lines();
        let Time { stalls, translation, walking: _ } = self.time();
        self.before = Before { ideal: stalls, real: self.real.stalls(), translation };
        self.clocks = Clocks::Joined;
    }

    /// What an access makes the prefetchers bring. They see the real clock.
    #[inline]
    fn prefetch(&mut self, access: &Access<'_>, requested: Ticks, caches: &mut impl PrefetchLines) {
        self.prefetched.clear();
        if access.found > Level::L1 {
            self.prefetchers.miss(
                (access.address, access.line),
                requested,
                self.real.misses(),
                &mut self.prefetched,
                caches,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        event::{Line, TableReference, Walk},
        predictor::PredictorModel,
        prefetcher::{NextLineLevel, PrefetchModel},
        store_buffer::{Drain, StoreModel},
        stream::{PageEnd, StreamModel},
        surroundings::WalkerPort,
        wrong_path::WrongPath,
    };

    /// Caches that hold nothing.
    struct Cold;

    impl PrefetchLines for Cold {
        fn prefetch(&mut self, _: Line, _: Level) -> Level {
            Level::Memory
        }

        fn page(&mut self, page: Gva) -> Option<Line> {
            Some(Line(page.0 / 64))
        }
    }

    #[test]
    fn the_second_clock_rests_again_when_nothing_is_outstanding() {
        let model = CoreModel {
            width: 4,
            window: 128,
            l1d_misses: 10,
            l2_misses: 16,
            walkers: 1,
            mispredict: 15,
            wrong_path: WrongPath::Off,
            stores: StoreModel { entries: 8, drain: Drain::InOrder },
            predictor: PredictorModel { address_bits: 10, history_bits: 10 },
            prefetch: PrefetchModel {
                next_line: 0,
                next_line_into: NextLineLevel::L1d,
                next_line_misses: 256,
                stream: StreamModel { entries: 0, degree: 2, distance: 20, page_end: PageEnd::Stop },
            },
        };
        let around =
            Surroundings { latencies: [4, 14, 60, 200], l2_tlb: 7, walker: WalkerPort::L1d, lines_of_page: 64 };
        let mut core = Core::new(&model, &around);
        let entry = [TableReference { step: 0, line: Line(1), found: Level::Memory }];
        let translation = Translation::Walk(Walk { references: &entry, page_shift: 12 });
        let access = Access { address: Gva(0), translation, line: Line(0), found: Level::L1 };
        core.load(Index(0), Load { destination: None, address_of: Registers::NONE, access }, &mut Cold);
        assert!(core.is_busy(Index(1)));
        assert_eq!(core.clocks, Clocks::Apart);
        assert!(!core.is_busy(Index(10_000)));
        assert_eq!(core.clocks, Clocks::Joined, "both clocks would be kept to the end, for nothing");
    }
}
