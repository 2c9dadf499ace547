//! The main results, in numbers.

use super::measured::Run;
use crate::html::document::Finding;
use crate::html::figures::{counted, signed_percent};

/// The main results.
pub(super) fn findings(works: &[&[Run]]) -> Vec<Finding> {
    let all = || works.iter().flat_map(|runs| runs.iter()).filter(|run| run.is_good());
    let mut findings = Vec::new();
    let by_overhead = |one: &&Run, other: &&Run| one.over_ideal().total_cmp(&other.over_ideal());
    if let Some(worst) = all().max_by(by_overhead) {
        findings.push(Finding {
            number: signed_percent(worst.over_ideal()),
            text: format!(
                "is the highest cost of translation in this report: {} under {}, over the same run with free translation",
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
                "is the most that nested paging adds to the same machine without a hypervisor: {} under {}",
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

/// The virtualized system with the least overhead, as the geometric mean of cycles over all workloads, and that. A system of which a run failed, or
/// is missing, has no mean that could be compared.
fn cheapest(works: &[&[Run]]) -> Option<(String, f64)> {
    let mean = |system: &str| {
        let of = |runs: &&[Run]| runs.iter().find(|run| run.is_good() && run.system() == system).map(Run::over_ideal);
        let overheads = works.iter().map(of).collect::<Option<Vec<f64>>>()?;
        let logarithms: f64 = overheads.iter().map(|overhead| (1.0 + overhead).ln()).sum();
        Some((logarithms / works.len() as f64).exp() - 1.0)
    };
    let virtualized = works.first()?.iter().filter(|run| !run.scheme.starts_with("native")).map(Run::system);
    virtualized
        .filter_map(|system| mean(&system).map(|mean| (system, mean)))
        .min_by(|one, other| one.1.total_cmp(&other.1))
}
