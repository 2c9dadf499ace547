//! The same programs in Pagewalk, on `vos`.

use super::compared::Predicted;
use super::programs::Point;
use crate::cli::LinuxArgs;
use crate::comparison::Finished;
use crate::error::Failure;
use crate::guest::{Memory, VALIDATION_VOS};
use crate::runs::image::{GuestKind, Work, prepare};
use crate::runs::start::Start;
use calibrate::Spread;

/// Where the guest's frames of 4K lie in its memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GuestFrames {
    /// In a row, as those of a page of 2M do.
    InOrder,
    /// All over, as in a system that has run for long.
    Scattered,
}

impl GuestFrames {
    /// What is added to the guest's command line: the seed of a random order (guests/validation-kernel/scatter.c).
    const fn option(self) -> &'static str {
        match self {
            Self::InOrder => "",
            Self::Scattered => " scatter=1",
        }
    }
}

/// A guest that runs a point, and its name.
///
/// # Errors
/// [`Failure`].
pub(crate) fn start(point: &Point, frames: GuestFrames) -> Result<(String, Start), Failure> {
    let work = Work::Workload { name: point.program.name.to_owned(), options: point.options() + frames.option() };
    let prepared = prepare(GuestKind::Vos, work, &LinuxArgs::default(), Memory::OfKernel)?;
    Ok((point.name(), Start::Boot(Box::new(prepared.with_vos(VALIDATION_VOS.image)))))
}

/// Nanoseconds of an operation, in simulated time.
///
/// # Errors
/// [`Failure::Run`]: the program failed.
fn predicted(point: &Point, finished: &Finished) -> Result<f64, Failure> {
    let failed = |problem: &str| Failure::Run(format!("{} under {}: {problem}", finished.work, finished.on.system));
    if let Some(problem) = &finished.failed {
        return Err(failed(problem));
    }
    let figures = point.figures(&String::from_utf8_lossy(&finished.output)).map_err(|problem| failed(&problem))?;
    Ok(figures.ns)
}

/// Nanoseconds of an operation of each point, under both systems with so many placements, with frames in order, and under the first with scattered
/// ones.
///
/// # Errors
/// [`Failure::Run`]: a program failed.
pub(crate) fn predictions(
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
