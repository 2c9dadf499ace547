//! What a comparison says that a signal ends: the runs that are finished, and how to go on with the others. Its report has the runs that are
//! finished, and names the others.

use super::execute::{Missing, Plan};
use super::finished::Finished;
use super::table::details;
use crate::output::{Printer, warn};
use crate::store::Store;
use serde_json::{Value, json};
use std::path::Path;

/// Prints the runs that are finished, and says how to go on.
pub(crate) fn tell_of_interruption(plan: &Plan, finished: &[Finished], mut printer: Printer) {
    if !finished.is_empty() {
        // The command ends by the signal in any case.
        let _ = printer.table(details(finished)).and_then(|()| printer.finish());
    }
    let all = plan.works.len() * plan.systems.len();
    warn(&how_to_go_on(finished.len(), all, plan.kept_in().map(Store::directory)));
}

/// Marks a report as one without the runs that are missing.
pub(crate) fn mark_incomplete(report: &mut Value, missing: &[Missing]) {
    let missing = missing.iter().map(|Missing { work, on }| {
        json!({
            "workload": work,
            "scheme": on.config.scheme.to_string(),
            "settings": on.system.settings(),
        })
    });
    report["missing"] = missing.collect();
    report["incomplete"] = true.into();
}

/// Says of a report that is read from `name` how many runs it lacks, if it does.
pub(crate) fn warn_of_missing(name: &str, report: &Value) {
    if report["incomplete"] == true {
        let missing = report["missing"].as_array().map_or(0, Vec::len);
        warn(&format!("{name}: the comparison was interrupted, and {missing} runs are missing"));
    }
}

fn how_to_go_on(finished: usize, all: usize, kept: Option<&Path>) -> String {
    let how = match kept {
        Some(directory) => format!("kept in {}: the same command goes on with the others", directory.display()),
        None => "none is kept: with --keep DIR the same command would go on with the others".to_owned(),
    };
    format!("{finished} of {all} runs finished, {how}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interruption_says_how_to_go_on() {
        assert_eq!(
            how_to_go_on(3, 8, Some(Path::new("runs"))),
            "3 of 8 runs finished, kept in runs: the same command goes on with the others"
        );
        assert!(how_to_go_on(0, 8, None).starts_with("0 of 8 runs finished, none is kept: with --keep DIR "));
    }
}
