//! An out-of-order core: a list of all instructions, each with the times of its dispatch, completion and retirement.
//!
//! All times are in dispatch slots, of which a cycle has as many as the core is wide. Nothing is forgotten: what arrived long ago stays in its list.

use crate::predictor::{Predictor, Predicts};
use crate::stream::{StreamShape, Streams};
use crate::wrong_path::{Dispatched, WrongPaths};
use std::collections::BTreeMap;

/// The shape of a core and of what is around it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CoreShape {
    /// Instructions dispatched in a cycle.
    pub width: u64,
    /// Instructions of the window.
    pub window: usize,
    /// Misses at a time of the L1D and of the L2.
    pub misses: [usize; 2],
    /// Walks at a time.
    pub walkers: usize,
    /// Cycles of the front end after a misprediction.
    pub mispredict: u64,
    /// Whether loads of the right path are made on the wrong path before.
    pub wrong_path: bool,
    /// Entries of the store buffer.
    pub stores: usize,
    /// Whether stores leave it in the order of the program.
    pub stores_in_order: bool,
    /// The branch predictor.
    pub predictor: Predicts,
    /// Lines behind an L1D miss that are prefetched.
    pub next_line: u64,
    /// The level that they are brought into: 0 for the L1D, 1 for the L2.
    pub next_line_into: usize,
    /// Misses that the L1D waits for, at the most, when they are prefetched.
    pub next_line_misses: usize,
    /// The L2's prefetcher.
    pub stream: StreamShape,
    /// Cycles to data in the L1, the L2, the last level and memory.
    pub latencies: [u64; 4],
    /// Cycles of the second level of TLBs.
    pub l2_tlb: u64,
    /// Whether a walker's misses pass the L1D.
    pub walks_through_l1d: bool,
}

/// How an address is translated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Translates {
    /// At once.
    FirstLevel,
    /// By the second level of TLBs.
    SecondLevel,
    /// By a walk: for each step the lines, with the level that has each; and log2 of the page's bytes.
    Walk(Vec<Vec<(u64, usize)>>, u32),
}

/// A use of memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Uses {
    /// The address.
    pub address: u64,
    /// Its translation.
    pub translation: Translates,
    /// The line.
    pub line: u64,
    /// The level that has it, from 0 for the L1 to 3 for memory.
    pub level: usize,
}

/// What happens before an instruction is dispatched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Before {
    /// A fetch is translated: the address, and how.
    FetchTranslation(u64, Translates),
    /// A line of instructions comes from a level.
    FetchLine(usize),
    /// All earlier instructions retire.
    Retire,
    /// They do, and the store buffer is empty.
    Empty,
    /// They do, and the front end starts again.
    Restart,
}

/// What an instruction does. Register 0 is never waited for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Does {
    /// Computes a register from others.
    Operation(usize, Vec<usize>),
    /// Loads a register; the registers of the address.
    Load(usize, Vec<usize>, Uses),
    /// Stores registers; the registers of the address.
    Store(Vec<usize>, Vec<usize>, Uses),
    /// Branches: address, whether taken, registers of the condition.
    Branch(u64, bool, Vec<usize>),
}

/// An instruction. An atomic operation does two things.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instruction {
    /// What happens before it.
    pub before: Vec<Before>,
    /// What it does.
    pub does: Vec<Does>,
}

/// The times of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Times {
    /// When it is dispatched.
    pub dispatch: u64,
    /// When it is complete.
    pub complete: u64,
    /// When it retires.
    pub retire: u64,
}

/// Slots lost, by what for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lost {
    /// Data.
    pub data: u64,
    /// The store buffer.
    pub stores: u64,
    /// Mispredictions and traps.
    pub redirects: u64,
    /// Lines of instructions.
    pub fetch: u64,
}

impl Lost {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.data + self.stores + self.redirects + self.fetch
    }
}

/// A core twice: as it is, and as it would be if translation took no time.
pub struct Core {
    real: Clock,
    ideal: Clock,
    predictor: Predictor,
    streams: Streams,
}

/// A line that was prefetched, into which level, and which had it.
type Prefetched = (u64, usize, usize);

/// One of the two.
struct Clock {
    shape: CoreShape,
    times: Vec<Times>,
    /// When the value of each register is there.
    registers: [u64; 64],
    /// Until when the miss registers of the L1D and L2, and the walkers, are taken.
    taken: [Vec<u64>; 3],
    lines: BTreeMap<u64, u64>,
    pages: Vec<(u64, u32, u64)>,
    /// When each store left the buffer.
    stores: Vec<u64>,
    /// Before when the next instruction is not dispatched.
    redirected: u64,
    wrong_paths: WrongPaths,
    lost: Lost,
    /// Slots from the start of each walk to its end, summed.
    walking: u64,
}

/// What the prefetchers ask for.
pub trait Around {
    /// Prefetches a line into a level (0 or 1): the level that had it.
    fn prefetch(&mut self, line: u64, into: usize) -> usize;

    /// The number of the page that a page of virtual addresses is mapped to, if it is.
    fn page(&self, page: u64) -> Option<u64>;
}

impl Core {
    /// One that has executed nothing.
    #[must_use]
    pub fn new(shape: CoreShape) -> Self {
        Self {
            real: Clock::new(shape),
            ideal: Clock::new(shape),
            predictor: Predictor::new(shape.predictor),
            streams: Streams::new(shape.stream),
        }
    }

    /// Slots that the core would have lost so far if translation took no time.
    #[must_use]
    pub fn lost(&self) -> Lost {
        self.ideal.lost
    }

    /// Slots that it has lost beyond these.
    #[must_use]
    pub fn translation(&self) -> i64 {
        self.real.lost.total() as i64 - self.ideal.lost.total() as i64
    }

    /// Slots from the start of each walk to its end, summed over all walks of the core as it is.
    #[must_use]
    pub fn walking(&self) -> u64 {
        self.real.walking
    }

    /// Executes an instruction: its times on the core as it is.
    pub fn execute(&mut self, instruction: &Instruction, around: &mut dyn Around) -> Times {
        let right = match instruction.does.last() {
            Some(Does::Branch(pc, taken, _)) => self.predictor.is_right(*pc, *taken),
            _ => true,
        };
        let mut prefetched = Vec::new();
        let streams = &mut self.streams;
        let times = self.real.execute(instruction, right, &mut |clock, uses, time| {
            clock.prefetch(streams, uses, time, around, &mut prefetched);
        });
        self.ideal.execute(&translated_at_once(instruction), right, &mut |clock, _, time| {
            prefetched.iter().for_each(|&one| clock.follow(one, time));
        });
        times
    }
}

/// The instruction with all that it accesses translated by the first level of TLBs.
fn translated_at_once(instruction: &Instruction) -> Instruction {
    let mut instruction = instruction.clone();
    for before in &mut instruction.before {
        if let Before::FetchTranslation(_, translation) = before {
            *translation = Translates::FirstLevel;
        }
    }
    for does in &mut instruction.does {
        if let Does::Load(_, _, uses) | Does::Store(_, _, uses) = does {
            uses.translation = Translates::FirstLevel;
        }
    }
    instruction
}

/// What happens when a line that is not in the L1D is requested at a time.
type Missed<'m> = dyn FnMut(&mut Clock, &Uses, u64) + 'm;

impl Clock {
    fn new(shape: CoreShape) -> Self {
        Self {
            shape,
            times: Vec::new(),
            registers: [0; 64],
            taken: [vec![0; shape.misses[0]], vec![0; shape.misses[1]], vec![0; shape.walkers]],
            lines: BTreeMap::new(),
            pages: Vec::new(),
            stores: Vec::new(),
            redirected: 0,
            wrong_paths: WrongPaths::default(),
            lost: Lost::default(),
            walking: 0,
        }
    }

    fn execute(&mut self, instruction: &Instruction, predicted: bool, missed: &mut Missed<'_>) -> Times {
        let mut now = self.times.last().map_or(0, |before| before.dispatch + 1);
        now = now.max(self.redirected);
        for before in &instruction.before {
            let until = self.before(before, now);
            if until > now || matches!(before, Before::Retire | Before::Empty | Before::Restart) {
                self.wrong_paths.end();
            }
            now = until;
        }
        let number = self.times.len();
        if let Some(oldest) = number.checked_sub(self.shape.window) {
            let retires = self.times[oldest].retire;
            self.lost.data += retires.saturating_sub(now);
            now = now.max(retires);
        }
        let stored = instruction.does.iter().any(|does| matches!(does, Does::Store(..)));
        if stored {
            let free = self.store_entry_is_free();
            self.lost.stores += free.saturating_sub(now);
            if free > now || instruction.does.len() > 1 {
                self.wrong_paths.end();
            }
            now = now.max(free);
        }
        let oldest = number.checked_sub(self.shape.window);
        let retired = oldest.map_or(0, |oldest| self.times[oldest].retire);
        let at = Dispatched { now, early: self.wrong_paths.early(number, self.shape.window, retired) };
        let mut complete = now;
        let mut leaves = Vec::new();
        for does in &instruction.does {
            complete = complete.max(self.does(does, at, &mut leaves, missed));
        }
        let times = Times { dispatch: now, complete, retire: complete.max(self.retired()) };
        self.times.push(times);
        for line in leaves {
            let latest = self.stores.iter().copied().max().unwrap_or(0);
            let leaves = times.retire.max(line);
            self.stores.push(if self.shape.stores_in_order { leaves.max(latest) } else { leaves });
        }
        if !predicted {
            let penalty = self.cycles(self.shape.mispredict);
            self.redirected = complete + penalty;
            let stall = self.redirected.saturating_sub(now + 1);
            self.lost.redirects += stall.min(penalty);
            self.lost.data += stall - stall.min(penalty);
            if self.shape.wrong_path {
                self.wrong_paths.begin(number, now, complete);
            }
        }
        times
    }

    fn cycles(&self, cycles: u64) -> u64 {
        cycles * self.shape.width
    }

    /// When all instructions so far have retired.
    fn retired(&self) -> u64 {
        self.times.last().map_or(0, |times| times.retire)
    }

    /// When at most all but one entry of the store buffer are taken.
    fn store_entry_is_free(&self) -> u64 {
        let mut leaves = self.stores.clone();
        leaves.sort_unstable_by(|one, other| other.cmp(one));
        leaves.get(self.shape.stores - 1).copied().unwrap_or(0)
    }

    fn before(&mut self, before: &Before, now: u64) -> u64 {
        match before {
            Before::FetchTranslation(address, translation) => {
                let done = self.translate(*address, translation, now);
                self.lost.fetch += done - now;
                done
            }
            Before::FetchLine(level) => {
                let stall = self.cycles(self.shape.latencies[*level].saturating_sub(self.shape.latencies[0]));
                self.lost.fetch += stall;
                now + stall
            }
            Before::Retire => self.retire_all(now),
            Before::Empty => {
                let now = self.retire_all(now);
                let empty = self.stores.iter().copied().max().unwrap_or(0).max(now);
                self.lost.stores += empty - now;
                empty
            }
            Before::Restart => {
                let penalty = self.cycles(self.shape.mispredict);
                self.lost.redirects += penalty;
                self.retire_all(now) + penalty
            }
        }
    }

    fn retire_all(&mut self, now: u64) -> u64 {
        let retired = self.retired().max(now);
        self.lost.data += retired - now;
        retired
    }

    /// When an instruction dispatched at `now` has the values of registers.
    fn ready(&self, registers: &[usize], now: u64) -> u64 {
        registers.iter().map(|&register| self.registers[register]).max().unwrap_or(0).max(now)
    }

    fn write(&mut self, register: usize, done: u64) {
        if register != 0 {
            self.registers[register] = done;
        }
    }

    fn does(&mut self, does: &Does, at: Dispatched, leaves: &mut Vec<u64>, missed: &mut Missed<'_>) -> u64 {
        match does {
            Does::Operation(destination, sources) => {
                let done = self.computed(sources, at);
                self.write(*destination, done);
                done
            }
            Does::Branch(_, _, sources) => self.computed(sources, at),
            Does::Load(destination, address, uses) => {
                let known = self.ready(address, at.earliest());
                let on_wrong_path = at.early.is_some_and(|(_, flushed)| known < flushed);
                let begin = if on_wrong_path { known } else { known.max(at.now) };
                let (translated, data) = self.access(uses, begin, missed);
                let hit = self.cycles(self.shape.latencies[0]);
                let is_hit = uses.level == 0 && data == translated + hit;
                let done = if is_hit && (translated == at.now || translated == at.earliest()) {
                    // A hit takes no time beyond its dispatch.
                    translated
                } else if translated < at.now && data <= at.now + hit {
                    // The right path finds the line.
                    data.min(at.now)
                } else {
                    data
                };
                self.write(*destination, done);
                done
            }
            Does::Store(data, address, uses) => {
                let data = self.ready(data, at.now);
                let (translated, line) = self.access(uses, self.ready(address, at.now), missed);
                let hit = self.cycles(self.shape.latencies[0]);
                let hidden = uses.level == 0 && translated == at.now && line == translated + hit;
                leaves.push(if hidden { 0 } else { line });
                data.max(translated)
            }
        }
    }

    /// A cycle after the last operand, if that is not there at dispatch.
    fn computed(&self, sources: &[usize], at: Dispatched) -> u64 {
        let ready = self.ready(sources, at.earliest());
        let done = ready + self.cycles(1);
        match ready {
            _ if ready == at.earliest() => ready,
            // The right path has the operands at its dispatch.
            _ if ready <= at.now => done.min(at.now),
            _ => done,
        }
    }

    /// When an access whose address is known at a time is translated, and when it has its data.
    fn access(&mut self, uses: &Uses, address: u64, missed: &mut Missed<'_>) -> (u64, u64) {
        let at = self.translate(uses.address, &uses.translation, address);
        let done = self.line(uses.line, uses.level, at, true);
        if uses.level > 0 {
            missed(self, uses, at);
        }
        (at, done)
    }

    fn translate(&mut self, address: u64, translation: &Translates, time: u64) -> u64 {
        let same = |page: &&(u64, u32, u64)| address >> page.1 == page.0;
        let arrives = self.pages.iter().filter(same).map(|page| page.2).max().unwrap_or(0);
        let done = match translation {
            Translates::FirstLevel => time,
            Translates::SecondLevel => time + self.cycles(self.shape.l2_tlb),
            Translates::Walk(steps, shift) => {
                let (walker, begin) = self.choose(2, time + self.cycles(self.shape.l2_tlb));
                let mut at = begin;
                for step in steps {
                    let entries: Vec<u64> = step
                        .iter()
                        .map(|&(line, level)| self.line(line, level, at, self.shape.walks_through_l1d))
                        .collect();
                    at = entries.into_iter().max().unwrap_or(at);
                }
                self.taken[2][walker] = at;
                self.walking += at - begin;
                self.pages.push((address >> shift, *shift, at.max(arrives)));
                at
            }
        };
        done.max(arrives)
    }

    /// When the data of a line are there that is asked for at a time.
    fn line(&mut self, line: u64, level: usize, time: u64, through_l1d: bool) -> u64 {
        let arrives = self.lines.get(&line).copied().unwrap_or(0);
        let latency = self.cycles(self.shape.latencies[level]);
        if level == 0 {
            return arrives.max(time + latency);
        }
        let (mut begin, mut used) = (time, Vec::new());
        for missed in 0..2 {
            if (missed == 0 && through_l1d) || (missed == 1 && level > 1) {
                let (register, from) = self.choose(missed, begin);
                begin = from;
                used.push((missed, register));
            }
        }
        let done = arrives.max(begin + latency);
        for (missed, register) in used {
            self.taken[missed][register] = done;
        }
        self.lines.insert(line, done);
        done
    }

    /// Of those of a kind: the one that is free the shortest, or else the one that is free first; and when.
    fn choose(&self, kind: usize, time: u64) -> (usize, u64) {
        let all = self.taken[kind].iter().copied().enumerate();
        let in_time = all.clone().filter(|one| one.1 <= time).max_by_key(|one| (one.1, std::cmp::Reverse(one.0)));
        let first = all.min_by_key(|one| (one.1, one.0)).expect("there is one at least");
        in_time.map_or(first, |one| (one.0, time))
    }

    /// What the prefetchers bring after a miss in the L1D.
    fn prefetch(
        &mut self,
        streams: &mut Streams,
        uses: &Uses,
        time: u64,
        around: &mut dyn Around,
        prefetched: &mut Vec<Prefetched>,
    ) {
        let (next_line, of_page, degree) =
            (self.shape.next_line, self.shape.stream.lines_of_page, self.shape.stream.degree);
        let (line, into) = (uses.line, self.shape.next_line_into);
        let waited_for = self.taken[0].iter().filter(|&&until| until > time).count();
        let few_misses = waited_for <= self.shape.next_line_misses;
        let mut bring = |around: &mut dyn Around, line, into| {
            let had = self.bring(line, into, time, around)?;
            prefetched.push((line, into, had));
            Some(had)
        };
        type Bring<'b> = dyn FnMut(&mut dyn Around, u64, usize) -> Option<usize> + 'b;
        let mut stream = |around: &mut dyn Around, line, bring: &mut Bring<'_>| {
            if !streams.request(line) {
                return;
            }
            for _ in 0..degree {
                // Addresses have 64 bits, so that the last page is before the first.
                let mut neighbour = |side| around.page((uses.address / 4096).wrapping_add_signed(side) % (1 << 52));
                let Some(next) = streams.next(&mut neighbour) else { return };
                if bring(around, next, 1).is_none() {
                    return;
                }
                streams.brought();
            }
        };
        stream(around, line, &mut bring);
        if !few_misses {
            return;
        }
        for next in line + 1..=line + next_line {
            if next / of_page != line / of_page {
                return;
            }
            match (bring(around, next, into), into) {
                (None, _) => return,
                (Some(1..), 0) => stream(around, next, &mut bring),
                (Some(_), _) => {}
            }
        }
    }

    /// Prefetches a line if it needs not wait for miss registers: the level that had it.
    fn bring(&mut self, line: u64, into: usize, time: u64, around: &mut dyn Around) -> Option<usize> {
        if (into..2).any(|missed| self.choose(missed, time).1 > time) {
            return None;
        }
        let had = around.prefetch(line, into);
        self.follow((line, into, had), time);
        Some(had)
    }

    /// A prefetch is made, as soon as there are miss registers for it.
    fn follow(&mut self, (line, into, had): Prefetched, time: u64) {
        if had <= into {
            return;
        }
        let (mut begin, mut used) = (time, Vec::new());
        for missed in into..2.min(had) {
            let (register, from) = self.choose(missed, begin);
            begin = from;
            used.push((missed, register));
        }
        let done = begin + self.cycles(self.shape.latencies[had]);
        for (missed, register) in used {
            self.taken[missed][register] = done;
        }
        self.lines.insert(line, done);
    }
}
