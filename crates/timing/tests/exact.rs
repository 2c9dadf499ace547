//! Exact moments at the edges of the rules, each of which a wrong comparison would move. Mutation tests found them: docs/mutants.md.

use timing::*;
use types::Gva;

const WIDTH: u64 = 4;
const WINDOW: u64 = 128;
const MEMORY: u64 = 200;
const LLC: u64 = 60;

/// Ticks from the dispatch of a load that finds its line in memory to its data.
const MISS: u64 = MEMORY * WIDTH;

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

fn core() -> Core {
    let model = CoreModel {
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
    };
    let latencies = [4, 14, LLC, MEMORY];
    Core::new(&model, &Surroundings { latencies, l2_tlb: 7, walker: WalkerPort::L1d, lines_of_page: 64 })
}

/// Reports a load to x5 that depends on nothing.
fn load(core: &mut Core, index: u64, line: u64, found: Level, translation: Translation<'_>) {
    let access = Access { address: Gva(line << 12), translation, line: Line(line), found };
    let load = Load { destination: Some(Register::x(5)), address_of: Registers::NONE, access };
    core.load(Index(index), load, &mut Cold);
}

/// Reports a load that misses all caches.
fn miss(core: &mut Core, index: u64) {
    load(core, index, 0, Level::Memory, Translation::FirstLevel);
}

fn total(core: &Core) -> u64 {
    core.time().total().0
}

#[test]
fn a_core_is_busy_until_the_tick_at_which_the_last_line_arrives_and_not_at_it() {
    let mut core = core();
    miss(&mut core, 0);
    // The window is full at its length, and the next instruction is dispatched when the line is there.
    assert!(core.is_busy(Index(WINDOW - 1)));
    assert!(!core.is_busy(Index(WINDOW)));
    assert_eq!(core.now(Index(WINDOW)).0, MEMORY);
}

#[test]
fn the_time_includes_what_is_known_to_delay_earlier_instructions_once_it_is_settled() {
    let mut core = core();
    miss(&mut core, 0);
    core.settle(Index(WINDOW));
    assert_eq!(total(&core), 0, "the instruction at the window's end is not before itself");
    core.settle(Index(WINDOW + 1));
    assert_eq!(total(&core), MISS - WINDOW);
}

#[test]
fn a_fetch_is_delayed_on_top_of_what_delays_earlier_instructions() {
    const FETCH: u64 = (LLC - 4) * WIDTH;
    let mut core = core();
    miss(&mut core, 0);
    core.fetch_line(Index(10 * WINDOW), Level::Llc);
    core.settle(Index(10 * WINDOW + 1));
    assert_eq!(total(&core), MISS - WINDOW + FETCH);
}

#[test]
fn both_clocks_are_settled_by_a_fetch_that_the_tlb_answers() {
    let entry = [TableReference { step: 0, line: Line(1 << 40), found: Level::Memory }];
    let walk = Translation::Walk(Walk { references: &entry, page_shift: 12 });
    let mut core = core();
    load(&mut core, 0, 0, Level::Memory, walk);
    core.fetch_translation(Index(10 * WINDOW), Gva(1 << 30), Translation::FirstLevel);
    let time = core.time();
    core.settle(Index(10 * WINDOW));
    assert_eq!(core.time(), time);
    // The load waits for the second level of TLBs and for a walk of one entry; the miss itself is on both clocks.
    assert_eq!(time.translation, ((7 + MEMORY) * WIDTH) as i64);
    assert_eq!(time.stalls.data, Ticks(MISS - WINDOW));
}

#[test]
fn registers_have_the_bits_that_their_numbers_say() {
    for number in 0..32 {
        assert_eq!(Register::x(number).set().bits(), (1 << number) & !1);
        assert_eq!(Register::f(number).set().bits(), 1 << (32 + number));
        // Of a number, five bits count.
        assert_eq!([Register::x(number + 32), Register::f(number + 32)], [Register::x(number), Register::f(number)]);
    }
}

#[test]
fn sets_of_registers_are_those_of_their_bits_without_x0() {
    assert_eq!(Registers::of_bits(0b1111).bits(), 0b1110);
    assert_eq!(Registers::of_bits(1), Registers::NONE);
    assert_eq!(Registers::NONE.first(), None);
    let set = Registers::of_bits(1 << 40 | 1 << 6);
    assert_eq!(set.first(), Some(Register::x(6)));
    assert_eq!(Registers::of_bits(1 << 40).first(), Some(Register::f(8)));
    assert!(set.intersects(Register::f(8).set()) && set.intersects(Register::x(6).set()));
    assert!(!set.intersects(Register::x(5).set()) && !set.intersects(Registers::NONE));
}
