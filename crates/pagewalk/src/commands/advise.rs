//! `pagewalk advise`.

use super::outputs::{open_printer, write_report};
use crate::advice::{Advice, Goal, SpinAdvice, TranslationAdvice};
use crate::cli::AdviseArgs;
use crate::comparison::warn_of_missing;
use crate::error::Failure;
use crate::input;
use crate::output::Printer;
use crate::text::cell::Cell;
use crate::text::table::{Caption, Column, Table};
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
/// [`Failure::Usage`]: a file that is no report, or has nothing to choose from.
pub(super) fn run(arguments: &AdviseArgs) -> Result<ExitCode, Failure> {
    let (mut printer, json) = open_printer(arguments.format, arguments.json.as_deref())?;
    let mut advice = Advice::default();
    for path in &arguments.reports {
        let name = path.display().to_string();
        let usage = |problem: String| Failure::Usage(format!("{name}: {problem}"));
        let report = input::json(path, "the JSON of compare or run")?;
        warn_of_missing(&name, &report);
        advice.add(&name, &report).map_err(|error| usage(error.to_string()))?;
    }
    let mut first = true;
    let mut separate = |printer: &mut Printer| if std::mem::take(&mut first) { Ok(()) } else { printer.say("\n") };
    for advice in &advice.translation {
        separate(&mut printer)?;
        translation(advice, &mut printer)?;
    }
    for advice in &advice.spin {
        separate(&mut printer)?;
        printer.table(spin(advice))?;
    }
    printer.finish()?;
    if let Some(output) = json {
        write_report(output, &advice.json())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn translation(advice: &TranslationAdvice, printer: &mut Printer) -> Result<(), Failure> {
    let columns = [
        ("if you want", "goal"),
        ("take", "system"),
        ("over native", "over_native_ratio"),
        ("saves", "saved_time_ratio"),
    ];
    let exact = ["workload", "baseline", "time_model"].map(Column::exact);
    let caption = format!(
        "{}: of {} virtualized systems that were measured; `saves` is of the time of {}; times by {}",
        advice.workload,
        advice.ranking.len(),
        advice.baseline.system,
        advice.times
    );
    let mut table = Table::new("translation", columns.map(Column::from).into_iter().chain(exact))
        .captioned(Caption::Above(caption));
    let of_all =
        || [advice.workload.clone(), advice.baseline.system.clone(), advice.times.to_string()].map(Cell::exact);
    let (mut notes, mut remarks) = (String::new(), String::new());
    let mut noted: Vec<&str> = Vec::new();
    for goal in Goal::ALL {
        let Some(candidate) = advice.advised(goal) else {
            let nothing = Cell::new("nothing that was measured", serde_json::Value::Null);
            let cells = [Cell::text(goal.name()), nothing, Cell::missing(), Cell::missing()];
            table.row(cells.into_iter().chain(of_all()));
            continue;
        };
        let cells = [
            Cell::text(goal.name()),
            Cell::text(&candidate.system),
            candidate.over_native.map_or_else(Cell::missing, Cell::change),
            Cell::percent(advice.saves(candidate), 1),
        ];
        table.row(cells.into_iter().chain(of_all()));
        if !noted.contains(&candidate.system.as_str()) {
            noted.push(&candidate.system);
            for obstacle in &candidate.obstacles {
                notes += &format!("  {}: {obstacle}\n", candidate.system);
            }
            remarks.extend(candidate.notes.iter().map(|note| format!("note: {}: {note}\n", candidate.system)));
        }
    }
    printer.table(table)?;
    let in_the_way = if notes.is_empty() { String::new() } else { format!("in the way\n{notes}") };
    printer.say(&in_the_way)?;
    Ok(printer.say(&remarks)?)
}

fn spin(advice: &SpinAdvice) -> Table {
    let best = advice.advised();
    let columns = [
        ("spin", "spin"),
        ("ETR", "etr_per_second"),
        ("of the best", "of_the_best_ratio"),
        ("lost", "processors_lost"),
        ("failed", "failed_guests"),
        ("in the way", "in_the_way"),
    ];
    let exact = ["report", "time_model"].map(Column::exact);
    let caption = format!("{}: take {}; times by {}", advice.report, best.name, advice.times);
    let mut table =
        Table::new("spin", columns.map(Column::from).into_iter().chain(exact)).captioned(Caption::Above(caption));
    for method in &advice.ranking {
        table.row([
            Cell::text(&method.name),
            Cell::fixed(method.etr, 1),
            Cell::percent(method.etr / best.etr.max(f64::MIN_POSITIVE), 1),
            Cell::count(method.lost),
            Cell::count(method.failed),
            Cell::text(SpinAdvice::in_the_way(&method.name)),
            Cell::exact(advice.report.as_str()),
            Cell::exact(advice.times.to_string()),
        ]);
    }
    table
}
