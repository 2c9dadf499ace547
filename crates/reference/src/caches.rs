//! Caches: sets of lines, looked through from the top down.

use crate::cache::Set;
use crate::replacement::{Chooser, Policy};

/// The shape of one cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheShape {
    /// Sets.
    pub sets: u64,
    /// Lines of a set.
    pub ways: usize,
    /// Bytes of a line.
    pub line: u64,
    /// Which line of a full set makes room.
    pub policy: Policy,
}

/// What a level holds beside the levels above it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holds {
    /// Whatever was missed in it.
    Any,
    /// All that is above.
    Inclusive,
    /// What the level above gives up.
    Victims,
    /// The same, until the level above gets it back.
    Exclusive,
}

/// The shape of the caches of a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hierarchy {
    /// First level, data.
    pub l1d: CacheShape,
    /// First level, instructions.
    pub l1i: CacheShape,
    /// Second level.
    pub l2: Option<(CacheShape, Holds)>,
    /// Last level, of all processors together.
    pub llc: Option<(CacheShape, Holds)>,
}

/// Who looks for a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Looks {
    /// A load or store.
    Data,
    /// A fetch.
    Fetch,
    /// A walker that begins with the L2.
    AtL2,
}

/// Which levels missed: L1, L2, last level. What is not there misses.
pub type Missed = [bool; 3];

struct Cache {
    shape: CacheShape,
    /// Numbers of lines.
    sets: Vec<Set<u64>>,
    chooser: Chooser,
}

impl Cache {
    fn new(shape: CacheShape) -> Self {
        let sets = (0..shape.sets).map(|_| Set::new(shape.ways)).collect();
        Self { shape, sets, chooser: Chooser::new(shape.policy, shape.sets) }
    }

    /// The number of the line at an address, and of its set.
    fn place(&self, address: u64) -> (u64, u64) {
        let line = address / self.shape.line;
        (line, line % self.shape.sets)
    }

    /// Whether the line is there; if so, it is used now.
    fn look(&mut self, address: u64, now: u64) -> bool {
        let (line, number) = self.place(address);
        let set = &mut self.sets[number as usize];
        let way = set.find(|&held| held == line);
        way.inspect(|&way| set.use_way(way, now)).is_some()
    }

    /// Takes the line out, if it is there; whether it was. That is no use of it.
    fn take(&mut self, address: u64) -> bool {
        let (line, number) = self.place(address);
        let held = self.sets[number as usize].find(|&held| held == line).is_some();
        self.take_out(address, 1);
        held
    }

    /// Puts a line in that is used now; the address of the one that made room.
    fn put(&mut self, address: u64, now: u64) -> Option<u64> {
        let (line, number) = self.place(address);
        let set = &mut self.sets[number as usize];
        let before = set.clone();
        let way = set.fill(line, now, |&held| held == line, number, &mut self.chooser);
        let evicted = before.get(way).filter(|&&held| held != line);
        evicted.map(|line| line * self.shape.line)
    }

    /// Takes out what overlaps `bytes` bytes.
    fn take_out(&mut self, address: u64, bytes: u64) {
        let length = self.shape.line;
        let overlaps = |&line: &u64| line * length + length > address && line * length < address + bytes;
        self.sets.iter_mut().for_each(|set| set.remove(overlaps));
    }
}

struct Own {
    l1d: Cache,
    l1i: Cache,
    l2: Option<Cache>,
}

/// The caches of a host's processors.
pub struct Caches {
    shape: Hierarchy,
    own: Vec<Own>,
    llc: Option<Cache>,
    now: u64,
}

impl Caches {
    /// Empty ones.
    #[must_use]
    pub fn new(shape: Hierarchy, processors: usize) -> Self {
        let own = || Own {
            l1d: Cache::new(shape.l1d),
            l1i: Cache::new(shape.l1i),
            l2: shape.l2.map(|(shape, _)| Cache::new(shape)),
        };
        Self {
            shape,
            own: (0..processors).map(|_| own()).collect(),
            llc: shape.llc.map(|(shape, _)| Cache::new(shape)),
            now: 0,
        }
    }

    /// A use of a line. It is looked for from the top down, and then brought to each level that missed it, from the top down as well.
    pub fn access(&mut self, processor: usize, address: u64, looks: Looks) -> Missed {
        self.now += 1;
        let now = self.now;
        let own = &mut self.own[processor];
        let l1_hit = match looks {
            Looks::Data => own.l1d.look(address, now),
            Looks::Fetch => own.l1i.look(address, now),
            Looks::AtL2 => false,
        };
        if l1_hit {
            return [false, false, false];
        }
        match looks {
            Looks::Data => drop(own.l1d.put(address, now)),
            Looks::Fetch => drop(own.l1i.put(address, now)),
            Looks::AtL2 => {}
        }
        let mut victim_of_l2 = None;
        if let Some(l2) = &mut own.l2 {
            if l2.look(address, now) {
                return [true, false, false];
            }
            victim_of_l2 = l2.put(address, now);
        }
        if let (Some(victim), Some((l2, Holds::Inclusive))) = (victim_of_l2, self.shape.l2) {
            own.l1d.take_out(victim, l2.line);
            own.l1i.take_out(victim, l2.line);
        }
        let (Some(llc), Some((shape, holds))) = (&mut self.llc, self.shape.llc) else { return [true, true, true] };
        let held = match holds {
            Holds::Any | Holds::Inclusive | Holds::Victims => llc.look(address, now),
            Holds::Exclusive => llc.take(address),
        };
        match holds {
            Holds::Victims | Holds::Exclusive => {
                self.now += 1;
                if let Some(victim) = victim_of_l2 {
                    llc.put(victim, self.now);
                }
            }
            Holds::Any | Holds::Inclusive if held => {}
            Holds::Any | Holds::Inclusive => {
                let evicted = llc.put(address, now);
                if let (Some(evicted), Holds::Inclusive) = (evicted, holds) {
                    for own in &mut self.own {
                        own.l1d.take_out(evicted, shape.line);
                        own.l1i.take_out(evicted, shape.line);
                        if let Some(l2) = &mut own.l2 {
                            l2.take_out(evicted, shape.line);
                        }
                    }
                }
            }
        }
        [true, true, !held]
    }
}
