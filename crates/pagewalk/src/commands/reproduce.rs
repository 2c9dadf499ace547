//! `pagewalk reproduce`.

use super::outputs::{open_output, open_printer, write_page, write_report};
use crate::cli::ReproduceArgs;
use crate::error::Failure;
use crate::guest::Cache;
use crate::html;
use crate::reproduce::{ALL, Experiment, Reproduction, Scale, Verdicts, measure, print, print_counts, together};
use crate::store::Store;
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
/// [`Failure`]: no such paper, or a measurement that fails. That a claim does not hold is a result.
pub(super) fn run(arguments: &ReproduceArgs) -> Result<ExitCode, Failure> {
    let several = arguments.paper == ALL;
    if several && arguments.verdicts.is_some() {
        return Err(Failure::Usage("--verdicts: a file keeps the verdicts of one paper, not of all".to_owned()));
    }
    let repeats = arguments.repeats.map_or(usize::MAX, |count| count as usize);
    let load = |name: &str| {
        let loaded = Experiment::load(name).map(|experiment| experiment.with_repeats(repeats));
        loaded.map_err(|error| Failure::Usage(error.to_string()))
    };
    let experiments: Vec<Experiment> = if several {
        Experiment::names().into_iter().map(load).collect::<Result<_, _>>()?
    } else {
        vec![load(&arguments.paper)?]
    };
    let (mut printer, json) = open_printer(arguments.format, arguments.json.as_deref())?;
    let html = open_output(arguments.html.as_deref())?;
    let verdicts = open_output(arguments.verdicts.as_deref())?;
    let cache = Cache::locate(arguments.cache.directory.as_deref())?;
    let directory = cache.root().join("results");
    let store = Store::open_in_cache(directory.clone())
        .map_err(|error| Failure::Run(format!("{}: {error}", directory.display())))?;
    let scale = if arguments.full { Scale::Full } else { Scale::Short };
    let (mut papers, mut failed) = (Vec::new(), Vec::new());
    for experiment in &experiments {
        let measured = measure(experiment, scale, &store, cache.root(), arguments.sandbox.sandbox)
            .and_then(|measurements| Reproduction::of(experiment, scale, measurements));
        let reproduction = match measured {
            // The others may have all that they need.
            Err(Failure::Run(problem) | Failure::Usage(problem)) if several => {
                failed.push(format!("{}: {problem}", experiment.paper));
                continue;
            }
            measured => measured?,
        };
        if !papers.is_empty() {
            printer.say("\n")?;
        }
        print(&reproduction, &mut printer)?;
        papers.push(reproduction);
    }
    if papers.is_empty() {
        return Err(Failure::Run(failed.join("; ")));
    }
    if several {
        print_counts(&papers, &mut printer)?;
    }
    printer.finish()?;
    verdicts.map_or(Ok(()), |output| write_report(output, &Verdicts::of(&papers[0]).json()))?;
    if json.is_some() || html.is_some() {
        let report = if several { together(&papers, scale) } else { papers[0].json() };
        json.map_or(Ok(()), |output| write_report(output, &report))?;
        html.map_or(Ok(()), |output| write_page(output, &html::of_reproduction(&report)?))?;
    }
    if failed.is_empty() { Ok(ExitCode::SUCCESS) } else { Err(Failure::Run(failed.join("; "))) }
}
