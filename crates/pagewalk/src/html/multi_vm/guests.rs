//! The guests one by one.

use super::measured::{MultiVm, Time};
use crate::html::charts;
use crate::html::document::{Block, Chart, Charts, DataTable, Section};
use crate::html::figures::{millions, percent};
use crate::html::palette;

/// Where each guest's time goes.
pub(super) fn time(runs: &[MultiVm]) -> Section {
    const TITLE: &str = "Where the guests' time goes";
    let mut table = DataTable::new(
        "Time of guests in millions of cycles",
        &["spin", "guest", "#instructions", "#translation", "#hypervisor"],
    );
    let mut charts = Vec::new();
    for run in runs {
        let mut bars = Vec::new();
        for guest in &run.guests {
            let Time { guest: own, translation, hypervisor } = guest.time;
            let parts = [own, translation, hypervisor];
            bars.push((guest.name.clone(), parts.map(|cycles| cycles as f64 / 1e6).to_vec()));
            table.row([run.spin().to_owned(), guest.name.clone()].into_iter().chain(parts.map(millions)));
        }
        let description = format!(
            "Stacked bars: millions of cycles of each guest with {}, of its instructions, of translation and of the hypervisor",
            run.spin()
        );
        charts.push(Chart {
            title: if runs.len() > 1 { run.spin().to_owned() } else { "By guest".to_owned() },
            spec: charts::stacked(&description, &bars, &palette::TIMES, "million cycles"),
            description,
        });
    }
    Section {
        id: "time",
        title: TITLE.to_owned(),
        intro: vec![
            "Cycles of all processors that ran the guest; waiting is not among them. Instructions that spin count as the guest's own.".to_owned(),
        ],
        blocks: vec![Block::Charts(Charts { caption: TITLE.to_owned(), legend: palette::legend_of_times(), charts, table })],
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
        id: "guests",
        title: "Every guest".to_owned(),
        intro: vec!["A wait is from ready to dispatched.".to_owned()],
        blocks: vec![Block::Table(table)],
    }
}
