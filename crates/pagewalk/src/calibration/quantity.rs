//! Measured numbers, one by one: value, unit, spread, how measured, how sure.

use calibrate::staircase::Capacity;
use calibrate::{BehindBranches, Finding, Findings, NextLine, Spread, TOGETHER, Tlb, TlbLevel};

/// What a number is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unit {
    Bytes,
    Entries,
    Ways,
    Cycles,
    Nanoseconds,
    Hertz,
    /// Misses at the same time.
    Misses,
    /// In a cycle.
    Instructions,
    /// Of a whole, which is 1; texts have a hundred times that.
    Share,
}

impl Unit {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Entries => "entries",
            Self::Ways => "ways",
            Self::Cycles => "cycles",
            Self::Nanoseconds => "ns",
            Self::Hertz => "GHz",
            Self::Misses => "misses",
            Self::Instructions => "a cycle",
            Self::Share => "%",
        }
    }

    /// The unit of the numbers themselves, which JSON and CSV have.
    pub(crate) const fn exact_name(self) -> &'static str {
        match self {
            Self::Hertz => "Hz",
            Self::Share => "share",
            other => other.name(),
        }
    }

    /// A number of it, with as many digits as tell something.
    pub(crate) fn text(self, value: f64) -> String {
        match self {
            Self::Bytes => size(value),
            Self::Entries | Self::Ways => format!("{value:.0}"),
            Self::Hertz => format!("{:.2}", value / 1e9),
            Self::Share => format!("{:.0}", 100.0 * value),
            Self::Cycles | Self::Nanoseconds | Self::Misses | Self::Instructions => {
                format!("{value:.*}", if value.abs() < 99.95 { 1 } else { 0 })
            }
        }
    }
}

/// Bytes as people write them, to a part in a hundred.
fn size(bytes: f64) -> String {
    let (value, suffix) = match bytes {
        bytes if bytes >= f64::from(1 << 20) => (bytes / f64::from(1 << 20), "M"),
        bytes => (bytes / 1024.0, "K"),
    };
    let text = format!("{value:.*}", if value < 9.95 { 1 } else { 0 });
    format!("{}{suffix}", text.trim_end_matches(".0"))
}

/// How far a number can be trusted, by how its repeats spread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Certainty {
    /// Within 5 %.
    Sure,
    /// Within 25 %: as sizes follow each other.
    Fair,
    /// Not even so.
    Unsure,
}

impl Certainty {
    fn of(range: f64, value: f64) -> Self {
        match (range / value).abs() {
            share if share <= 0.05 => Self::Sure,
            share if share <= 0.25 => Self::Fair,
            _ => Self::Unsure,
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sure => "sure",
            Self::Fair => "fair",
            Self::Unsure => "unsure",
        }
    }
}

/// A number and where it may lie.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Number {
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) certainty: Certainty,
}

impl Number {
    fn of(spread: Spread) -> Self {
        let certainty = Certainty::of(spread.range(), spread.median);
        Self { value: spread.median, low: spread.low, high: spread.high, certainty }
    }

    /// A capacity; the greatest that is possible is one less than what does not fit.
    fn within(capacity: Capacity) -> Self {
        let (low, high) = (capacity.least as f64, (capacity.below - 1) as f64);
        let value = if capacity.below == capacity.least + 1 { low } else { capacity.middle() };
        Self { value, low, high, certainty: Certainty::of(high - low, value) }
    }
}

/// Something that was to be measured.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Quantity {
    /// Its name in JSON.
    pub(crate) key: String,
    pub(crate) name: String,
    pub(crate) unit: Unit,
    /// The number, or why there is none.
    pub(crate) number: Finding<Number>,
    /// How it was measured.
    pub(crate) how: &'static str,
}

impl Quantity {
    fn new(
        key: impl Into<String>,
        name: impl Into<String>,
        unit: Unit,
        how: &'static str,
        number: Finding<Number>,
    ) -> Self {
        Self { key: key.into(), name: name.into(), unit, number, how }
    }

    /// Its number, with where it may lie, in words.
    pub(crate) fn text(&self) -> String {
        match &self.number {
            Ok(number) => {
                let [value, low, high] = [number.value, number.low, number.high].map(|value| self.unit.text(value));
                let unit = self.unit.name();
                if low == high {
                    format!("{value} {unit}")
                } else {
                    format!("{value} {unit}, between {low} and {high}")
                }
            }
            Err(reason) => reason.clone(),
        }
    }
}

const CHASE: &str = "a chase through more and more memory: the level of its staircase";
const STEP: &str = "a chase through more and more memory: where its staircase rises";
const CONFLICTS: &str = "a chase through more and more lines of one set";
const PAGES: &str = "a chase over more and more pages, less one through as many lines of few pages";
const PAGE_CONFLICTS: &str = "a chase over more and more pages of one set";
const WALK: &str = "a chase over twice as many pages as the TLBs reach, less one through as many lines of few pages";
const WALKS: &str = "the same with eight chases that do not wait for each other";
const MANY: &str = "the latency of one chase, divided by the time of an access of 24 to 32 at the same time";
const STREAM: &str =
    "loads of one line after the other, which do not wait for each other; pages of 4K come in this order";
const BRANCH: &str = "loads of random lines that do not wait for each other, each followed by a branch by its value";
const UNDER_WAY: &str = "the latency of one chase, divided by the time of a line of a stream";
const SECOND: &str =
    "a line of each of 24 pages that misses, one at a time, then loads of a second line of three of these pages";
const MOST: &str = "the same with 1 to 12 misses at a time: the most with which at least half of the lines are there, of those behind one that missed";
const HELD: &str =
    "16 chases at the same time through more and more memory: the most of a share that hits times the size";
const REUSED: &str = "a chase through twice the cache above, behind loads of as many bytes of other lines as the system says that this one has";
/// The most that the quartiles of a share may lie apart.
const MOST_NOISE: f64 = 0.5;
const PREFETCH: &str = "a chase from page to page, whose lines come in this order";

/// All of them.
pub(crate) fn quantities(findings: &Findings) -> Vec<Quantity> {
    let clock = findings.pipeline.clock_hz.as_ref().map(|clock| clock.median);
    let cycles = |spread: Spread| match clock {
        Ok(clock) => (Unit::Cycles, Number::of(spread.scaled(clock / 1e9))),
        Err(_) => (Unit::Nanoseconds, Number::of(spread)),
    };
    // In cycles if the clock is known.
    let time = |key: &str, name: &str, how: &'static str, finding: Finding<Spread>| {
        let unit = if clock.is_ok() { Unit::Cycles } else { Unit::Nanoseconds };
        Quantity::new(key, name, unit, how, finding.map(|spread| cycles(spread).1))
    };
    let spread = |finding: &Finding<Spread>| finding.clone().map(Number::of);
    let mut all = vec![
        Quantity::new(
            "clock",
            "clock of the core",
            Unit::Hertz,
            "additions that wait for each other",
            spread(&findings.pipeline.clock_hz),
        ),
        Quantity::new(
            "timestamp",
            "time-stamp counter",
            Unit::Hertz,
            "ticks between two times",
            spread(&findings.pipeline.timestamp_hz),
        ),
        Quantity::new(
            "width",
            "independent additions",
            Unit::Instructions,
            "additions that do not wait for each other",
            spread(&findings.pipeline.width),
        ),
    ];
    match &findings.caches.levels {
        Ok(levels) => {
            for (number, cache) in (1..).zip(levels) {
                let key = |what: &str| format!("cache.{number}.{what}");
                let name = |what: &str| format!("cache {number}, {what}");
                all.push(Quantity::new(key("size"), name("size"), Unit::Bytes, STEP, Ok(Number::within(cache.size))));
                all.push(Quantity::new(
                    key("ways"),
                    name("ways"),
                    Unit::Ways,
                    CONFLICTS,
                    cache.ways.clone().map(Number::within),
                ));
                all.push(time(&key("latency"), &name("latency"), CHASE, Ok(cache.latency)));
            }
        }
        Err(reason) => all.push(time("cache.1.latency", "caches", CHASE, Err(reason.clone()))),
    }
    all.push(time("memory.latency", "memory, latency", CHASE, findings.caches.memory.clone()));
    tlb(&mut all, "tlb.4k", "TLB for 4K", &findings.base_tlb);
    all.push(time("tlb.4k.2.hit", "TLB for 4K, hit of level 2", PAGES, findings.base_tlb.second_hit.clone()));
    tlb(&mut all, "tlb.2m", "TLB for 2M", &findings.huge_tlb);
    all.push(time("tlb.2m.2.hit", "TLB for 2M, hit of level 2", PAGES, findings.huge_tlb.second_hit.clone()));
    for (key, name, walks) in
        [("walk.4k", "walk to 4K", &findings.walks), ("walk.2m", "walk to 2M", &findings.huge_walks)]
    {
        let part = |of: fn(&calibrate::Walks) -> Spread| walks.as_ref().map(of).map_err(Clone::clone);
        all.push(time(
            &format!("{key}.dependent"),
            &format!("{name}, one at a time"),
            WALK,
            part(|walks| walks.dependent),
        ));
        let name = format!("{name}, {TOGETHER} at a time");
        all.push(time(&format!("{key}.independent"), &name, WALKS, part(|walks| walks.independent)));
    }
    let overlap = &findings.overlap;
    all.push(Quantity::new(
        "outstanding.memory",
        "outstanding misses, memory",
        Unit::Misses,
        MANY,
        spread(&overlap.memory),
    ));
    all.push(Quantity::new(
        "outstanding.llc",
        "outstanding misses, last level",
        Unit::Misses,
        MANY,
        spread(&overlap.last_level),
    ));
    let holds = findings.last_level.as_ref().map(|last| last.holds).map_err(Clone::clone);
    all.push(Quantity::new("llc.holds", "last level, held with 16 chases", Unit::Bytes, HELD, spread(&holds)));
    all.push(Quantity::new(
        "llc.kept",
        "last level, kept beside a scan",
        Unit::Share,
        REUSED,
        spread(&kept_beside_scan(findings)),
    ));
    let order = |of: fn(&calibrate::Prefetch) -> Spread| findings.prefetch.as_ref().map(of).map_err(Clone::clone);
    all.push(time("prefetch.ascending", "memory, lines ascending", PREFETCH, order(|prefetch| prefetch.ascending)));
    all.push(time("prefetch.random", "memory, lines random in a page", PREFETCH, order(|prefetch| prefetch.random)));
    let second = |of: fn(&NextLine) -> Spread| findings.next_line.as_ref().map(of).map_err(Clone::clone);
    all.push(time("prefetch.same", "the line that missed, again", SECOND, second(|lines| lines.same)));
    all.push(time("prefetch.next", "the line behind one that missed", SECOND, second(NextLine::alone)));
    all.push(time("prefetch.apart", "a line apart from one that missed", SECOND, second(|lines| lines.apart)));
    let most = findings.next_line.as_ref().map_err(Clone::clone).and_then(|lines| {
        let most = lines.most_misses().ok_or("the line behind one that missed is not brought")?;
        Ok(Spread::exact(most as f64))
    });
    all.push(Quantity::new(
        "prefetch.next_misses",
        "misses at a time with which the line behind comes",
        Unit::Misses,
        MOST,
        spread(&most),
    ));
    let stream = |of: fn(&calibrate::Streams) -> Spread| findings.streams.as_ref().map(of).map_err(Clone::clone);
    all.push(time("stream.ascending", "stream, line, pages ascending", STREAM, stream(|streams| streams.ascending)));
    all.push(time("stream.random", "stream, line, pages random", STREAM, stream(|streams| streams.random)));
    all.push(Quantity::new(
        "stream.outstanding",
        "stream, lines under way",
        Unit::Misses,
        UNDER_WAY,
        spread(&lines_under_way(findings)),
    ));
    let behind = |of: fn(&BehindBranches) -> Spread| findings.branches.as_ref().map(of).map_err(Clone::clone);
    all.push(time("branches.predicted", "load and branch, all one way", BRANCH, behind(|loads| loads.predicted)));
    all.push(time("branches.random", "load and branch, random ways", BRANCH, behind(|loads| loads.random)));
    all
}

/// The share of lines used again that the last level keeps beside a scan.
pub(crate) fn kept_beside_scan(findings: &Findings) -> Finding<Spread> {
    let reuse = findings.reuse.as_ref().map_err(Clone::clone)?;
    let memory = findings.caches.memory.as_ref().map_err(Clone::clone)?;
    let levels = findings.caches.levels.as_ref().map_err(Clone::clone)?;
    let last = levels.last().ok_or("there is no cache")?;
    let share = reuse.share_kept(&last.latency, memory);
    // Less than nothing stays nowhere: a load took longer than from memory for another reason.
    if share.low < -MOST_NOISE / 2.0 || share.range() > MOST_NOISE {
        let [low, high] = [share.low, share.high].map(|share| Unit::Share.text(share));
        return Err(format!("too noisy: the quartiles of its repeats are {low} % and {high} %"));
    }
    Ok(share)
}

/// Lines of a stream that are under way at a time, by Little's law.
pub(crate) fn lines_under_way(findings: &Findings) -> Finding<Spread> {
    let streams = findings.streams.as_ref().map_err(Clone::clone)?;
    Ok(findings.caches.memory.clone()?.over(&streams.ascending))
}

fn tlb(all: &mut Vec<Quantity>, key: &str, name: &str, tlb: &Tlb) {
    for (number, level) in [(1, &tlb.first), (2, &tlb.second)] {
        let part =
            |of: fn(&TlbLevel) -> Finding<Capacity>| level.clone().and_then(|level| of(&level)).map(Number::within);
        let name = |what: &str| format!("{name}, level {number}, {what}");
        all.push(Quantity::new(
            format!("{key}.{number}.entries"),
            name("entries"),
            Unit::Entries,
            PAGES,
            part(|level| Ok(level.entries)),
        ));
        all.push(Quantity::new(
            format!("{key}.{number}.ways"),
            name("ways"),
            Unit::Ways,
            PAGE_CONFLICTS,
            part(|level| level.ways.clone()),
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_digits_that_tell() {
        assert_eq!(Unit::Bytes.text(49152.0), "48K");
        assert_eq!(Unit::Bytes.text(1_574_623.0), "1.5M");
        assert_eq!(Unit::Bytes.text(272_629_760.0), "260M");
        assert_eq!((Unit::Cycles.text(5.04), Unit::Cycles.text(368.4)), ("5.0".to_owned(), "368".to_owned()));
        assert_eq!(Unit::Hertz.text(2.995e9), "3.00");
    }

    #[test]
    fn certainty_follows_from_the_spread() {
        let spread = |half: f64| Number::of(Spread { median: 100.0, low: 100.0 - half, high: 100.0 + half }).certainty;
        assert_eq!([spread(2.0), spread(10.0), spread(30.0)], [Certainty::Sure, Certainty::Fair, Certainty::Unsure]);
        let exact = Number::within(Capacity { least: 12, below: 13 });
        assert_eq!((exact.value, exact.certainty), (12.0, Certainty::Sure));
        let between = Number::within(Capacity { least: 91, below: 108 });
        assert_eq!((between.low, between.high, between.certainty), (91.0, 107.0, Certainty::Fair));
    }
}
