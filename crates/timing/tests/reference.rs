//! The core against the obvious model of it, on random streams of instructions.
//!
//! The reference is given all of each instruction; the core only what the interface asks for: while nothing is outstanding, that is what no first level
//! answers.

use reference::{Before, CoreShape, Does, Instruction, Predicts, StreamShape, Translates, Uses};
use std::collections::BTreeMap;
use testing::Random;
use timing::*;
use types::Gva;

const SEED: &str = "PAGEWALK_FUZZ_SEED";
const STREAMS: u64 = 200;
const INSTRUCTIONS: u64 = 600;
const LINES_OF_PAGE: u64 = 64;

/// Caches that hold what a hash of the line says, until it is brought higher.
#[derive(Default)]
struct Memory {
    levels: BTreeMap<u64, Level>,
}

const LEVELS: [Level; 4] = [Level::L1, Level::L2, Level::Llc, Level::Memory];

impl Memory {
    fn level(&self, line: u64) -> Level {
        let hashed = line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62;
        self.levels.get(&line).copied().unwrap_or(LEVELS[hashed as usize])
    }

    /// Where a line is; then it is in the L1, or in the L2 if the L1 is not asked.
    fn find(&mut self, line: u64, into: Level) -> Level {
        let found = self.level(line);
        self.levels.insert(line, found.min(into));
        // Something else gives way now and then.
        if line.is_multiple_of(5) {
            self.levels.remove(&(line / 5));
        }
        found
    }
}

/// Where a page is mapped, by its number: neighbours are not neighbours in memory, and some are nowhere.
fn mapped(page: u64) -> Option<u64> {
    (page % 7 != 3).then_some(page ^ 2)
}

impl PrefetchLines for Memory {
    fn prefetch(&mut self, line: Line, into: Level) -> Level {
        self.find(line.0, into)
    }

    fn page(&mut self, page: Gva) -> Option<Line> {
        Some(Line(mapped(page.0 / 4096)? * LINES_OF_PAGE))
    }
}

/// The same for the reference.
impl reference::Around for Memory {
    fn prefetch(&mut self, line: u64, into: usize) -> usize {
        self.find(line, LEVELS[into]) as usize
    }

    fn page(&self, page: u64) -> Option<u64> {
        mapped(page)
    }
}

fn shape(random: &mut Random) -> CoreShape {
    let number = |random: &mut Random, limit| 1 + random.below(limit);
    CoreShape {
        width: number(random, 6),
        window: if random.one_in(4) { number(random, 8) } else { number(random, 256) } as usize,
        misses: [number(random, 12) as usize, number(random, 16) as usize],
        walkers: number(random, 3) as usize,
        mispredict: random.below(20),
        wrong_path: random.one_in(2),
        stores: number(random, 12) as usize,
        stores_in_order: random.one_in(2),
        predictor: Predicts { address_bits: number(random, 6) as u32, history_bits: number(random, 8) as u32 },
        next_line: random.below(3),
        next_line_into: random.index(2),
        next_line_misses: number(random, 14) as usize,
        stream: StreamShape {
            pages: random.index(4),
            degree: 1 + random.index(3),
            distance: random.between(1, 8),
            lines_of_page: LINES_OF_PAGE,
            crosses: random.one_in(2),
        },
        latencies: [1 + random.below(4), 5 + random.below(10), 20 + random.below(20), 50 + random.below(200)],
        l2_tlb: random.below(10),
        walks_through_l1d: random.one_in(2),
    }
}

fn core(shape: &CoreShape) -> Core {
    let model = CoreModel {
        width: shape.width,
        window: shape.window as u64,
        l1d_misses: shape.misses[0] as u32,
        l2_misses: shape.misses[1] as u32,
        walkers: shape.walkers as u32,
        mispredict: shape.mispredict,
        wrong_path: if shape.wrong_path { WrongPath::Converges } else { WrongPath::Off },
        stores: StoreModel {
            entries: shape.stores as u32,
            drain: if shape.stores_in_order { Drain::InOrder } else { Drain::OutOfOrder },
        },
        predictor: PredictorModel {
            address_bits: shape.predictor.address_bits,
            history_bits: shape.predictor.history_bits,
        },
        prefetch: PrefetchModel {
            next_line: shape.next_line,
            next_line_into: [NextLineLevel::L1d, NextLineLevel::L2][shape.next_line_into],
            next_line_misses: shape.next_line_misses as u32,
            stream: StreamModel {
                entries: shape.stream.pages as u32,
                degree: shape.stream.degree as u32,
                distance: shape.stream.distance as u64,
                page_end: if shape.stream.crosses { PageEnd::Cross } else { PageEnd::Stop },
            },
        },
    };
    let walker = if shape.walks_through_l1d { WalkerPort::L1d } else { WalkerPort::L2 };
    let around =
        Surroundings { latencies: shape.latencies, l2_tlb: shape.l2_tlb, walker, lines_of_page: LINES_OF_PAGE };
    Core::new(&model, &around)
}

/// Makes streams, with the caches as the caller of a core has them.
struct Generator {
    random: Random,
    memory: Memory,
    /// Where a scan is, and how many lines it goes on at a time.
    scan: u64,
    stride: i64,
}

impl Generator {
    fn register(&mut self) -> usize {
        // Few registers, so that instructions depend on each other.
        self.random.pick(&[0, 5, 6, 7, 40, 41])
    }

    fn registers(&mut self) -> Vec<usize> {
        (0..self.random.index(3)).map(|_| self.register()).collect()
    }

    fn line(&mut self) -> u64 {
        if self.random.one_in(2) {
            self.scan = self.scan.wrapping_add_signed(self.stride);
            self.scan
        } else {
            self.random.below(1 << self.random.clone().pick(&[3, 8, 12]))
        }
    }

    fn translation(&mut self) -> Translates {
        match self.random.below(8) {
            0..5 => Translates::FirstLevel,
            5 => Translates::SecondLevel,
            _ => {
                let steps = (0..1 + self.random.index(4)).map(|_| {
                    (0..1 + self.random.index(2))
                        .map(|_| {
                            let line = self.random.below(256);
                            (line, self.memory.find(line, Level::L1) as usize)
                        })
                        .collect()
                });
                Translates::Walk(steps.collect(), self.random.clone().pick(&[12, 16, 21]))
            }
        }
    }

    fn uses(&mut self) -> Uses {
        let translation = self.translation();
        let virtual_line = self.line();
        let (page, in_page) = (virtual_line / LINES_OF_PAGE, virtual_line % LINES_OF_PAGE);
        // What is mapped nowhere cannot be accessed.
        let (page, place) = mapped(page).map_or((page + 1, page + 1), |place| (page, place));
        let line = place * LINES_OF_PAGE + in_page;
        let level = self.memory.find(line, Level::L1) as usize;
        Uses { address: (page * LINES_OF_PAGE + in_page) * 64, translation, line, level }
    }

    fn before(&mut self) -> Vec<Before> {
        match self.random.below(60) {
            0 => vec![Before::FetchTranslation(self.random.below(1 << 16), self.translation())],
            1 => vec![Before::FetchLine(1 + self.random.index(3))],
            2 => vec![Before::FetchTranslation(7 << 12, self.translation()), Before::FetchLine(3)],
            3 => vec![Before::Retire],
            4 => vec![Before::Empty],
            5 => vec![Before::Restart, Before::FetchLine(1)],
            _ => Vec::new(),
        }
    }

    fn does(&mut self, calm: bool) -> Vec<Does> {
        if calm {
            return vec![Does::Operation(self.register(), self.registers())];
        }
        vec![match self.random.below(10) {
            0..4 => Does::Operation(self.register(), self.registers()),
            4..7 => Does::Load(self.register(), self.registers(), self.uses()),
            7 => Does::Store(self.registers(), self.registers(), self.uses()),
            8 => {
                let taken = !self.random.one_in(3);
                Does::Branch(2 * self.random.below(40), taken, self.registers())
            }
            _ => {
                let (destination, uses) = (self.register(), self.uses());
                let mut data = self.registers();
                data.push(destination);
                let again = Uses { translation: Translates::FirstLevel, level: 0, ..uses.clone() };
                return vec![Does::Load(destination, self.registers(), uses), Does::Store(data, Vec::new(), again)];
            }
        }]
    }
}

fn set(registers: &[usize]) -> Registers {
    registers.iter().fold(Registers::NONE, |set, &register| set.and(named(register).set()))
}

fn named(register: usize) -> Register {
    if register < 32 { Register::x(register as u8) } else { Register::f(register as u8) }
}

/// The table entries of a walk, which live as long as the event.
fn references(translation: &Translates) -> Vec<TableReference> {
    let Translates::Walk(steps, _) = translation else { return Vec::new() };
    let entries = steps.iter().zip(0..).flat_map(|(entries, step)| entries.iter().map(move |entry| (step, *entry)));
    entries.map(|(step, (line, level))| TableReference { step, line: Line(line), found: LEVELS[level] }).collect()
}

fn translation<'w>(translates: &Translates, references: &'w [TableReference]) -> Translation<'w> {
    match *translates {
        Translates::FirstLevel => Translation::FirstLevel,
        Translates::SecondLevel => Translation::SecondLevel,
        Translates::Walk(_, shift) => Translation::Walk(Walk { references, page_shift: shift as u8 }),
    }
}

fn access<'w>(uses: &Uses, references: &'w [TableReference]) -> Access<'w> {
    Access {
        address: Gva(uses.address),
        translation: translation(&uses.translation, references),
        line: Line(uses.line),
        found: LEVELS[uses.level],
    }
}

/// Whether the first levels answer.
fn is_short(uses: &Uses) -> bool {
    uses.level == 0 && uses.translation == Translates::FirstLevel
}

fn hit(uses: &Uses) -> Hit {
    Hit { address: Gva(uses.address), line: Line(uses.line) }
}

fn report_before(core: &mut Core, index: Index, before: &Before) {
    match before {
        Before::FetchTranslation(address, translates) => {
            let references = references(translates);
            core.fetch_translation(index, Gva(*address), translation(translates, &references));
        }
        Before::FetchLine(level) => core.fetch_line(index, LEVELS[*level]),
        Before::Retire => core.serialize(index, Serialize::Window),
        Before::Empty => core.serialize(index, Serialize::Stores),
        Before::Restart => core.serialize(index, Serialize::Trap),
    }
}

/// What the interface asks for of an instruction. Returns whether that was anything.
fn report(core: &mut Core, index: Index, instruction: &Instruction, memory: &mut Memory) -> bool {
    instruction.before.iter().for_each(|before| report_before(core, index, before));
    let busy = core.is_busy(index);
    match &instruction.does[..] {
        [Does::Operation(..)] if !busy => return false,
        [Does::Operation(destination, sources)]
            if !core.waiting().intersects(set(sources).and(named(*destination).set())) =>
        {
            return false;
        }
        [Does::Branch(pc, taken, sources)] if !core.waiting().intersects(set(sources)) => {
            let way = if *taken { Way::Taken } else { Way::NotTaken };
            let outcome = core.predict(*pc, way);
            if outcome == Outcome::Mispredicted {
                core.resolve(index, outcome, set(sources));
            }
        }
        [Does::Operation(destination, sources)] => {
            core.operation(index, Operation { destination: Some(named(*destination)), sources: set(sources) });
        }
        [Does::Branch(pc, taken, sources)] => {
            let way = if *taken { Way::Taken } else { Way::NotTaken };
            core.branch(index, Branch { pc: *pc, way, sources: set(sources) });
        }
        [Does::Load(_, _, uses) | Does::Store(_, _, uses), ..] if !busy && is_short(uses) => return false,
        [Does::Load(destination, address, uses)]
            if is_short(uses) && !core.load_matters(index, hit(uses), set(address).and(named(*destination).set())) =>
        {
            return false;
        }
        [Does::Load(destination, address, uses), rest @ ..] => {
            let references = references(&uses.translation);
            let load = Load {
                destination: Some(named(*destination)),
                address_of: set(address),
                access: access(uses, &references),
            };
            match rest {
                [Does::Store(data, _, _)] => core.atomic(index, load, set(data), memory),
                _ => core.load(index, load, memory),
            }
        }
        [Does::Store(data, address, uses)] => {
            let references = references(&uses.translation);
            let store = Store { data: set(data), address_of: set(address), access: access(uses, &references) };
            core.store(index, store, memory);
        }
        other => unreachable!("not generated: {other:?}"),
    }
    true
}

#[test]
fn the_core_keeps_the_time_of_the_reference() {
    let seed = testing::seed(SEED);
    let (mut reported, mut quiet) = (0, 0);
    for stream in 0..STREAMS {
        let mut random = Random::nth(seed, stream);
        let shape = shape(&mut random);
        let mut obvious = reference::Core::new(shape);
        let mut core = core(&shape);
        let mut generator = Generator { random, memory: Memory::default(), scan: (1 << 20) + 32, stride: 1 };
        generator.stride = generator.random.pick(&[1, -1, 2, 5]);
        let mut phase = 1;
        for number in 0..INSTRUCTIONS {
            if generator.random.one_in(40) {
                phase = generator.random.below(4);
            }
            let calm = phase == 0;
            let instruction =
                Instruction { before: if calm { Vec::new() } else { generator.before() }, does: generator.does(calm) };
            // Both prefetch, each into caches of its own.
            let mut own = Memory { levels: generator.memory.levels.clone() };
            let times = obvious.execute(&instruction, &mut own);
            let index = Index(number);
            if report(&mut core, index, &instruction, &mut generator.memory) {
                reported += 1;
            } else {
                quiet += 1;
            }
            assert_eq!(own.levels, generator.memory.levels, "stream {stream}, instruction {number}: prefetches");
            let now = number + core.time().total().0;
            // The branch itself may have delayed the next instruction, and nothing else does so.
            let redirected = matches!(instruction.does[..], [Does::Branch(..)]);
            assert!(redirected || now == times.dispatch, "stream {stream}, {number}: {instruction:?} {now} {times:?}");
        }
        core.serialize(Index(INSTRUCTIONS), Serialize::Stores);
        let end = Instruction { before: vec![Before::Empty], does: vec![Does::Operation(0, Vec::new())] };
        let times = obvious.execute(&end, &mut Memory::default());
        let time = core.time();
        assert_eq!(INSTRUCTIONS + time.total().0, times.dispatch, "stream {stream} of {shape:?}");
        let (stalls, lost) = (time.stalls, obvious.lost());
        let parts = [stalls.data, stalls.stores, stalls.redirects, stalls.fetch].map(|part| part.0);
        assert_eq!(parts, [lost.data, lost.stores, lost.redirects, lost.fetch], "stream {stream}");
        assert_eq!(time.translation, obvious.translation(), "stream {stream}");
        assert_eq!(time.walking.0, obvious.walking(), "stream {stream}");
    }
    assert!(quiet > reported / 20, "{quiet} instructions of {} were not reported", quiet + reported);
}
