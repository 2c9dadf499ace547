//! The main results, in numbers.

use super::Run;
use crate::html::document::Finding;
use crate::html::figures::{counted, signed_percent};

/// The main results.
pub(super) fn findings(works: &[&[Run]]) -> Vec<Finding> {
    let all = || works.iter().flat_map(|runs| runs.iter());
    let mut findings = Vec::new();
    let by_overhead = |one: &&Run, other: &&Run| one.overhead_ideal.total_cmp(&other.overhead_ideal);
    if let Some(worst) = all().max_by(by_overhead) {
        findings.push(Finding {
            number: signed_percent(worst.overhead_ideal),
            text: format!(
                "is the most that translation costs here: {} under {}, over a machine whose translation is free",
                worst.workload,
                worst.system()
            ),
        });
    }
    let virtualized = || all().filter(|run| run.overhead.is_some() && !run.scheme.starts_with("native"));
    let by_native = |one: &&Run, other: &&Run| one.overhead.unwrap_or(0.0).total_cmp(&other.overhead.unwrap_or(0.0));
    if let Some(nested) = virtualized().filter(|run| run.scheme.starts_with("nested")).max_by(by_native) {
        findings.push(Finding {
            number: signed_percent(nested.overhead.unwrap_or(0.0)),
            text: format!(
                "is the most that nested paging adds to the same machine without a monitor: {} under {}",
                nested.workload,
                nested.system()
            ),
        });
    }
    if let Some((system, mean)) = cheapest(works) {
        findings.push(Finding {
            number: signed_percent(mean),
            text: format!(
                "over free translation is the least of any virtualized scheme: {system}, the mean of {}",
                counted(works.len(), "workload")
            ),
        });
    }
    findings
}

/// The virtualized system with the least overhead, as the geometric mean of cycles over all workloads, and that.
fn cheapest(works: &[&[Run]]) -> Option<(String, f64)> {
    let systems = works.first()?.len();
    let mean = |index: usize| {
        let logarithms: f64 = works.iter().map(|runs| (1.0 + runs[index].overhead_ideal).ln()).sum();
        (logarithms / works.len() as f64).exp() - 1.0
    };
    let whole = works.iter().all(|runs| runs.len() == systems);
    let virtualized = (0..systems).filter(|&index| whole && !works[0][index].scheme.starts_with("native"));
    let least = virtualized.min_by(|&one, &other| mean(one).total_cmp(&mean(other)))?;
    Some((works[0][least].system(), mean(least)))
}
