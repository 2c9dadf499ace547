//! `pagewalk validate`: programs on this machine, and what Pagewalk predicts of them.

use super::outputs::{open_output, open_printer, write_page, write_report};
use crate::cli::{LastLevelSize, ValidateArgs};
use crate::comparison::{Execution, Plan, execute};
use crate::error::Failure;
use crate::html;
use crate::observe::Recorded;
use crate::output::Printer;
use crate::sandbox::Needs;
use crate::setup::{builder_with_sections, built};
use crate::side_by_side::default_threads;
use crate::systems::{Configured, configured};
use crate::validation::{
    Compared, GuestFrames, Made, PROGRAMS, Point, Program, Summary, compared, frames, last_level, measure, noisy,
    points, predictions, probe, report, start, table, with_last_level, with_layouts,
};
use calibrate::Host;
use config::ConfigBuilder;
use keys::suggestion::unknown;
use std::process::ExitCode;
use std::sync::Arc;

/// What a configuration begins with: memory in half of which few of the largest program's frames are neighbours, and the fidelity whose time is
/// nearest to a machine's.
const DEFAULTS: [(&str, &str); 2] = [("memory", "'8G'"), ("fidelity", "'core'")];

/// Runs the command.
///
/// # Errors
/// [`Failure`]: bad usage, no C compiler, a program that fails, here or in Pagewalk.
pub(super) fn run(arguments: &ValidateArgs) -> Result<ExitCode, Failure> {
    let points = points(&programs(&arguments.programs)?, arguments.sizes as usize);
    let (builder, shared) = builder_with_sections(&DEFAULTS, &arguments.config, &[], None)?;
    let config = built(&builder)?;
    let sides = sides(arguments, &builder)?;
    let probe = match arguments.last_level {
        LastLevelSize::Model => None,
        LastLevelSize::Measured => Some(probe(&config.host_model()?)?),
    };
    let layouts = [sides[0].len(), sides[1].len()];
    let threads = arguments.threads.map_or_else(default_threads, |threads| threads as usize);
    let works =
        |points: &[Point], frames| points.iter().map(|point| start(point, frames)).collect::<Result<Vec<_>, Failure>>();
    let in_order = works(&points, GuestFrames::InOrder)?;
    let (systems, recorded) = (sides.concat(), Recorded::default());
    in_order.iter().try_for_each(|(_, start)| systems.iter().try_for_each(|on| start.check(on, &shared)))?;
    let mut plan =
        Plan { works: in_order, systems, threads, walks: false, recorded, keep: None, shared, network: None };
    let (mut printer, json_output) = open_printer(arguments.format, arguments.json.as_deref())?;
    let html_output = open_output(arguments.html.as_deref())?;
    // This machine first: compiler and programs run outside of the sandbox.
    let (measured, scattered_over) = measure(&points, arguments.repeat as usize, arguments.again, probe)?;
    // The sandbox hides what the system says of the processor.
    let host = Host::find();
    let needs = Needs::of_machines(threads).output(json_output.as_ref()).output(html_output.as_ref());
    let needs = plan.systems.iter().fold(needs, |needs, on| needs.configuration(&on.config));
    let _sandbox = needs.enter(arguments.sandbox.sandbox)?;
    let names = [0, 1].map(|index: usize| arguments.systems[index].to_string());
    let finished = |plan: &Plan| match execute(plan)? {
        Execution::Whole(finished) => Ok(finished),
        Execution::Interrupted { signal, .. } => Err(Failure::Interrupted(signal)),
    };
    let model = config.host_model()?;
    // Points whose last level was measured have systems of their own.
    let together = if arguments.last_level == LastLevelSize::Model { points.len() } else { 1 };
    let mut predicted = Vec::new();
    for first in (0..points.len()).step_by(together) {
        let those = &points[first..(first + together).min(points.len())];
        let sides = match measured[first].last_level {
            None => sides.clone(),
            Some(holds) => self::sides(arguments, &with_last_level(builder.clone(), &model, holds)?)?,
        };
        (plan.works, plan.systems) = (works(those, GuestFrames::InOrder)?, sides.concat());
        let runs = finished(&plan)?;
        (plan.works, plan.systems) = (works(those, GuestFrames::Scattered)?, sides[0].clone());
        predicted.extend(predictions(those, &runs, &finished(&plan)?, layouts)?);
    }
    let compared = compared(&points, &measured, &predicted);
    let made = Made { config: &config, model: &model, systems: names, layouts, scattered_over };
    print(&compared, &host, &made, &mut printer)?;
    printer.finish()?;
    let report = report(&compared, &host, &made);
    if let Some(output) = html_output {
        write_page(output, &html::validation(&report)?)?;
    }
    json_output.map_or(Ok(()), |output| write_report(output, &report))?;
    Ok(ExitCode::SUCCESS)
}

/// The programs of these names; all if there are none.
fn programs(names: &[String]) -> Result<Vec<&'static Program>, Failure> {
    if names.is_empty() {
        return Ok(PROGRAMS.iter().collect());
    }
    let found = |name: &String| {
        let found = PROGRAMS.iter().find(|program| program.name == name);
        found.ok_or_else(|| {
            let known = PROGRAMS.iter().map(|program| program.name);
            Failure::Usage(format!("--program: {}", unknown("program", name, known)))
        })
    };
    names.iter().map(found).collect()
}

/// The systems with 4K pages and those with 2M pages, each with its placements.
fn sides(arguments: &ValidateArgs, builder: &ConfigBuilder) -> Result<Vec<Vec<Arc<Configured>>>, Failure> {
    let sides = arguments.systems.iter().map(|system| with_layouts(builder, system, arguments.layouts));
    sides.map(|systems| configured(builder, systems, &[])).collect()
}

fn print(compared: &[Compared], host: &Host, made: &Made<'_>, printer: &mut Printer) -> Result<(), Failure> {
    let fidelity = made.fidelity();
    printer.table(table(compared, made))?;
    printer.say("\n")?;
    printer.paragraph(
        "",
        "",
        &format!(
            "Times are ns an operation; 4K/2M is how much longer one takes with 4K pages, and `same frames` where entries of 4K map the frames of 2M pages. Predicted by {} and {} on host {} with fidelity {fidelity}, \
             as medians over {} and {} placements in host memory, with the guest's frames of 4K scattered over its memory, but for `same frames`; `held out` are programs that no model is tuned by.",
            made.systems[0], made.systems[1], made.model.name, made.layouts[0], made.layouts[1],
        ),
    )?;
    printer.paragraph("", "", &frames(made.scattered_over.as_ref().copied().map_err(String::as_str)))?;
    let kept = compared.iter().filter_map(|one| Some(one.measured.last_level?.median));
    if let Some(text) = last_level(kept) {
        printer.paragraph("", "", &text)?;
    }
    let spreads = compared.iter().map(|one| (one.measured.times, one.measured.spread()));
    if let Some(text) = noisy(spreads) {
        printer.paragraph("", "", &text)?;
    }
    if let Some(name) = &host.hypervisor {
        let text = format!("This machine is virtual ({name}): its walks are nested, whatever the systems here have.");
        printer.paragraph("", "", &text)?;
    }
    if let Some(Summary { median_error, worst_error, median_split_error, worst_split_error, median_factor }) =
        Summary::of(compared)
    {
        printer.say(&format!(
            "error of 4K/2M: median {:.1} %, worst {:.1} %; with the same frames {:.1} % and {:.1} %\n\
             times within a factor of {median_factor:.2} (median)\n",
            100.0 * median_error,
            100.0 * worst_error,
            100.0 * median_split_error,
            100.0 * worst_split_error,
        ))?;
    }
    Ok(())
}
