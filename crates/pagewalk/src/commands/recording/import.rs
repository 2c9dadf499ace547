//! `pagewalk import`: a recording of a trace.

use super::about::{About, Origin};
use crate::cli::ImportArgs;
use crate::commands::outputs::unwritten;
use crate::error::Failure;
use crate::interrupt::{self, Orderly};
use crate::output::{Output, print};
use crate::sandbox::Needs;
use crate::systems::Configured;
use config::ConfigBuilder;
use config::system::System;
use machine::{HOST_BASE, Image};
use recording::{Totals, Writer};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use traces::{Ended, Imported, Importer, Mapping, PageMap, Policy, Source, Touches, TraceError};
use types::{Gpa, PagingMode};

/// The guest's name in reports.
const GUEST: &str = "trace";
/// A jump to itself, which is not executed: a machine has a kernel.
const KERNEL: [u8; 4] = [0x6f, 0, 0, 0];
/// Where it lies.
const KERNEL_AT: Gpa = Gpa(0x8020_0000);
/// What reports say of pages and frames that a map gives.
const GIVEN: &str = "v2p";
/// The least memory of the guest.
const LEAST_MEMORY: u64 = 64 << 20;

/// Runs the command.
///
/// # Errors
/// [`Failure`]: a trace that cannot be read, or an output that cannot be written.
pub(in crate::commands) fn run(arguments: &ImportArgs) -> Result<ExitCode, Failure> {
    // Both passes are opened before the sandbox closes the rest of the file system.
    let passes = [open(arguments)?, open(arguments)?];
    let map = arguments.v2p.as_deref().map(read_map).transpose()?;
    let path = &arguments.output;
    let output = Output::open(path).map_err(|error| unwritten(path, &error))?;
    let needs = Needs::of_machines(1).output(Some(&output));
    let mut result = None;
    let written = output.write_with(|file| {
        let file = file.try_clone()?;
        let imported =
            needs.enter(arguments.sandbox.sandbox).and_then(|_sandbox| import(arguments, passes, map.as_ref(), file));
        let stays = imported.is_ok();
        result = Some(imported);
        if stays { Ok(()) } else { Err(io::ErrorKind::Other.into()) }
    });
    match (result, written) {
        (Some(Ok(line)), Ok(())) => print(&line)?,
        (Some(Err(failure)), _) => return Err(failure),
        (_, Err(error)) => return Err(unwritten(path, &error)),
        (None, Ok(())) => return Err(Failure::Run(format!("{}: nothing was imported", path.display()))),
    }
    Ok(ExitCode::SUCCESS)
}

fn open(arguments: &ImportArgs) -> Result<Source, Failure> {
    let file = File::open(&arguments.trace).map_err(|error| named(&arguments.trace, &error))?;
    traces::open(file, arguments.format).map_err(|error| named(&arguments.trace, &error))
}

fn read_map(path: &Path) -> Result<PageMap, Failure> {
    let file = File::open(path).map_err(|error| named(path, &error))?;
    PageMap::read(BufReader::new(file)).map_err(|error| named(path, &error))
}

fn named(path: &Path, problem: &dyn std::fmt::Display) -> Failure {
    Failure::Usage(format!("{}: {problem}", path.display()))
}

/// Whether a trace was read to its end.
fn whole(read: Result<Ended, TraceError>, path: &Path) -> Result<(), Failure> {
    match read.map_err(|error| named(path, &error))? {
        Ended::Whole => Ok(()),
        Ended::Stopped => Err(interrupt::requested().map_or_else(|| named(path, &"stopped"), Failure::Interrupted)),
        Ended::TooManyPages => Err(named(path, &"it touches more than 64 GiB of memory")),
    }
}

/// Writes the recording; returns what to tell of it.
fn import(
    arguments: &ImportArgs,
    [mut first, mut second]: [Source; 2],
    map: Option<&PageMap>,
    file: File,
) -> Result<String, Failure> {
    let _orderly = Orderly::begin();
    let path = &arguments.trace;
    let mut touches = Touches::default();
    let mut interrupted = || interrupt::requested().is_some();
    whole(touches.read(&mut first, &mut interrupted), path)?;
    if touches.instructions() == 0 {
        return Err(named(path, &"it has no instructions"));
    }
    if arguments.warmup >= touches.instructions() {
        return Err(Failure::Usage(format!(
            "--warmup {}: the trace has {} instructions",
            arguments.warmup,
            touches.instructions()
        )));
    }
    let ram = Gpa(HOST_BASE.0);
    let mapping = match map {
        Some(map) => Mapping::given(ram, touches.pages(), map),
        None => Mapping::new(ram, touches.pages(), arguments.pages, arguments.frames),
    };
    let mapping = mapping.map_err(|error| named(path, &error))?;
    let about = about(arguments, &mapping)?;
    let out: Box<dyn Write> = Box::new(BufWriter::new(file));
    let unwritten = |error: io::Error| unwritten(&arguments.output, &error);
    let writer = Writer::new(out, &about, &[&KERNEL]).map_err(unwritten)?;
    let mut importer = Importer::new(writer, &mapping, arguments.warmup);
    whole(importer.read(&mut second, &mut interrupted), path)?;
    let (totals, imported) = importer.finish().map_err(unwritten)?;
    if imported.instructions != touches.instructions() {
        return Err(named(path, &"it has changed while it was read"));
    }
    Ok(line(arguments, &mapping, &totals, &imported))
}

fn line(arguments: &ImportArgs, mapping: &Mapping, totals: &Totals, imported: &Imported) -> String {
    let Imported { instructions, loads, stores } = imported;
    let huge = if mapping.huge == 0 { String::new() } else { format!(", {} of 1G", mapping.huge) };
    format!(
        "{}: {instructions} instructions, {loads} loads, {stores} stores; {} pages of 4K, {} of 2M{huge}; {} events: {}\n",
        arguments.trace.display(),
        mapping.small,
        mapping.large,
        totals.events,
        arguments.output.display(),
    )
}

/// The size of pages that systems are for: of a map, its smallest one.
fn page_of(arguments: &ImportArgs, mapping: &Mapping) -> &'static str {
    match (&arguments.v2p, arguments.pages) {
        (Some(_), _) if mapping.small > 0 => "4K",
        (Some(_), _) if mapping.large > 0 => "2M",
        (Some(_), _) => "1G",
        (None, Policy::Large) => "2M",
        (None, Policy::Small | Policy::Thp) => "4K",
    }
}

/// The description of the recording, as JSON.
fn about(arguments: &ImportArgs, mapping: &Mapping) -> Result<String, Failure> {
    let memory = mapping.bytes.max(LEAST_MEMORY) >> 20;
    let mode = match mapping.mode {
        PagingMode::Bare | PagingMode::Sv39 => "sv39",
        PagingMode::Sv48 => "sv48",
        PagingMode::Sv57 => "sv57",
    };
    let set = |builder: ConfigBuilder, key: &str, value: &str| builder.set(key, value);
    let builder = set(ConfigBuilder::default(), "memory", &format!("'{memory}M'"))
        .and_then(|builder| set(builder, "paging.guest", mode))
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let page = page_of(arguments, mapping);
    let system: System =
        format!("native:{page}").parse().map_err(|error| Failure::Usage(format!("--pages: {error}")))?;
    let on = Configured::new(&builder, system)?;
    let failed = |error: &dyn std::fmt::Display| Failure::Run(format!("the configuration cannot be written: {error}"));
    let toml = toml::to_string(&on.config).map_err(|error| failed(&error))?;
    let image = Image {
        kernel: Arc::from(KERNEL),
        kernel_name: GUEST.to_owned(),
        load_address: Some(KERNEL_AT),
        initrd: None,
        command_line: String::new(),
        least_memory: 0,
        devices: Vec::new(),
    };
    let name = arguments.trace.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let (pages, frames) = match arguments.v2p {
        Some(_) => (GIVEN.to_owned(), GIVEN.to_owned()),
        None => (arguments.pages.name().to_owned(), arguments.frames.name()),
    };
    let origin = Origin { format: arguments.format.name().to_owned(), pages, frames };
    let about = About::new(GUEST.to_owned(), name, (&on.config, toml), &image).imported(origin);
    serde_json::to_string(&about).map_err(|error| failed(&error))
}
