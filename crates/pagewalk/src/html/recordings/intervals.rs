//! Counters over time: of each run where its time goes, and how often translation misses, walks and leaves the guest.

use super::room::{MOST_RUNS, left_out, share, shortened};
use crate::html::charts::{self, Layer, Numbers, Panel, Span, Step, Timeline};
use crate::html::document::{Block, Chart, Charts, DataTable, Key, RunBlock, Section};
use crate::html::figures::{grouped, grouped_signed, percent};
use crate::html::legend;
use crate::html::palette::{self, TIMES};
use config::toml_problem::plain;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Steps of all charts of a page.
const STEPS: usize = 720;

/// The intervals of a command's runs.
#[derive(Debug)]
pub(super) struct Intervals(Vec<Recorded>);

/// Those of a run, or of a guest.
#[derive(Debug)]
struct Recorded {
    name: String,
    clock_hz: u64,
    intervals: Vec<Interval>,
}

/// What all harts counted in an interval, or in several that follow one another in the same phase.
#[derive(Clone, Default, Debug, PartialEq)]
struct Interval {
    number: u64,
    phase: Option<String>,
    measured: Option<bool>,
    from: u64,
    to: u64,
    instructions: u64,
    misses: u64,
    walks: u64,
    references: u64,
    exits: u64,
    guest: i64,
    translation: i64,
    hypervisor: i64,
}

/// A line of the file; other keys of docs/json-keys.md are not read.
#[derive(Deserialize)]
struct Line {
    run: u64,
    guest: String,
    workload: String,
    scheme: String,
    settings: BTreeMap<String, serde_json::Value>,
    interval: u64,
    phase: Option<String>,
    measured: Option<bool>,
    clock_hz: u64,
    from: u64,
    to: u64,
    hart: Option<u64>,
    #[serde(flatten)]
    counts: Option<Counts>,
}

#[derive(Deserialize)]
struct Counts {
    instructions: u64,
    tlb: Tlb,
    walks: Walks,
    exits: BTreeMap<String, u64>,
    time: Time,
}

#[derive(Deserialize)]
struct Tlb {
    l1d_misses: u64,
    l1i_misses: u64,
}

#[derive(Deserialize)]
struct Walks {
    count: u64,
    guest_refs: u64,
    host_refs: u64,
}

#[derive(Deserialize)]
struct Time {
    guest: i64,
    translation: i64,
    #[serde(rename = "monitor")]
    hypervisor: i64,
}

impl Intervals {
    /// Whether a file begins as one of intervals.
    pub(super) fn begins(text: &str) -> bool {
        let first = text.lines().next().unwrap_or_default();
        let line: Option<serde_json::Value> = serde_json::from_str(first).ok();
        line.is_some_and(|line| line.get("interval").is_some() && line.get("hart").is_some())
    }

    /// Reads JSON Lines.
    ///
    /// # Errors
    /// What is wrong, with the number of the line.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let mut runs: Vec<((u64, String), Recorded)> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let of_line = |problem: &str| format!("line {}: {}", number + 1, plain(problem));
            let line: Line = serde_json::from_str(line).map_err(|error| of_line(&error.to_string()))?;
            let Some(counts) = line.hart.and(line.counts.as_ref()) else { continue };
            let key = (line.run, line.guest.clone());
            if runs.last().is_none_or(|(last, _)| *last != key) {
                runs.push((key, Recorded { name: line.name(), clock_hz: line.clock_hz, intervals: Vec::new() }));
            }
            let intervals = &mut runs.last_mut().expect("one was added").1.intervals;
            let of_hart = Interval::of(&line, counts);
            match intervals.last_mut().filter(|last| last.number == line.interval) {
                Some(last) => last.add(&of_hart),
                None => intervals.push(of_hart),
            }
        }
        Ok(Self(runs.into_iter().map(|(_, run)| run).collect()))
    }
}

impl Line {
    /// What the run is called: as elsewhere on the page, and with the guest where several run together.
    fn name(&self) -> String {
        let Self { guest, workload, scheme, .. } = self;
        let workload = shortened(workload);
        match self.settings.get("spin").and_then(serde_json::Value::as_str) {
            Some(spin) => format!("{guest}: {workload} under {scheme} with {spin}"),
            None => format!("{workload} under {scheme}"),
        }
    }
}

impl Interval {
    fn of(line: &Line, counts: &Counts) -> Self {
        Self {
            number: line.interval,
            phase: line.phase.clone(),
            measured: line.measured,
            from: line.from,
            to: line.to.max(line.from),
            instructions: counts.instructions,
            misses: counts.tlb.l1d_misses.saturating_add(counts.tlb.l1i_misses),
            walks: counts.walks.count,
            references: counts.walks.guest_refs.saturating_add(counts.walks.host_refs),
            exits: counts.exits.values().fold(0, |sum, count| sum.saturating_add(*count)),
            guest: counts.time.guest,
            translation: counts.time.translation,
            hypervisor: counts.time.hypervisor,
        }
    }

    /// Adds what another hart counted, or what came next.
    fn add(&mut self, other: &Self) {
        self.from = self.from.min(other.from);
        self.to = self.to.max(other.to);
        if self.phase != other.phase {
            self.phase = None;
        }
        if self.measured != other.measured {
            self.measured = None;
        }
        for (sum, more) in [
            (&mut self.instructions, other.instructions),
            (&mut self.misses, other.misses),
            (&mut self.walks, other.walks),
            (&mut self.references, other.references),
            (&mut self.exits, other.exits),
        ] {
            *sum = sum.saturating_add(more);
        }
        for (sum, more) in [
            (&mut self.guest, other.guest),
            (&mut self.translation, other.translation),
            (&mut self.hypervisor, other.hypervisor),
        ] {
            *sum = sum.saturating_add(more);
        }
    }

    /// Parts of the harts' time. An out-of-order core can gain time from translation, which is no part then.
    fn parts(&self) -> [f64; 3] {
        let parts = [self.guest, self.translation, self.hypervisor].map(|cycles| cycles.max(0) as f64);
        let all = parts.iter().sum::<f64>().max(1.0);
        parts.map(|cycles| cycles / all)
    }

    fn per_thousand(&self, count: u64) -> f64 {
        1000.0 * count as f64 / self.instructions.max(1) as f64
    }

    fn phase(&self) -> &str {
        self.phase.as_deref().unwrap_or("several phases")
    }
}

/// The section; `None` if there is no run in it.
pub(super) fn section(Intervals(runs): &Intervals) -> Option<Section> {
    let shown = runs.len().min(MOST_RUNS);
    let most = share(STEPS, shown, 16, 600);
    let drawn: Vec<Recorded> = runs.iter().take(MOST_RUNS).map(|run| run.merged(most)).collect();
    let ends = RATES.map(|rate| charts::shared(drawn.iter().map(|run| run.greatest(&rate))));
    let blocks: Vec<Block> = drawn.iter().enumerate().map(|(number, run)| block(run, number == 0, ends)).collect();
    let intro = [
        "Counters of all harts together, interval by interval. The strip below the panels shows what the report counts.".to_owned(),
        "A stretch of time that is marked with the pointer fills the chart; so do the buttons. Escape shows all of it again.".to_owned(),
    ];
    let merged = runs.iter().any(|run| run.intervals.len() > most);
    let merged =
        merged.then(|| {
        format!("Where a run has more than {most} intervals, neighbours are added up: those of one phase, as far as that is enough.")
    });
    (!blocks.is_empty()).then(|| Section {
        id: "intervals".into(),
        title: "Over time".to_owned(),
        intro: intro.into_iter().chain(merged).chain(left_out(runs.len())).collect(),
        blocks,
    })
}

/// A rate that has a panel.
struct Rate {
    title: &'static str,
    of: fn(&Interval) -> f64,
    colour: palette::Colour,
}

const RATES: [Rate; 3] = [
    Rate {
        title: "L1 TLB misses in 1000 instructions",
        of: |interval| interval.per_thousand(interval.misses),
        colour: palette::TRANSLATION,
    },
    Rate {
        title: "References of walks in 1000 instructions",
        of: |interval| interval.per_thousand(interval.references),
        colour: palette::TRANSLATION,
    },
    Rate {
        title: "Exits in 1000 instructions",
        of: |interval| interval.per_thousand(interval.exits),
        colour: palette::HYPERVISOR,
    },
];

impl Recorded {
    /// With so many intervals at most, or half as many more where phases end between them.
    fn merged(&self, most: usize) -> Self {
        let merged = together(&self.intervals, most, |one, other| one.phase == other.phase);
        // A guest may change its phase in every interval.
        let merged = if merged.len() > most + most / 2 { together(&merged, most, |_, _| true) } else { merged };
        Self { name: self.name.clone(), clock_hz: self.clock_hz, intervals: merged }
    }

    fn greatest(&self, rate: &Rate) -> f64 {
        self.intervals.iter().map(rate.of).fold(0.0, f64::max)
    }
}

/// As many neighbours added up that about `most` are left, where `may` permits it.
fn together(intervals: &[Interval], most: usize, may: impl Fn(&Interval, &Interval) -> bool) -> Vec<Interval> {
    let every = intervals.len().div_ceil(most.max(1)).max(1);
    let mut merged: Vec<Interval> = Vec::new();
    let mut in_last = 0;
    for interval in intervals {
        match merged.last_mut().filter(|last| in_last < every && may(last, interval)) {
            Some(last) => {
                last.add(interval);
                in_last += 1;
            }
            None => {
                merged.push(interval.clone());
                in_last = 1;
            }
        }
    }
    merged
}

fn block(run: &Recorded, first: bool, ends: [Option<f64>; 3]) -> Block {
    let span = Span {
        from: run.intervals.first().map_or(0, |interval| interval.from),
        to: run.intervals.iter().map(|interval| interval.to).max().unwrap_or(1),
        clock_hz: run.clock_hz,
    };
    let parts = TIMES.iter().enumerate().map(|(part, (_, colour))| Layer {
        colour: *colour,
        values: run.intervals.iter().map(|interval| interval.parts()[part]).collect(),
    });
    let mut panels =
        vec![Panel { title: "Parts of time".to_owned(), numbers: Numbers::Ratios, end: 1.0, layers: parts.collect() }];
    for (rate, end) in RATES.iter().zip(ends) {
        panels.push(Panel {
            title: rate.title.to_owned(),
            numbers: Numbers::Plain,
            end: end.unwrap_or_else(|| run.greatest(rate)),
            layers: vec![Layer { colour: rate.colour, values: run.intervals.iter().map(rate.of).collect() }],
        });
    }
    let steps: Vec<Step> = run.intervals.iter().map(|interval| step(interval, span)).collect();
    let name = &run.name;
    let description = format!("Counters of {name} over simulated time; the table has the numbers");
    let svg = Timeline { description: &description, span, panels: &panels, steps: &steps }.svg();
    let phases = [legend::key(palette::FOUND, "measured"), legend::key(palette::PAPER, "not measured")];
    let keys: Vec<Key> = legend::of_times().into_iter().chain(phases).collect();
    Block::Run(RunBlock {
        summary: format!("{name}: {} ms of simulated time", charts::short(span.milliseconds(span.to - span.from))),
        open: first,
        notes: Vec::new(),
        group: Charts {
            caption: format!("{name} over time"),
            legend: keys,
            charts: vec![Chart { title: String::new(), svg }],
            table: table(run, span),
        },
        tables: Vec::new(),
    })
}

/// An instant as a text, in milliseconds.
fn time(span: Span, at: u64) -> String {
    format!("{:.4}", span.milliseconds(at))
}

fn step(interval: &Interval, span: Span) -> Step {
    let [_, translation, hypervisor] = interval.parts().map(percent);
    Step {
        from: interval.from,
        to: interval.to,
        phase: if interval.measured == Some(true) { palette::FOUND } else { palette::PAPER },
        exact: format!(
            "{} to {} ms, {}: instructions {}, L1 misses {}, walks {}, references {}, exits {}, translation {translation}, hypervisor {hypervisor}",
            time(span, interval.from),
            time(span, interval.to),
            interval.phase(),
            grouped(interval.instructions),
            grouped(interval.misses),
            grouped(interval.walks),
            grouped(interval.references),
            grouped(interval.exits),
        ),
    }
}

fn table(run: &Recorded, span: Span) -> DataTable {
    let caption = format!("Counters of {} over time; times of translation and of the hypervisor in cycles", run.name);
    let heads = [
        "#from, ms",
        "#to, ms",
        "phase",
        "#instructions",
        "#L1 misses",
        "#walks",
        "#references",
        "#exits",
        "#translation",
        "#hypervisor",
    ];
    let mut table = DataTable::new(&caption, &heads);
    for interval in &run.intervals {
        table.row([
            time(span, interval.from),
            time(span, interval.to),
            interval.phase().to_owned(),
            grouped(interval.instructions),
            grouped(interval.misses),
            grouped(interval.walks),
            grouped(interval.references),
            grouped(interval.exits),
            grouped_signed(interval.translation),
            grouped_signed(interval.hypervisor),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn line(run: u64, interval: u64, hart: Option<u64>, phase: &str) -> String {
        let mut line = json!({
            "run": run, "guest": "vos", "workload": "w", "scheme": "nested:4K+4K", "settings": {}, "interval": interval, "phase": phase,
            "measured": phase == "measure", "clock_hz": 1_000_000, "from": 1000 * interval, "to": 1000 * interval + 1000, "hart": hart,
        });
        if hart.is_some() {
            let counts = json!({
                "instructions": 500, "tlb": { "l1d_misses": 3, "l1i_misses": 1 }, "walks": { "count": 2, "guest_refs": 4, "host_refs": 20 },
                "exits": { "wfi": 1, "mmio": 1 }, "time": { "guest": 500, "translation": 400, "monitor": 100 },
            });
            line.as_object_mut().unwrap().extend(counts.as_object().unwrap().clone());
        }
        line.to_string()
    }

    fn read(lines: &[String]) -> Vec<Recorded> {
        Intervals::read(&lines.join("\n")).unwrap().0
    }

    #[test]
    fn harts_of_an_interval_are_together_and_runs_apart() {
        let lines = [
            line(0, 0, Some(0), "boot"),
            line(0, 0, Some(1), "boot"),
            line(0, 0, None, "boot"),
            line(1, 0, Some(0), "boot"),
        ];
        assert!(Intervals::begins(&lines.join("\n")) && !Intervals::begins("{}"));
        let runs = read(&lines);
        assert_eq!(runs.iter().map(|run| run.intervals.len()).collect::<Vec<_>>(), [1, 1]);
        let Interval { instructions, misses, references, exits, .. } = runs[0].intervals[0];
        assert_eq!((instructions, misses, references, exits), (1000, 8, 48, 4));
        assert_eq!(runs[0].intervals[0].parts(), [0.5, 0.4, 0.1]);
    }

    #[test]
    fn merged_intervals_lose_nothing_and_keep_their_phase() {
        let phase = |number| if number < 5 { "boot" } else { "measure" };
        let lines: Vec<String> = (0..10).map(|number| line(0, number, Some(0), phase(number))).collect();
        let run = &read(&lines)[0];
        let merged = run.merged(3);
        let lengths: Vec<_> = merged.intervals.iter().map(|one| (one.from, one.to, one.phase().to_owned())).collect();
        let of = |from, to, phase: &str| (from, to, phase.to_owned());
        assert_eq!(
            lengths,
            [of(0, 4000, "boot"), of(4000, 5000, "boot"), of(5000, 9000, "measure"), of(9000, 10000, "measure")]
        );
        let sum = |run: &Recorded| run.intervals.iter().map(|one| one.instructions).sum::<u64>();
        assert_eq!((sum(&merged), sum(run)), (5000, 5000));
    }

    #[test]
    fn intervals_whose_phases_alternate_are_merged_across_them() {
        let phase = |number| if number % 2 == 0 { "measure" } else { "between" };
        let lines: Vec<String> = (0..100).map(|number| line(0, number, Some(0), phase(number))).collect();
        let run = &read(&lines)[0];
        let merged = run.merged(10);
        assert_eq!(merged.intervals.len(), 10);
        let one = &merged.intervals[3];
        assert_eq!((one.phase(), one.measured, one.instructions), ("several phases", None, 5000));
    }

    #[test]
    fn a_damaged_line_is_named() {
        let lines = [line(0, 0, Some(0), "boot"), "{".to_owned()];
        assert!(Intervals::read(&lines.join("\n")).is_err_and(|problem| problem.starts_with("line 2: ")));
    }
}
