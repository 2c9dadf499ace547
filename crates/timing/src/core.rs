//! The core: what each kind of instruction waits for.

use crate::{
    event::{Access, Branch, Level, Load, Operation, Register, Registers, Serialize, Store, Translation, Way},
    misses::{Misses, PrefetchLines, Use, User},
    model::CoreModel,
    predictor::{Outcome, Predictor},
    prefetcher::Prefetchers,
    scoreboard::Scoreboard,
    store_buffer::StoreBuffer,
    surroundings::Surroundings,
    ticks::{Index, Ticks},
    time::Time,
    walkers::{Lookup, Walkers},
    window::{Completion, Window},
};
use types::{Cycles, Gva};

/// What there is to know of an access once it is translated and its line asked for.
#[derive(Clone, Copy, Debug)]
struct Issued {
    /// When its address is translated.
    translated: Completion,
    /// When its data are there.
    done: Ticks,
    /// Whether it takes no longer than an access that the L1D and the first level of TLBs answer at its dispatch.
    hidden: Hidden,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Hidden {
    Yes,
    No,
}

/// An out-of-order core: the clock of one processor. The [crate documentation](crate) says which events it takes, and when.
#[derive(Debug)]
pub struct Core {
    width: u64,
    /// Ticks of the front end from a redirection to dispatch.
    redirect: Ticks,
    window: Window,
    scoreboard: Scoreboard,
    misses: Misses,
    prefetchers: Prefetchers,
    walkers: Walkers,
    stores: StoreBuffer,
    predictor: Predictor,
}

impl Core {
    /// A core in which nothing has happened. The numbers are in the ranges that their declarations have.
    #[must_use]
    pub fn new(model: &CoreModel, around: &Surroundings) -> Self {
        let ticks = |cycles: u64| Ticks(cycles * model.width);
        Self {
            width: model.width,
            redirect: ticks(model.mispredict),
            window: Window::new(model.window),
            scoreboard: Scoreboard::new(),
            misses: Misses::new([model.l1d_misses, model.l2_misses], around, model.width),
            prefetchers: Prefetchers::new(&model.prefetch, around.lines_of_page),
            walkers: Walkers::new(model.walkers, ticks(around.l2_tlb)),
            stores: StoreBuffer::new(&model.stores),
            predictor: Predictor::new(&model.predictor),
        }
    }

    /// Whether the instruction at `index` may meet anything that is outstanding. If not, only long events have to be reported from there on.
    #[inline]
    pub fn is_busy(&mut self, index: Index) -> bool {
        let now = self.window.dispatch(index);
        let core = self.window.retired().at.max(self.stores.empty_from());
        now < core.max(self.misses.latest()).max(self.walkers.latest())
    }

    /// An instruction that computes. Needs no report while nothing is outstanding.
    #[inline]
    pub fn operation(&mut self, index: Index, operation: Operation) {
        let now = self.window.dispatch(index);
        let ready = self.scoreboard.ready(operation.sources, now);
        self.result(index, now, ready, operation.destination);
    }

    /// A load. One that the L1D and the first level of TLBs answer needs no report while nothing is outstanding.
    pub fn load(&mut self, index: Index, load: Load<'_>, caches: &mut impl PrefetchLines) {
        let now = self.window.dispatch(index);
        let address = self.scoreboard.ready(load.address_of, now);
        let issued = self.issue(&load.access, address, now, caches);
        match issued.hidden {
            Hidden::Yes => self.scoreboard.clear(load.destination),
            Hidden::No => {
                let completion = Completion { at: issued.done, translation: issued.translated.translation };
                self.scoreboard.wait(load.destination, completion);
                self.window.complete(index, completion);
            }
        }
    }

    /// A store. As for [`Self::load`].
    pub fn store(&mut self, index: Index, store: Store<'_>, caches: &mut impl PrefetchLines) {
        let now = self.take_store_entry(index);
        let address = self.scoreboard.ready(store.address_of, now);
        let data = self.scoreboard.ready(store.data, now);
        // It asks for its line as soon as it has the address, and can retire when it has the data.
        let issued = self.issue(&store.access, address, now, caches);
        let completion = issued.translated.or_later(data);
        if completion.at > now {
            self.window.complete(index, completion);
        }
        let retires = self.window.retired().at.max(now);
        self.stores.fill(match issued.hidden {
            Hidden::Yes => retires,
            Hidden::No => retires.max(issued.done),
        });
    }

    /// An atomic operation, which loads and then stores the same line: the store's data depend on what is loaded.
    pub fn atomic(&mut self, index: Index, load: Load<'_>, data: Registers, caches: &mut impl PrefetchLines) {
        self.take_store_entry(index);
        self.load(index, load, caches);
        let loaded = load.destination.map_or(Registers::NONE, Register::set);
        let access = Access { translation: Translation::FirstLevel, found: Level::L1, ..load.access };
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

    /// The other part, for a branch whose condition reads `sources`.
    pub fn resolve(&mut self, index: Index, outcome: Outcome, sources: Registers) {
        let now = self.window.dispatch(index);
        let ready = self.scoreboard.ready(sources, now);
        let done = self.result(index, now, ready, None);
        match outcome {
            Outcome::Predicted => {}
            Outcome::Mispredicted => {
                let stall = self.window.hold(index.plus(1), done.at + self.redirect);
                self.redirected(stall, done);
            }
        }
    }

    /// The caller looks at the time before the instruction at `index`: what is known to delay those before it is in it.
    pub fn settle(&mut self, index: Index) {
        self.front_end(index);
    }

    /// A fetch of an address that the first level of TLBs has no translation of, before the dispatch of the instruction at `index`.
    pub fn fetch_translation(&mut self, index: Index, address: Gva, translation: Translation<'_>) {
        let time = self.front_end(index);
        let lookup = Lookup { address, translation, time, dispatch: time };
        let done = self.walkers.translate(lookup, &mut self.misses);
        let stall = done.since(time);
        self.delay_fetch(index, stall);
        self.window.time().translation += stall;
    }

    /// A fetch of a line that the L1I has not, before the dispatch of the instruction at `index`.
    pub fn fetch_line(&mut self, index: Index, found: Level) {
        self.front_end(index);
        let stall = self.misses.fetch_latency(found);
        self.delay_fetch(index, stall);
        self.window.time().fetch += stall;
    }

    /// Something before the instruction at `index` is not executed beside others.
    pub fn serialize(&mut self, index: Index, serialize: Serialize) {
        self.front_end(index);
        let retired = self.window.retired();
        let stall = self.window.hold(index, retired.at);
        self.window.time().wait(stall, retired.translation);
        match serialize {
            Serialize::Window => {}
            Serialize::Stores => {
                let stall = self.window.hold(index, self.stores.empty_from());
                self.window.time().stores += stall;
            }
            Serialize::Trap => {
                self.delay_fetch(index, self.redirect);
                self.window.time().redirects += self.redirect;
            }
        }
    }

    /// The time at which the instruction at `index` would be dispatched.
    pub fn now(&mut self, index: Index) -> Cycles {
        Cycles(self.window.dispatch(index).0 / self.width)
    }

    /// Where the time went so far, beyond one tick for each instruction.
    #[must_use]
    pub fn time(&self) -> Time {
        self.window.time_so_far()
    }

    /// The cycles of so many ticks.
    #[must_use]
    pub fn cycles(&self, ticks: Ticks) -> Cycles {
        Cycles(ticks.0 / self.width)
    }

    /// Dispatches a store, which waits for an entry of the store buffer.
    fn take_store_entry(&mut self, index: Index) -> Ticks {
        self.window.dispatch(index);
        let full = self.window.hold(index, self.stores.free_from());
        self.window.time().stores += full;
        self.window.dispatch(index)
    }

    /// Translates an address that is known at a time, and asks for its line.
    #[inline]
    fn issue(
        &mut self,
        access: &Access<'_>,
        address: Completion,
        now: Ticks,
        caches: &mut impl PrefetchLines,
    ) -> Issued {
        let lookup =
            Lookup { address: access.address, translation: access.translation, time: address.at, dispatch: now };
        let time = self.walkers.translate(lookup, &mut self.misses);
        let translated = Completion { at: time, translation: address.translation + time.since(address.at) };
        let used = Use { line: access.line, found: access.found, time, dispatch: now };
        let done = self.misses.use_line(used, User::Data);
        if access.found > Level::L1 {
            self.prefetchers.miss(access.line, time, &mut self.misses, caches);
        }
        let at_once = time == now && access.found == Level::L1 && done == time + self.misses.l1_latency();
        Issued { translated, done, hidden: if at_once { Hidden::Yes } else { Hidden::No } }
    }

    /// An instruction writes its result a cycle behind its last operand; at once, if it had all at its dispatch.
    #[inline]
    fn result(&mut self, index: Index, now: Ticks, ready: Completion, destination: Option<Register>) -> Completion {
        if ready.at <= now {
            self.scoreboard.clear(destination);
            return ready;
        }
        let done = ready.later(Ticks(self.width));
        self.scoreboard.wait(destination, done);
        self.window.complete(index, done);
        done
    }

    /// When the front end comes to the instruction at `index`, if nothing of its own delays it.
    fn front_end(&mut self, index: Index) -> Ticks {
        if index.0 > 0 {
            self.window.dispatch(Index(index.0 - 1));
        }
        self.window.undelayed(index)
    }

    /// The front end comes to the instruction at `index` later.
    fn delay_fetch(&mut self, index: Index, by: Ticks) {
        let from = self.window.undelayed(index);
        self.window.hold(index, from + by);
    }

    /// Dispatch waits `stall` for a mispredicted branch that was resolved at `done`: the last of it is for the front end.
    fn redirected(&mut self, stall: Ticks, done: Completion) {
        let front_end = stall.min(self.redirect);
        let time = self.window.time();
        time.redirects += front_end;
        time.wait(stall.since(front_end), done.translation);
    }
}
