//! Spin methods side by side.

use super::measured::{Guest, MultiVm};
use crate::html::charts::{self, Bars, Group, Numbers};
use crate::html::document::{Block, Chart, Charts, DataTable, Section};
use crate::html::figures::{grouped, percent};
use crate::html::palette;

/// Sums over the guests of a run that it waits for.
struct Sums {
    busy_seconds: f64,
    calls: f64,
    ends: f64,
    elapsed_seconds: f64,
}

impl Sums {
    fn of(run: &MultiVm) -> Self {
        let seconds = |cycles: u64| cycles as f64 / run.clock_hz();
        let sum = |of: &dyn Fn(&Guest) -> f64| run.foreground().map(of).sum();
        Self {
            busy_seconds: sum(&|guest| seconds(guest.busy)),
            calls: sum(&|guest| guest.calls_per_busy_second * seconds(guest.busy)),
            ends: sum(&|guest| guest.ends as f64),
            elapsed_seconds: seconds(run.elapsed),
        }
    }

    fn per_busy_second(&self, count: f64) -> f64 {
        if self.busy_seconds > 0.0 { count / self.busy_seconds } else { 0.0 }
    }

    fn per_second(&self, count: f64) -> f64 {
        if self.elapsed_seconds > 0.0 { count / self.elapsed_seconds } else { 0.0 }
    }
}

/// A chart of one figure for all methods.
fn figure(runs: &[MultiVm], title: &str, numbers: Numbers, of: impl Fn(&MultiVm) -> (f64, String)) -> Chart {
    let group = |run: &MultiVm| {
        let (value, label) = of(run);
        Group::single(run.spin().to_owned(), value, label, palette::PLAIN)
    };
    let groups: Vec<Group> = runs.iter().map(group).collect();
    let end = charts::cut(groups.iter().flat_map(|group| &group.bars).map(|bar| bar.value));
    let description = format!("Bars by spin method: {title}. {}", charts::spoken(&groups));
    let bars = Bars { description: &description, groups: &groups, end, numbers };
    Chart { title: title.to_owned(), svg: bars.svg() }
}

/// The section: the items of the paper's tables, as charts and as a table.
pub(super) fn section(runs: &[MultiVm]) -> Section {
    const TITLE: &str = "Spin methods side by side";
    let whole = |value: f64| (value, grouped(value.round() as u64));
    let charts = vec![
        figure(runs, "Time until the last guest has ended, ms", Numbers::Plain, |run| {
            let value = run.milliseconds(run.elapsed);
            (value, format!("{value:.2}"))
        }),
        figure(runs, "Transactions per second (ETR)", Numbers::Plain, |run| {
            let sums = Sums::of(run);
            whole(sums.per_second(sums.ends))
        }),
        figure(runs, "Spin calls per CPU-busy second", Numbers::Plain, |run| {
            let sums = Sums::of(run);
            whole(sums.per_busy_second(sums.calls))
        }),
        figure(runs, "Time for scheduling, of all processors", Numbers::Ratios, |run| {
            (run.overhead, percent(run.overhead))
        }),
    ];
    let mut table = DataTable::new(
        "Spin methods",
        &["method", "#ms", "#calls / busy s", "#guest ρ", "#ETR", "#ITR", "#scheduling", "#excessive", "#lost"],
    );
    for run in runs {
        let sums = Sums::of(run);
        table.row([
            run.spin().to_owned(),
            format!("{:.3}", run.milliseconds(run.elapsed)),
            format!("{:.1}", sums.per_busy_second(sums.calls)),
            percent(sums.per_second(sums.busy_seconds) / run.processors.max(1) as f64),
            format!("{:.1}", sums.per_second(sums.ends)),
            format!("{:.1}", sums.per_busy_second(sums.ends)),
            percent(run.overhead),
            run.foreground().map(|guest| guest.excessive_spins).sum::<u64>().to_string(),
            run.foreground().map(|guest| guest.processors_lost).sum::<u64>().to_string(),
        ]);
    }
    Section {
        id: "methods".into(),
        title: TITLE.to_owned(),
        intro: vec![
            "The guests in the foreground together, by the items of Tables 2 to 4 of Umeno, Amano and Saijo (1995). ETR counts transactions by the clock, ITR by the time that guests were busy; guest ρ is that part of all processors' time.".to_owned(),
        ],
        blocks: vec![Block::Charts(Charts { caption: TITLE.to_owned(), legend: Vec::new(), charts, table })],
    }
}
