//! `pagewalk advise`.

use super::outputs::{open_output, write_report};
use crate::advice::{Advice, Goal, SpinAdvice, TranslationAdvice};
use crate::cli::AdviseArgs;
use crate::comparison::warn_of_missing;
use crate::error::Failure;
use crate::input;
use crate::output::print;
use crate::text::table::Table;
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
/// [`Failure::Usage`]: a file that is no report, or has nothing to choose from.
pub(super) fn run(arguments: &AdviseArgs) -> Result<ExitCode, Failure> {
    let json = open_output(arguments.json.as_deref())?;
    let mut advice = Advice::default();
    for path in &arguments.reports {
        let name = path.display().to_string();
        let usage = |problem: String| Failure::Usage(format!("{name}: {problem}"));
        let report = input::json(path, "the JSON of compare or run")?;
        warn_of_missing(&name, &report);
        advice.add(&name, &report).map_err(|error| usage(error.to_string()))?;
    }
    let parts: Vec<String> = advice.translation.iter().map(translation).chain(advice.spin.iter().map(spin)).collect();
    print(&parts.join("\n"))?;
    if let Some(output) = json {
        write_report(output, &advice.json())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn translation(advice: &TranslationAdvice) -> String {
    let mut table = Table::new(["if you want", "take", "over native", "saves"]);
    let (mut notes, mut remarks) = (String::new(), String::new());
    let mut noted: Vec<&str> = Vec::new();
    for goal in Goal::ALL {
        let Some(candidate) = advice.advised(goal) else {
            table.row([goal.name(), "nothing that was measured", "-", "-"]);
            continue;
        };
        let over = candidate.over_native.map_or("-".to_owned(), |over| format!("{:+.1} %", over * 100.0));
        let saves = format!("{:.1} %", advice.saves(candidate) * 100.0);
        table.row([goal.name(), &candidate.system, &over, &saves]);
        if !noted.contains(&candidate.system.as_str()) {
            noted.push(&candidate.system);
            for obstacle in &candidate.obstacles {
                notes += &format!("  {}: {obstacle}\n", candidate.system);
            }
            remarks.extend(candidate.notes.iter().map(|note| format!("note: {}: {note}\n", candidate.system)));
        }
    }
    let in_the_way = if notes.is_empty() { String::new() } else { format!("in the way\n{notes}") };
    format!(
        "{}: of {} virtualized systems that were measured; `saves` is of the time of {}; times by {}\n{table}{in_the_way}{remarks}",
        advice.workload,
        advice.ranking.len(),
        advice.baseline.system,
        advice.times
    )
}

fn spin(advice: &SpinAdvice) -> String {
    let best = advice.advised();
    let mut table = Table::new(["spin", "ETR", "of the best", "lost", "failed", "in the way"]);
    for method in &advice.ranking {
        table.row([
            method.name.clone(),
            format!("{:.1}", method.etr),
            format!("{:.1} %", method.etr / best.etr.max(f64::MIN_POSITIVE) * 100.0),
            method.lost.to_string(),
            method.failed.to_string(),
            SpinAdvice::in_the_way(&method.name).to_owned(),
        ]);
    }
    format!("{}: take {}; times by {}\n{table}", advice.report, best.name, advice.times)
}
