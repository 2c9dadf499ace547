//! What the rules say of simple streams of instructions, in closed form.

use timing::*;
use types::{Cycles, Gva};

const WIDTH: u64 = 4;
const WINDOW: u64 = 128;
const MEMORY: u64 = 200;
const LATENCIES: [u64; 4] = [4, 14, 60, MEMORY];

fn model() -> CoreModel {
    CoreModel {
        width: WIDTH,
        window: WINDOW,
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
    }
}

/// Caches that find each line that is prefetched in memory.
struct Cold;

impl PrefetchLines for Cold {
    fn prefetch(&mut self, _: Line, _: Level) -> Level {
        Level::Memory
    }

    fn page(&mut self, page: Gva) -> Option<Line> {
        Some(Line(page.0 / 64))
    }
}

/// A core, and where its stream is.
struct Run {
    core: Core,
    next: u64,
}

impl Run {
    fn new(model: &CoreModel) -> Self {
        Self::with(model, 64)
    }

    fn with(model: &CoreModel, lines_of_page: u64) -> Self {
        let around = Surroundings { latencies: LATENCIES, l2_tlb: 7, walker: WalkerPort::L1d, lines_of_page };
        Self { core: Core::new(model, &around), next: 0 }
    }

    fn index(&mut self) -> Index {
        self.next += 1;
        Index(self.next - 1)
    }

    /// Instructions that nothing is to be said of.
    fn skip(&mut self, instructions: u64) {
        self.next += instructions;
    }

    fn load(&mut self, destination: u8, address_of: Registers, line: u64, found: Level) {
        self.load_translated(destination, address_of, (line, found), Translation::FirstLevel);
    }

    fn load_translated(
        &mut self,
        destination: u8,
        address_of: Registers,
        (line, found): (u64, Level),
        translation: Translation<'_>,
    ) {
        let access = Access { address: Gva(line << 12), translation, line: Line(line), found };
        let load = Load { destination: Some(Register::x(destination)), address_of, access };
        let index = self.index();
        self.core.load(index, load, &mut Cold);
    }

    fn store(&mut self, line: u64, found: Level) {
        let access = Access { address: Gva(line << 12), translation: Translation::FirstLevel, line: Line(line), found };
        let index = self.index();
        self.core.store(index, Store { data: Registers::NONE, address_of: Registers::NONE, access }, &mut Cold);
    }

    fn operation(&mut self, destination: u8, sources: Registers) {
        let index = self.index();
        self.core.operation(index, Operation { destination: Some(Register::x(destination)), sources });
    }

    /// The time once all is done.
    fn end(&mut self) -> Cycles {
        self.core.serialize(Index(self.next), Serialize::Stores);
        self.core.now(Index(self.next))
    }

    /// The same, less that of dispatch.
    fn stalls(&mut self) -> u64 {
        self.end();
        self.core.time().total().0
    }
}

fn x(number: u8) -> Registers {
    Register::x(number).set()
}

#[test]
fn without_events_only_the_width_counts() {
    let mut run = Run::new(&model());
    run.skip(4_000_000);
    assert_eq!(run.end(), Cycles(1_000_000));
    assert_eq!(run.core.time(), Time::default());
}

#[test]
fn independent_misses_cost_as_many_latencies_as_rounds_of_the_miss_registers() {
    for registers in [1, 4, 10] {
        for misses in [1, 3, 4, 5, 10, 11, 40] {
            let mut run = Run::new(&CoreModel { l1d_misses: registers, ..model() });
            for line in 0..misses {
                run.load(5, Registers::NONE, line, Level::Memory);
            }
            let rounds = misses.div_ceil(u64::from(registers));
            let end = run.end().0;
            // The first of a round waits for its dispatch at most as long as all of a round take.
            assert!(
                (rounds * MEMORY..=rounds * MEMORY + u64::from(registers) / WIDTH + 1).contains(&end),
                "{misses} misses, {registers} registers: {end}"
            );
        }
    }
}

#[test]
fn misses_beyond_the_l2_take_its_registers_as_well() {
    let mut run = Run::new(&CoreModel { l2_misses: 2, ..model() });
    (0..6).for_each(|line| run.load(5, Registers::NONE, line, Level::Memory));
    assert_eq!(run.end(), Cycles(3 * MEMORY));
    let mut run = Run::new(&CoreModel { l2_misses: 2, ..model() });
    (0..6).for_each(|line| run.load(5, Registers::NONE, line, Level::L2));
    assert!(run.end().0 <= 14 + 2);
}

#[test]
fn a_dependent_chain_costs_the_sum() {
    let mut run = Run::new(&model());
    for line in 0..50 {
        run.load(5, x(5), line, Level::Memory);
    }
    assert_eq!(run.end(), Cycles(50 * MEMORY));
    // What is computed on the way takes a cycle each.
    let mut run = Run::new(&model());
    for line in 0..50 {
        run.load(5, x(5), line, Level::Llc);
        run.operation(5, x(5));
    }
    assert_eq!(run.end(), Cycles(50 * 61));
}

#[test]
fn chains_beside_each_other_overlap() {
    let mut run = Run::new(&model());
    for line in 0..400 {
        let register = 10 + (line % 4) as u8;
        run.load(register, x(register), line, Level::Memory);
    }
    assert_eq!(run.end(), Cycles(100 * MEMORY));
}

#[test]
fn a_chain_of_hits_behind_a_miss_takes_the_latency_of_the_l1() {
    let mut run = Run::new(&model());
    run.load(5, Registers::NONE, 0, Level::Memory);
    (1..=10).for_each(|line| run.load(5, x(5), line, Level::L1));
    assert_eq!(run.end(), Cycles(MEMORY + 10 * 4));
}

#[test]
fn hits_of_the_l1_are_hidden_and_those_of_other_levels_as_far_as_the_window_goes() {
    let stalls = |found| {
        let mut run = Run::new(&model());
        run.load(5, Registers::NONE, 0, found);
        run.skip(10 * WINDOW);
        run.stalls()
    };
    assert_eq!([Level::L1, Level::L2].map(stalls), [0, 0]);
    assert_eq!(stalls(Level::Llc), 60 * WIDTH - WINDOW);
    assert_eq!(stalls(Level::Memory), MEMORY * WIDTH - WINDOW);
}

#[test]
fn the_window_limits_how_many_misses_overlap() {
    for distance in [1, 8, 16, 40, 64, 127, 128, 129, 300] {
        let mut run = Run::new(&CoreModel { l1d_misses: 256, l2_misses: 256, ..model() });
        let misses = 256;
        for line in 0..misses {
            run.load(5, Registers::NONE, line, Level::Memory);
            run.skip(distance - 1);
        }
        // A window's length of instructions from each miss that nothing hides: it waits for that one, and the others in it come with it.
        let together = WINDOW.div_ceil(distance);
        let rounds = misses.div_ceil(together);
        let stall = (MEMORY * WIDTH).saturating_sub(WINDOW.min(together * distance));
        let expected = rounds * stall;
        let got = run.stalls();
        assert!(got.abs_diff(expected) <= rounds * distance + WINDOW, "{distance} apart: {got}, not {expected}");
        let alone = 4 * MEMORY * WIDTH;
        assert!(distance < 128 || got > (misses - 1) * stall && got < misses * alone, "{distance}: {got}");
    }
}

/// Two steps that each read an entry from memory.
const WALK: [TableReference; 2] = [
    TableReference { step: 0, line: Line(1 << 40), found: Level::Memory },
    TableReference { step: 1, line: Line(1 << 41), found: Level::Memory },
];

fn walk() -> Translation<'static> {
    Translation::Walk(Walk { references: &WALK, page_shift: 12 })
}

#[test]
fn a_walk_takes_its_steps_one_after_the_other_and_then_the_access_follows() {
    let mut run = Run::new(&model());
    run.load_translated(5, Registers::NONE, (0, Level::L1), walk());
    assert_eq!(run.end(), Cycles(7 + 2 * MEMORY + 4));
    let time = run.core.time();
    // Without the walk, the access is hidden, and takes the tick of its dispatch.
    assert_eq!(time.translation, ((7 + 2 * MEMORY + 4) * WIDTH - 1) as i64);
    let together = WALK.map(|entry| TableReference { step: 0, ..entry });
    let mut run = Run::new(&model());
    let walk = Walk { references: &together, page_shift: 12 };
    run.load_translated(5, Registers::NONE, (0, Level::L1), Translation::Walk(walk));
    assert_eq!(run.end(), Cycles(7 + MEMORY + 4), "entries of one step come together");
}

#[test]
fn a_walk_behind_an_earlier_miss_costs_nothing() {
    let with = |translation| {
        let mut run = Run::new(&model());
        // A chain of three misses, and beside it an access whose walk is shorter.
        (0..3).for_each(|line| run.load(5, x(5), line, Level::Memory));
        run.load_translated(6, Registers::NONE, (9, Level::L1), translation);
        (run.end(), run.core.time().translation)
    };
    assert_eq!(with(walk()), with(Translation::FirstLevel));
    assert_eq!(with(walk()).1, 0);
}

#[test]
fn walks_that_keep_misses_from_their_overlap_cost_the_overlap() {
    const MISSES: u64 = 10;
    let run = |translate: bool| {
        let mut run = Run::new(&CoreModel { l1d_misses: 16, ..model() });
        for line in 0..MISSES {
            // Each walk reads two lines of its own.
            let entries = WALK.map(|entry| TableReference { line: Line(1000 + 2 * line + entry.line.0), ..entry });
            let walk = Translation::Walk(Walk { references: &entries, page_shift: 12 });
            let translation = if translate { walk } else { Translation::FirstLevel };
            run.load_translated(5, Registers::NONE, (line, Level::Memory), translation);
        }
        (run.end(), run.core.time().translation)
    };
    // One walker: the walks are in turn, and the last miss follows the last walk. Without them all misses overlap, as dispatch allows.
    let walks = 7 + MISSES * 2 * MEMORY;
    let free = (MISSES - 1).div_ceil(WIDTH) + MEMORY;
    assert_eq!(run(false), (Cycles(free - 1), 0));
    let (end, translation) = run(true);
    assert_eq!(end, Cycles(walks + MEMORY));
    assert_eq!(translation, (walks * WIDTH - (MISSES - 1)) as i64);
}

#[test]
fn clocks_that_were_apart_and_joined_again_keep_their_difference() {
    let mut run = Run::new(&model());
    for round in 1..=3 {
        run.load_translated(5, Registers::NONE, (round, Level::L1), walk());
        assert!(run.core.is_busy(Index(run.next)));
        run.operation(6, x(5));
        run.skip(10 * MEMORY * WIDTH);
        assert!(!run.core.is_busy(Index(run.next)));
        // Until the operation is complete, the window takes it, the load before it, and as many others as are left.
        let each = (7 + 2 * MEMORY + 4 + 1) * WIDTH - (WINDOW + 1);
        assert_eq!(run.core.time().translation, (round * each) as i64);
    }
}

#[test]
fn walks_wait_for_a_walker_and_accesses_to_their_page_for_them() {
    let other = WALK.map(|entry| TableReference { line: Line(entry.line.0 + 1), ..entry });
    let time = |walkers| {
        let mut run = Run::new(&CoreModel { walkers, ..model() });
        run.load_translated(5, Registers::NONE, (0, Level::L1), walk());
        let walk = Walk { references: &other, page_shift: 12 };
        run.load_translated(6, Registers::NONE, (1, Level::L1), Translation::Walk(walk));
        run.end()
    };
    assert_eq!([time(1), time(2)], [Cycles(7 + 4 * MEMORY + 4), Cycles(7 + 2 * MEMORY + 4)]);

    let mut run = Run::new(&model());
    run.load_translated(5, Registers::NONE, (0, Level::L1), walk());
    run.load(6, Registers::NONE, 0, Level::L1);
    run.load(6, x(6), 1, Level::L1);
    assert_eq!(run.end(), Cycles(7 + 2 * MEMORY + 4 + 4), "the TLB has the page before the walk has ended");
}

#[test]
fn who_uses_a_line_under_way_waits_for_it_and_takes_no_miss_register() {
    let mut run = Run::new(&CoreModel { l1d_misses: 1, ..model() });
    run.load(5, Registers::NONE, 0, Level::Memory);
    run.load(6, Registers::NONE, 0, Level::L1);
    run.load(6, x(6), 1, Level::L2);
    assert_eq!(run.end(), Cycles(MEMORY + 14));
}

/// Lines one after the other, each read by eight loads.
fn stream(prefetch: PrefetchModel, lines: u64, lines_of_page: u64) -> u64 {
    let mut run = Run::with(&CoreModel { prefetch, ..model() }, lines_of_page);
    let mut brought = Brought::default();
    for line in 0..lines {
        for part in 0..8 {
            let found = if part > 0 { Level::L1 } else { brought.find(line) };
            let access =
                Access { address: Gva(line * 64), translation: Translation::FirstLevel, line: Line(line), found };
            let load = Load { destination: Some(Register::x(5)), address_of: Registers::NONE, access };
            let index = run.index();
            run.core.load(index, load, &mut brought);
            run.skip(2);
        }
    }
    run.end().0
}

/// Caches of any size.
#[derive(Default)]
struct Brought(std::collections::BTreeMap<u64, Level>);

impl Brought {
    fn find(&mut self, line: u64) -> Level {
        self.0.insert(line, Level::L1).unwrap_or(Level::Memory)
    }
}

impl PrefetchLines for Brought {
    fn prefetch(&mut self, line: Line, into: Level) -> Level {
        let before = self.0.get(&line.0).copied().unwrap_or(Level::Memory);
        self.0.insert(line.0, before.min(into));
        before
    }

    fn page(&mut self, page: Gva) -> Option<Line> {
        Some(Line(page.0 / 64))
    }
}

#[test]
fn a_stream_costs_latency_without_the_prefetcher_and_bandwidth_with_it() {
    let off = model().prefetch;
    let on =
        PrefetchModel { stream: StreamModel { entries: 32, degree: 2, distance: 20, page_end: PageEnd::Stop }, ..off };
    let lines = 64 * 100;
    // A window has 128 instructions, which are five or six lines of 24.
    let without = stream(off, lines, 64);
    assert!((lines * MEMORY / 6..lines * MEMORY / 5 + MEMORY).contains(&without), "{without}");
    // 16 lines at a time: less than what the instructions take would be without any miss, and the start of each page beside it.
    let with = stream(on, lines, 64);
    let bandwidth = lines * MEMORY / 16;
    assert!((bandwidth..bandwidth * 3 / 2).contains(&with), "{with}, bandwidth allows {bandwidth}");
    // A stream that crosses into the next page has one start, as if all were one page.
    let crossing =
        stream(PrefetchModel { stream: StreamModel { page_end: PageEnd::Cross, ..on.stream }, ..on }, lines, 64);
    assert_eq!(crossing, stream(on, lines, lines.next_power_of_two()));
    assert!((bandwidth..bandwidth * 21 / 20).contains(&crossing), "{crossing}, bandwidth allows {bandwidth}");
    assert!(crossing < with, "{crossing} with one start, {with} with 100");
}

/// The lines that the next-line prefetcher has brought for `misses` misses at once in pages of their own, and how often the latency of memory
/// passes until all of them are there.
fn next_lines(prefetch: PrefetchModel, misses: u64) -> (Vec<u64>, u64) {
    let mut run = Run::new(&CoreModel { prefetch, ..model() });
    let mut brought = Brought::default();
    for page in 0..misses {
        let access = Access {
            address: Gva(page << 12),
            translation: Translation::FirstLevel,
            line: Line(page * 64),
            found: brought.find(page * 64),
        };
        let load = Load { destination: None, address_of: Registers::NONE, access };
        let index = run.index();
        run.core.load(index, load, &mut brought);
    }
    let next = brought.0.into_keys().filter(|line| line % 64 == 1).map(|line| line / 64).collect();
    (next, run.end().0 / MEMORY)
}

#[test]
fn next_lines_are_brought_while_few_misses_are_waited_for() {
    let all = PrefetchModel { next_line: 1, next_line_into: NextLineLevel::L2, ..model().prefetch };
    let few = PrefetchModel { next_line_misses: 4, ..all };
    for misses in [1, 4, 7] {
        let most = misses.min(4);
        assert_eq!(next_lines(few, misses), ((0..most).collect(), 1), "{misses}");
        assert_eq!(next_lines(all, misses), ((0..misses).collect(), 1), "{misses}");
    }
}

#[test]
fn next_lines_of_the_l1d_take_its_registers_and_those_of_the_l2_do_not() {
    let of = |next_line_into| PrefetchModel { next_line: 1, next_line_into, ..model().prefetch };
    // Ten registers, of which five are left for next lines: a sixth miss waits for none, an eleventh register is not there.
    assert_eq!(next_lines(of(NextLineLevel::L1d), 5), ((0..5).collect(), 1));
    assert_eq!(next_lines(of(NextLineLevel::L1d), 6), ((0..5).collect(), 2));
    // Eight misses and their next lines take the 16 registers of the L2.
    assert_eq!(next_lines(of(NextLineLevel::L2), 8), ((0..8).collect(), 1));
    assert_eq!(next_lines(of(NextLineLevel::L2), 9), ((0..8).collect(), 2));
}

#[test]
fn a_full_store_buffer_stalls() {
    let stalls = |stores, drain| {
        let mut run = Run::new(&CoreModel { stores: StoreModel { entries: 8, drain }, ..model() });
        (0..stores).for_each(|line| run.store(line, Level::Memory));
        run.skip(10_000);
        run.stalls()
    };
    assert_eq!(stalls(8, Drain::InOrder), 0, "stores wait beside the core");
    let ninth = stalls(9, Drain::InOrder);
    assert_eq!(ninth, MEMORY * WIDTH - 8);
    assert_eq!(stalls(9, Drain::OutOfOrder), ninth);
    // Hits behind a miss leave before it only out of order.
    let behind = |drain| {
        let mut run = Run::new(&CoreModel { stores: StoreModel { entries: 8, drain }, ..model() });
        run.store(0, Level::Memory);
        (0..20).for_each(|_| run.store(1, Level::L1));
        run.skip(10_000);
        run.stalls()
    };
    assert_eq!([behind(Drain::InOrder), behind(Drain::OutOfOrder)], [MEMORY * WIDTH - 8, 0]);
}

#[test]
fn a_mispredicted_branch_cuts_overlap_if_its_condition_waits() {
    let time = |sources| {
        let mut run = Run::new(&model());
        run.load(5, Registers::NONE, 0, Level::Memory);
        let index = run.index();
        // Counters begin with weakly not taken.
        let outcome = run.core.branch(index, Branch { pc: 0x100, way: Way::Taken, sources });
        assert_eq!(outcome, Outcome::Mispredicted);
        run.load(6, Registers::NONE, 1, Level::Memory);
        run.end()
    };
    assert_eq!(time(x(5)), Cycles(MEMORY + 1 + 15 + MEMORY));
    let beside = time(Registers::NONE).0;
    assert!((15 + MEMORY..=15 + MEMORY + 1).contains(&beside), "{beside}");
}

/// A load of `x5` from memory; a mispredicted branch by `x5`; then another load from memory, `distance` instructions behind the branch. Returns when all is complete.
fn load_behind_a_misprediction(wrong_path: WrongPath, distance: u64, address_of: Registers) -> Cycles {
    let mut run = Run::new(&CoreModel { wrong_path, ..model() });
    run.load(5, Registers::NONE, 0, Level::Memory);
    let index = run.index();
    let outcome = run.core.branch(index, Branch { pc: 0x100, way: Way::Taken, sources: x(5) });
    assert_eq!(outcome, Outcome::Mispredicted);
    run.skip(distance - 1);
    run.load(6, address_of, 1, Level::Memory);
    run.end()
}

#[test]
fn a_load_behind_a_misprediction_begins_on_the_wrong_path_if_that_converges() {
    let independent = |wrong_path| load_behind_a_misprediction(wrong_path, 1, Registers::NONE);
    let resolved = MEMORY + 1;
    assert_eq!(independent(WrongPath::Off), Cycles(resolved + 15 + MEMORY));
    // Its line arrives while the front end begins again, and the load then hits.
    assert_eq!(independent(WrongPath::Converges), Cycles(resolved + 15));
    // The address is there when the branch is resolved, and not before.
    let dependent = |wrong_path| load_behind_a_misprediction(wrong_path, 1, x(5));
    assert_eq!(dependent(WrongPath::Off), Cycles(resolved + 15 + MEMORY));
    assert_eq!(dependent(WrongPath::Converges), Cycles(MEMORY + MEMORY), "a cycle before the branch is resolved");
}

#[test]
fn a_wrong_path_reaches_as_far_as_the_window_and_as_what_serializes() {
    let at = |distance| load_behind_a_misprediction(WrongPath::Converges, distance, Registers::NONE).0;
    // The window has the first load, the branch and those behind it.
    let last = WINDOW - 2;
    let resolved = MEMORY + 1;
    assert_eq!(at(last), resolved + 15 + last / WIDTH);
    // There is room for one more when the first load retires, a cycle before the branch is resolved; and for no other.
    assert_eq!(at(last + 1), MEMORY + MEMORY);
    assert!(at(last + 2) >= resolved + 15 + last / WIDTH + MEMORY, "{}", at(last + 2));
    let mut run = Run::new(&CoreModel { wrong_path: WrongPath::Converges, ..model() });
    run.load(5, Registers::NONE, 0, Level::Memory);
    let index = run.index();
    run.core.branch(index, Branch { pc: 0x100, way: Way::Taken, sources: x(5) });
    let next = Index(run.next);
    run.core.serialize(next, Serialize::Window);
    run.load(6, Registers::NONE, 1, Level::Memory);
    assert_eq!(run.end(), Cycles(resolved + 15 + MEMORY));
}

/// Loads that do not depend on each other, each with a branch by its value that is mispredicted: as many overlap as the window holds.
#[test]
fn independent_misses_overlap_beyond_mispredicted_branches() {
    let time = |wrong_path| {
        let mut run = Run::new(&CoreModel { wrong_path, ..model() });
        for number in 0..10 {
            run.load(5, Registers::NONE, number, Level::Memory);
            // Counters begin with weakly not taken, and each branch has its own.
            let index = run.index();
            let branch = Branch { pc: 0x100 + 2 * number, way: Way::Taken, sources: x(5) };
            assert_eq!(run.core.branch(index, branch), Outcome::Mispredicted);
        }
        run.end().0
    };
    assert_eq!(time(WrongPath::Off), 10 * (MEMORY + 1 + 15));
    // All ten are under way when the first branch is resolved; the others are when the front end comes to them.
    let together = time(WrongPath::Converges);
    assert!((MEMORY + 10 * 15..MEMORY + 10 * 17).contains(&together), "{together}");
}

#[test]
fn what_serializes_waits_for_what_is_outstanding() {
    let time = |serialize| {
        let mut run = Run::new(&model());
        run.load(5, Registers::NONE, 0, Level::Llc);
        run.store(1, Level::Memory);
        run.core.serialize(Index(2), serialize);
        run.core.now(Index(2))
    };
    let times = [Serialize::Window, Serialize::Stores, Serialize::Trap].map(time);
    assert_eq!(times, [Cycles(60), Cycles(MEMORY), Cycles(60 + 15)]);
}

#[test]
fn the_parts_of_the_time_are_all_of_it() {
    let mut run = Run::new(&model());
    run.load_translated(5, Registers::NONE, (0, Level::Memory), walk());
    run.load(6, x(5), 1, Level::Memory);
    run.skip(2 * WINDOW);
    run.core.fetch_line(Index(run.next), Level::L2);
    (0..20).for_each(|line| run.store(line, Level::Memory));
    let end = run.end();
    let total = Ticks(run.next) + run.core.time().total();
    assert_eq!(run.core.cycles(total), end);
    let time = run.core.time();
    let Stalls { data, stores, redirects: _, fetch } = time.stalls;
    assert!(time.translation > 0 && [data, stores, fetch].iter().all(|&part| part > Ticks(0)), "{time:?}");
}
