//! The guests one by one.

use super::measured::{Guest, MultiVm, Time};
use crate::html::charts::{self, Part, Stack, Stacked};
use crate::html::document::{Block, Chart, Charts, DataTable, Section};
use crate::html::figures::{grouped, millions, percent};
use crate::html::{legend, palette};

/// Where each guest's time goes.
pub(super) fn time(runs: &[MultiVm]) -> Section {
    const TITLE: &str = "Where the guests' time goes";
    let mut table = DataTable::new(
        "Time of guests in millions of cycles",
        &["spin", "guest", "#instructions", "#translation", "#hypervisor"],
    );
    let mut charts = Vec::new();
    // Runs are compared, so they have one scale.
    let stacks: Vec<Vec<Stack>> = runs.iter().map(|run| run.guests.iter().map(stack).collect()).collect();
    let end = stacks.iter().flatten().map(Stack::sum).fold(0.0, f64::max);
    for (run, stacks) in runs.iter().zip(&stacks) {
        for guest in &run.guests {
            table.row([run.spin().to_owned(), guest.name.clone()].into_iter().chain(parts(guest).map(millions)));
        }
        let description = format!(
            "Stacked bars: cycles of each guest with {}, of its instructions, of translation and of the hypervisor",
            run.spin()
        );
        charts.push(Chart {
            title: if runs.len() > 1 { run.spin().to_owned() } else { "By guest".to_owned() },
            svg: Stacked { description: &description, stacks, end }.svg(),
        });
    }
    Section {
        id: "time".into(),
        title: TITLE.to_owned(),
        intro: vec![
            "Cycles of all processors that ran the guest; waiting is not among them. Instructions that spin count as the guest's own.".to_owned(),
        ],
        blocks: vec![Block::Charts(Charts { caption: TITLE.to_owned(), legend: legend::of_times(), charts, table })],
    }
}

/// The cycles of its instructions, of translation and of the hypervisor.
fn parts(guest: &Guest) -> [u64; 3] {
    let Time { guest, translation, hypervisor } = guest.time;
    [guest, translation, hypervisor]
}

/// The bar of a guest.
fn stack(guest: &Guest) -> Stack {
    let all: u64 = parts(guest).iter().sum();
    let part = |(cycles, (what, colour)): (u64, (&str, _))| Part {
        value: cycles as f64,
        exact: format!("{what}, {} cycles, {}", grouped(cycles), percent(cycles as f64 / all.max(1) as f64)),
        colour,
    };
    Stack {
        name: guest.name.clone(),
        parts: parts(guest).into_iter().zip(palette::TIMES).map(part).collect(),
        label: charts::short(all as f64),
    }
}

/// Every guest of every run.
pub(super) fn all(runs: &[MultiVm]) -> Section {
    let mut table = DataTable::new(
        "Guests",
        &[
            "guest",
            "spin",
            "work",
            "#processors",
            "outcome",
            "#busy ms",
            "#ρ",
            "#calls / busy s",
            "#ETR",
            "#ITR",
            "#excessive",
            "#lost",
            "#mean wait, µs",
        ],
    );
    for run in runs {
        for guest in &run.guests {
            table.row([
                guest.name.clone(),
                guest.spin.clone(),
                guest.work.clone(),
                guest.processors.to_string(),
                guest.outcome.clone(),
                format!("{:.3}", run.milliseconds(guest.busy)),
                percent(guest.utilisation),
                format!("{:.1}", guest.calls_per_busy_second),
                format!("{:.1}", guest.etr),
                format!("{:.1}", guest.itr),
                guest.excessive_spins.to_string(),
                guest.processors_lost.to_string(),
                format!("{:.1}", run.milliseconds(guest.waits.mean) * 1e3),
            ]);
        }
    }
    Section {
        id: "guests".into(),
        title: "Every guest".to_owned(),
        intro: vec!["A wait is from ready to dispatched.".to_owned()],
        blocks: vec![Block::Table(table)],
    }
}
