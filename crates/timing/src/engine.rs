//! One clock of a core: what each kind of instruction waits for.

use crate::{
    dispatched::{Answer, Dispatched, Issued},
    event::{Access, Level, Line, Load, Operation, Register, Registers, Serialize, Store, Translation},
    misses::{Misses, Prefetched, Use, User},
    model::CoreModel,
    scoreboard::Scoreboard,
    store_buffer::StoreBuffer,
    surroundings::Surroundings,
    ticks::{Index, Ticks},
    time::Stalls,
    walkers::{Lookup, Walkers},
    window::Window,
};
use types::{Gva, PageGroups};

/// The state of an out-of-order core that its time depends on. The predictor and the prefetchers are elsewhere: they see the order of the program,
/// which no clock changes.
#[derive(Debug)]
pub(crate) struct Engine {
    width: u64,
    /// Ticks of the front end from a redirection to dispatch.
    redirect: Ticks,
    window: Window,
    scoreboard: Scoreboard,
    misses: Misses,
    walkers: Walkers,
    stores: StoreBuffer,
    /// Without what dispatch waits for completions, which the window counts.
    stalls: Stalls,
}

impl Engine {
    pub(crate) fn new(model: &CoreModel, around: &Surroundings) -> Self {
        let ticks = |cycles: u64| Ticks(cycles * model.width);
        Self {
            width: model.width,
            redirect: ticks(model.mispredict),
            window: Window::new(model.window, model.wrong_path),
            scoreboard: Scoreboard::new(),
            misses: Misses::new([model.l1d_misses, model.l2_misses], around, model.width),
            walkers: Walkers::new(model.walkers, ticks(around.l2_tlb)),
            stores: StoreBuffer::new(&model.stores),
            stalls: Stalls::default(),
        }
    }

    /// Becomes a copy of another clock of the same model, without allocations where there is room.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        let Self { width, redirect, window, scoreboard, misses, walkers, stores, stalls } = other;
        (self.width, self.redirect, self.stalls) = (*width, *redirect, *stalls);
        self.scoreboard.clone_from(scoreboard);
        self.window.copy_from(window);
        self.misses.copy_from(misses);
        self.walkers.copy_from(walkers);
        self.stores.copy_from(stores);
    }

    /// Whether the instruction at `index` may wait for anything that is outstanding.
    #[inline]
    pub(crate) fn is_busy(&mut self, index: Index) -> bool {
        self.window.dispatch(index);
        let core = self.window.retired().max(self.stores.empty_from());
        self.window.earliest(index) < core.max(self.misses.latest()).max(self.walkers.latest())
    }

    /// Registers whose values may not be there.
    #[inline]
    pub(crate) fn waiting(&self) -> Registers {
        self.scoreboard.waiting()
    }

    #[inline]
    pub(crate) fn operation(&mut self, index: Index, operation: Operation) {
        let at = self.dispatched(index);
        let ready = self.scoreboard.ready(operation.sources, at.earliest());
        self.result(at, ready, operation.destination);
    }

    /// Returns when the line is requested.
    #[inline(always)]
    pub(crate) fn load(&mut self, index: Index, load: &Load<'_>) -> Ticks {
        let at = self.dispatched(index);
        let address = self.scoreboard.ready(load.address_of, at.earliest());
        let issued = self.issue(&load.access, at.begins(address), at.earliest());
        self.value(at, at.loaded(issued, self.misses.l1_latency()), load.destination);
        issued.requested
    }

    /// Returns when the line is requested.
    #[inline(always)]
    pub(crate) fn store(&mut self, index: Index, store: &Store<'_>) -> Ticks {
        self.take_store_entry(index);
        let at = self.dispatched(index);
        let (now, earliest) = (at.now, at.earliest());
        // On a wrong path a store requests nothing. On the right one it requests its line when it has the address, and can retire when it has the data.
        let address = self.scoreboard.ready(store.address_of, earliest).max(now);
        let data = self.scoreboard.ready(store.data, earliest);
        let issued = self.issue(&store.access, address, earliest);
        let completion = issued.requested.max(data);
        if completion > now {
            self.window.complete(index, completion);
        }
        let retires = self.window.retired().max(now);
        self.stores.fill(if issued.is_hit_at(now) { retires } else { retires.max(issued.done) });
        issued.requested
    }

    /// Dispatches a store, which waits for an entry of the store buffer.
    #[inline]
    pub(crate) fn take_store_entry(&mut self, index: Index) {
        self.window.dispatch(index);
        let full = self.window.hold(index, self.stores.free_from());
        self.stalls.stores += full;
        if full > Ticks(0) {
            self.window.end_wrong_paths();
        }
    }

    /// The same for an atomic operation, which is not executed on a wrong path.
    pub(crate) fn begin_atomic(&mut self, index: Index) {
        self.take_store_entry(index);
        self.window.end_wrong_paths();
    }

    /// A branch that is predicted.
    #[inline]
    pub(crate) fn predicted(&mut self, index: Index, sources: Registers) {
        let at = self.dispatched(index);
        let ready = self.scoreboard.ready(sources, at.earliest());
        self.result(at, ready, None);
    }

    /// A branch that is mispredicted: instructions after it are dispatched when the front end has restarted. The last part of that wait is the front end's.
    pub(crate) fn mispredicted(&mut self, index: Index, sources: Registers) {
        let at = self.dispatched(index);
        let ready = self.scoreboard.ready(sources, at.earliest());
        let done = self.result(at, ready, None).max(at.now);
        let stall = self.window.redirect(index, done, done + self.redirect);
        let front_end = stall.min(self.redirect);
        self.stalls.redirects += front_end;
        self.stalls.data += stall.since(front_end);
    }

    /// A fetch waits for a translation.
    pub(crate) fn fetch_translation(&mut self, index: Index, address: Gva, translation: Translation<'_>) {
        let time = self.front_end(index);
        let lookup = Lookup { address, translation, time, dispatch: self.window.earliest(index) };
        let done = self.walkers.translate(lookup, &mut self.misses);
        let stall = self.delay_fetch(index, done.since(time));
        self.stalls.fetch += stall;
    }

    /// A fetch waits for a line.
    pub(crate) fn fetch_line(&mut self, index: Index, found: Level) {
        self.front_end(index);
        let stall = self.delay_fetch(index, self.misses.fetch_latency(found));
        self.stalls.fetch += stall;
    }

    pub(crate) fn serialize(&mut self, index: Index, serialize: Serialize) {
        self.front_end(index);
        self.window.end_wrong_paths();
        let stall = self.window.hold(index, self.window.retired());
        self.stalls.data += stall;
        match serialize {
            Serialize::Window => {}
            Serialize::Stores => {
                let stall = self.window.hold(index, self.stores.empty_from());
                self.stalls.stores += stall;
            }
            Serialize::Trap => {
                let stall = self.delay_fetch(index, self.redirect);
                self.stalls.redirects += stall;
            }
        }
    }

    /// When the instruction at `index` would be dispatched.
    pub(crate) fn dispatch(&mut self, index: Index) -> Ticks {
        self.window.dispatch(index)
    }

    /// When the front end reaches the instruction at `index`, if nothing of its own delays it.
    pub(crate) fn front_end(&mut self, index: Index) -> Ticks {
        if index.0 > 0 {
            self.window.dispatch(Index(index.0 - 1));
        }
        self.window.undelayed(index)
    }

    /// The miss registers and lines that the clock waits for.
    pub(crate) fn misses(&mut self) -> &mut Misses {
        &mut self.misses
    }

    /// Whether a line may be under way.
    #[inline]
    pub(crate) fn has_under_way(&self, line: Line) -> bool {
        self.misses.has_under_way(line)
    }

    /// Nothing is outstanding: no line is under way.
    pub(crate) fn forget_lines(&mut self) {
        self.misses.forget_lines();
    }

    /// Counts of the lines under way.
    pub(crate) fn lines_under_way(&self) -> *const u16 {
        self.misses.lines_under_way()
    }

    /// Pages that walks may be under way for when the instruction at `index` is dispatched.
    #[inline]
    pub(crate) fn walks(&self, index: Index) -> PageGroups {
        self.walkers.under_way(self.window.earliest(index))
    }

    /// Lines that were prefetched by a decision of another clock, after an access that requested its line at a time.
    pub(crate) fn follow(&mut self, prefetched: &[Prefetched], time: Ticks) {
        for &line in prefetched {
            self.misses.follow(line, time);
        }
    }

    /// All that the clock is later than one that waits for nothing.
    pub(crate) fn delay(&self) -> Ticks {
        self.window.delay()
    }

    /// What it waited for.
    pub(crate) fn stalls(&self) -> Stalls {
        Stalls { data: self.stalls.data + self.window.waited(), ..self.stalls }
    }

    /// Time of its walks.
    pub(crate) fn walking(&self) -> Ticks {
        self.walkers.walking()
    }

    /// When the instruction at `index` is dispatched.
    #[inline(always)]
    fn dispatched(&mut self, index: Index) -> Dispatched {
        let now = self.window.dispatch(index);
        Dispatched { index, now, early: self.window.early(index) }
    }

    /// Translates an address that is known at a time, and requests its line. Nothing will ask for times before `earliest`.
    #[inline(always)]
    fn issue(&mut self, access: &Access<'_>, address: Ticks, earliest: Ticks) -> Issued {
        let lookup =
            Lookup { address: access.address, translation: access.translation, time: address, dispatch: earliest };
        let requested = self.walkers.translate(lookup, &mut self.misses);
        let used = Use { line: access.line, found: access.found, time: requested, dispatch: earliest };
        let done = self.misses.use_line(used, User::Data);
        let at_once = access.found == Level::L1 && done == requested + self.misses.l1_latency();
        Issued { requested, done, answer: if at_once { Answer::L1d } else { Answer::Later } }
    }

    /// An instruction writes its result a cycle after its last operand; at once, if it had all at its dispatch. Returns when.
    #[inline]
    fn result(&mut self, at: Dispatched, ready: Ticks, destination: Option<Register>) -> Ticks {
        let there = at.computed(ready, Ticks(self.width));
        self.value(at, there, destination);
        there
    }

    /// The value that an instruction writes is there at a time.
    #[inline(always)]
    fn value(&mut self, at: Dispatched, there: Ticks, destination: Option<Register>) {
        if there <= at.earliest() {
            return self.scoreboard.clear(destination);
        }
        self.scoreboard.wait(destination, there);
        if there > at.now {
            self.window.complete(at.index, there);
        }
    }

    /// The front end reaches the instruction at `index` later. Returns by how much.
    fn delay_fetch(&mut self, index: Index, by: Ticks) -> Ticks {
        if by > Ticks(0) {
            self.window.end_wrong_paths();
        }
        let from = self.window.undelayed(index);
        self.window.hold(index, from + by)
    }
}
