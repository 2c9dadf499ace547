//! The same programs in Pagewalk, on `vos`.

use super::programs::Point;
use crate::cli::LinuxArgs;
use crate::comparison::Finished;
use crate::error::Failure;
use crate::guest::{Memory, VALIDATION_VOS};
use crate::runs::image::{GuestKind, Work, prepare};
use crate::runs::start::Start;

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
    Ok((point.name(), Start::Boot(Box::new(prepared.with_vos(VALIDATION_VOS)))))
}

/// Nanoseconds of an operation, in simulated time.
///
/// # Errors
/// [`Failure::Run`]: the program failed.
pub(crate) fn predicted(point: &Point, finished: &Finished) -> Result<f64, Failure> {
    let failed = |problem: &str| Failure::Run(format!("{} under {}: {problem}", finished.work, finished.on.system));
    if let Some(problem) = &finished.failed {
        return Err(failed(problem));
    }
    let figures = point.figures(&String::from_utf8_lossy(&finished.output)).map_err(|problem| failed(&problem))?;
    Ok(figures.ns)
}
