//! Caches: lists of lines, each with its place and the time of its last use, looked through from the top down.

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
    pub replaces: Replaces,
}

/// Which line of a full set makes room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Replaces {
    /// The one whose use is longest ago.
    Oldest,
    /// One whose next use is predicted to be distant. A line that is new has a long interval, always.
    Distant,
    /// The same. In sets of leaders, a line that is new has a long interval, or a distant one with a chance of 31 in 32. Others do what misses less.
    DistantByDuel,
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

#[derive(Clone, Copy, PartialEq, Eq)]
struct Held {
    number: u64,
    /// Of its last use.
    time: u64,
    way: usize,
    /// 0 for a near use, to 3 for a distant one.
    interval: u8,
}

struct Cache {
    shape: CacheShape,
    lines: Vec<Held>,
    /// Misses of leaders with a long interval less those of leaders with a distant one, from 512 on, within 0 and 1023.
    duel: i32,
    /// The state of a generator by Marsaglia: shifts by 13, 7 and 17.
    chance: u64,
}

impl Cache {
    fn new(shape: CacheShape) -> Self {
        Self { shape, lines: Vec::new(), duel: 512, chance: 1 }
    }

    fn number(&self, address: u64) -> u64 {
        address / self.shape.line
    }

    /// Whether the line is there; if so, it is used now.
    fn look(&mut self, address: u64, now: u64) -> bool {
        let number = self.number(address);
        match self.lines.iter_mut().find(|line| line.number == number) {
            Some(line) => {
                line.time = now;
                line.interval = 0;
                true
            }
            None => false,
        }
    }

    /// Puts a line in that is used now; the address of the one that made room.
    fn put(&mut self, address: u64, now: u64) -> Option<u64> {
        if self.look(address, now) {
            return None;
        }
        let number = self.number(address);
        let sets = self.shape.sets;
        let same_set: Vec<Held> =
            self.lines.iter().copied().filter(|line| line.number % sets == number % sets).collect();
        let mut evicted = None;
        if same_set.len() == self.shape.ways {
            evicted = match self.shape.replaces {
                Replaces::Oldest => same_set.iter().min_by_key(|line| line.time).copied(),
                Replaces::Distant | Replaces::DistantByDuel => {
                    while !self.lines.iter().any(|line| line.number % sets == number % sets && line.interval == 3) {
                        for line in self.lines.iter_mut().filter(|line| line.number % sets == number % sets) {
                            line.interval += 1;
                        }
                    }
                    let set = self.lines.iter().filter(|line| line.number % sets == number % sets);
                    set.filter(|line| line.interval == 3).min_by_key(|line| line.way).copied()
                }
            };
            self.lines.retain(|line| Some(*line) != evicted);
        }
        let free = (0..self.shape.ways).find(|way| !same_set.iter().any(|line| line.way == *way));
        let way = free.or(evicted.map(|line| line.way)).expect("a line has made room");
        let interval = self.interval_of_new(number % sets);
        self.lines.push(Held { number, time: now, way, interval });
        evicted.map(|line| line.number * self.shape.line)
    }

    /// What a line that comes into a set is predicted.
    fn interval_of_new(&mut self, set: u64) -> u8 {
        if self.shape.replaces != Replaces::DistantByDuel {
            return 2;
        }
        let pairs = (self.shape.sets / 32).max(2);
        let mostly_distant = match set % pairs {
            0 => {
                self.duel = (self.duel + 1).clamp(0, 1023);
                false
            }
            1 => {
                self.duel = (self.duel - 1).clamp(0, 1023);
                true
            }
            _ => self.duel >= 512,
        };
        if !mostly_distant {
            return 2;
        }
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        if self.chance.is_multiple_of(32) { 2 } else { 3 }
    }

    /// Takes out what overlaps `bytes` bytes.
    fn take_out(&mut self, address: u64, bytes: u64) {
        let length = self.shape.line;
        self.lines.retain(|line| line.number * length + length <= address || line.number * length >= address + bytes);
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
        let held = llc.look(address, now);
        match holds {
            Holds::Victims => {
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
