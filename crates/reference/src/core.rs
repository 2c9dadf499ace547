//! An out-of-order core: a list of all instructions, each with the times of its dispatch, completion and retirement.
//!
//! All times are in dispatch slots, of which a cycle has as many as the core is wide. Nothing is forgotten: what arrived long ago stays in its list.

use crate::predictor::{Predictor, Predicts};
use crate::stream::{StreamShape, Streams};
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
    /// Entries of the store buffer.
    pub stores: usize,
    /// Whether stores leave it in the order of the program.
    pub stores_in_order: bool,
    /// The branch predictor.
    pub predictor: Predicts,
    /// Lines behind an L1D miss that are prefetched.
    pub next_line: u64,
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
    /// They do, and the front end begins anew.
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

/// A time, and how much of the wait for it is for translation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Done {
    at: u64,
    translation: u64,
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
    /// Translation.
    pub translation: u64,
    /// The store buffer.
    pub stores: u64,
    /// Mispredictions and traps.
    pub redirects: u64,
    /// Lines of instructions.
    pub fetch: u64,
}

impl Lost {
    fn wait(&mut self, slots: u64, translation: u64) {
        self.translation += slots.min(translation);
        self.data += slots - slots.min(translation);
    }
}

/// A core.
pub struct Core {
    shape: CoreShape,
    times: Vec<Times>,
    /// Of each instruction: the translation in the wait for the completion that its retirement waits for.
    blamed: Vec<u64>,
    registers: [Done; 64],
    /// Until when the miss registers of the L1D and L2, and the walkers, are taken.
    taken: [Vec<u64>; 3],
    lines: BTreeMap<u64, u64>,
    pages: Vec<(u64, u32, u64)>,
    /// When each store left the buffer.
    stores: Vec<u64>,
    predictor: Predictor,
    streams: Streams,
    /// Before when the next instruction is not dispatched.
    redirected: u64,
    lost: Lost,
}

/// Prefetches a line into a level (0 or 1): the level that had it.
pub type Prefetch<'p> = dyn FnMut(u64, usize) -> usize + 'p;

impl Core {
    /// One that has executed nothing.
    #[must_use]
    pub fn new(shape: CoreShape) -> Self {
        Self {
            shape,
            times: Vec::new(),
            blamed: Vec::new(),
            registers: [Done::default(); 64],
            taken: [vec![0; shape.misses[0]], vec![0; shape.misses[1]], vec![0; shape.walkers]],
            lines: BTreeMap::new(),
            pages: Vec::new(),
            stores: Vec::new(),
            predictor: Predictor::new(shape.predictor),
            streams: Streams::new(shape.stream),
            redirected: 0,
            lost: Lost::default(),
        }
    }

    /// Slots lost so far.
    #[must_use]
    pub fn lost(&self) -> Lost {
        self.lost
    }

    /// The times of the instructions so far.
    #[must_use]
    pub fn times(&self) -> &[Times] {
        &self.times
    }

    /// Executes an instruction: its times.
    pub fn execute(&mut self, instruction: &Instruction, prefetch: &mut Prefetch<'_>) -> Times {
        let mut now = self.times.last().map_or(0, |before| before.dispatch + 1);
        now = now.max(self.redirected);
        for before in &instruction.before {
            now = self.before(before, now);
        }
        let number = self.times.len();
        if let Some(oldest) = number.checked_sub(self.shape.window) {
            let retires = self.times[oldest].retire;
            if retires > now {
                self.lost.wait(retires - now, self.blamed[oldest]);
                now = retires;
            }
        }
        let stored = instruction.does.iter().any(|does| matches!(does, Does::Store(..)));
        if stored {
            let free = self.store_entry_is_free();
            self.lost.stores += free.saturating_sub(now);
            now = now.max(free);
        }
        let earlier = self.retired();
        let mut complete = Done { at: now, translation: 0 };
        let mut leaves = Vec::new();
        for does in &instruction.does {
            let done = self.does(does, now, &mut leaves, prefetch);
            if done.at > complete.at {
                complete = done;
            }
        }
        let retires = if complete.at > earlier.at { complete } else { earlier };
        self.blamed.push(retires.translation);
        let times = Times { dispatch: now, complete: complete.at, retire: retires.at.max(now) };
        self.times.push(times);
        for line in leaves {
            let latest = self.stores.iter().copied().max().unwrap_or(0);
            let leaves = times.retire.max(line);
            self.stores.push(if self.shape.stores_in_order { leaves.max(latest) } else { leaves });
        }
        if let Some(Does::Branch(pc, taken, _)) = instruction.does.last()
            && !self.predictor.is_right(*pc, *taken)
        {
            let penalty = self.cycles(self.shape.mispredict);
            self.redirected = times.complete + penalty;
            let stall = self.redirected.saturating_sub(now + 1);
            self.lost.redirects += stall.min(penalty);
            self.lost.wait(stall - stall.min(penalty), complete.translation);
        }
        times
    }

    fn cycles(&self, cycles: u64) -> u64 {
        cycles * self.shape.width
    }

    /// When all instructions so far have retired.
    fn retired(&self) -> Done {
        let at = self.times.last().map_or(0, |times| times.retire);
        Done { at, translation: self.blamed.last().copied().unwrap_or(0) }
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
                self.lost.translation += done - now;
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
        let retired = self.retired();
        if retired.at <= now {
            return now;
        }
        self.lost.wait(retired.at - now, retired.translation);
        retired.at
    }

    /// When an instruction dispatched at `now` has the values of registers.
    fn ready(&self, registers: &[usize], now: u64) -> Done {
        let mut latest = Done { at: now, translation: 0 };
        let mut sorted = registers.to_vec();
        sorted.sort_unstable();
        for register in sorted {
            if self.registers[register].at > latest.at {
                latest = self.registers[register];
            }
        }
        latest
    }

    fn write(&mut self, register: usize, done: Done) {
        if register != 0 {
            self.registers[register] = done;
        }
    }

    fn does(&mut self, does: &Does, now: u64, leaves: &mut Vec<u64>, prefetch: &mut Prefetch<'_>) -> Done {
        match does {
            Does::Operation(destination, sources) => {
                let done = self.computed(sources, now);
                self.write(*destination, done);
                done
            }
            Does::Branch(_, _, sources) => self.computed(sources, now),
            Does::Load(destination, address, uses) => {
                let (_, data, hidden) = self.access(uses, self.ready(address, now), now, prefetch);
                let done = if hidden { Done { at: now, translation: 0 } } else { data };
                self.write(*destination, done);
                done
            }
            Does::Store(data, address, uses) => {
                let data = self.ready(data, now);
                let (translated, line, hidden) = self.access(uses, self.ready(address, now), now, prefetch);
                leaves.push(if hidden { 0 } else { line.at });
                if data.at > translated.at { data } else { translated }
            }
        }
    }

    /// A cycle behind the last operand, if that is not there at dispatch.
    fn computed(&self, sources: &[usize], now: u64) -> Done {
        let ready = self.ready(sources, now);
        if ready.at == now { ready } else { Done { at: ready.at + self.cycles(1), ..ready } }
    }

    /// When an access is translated, when it has its data, and whether that takes no longer than a hit at dispatch.
    fn access(&mut self, uses: &Uses, address: Done, now: u64, prefetch: &mut Prefetch<'_>) -> (Done, Done, bool) {
        let at = self.translate(uses.address, &uses.translation, address.at);
        let translation = address.translation + at - address.at;
        let done = self.line(uses.line, uses.level, at, true);
        if uses.level > 0 {
            self.prefetch_behind(uses.line, at, prefetch);
        }
        let hidden = uses.level == 0 && at == now && done == at + self.cycles(self.shape.latencies[0]);
        (Done { at, translation }, Done { at: done, translation }, hidden)
    }

    fn translate(&mut self, address: u64, translation: &Translates, time: u64) -> u64 {
        let same = |page: &&(u64, u32, u64)| address >> page.1 == page.0;
        let arrives = self.pages.iter().filter(same).map(|page| page.2).max().unwrap_or(0);
        let done = match translation {
            Translates::FirstLevel => time,
            Translates::SecondLevel => time + self.cycles(self.shape.l2_tlb),
            Translates::Walk(steps, shift) => {
                let (walker, mut at) = self.choose(2, time + self.cycles(self.shape.l2_tlb));
                for step in steps {
                    let entries: Vec<u64> = step
                        .iter()
                        .map(|&(line, level)| self.line(line, level, at, self.shape.walks_through_l1d))
                        .collect();
                    at = entries.into_iter().max().unwrap_or(at);
                }
                self.taken[2][walker] = at;
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

    fn prefetch_behind(&mut self, line: u64, time: u64, prefetch: &mut Prefetch<'_>) {
        self.stream(line, time, prefetch);
        for next in line + 1..=line + self.shape.next_line {
            let of_page = self.shape.stream.lines_of_page;
            if next / of_page != line / of_page {
                return;
            }
            match self.bring(next, 0, time, prefetch) {
                None => return,
                Some(0) => {}
                Some(_) => self.stream(next, time, prefetch),
            }
        }
    }

    fn stream(&mut self, line: u64, time: u64, prefetch: &mut Prefetch<'_>) {
        let wanted = self.streams.request(line);
        for &next in &wanted {
            if self.bring(next, 1, time, prefetch).is_none() {
                return;
            }
            self.streams.brought(next);
        }
    }

    /// Prefetches a line if it needs not wait for miss registers: the level that had it.
    fn bring(&mut self, line: u64, into: usize, time: u64, prefetch: &mut Prefetch<'_>) -> Option<usize> {
        let may_need: Vec<(usize, (usize, u64))> =
            (into..2).map(|missed| (missed, self.choose(missed, time))).collect();
        if may_need.iter().any(|(_, (_, begin))| *begin > time) {
            return None;
        }
        let had = prefetch(line, into);
        if had > into {
            let done = time + self.cycles(self.shape.latencies[had]);
            for (missed, (register, _)) in may_need {
                if had > missed {
                    self.taken[missed][register] = done;
                }
            }
            self.lines.insert(line, done);
        }
        Some(had)
    }
}
