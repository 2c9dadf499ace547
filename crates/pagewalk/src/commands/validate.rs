//! `pagewalk validate`: programs on this machine, and what Pagewalk predicts of them.

use super::outputs::{open_output, open_printer, write_page, write_report};
use crate::cli::{LastLevelSize, ValidateArgs};
use crate::comparison::{Execution, Finished, Plan, execute};
use crate::error::Failure;
use crate::html;
use crate::observe::Recorded;
use crate::output::Printer;
use crate::progress::Progress;
use crate::sandbox::Needs;
use crate::setup::{builder_with_sections, built};
use crate::side_by_side::default_threads;
use crate::systems::{Configured, configured};
use crate::text::cell::Cell;
use crate::text::table::{Column, Table};
use crate::validation::{
    Compared, GuestFrames, Made, Measured, Native, PROGRAMS, Point, Predicted, Program, Summary, Tuning, compared,
    points, predicted, report, start, with_layouts,
};
use calibrate::{Host, LastLevelProbe, ScatteredFrames, Spread};
use config::ConfigBuilder;
use config::host_model::HostModel;
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
    let (measured, scattered_over) = measure(&points, arguments.repeat as usize, probe)?;
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
    let host = Host::find();
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

/// What measures the last level between runs. Its size is unknown beforehand, and at most what the system says, or the model.
fn probe(model: &HostModel) -> Result<LastLevelProbe, Failure> {
    let usage = |problem: &str| Failure::Usage(format!("--last-level measured: {problem}"));
    let caches = model.caches.as_ref();
    let Some((l2, llc)) = caches.and_then(|caches| caches.l2.as_ref().zip(caches.llc.as_ref())) else {
        return Err(usage("the host model has no last level behind an L2"));
    };
    let named = Host::find().cache(3).map_or(llc.size.0, |cache| cache.size);
    LastLevelProbe::take(l2.size.0, named, llc.line).map_err(|problem| usage(&problem))
}

/// The configuration with a last level that holds so many bytes, in sets of the model's ways.
fn with_last_level(builder: ConfigBuilder, model: &HostModel, holds: Spread) -> Result<ConfigBuilder, Failure> {
    let llc = model.caches.as_ref().and_then(|caches| caches.llc.as_ref()).expect("the probe was made for one");
    let set = f64::from(llc.ways) * f64::from(llc.line);
    let bytes = ((holds.median / set).round().max(1.0) * set) as u64;
    builder.set("host.caches.llc.size", &bytes.to_string()).map_err(|error| Failure::Usage(error.to_string()))
}

/// What was measured of each point, and the bytes that frames of 4K were scattered over, or why they were not.
type Here = (Vec<Measured>, Result<u64, String>);

/// Measures all points.
fn measure(points: &[Point], repeats: usize, mut probe: Option<LastLevelProbe>) -> Result<Here, Failure> {
    let mut progress = Progress::new();
    progress.say("validate: the C compiler");
    let native = Native::build()?;
    progress.say("validate: scattering frames");
    let frames = ScatteredFrames::take();
    progress.count("validate: programs on this machine", points.len() as u64);
    let each = points.iter().zip(0..).map(|(point, done)| {
        progress.at(done);
        let measured = native.measure(point, repeats, || probe.iter_mut().for_each(LastLevelProbe::measure))?;
        let last_level = probe.as_mut().map(LastLevelProbe::holds).transpose();
        let last_level = last_level.map_err(|problem| Failure::Run(format!("--last-level measured: {problem}")))?;
        Ok(Measured { last_level, ..measured })
    });
    Ok((each.collect::<Result<_, Failure>>()?, frames.map(|frames| frames.span())))
}

/// Nanoseconds of an operation of each point, under both systems with so many placements, with frames in order, and under the first with scattered ones.
fn predictions(
    points: &[Point],
    in_order: &[Finished],
    scattered: &[Finished],
    layouts: [usize; 2],
) -> Result<Vec<Predicted>, Failure> {
    let side = |point: &Point, runs: &[Finished]| -> Result<Spread, Failure> {
        let times = runs.iter().map(|run| predicted(point, run)).collect::<Result<Vec<f64>, Failure>>()?;
        Ok(Spread::of_repeats(&times).expect("a system has a placement"))
    };
    let of_points = in_order.chunks(layouts[0] + layouts[1]).zip(scattered.chunks(layouts[0]));
    let each = points.iter().zip(of_points).map(|(point, (runs, base))| {
        let (split, huge) = runs.split_at(layouts[0]);
        Ok(Predicted { base: side(point, base)?, huge: side(point, huge)?, split: side(point, split)? })
    });
    each.collect()
}

fn gibibytes(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}

fn mebibytes(bytes: f64) -> String {
    format!("{:.1} MiB", bytes / f64::from(1 << 20))
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
    let frames = match &made.scattered_over {
        Ok(bytes) => format!(
            "This machine's frames of 4K pages were scattered over {} of its memory as well.",
            gibibytes(*bytes)
        ),
        Err(reason) => format!("This machine's frames of 4K pages could not be scattered: {reason}."),
    };
    printer.paragraph("", "", &frames)?;
    let mut kept: Vec<f64> = compared.iter().filter_map(|one| Some(one.measured.last_level?.median)).collect();
    kept.sort_by(f64::total_cmp);
    if let [least, .., most] | [least @ most] = kept[..] {
        let [least, most] = [least, most].map(mebibytes);
        let text = format!(
            "While a program ran, many misses at a time kept {least} to {most} of the last-level cache. Each prediction has the size of its program's minute."
        );
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

fn table(compared: &[Compared], made: &Made<'_>) -> Table {
    let columns = [
        ("program", "program"),
        ("size", "size"),
        ("4K, ns", "measured_4k_ns"),
        ("spread", "measured_4k_spread_ratio"),
        ("2M, ns", "measured_2m_ns"),
        ("spread", "measured_2m_spread_ratio"),
        ("4K/2M", "measured_4k_over_2m"),
        ("predicted", "predicted_4k_over_2m"),
        ("spread", "predicted_spread_ratio"),
        ("error", "error_ratio"),
        ("same frames", "measured_split_over_2m"),
        ("predicted", "predicted_split_over_2m"),
        ("error", "split_error_ratio"),
        ("4K, ns", "predicted_4k_ns"),
        ("factor", "time_factor"),
        ("", "held_out"),
    ];
    let exact = ["host_model", "fidelity"].map(Column::exact);
    let mut table = Table::new("validation", columns.map(Column::from).into_iter().chain(exact));
    for one in compared {
        let Measured { base, huge, .. } = one.measured;
        table.row([
            Cell::text(one.point.program.name),
            Cell::text(one.point.size),
            Cell::fixed(base.median, 2),
            Cell::percent(base.relative(), 0),
            Cell::fixed(huge.median, 2),
            Cell::percent(huge.relative(), 0),
            Cell::fixed(one.measured_ratio().median, 2),
            Cell::fixed(one.predicted_ratio().median, 2),
            Cell::percent(one.predicted_ratio().relative(), 0),
            Cell::change(one.ratio_error()),
            Cell::fixed(one.split_ratio().median, 2),
            Cell::fixed(one.predicted_split_ratio().median, 2),
            Cell::change(one.split_error()),
            Cell::fixed(one.predicted.base.median, 2),
            Cell::fixed(one.time_factor(), 2),
            match one.point.program.tuning {
                Tuning::Allowed => Cell::default(),
                Tuning::HeldOut => Cell::text("held out"),
            },
            Cell::exact(made.model.name.as_str()),
            Cell::exact(made.fidelity()),
        ]);
    }
    table
}
