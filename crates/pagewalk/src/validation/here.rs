//! This machine while the programs run: its frames, and its last-level cache.

use super::native::{Measured, Native, measure_all};
use super::programs::Point;
use crate::error::Failure;
use crate::progress::Progress;
use calibrate::{Host, LastLevelProbe, ScatteredFrames, Spread};
use config::ConfigBuilder;
use config::host_model::HostModel;

/// What measures the last level between runs. Its size is unknown beforehand, and at most what the system says, or the model.
///
/// # Errors
/// [`Failure::Usage`]: the model has no caches for it, or they are larger than the memory that the probe takes.
pub(crate) fn probe(model: &HostModel) -> Result<LastLevelProbe, Failure> {
    let usage = |problem: &str| Failure::Usage(format!("--last-level measured: {problem}"));
    let caches = model.caches.as_ref();
    let Some((l2, llc)) = caches.and_then(|caches| caches.l2.as_ref().zip(caches.llc.as_ref())) else {
        return Err(usage("the host model has no last level behind an L2"));
    };
    let named = Host::find().cache(3).map_or(llc.size.0, |cache| cache.size);
    LastLevelProbe::take(l2.size.0, named, llc.line).map_err(|problem| usage(&problem))
}

/// The configuration with a last level that holds so many bytes, in sets of the model's ways.
///
/// # Errors
/// [`Failure::Usage`]: the configuration takes no such size.
pub(crate) fn with_last_level(
    builder: ConfigBuilder,
    model: &HostModel,
    holds: Spread,
) -> Result<ConfigBuilder, Failure> {
    let llc = model.caches.as_ref().and_then(|caches| caches.llc.as_ref()).expect("the probe was made for one");
    let set = f64::from(llc.ways) * f64::from(llc.line);
    let bytes = ((holds.median / set).round().max(1.0) * set) as u64;
    builder.set("host.caches.llc.size", &bytes.to_string()).map_err(|error| Failure::Usage(error.to_string()))
}

/// What was measured of each point, and the bytes that frames of 4K were scattered over, or why they were not.
pub(crate) type Here = (Vec<Measured>, Result<u64, String>);

/// Measures all points, and noisy ones up to `again` times more.
///
/// # Errors
/// [`Failure`]: no C compiler, or a program or the probe fails.
pub(crate) fn measure(
    points: &[Point],
    repeats: usize,
    again: u32,
    mut probe: Option<LastLevelProbe>,
) -> Result<Here, Failure> {
    let mut progress = Progress::new();
    progress.say("validate: the C compiler");
    let native = Native::build()?;
    progress.say("validate: scattering frames");
    let frames = ScatteredFrames::take();
    progress.count("validate: programs on this machine", points.len() as u64);
    let mut done = 0;
    let measured = measure_all(points, again, |point| {
        // Points that are measured again are behind the last one.
        progress.at(done.min(points.len() as u64));
        done += 1;
        let measured = native.measure(point, repeats, || probe.iter_mut().for_each(LastLevelProbe::measure))?;
        let last_level = probe.as_mut().map(LastLevelProbe::holds).transpose();
        let last_level = last_level.map_err(|problem| Failure::Run(format!("--last-level measured: {problem}")))?;
        Ok(Measured { last_level, ..measured })
    });
    Ok((measured?, frames.map(|frames| frames.span())))
}
