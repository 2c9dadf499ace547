//! Measurements: each is a command of Pagewalk that a user can type as well, run as a process of its own.

use super::experiment::{COMPARISON, Experiment, Measure, Scale};
use crate::cleanup::TemporaryPath;
use crate::cli::SandboxMode;
use crate::error::Failure;
use crate::progress::{Running, Runs};
use crate::side_by_side::{default_threads, side_by_side};
use crate::store::Store;
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

/// The commands that run guests in a sandbox.
const SANDBOXED: [&str; 5] = ["boot", "compare", "bench", "run", "vlm"];

/// A measurement that is done.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    /// Its name.
    pub(crate) id: String,
    /// What it is for.
    pub(crate) about: String,
    /// The commands, as a user would type them.
    pub(crate) commands: Vec<String>,
    /// The subcommand.
    pub(crate) kind: String,
    /// Its JSON in each repeat; of several values, a map of each one's. There is one where repeats do not differ.
    pub(crate) results: Vec<Value>,
}

impl Done {
    /// The JSON in the repeat of this index.
    pub(crate) fn result(&self, repeat: usize) -> &Value {
        &self.results[if self.results.len() == 1 { 0 } else { repeat }]
    }
}

/// What all measurements are run with.
#[derive(Clone, Copy)]
struct Setting<'k> {
    /// Where results are kept, and found.
    store: &'k Store,
    /// Where guests are.
    cache: &'k Path,
    /// What guests are made of.
    guests: &'k [u8],
    /// Whether commands that run guests have a sandbox.
    sandbox: SandboxMode,
    /// How comparisons use the host's processors.
    comparisons: Comparisons,
}

/// One process to run.
#[derive(Clone, Debug)]
struct Job {
    measure: usize,
    each: Option<String>,
    /// What this repeat differs in.
    repeat: Option<String>,
    arguments: Vec<String>,
    file: Option<String>,
}

/// Runs what the experiment measures, but for what `store` has.
///
/// # Errors
/// [`Failure`]: a command of the experiment does not read, or fails; what is finished by then is kept.
pub(crate) fn measure(
    experiment: &Experiment,
    scale: Scale,
    store: &Store,
    cache: &Path,
    sandbox: SandboxMode,
) -> Result<Vec<Done>, Failure> {
    let jobs = experiment
        .measure
        .iter()
        .enumerate()
        .map(|(index, measure)| jobs(experiment, scale, index, measure))
        .collect::<Result<Vec<_>, _>>()?
        .concat();
    // What guests are made of is not in a command's words.
    let guests = fs::read(cache.join("linux/manifest.json")).unwrap_or_default();
    let comparisons = Comparisons::of(scale);
    let setting = Setting { store, cache, guests: &guests, sandbox, comparisons };
    let progress = Runs::new(jobs.iter().map(|job| job.arguments[0].clone()).collect(), default_threads());
    let mut results: Vec<(Job, Value)> = Vec::new();
    let failed = AtomicBool::new(false);
    for group in jobs.chunk_by(|one, next| one.is_parallel() == next.is_parallel()) {
        let at_a_time = if group[0].is_parallel() { comparisons.at_a_time } else { default_threads() };
        let done = side_by_side(at_a_time, group, |job| {
            // Once one has failed, no other one begins.
            if failed.load(Ordering::Relaxed) {
                return None;
            }
            let result = job.result(&experiment.measure[job.measure].id, &progress, setting);
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            Some(result.map(|value| (job.clone(), value)))
        });
        results.extend(done.into_iter().flatten().collect::<Result<Vec<_>, _>>()?);
    }
    Ok(experiment.measure.iter().enumerate().map(|(index, measure)| Done::of(index, measure, &results)).collect())
}

/// How many comparisons run at a time, and on how many threads each of them runs its systems.
#[derive(Clone, Copy)]
struct Comparisons {
    at_a_time: usize,
    threads: usize,
}

impl Comparisons {
    /// With the short sizes each has one thread: none leaves processors idle at its end, and no processor has to switch between the data of two runs. With the
    /// paper's sizes one comparison takes much of the host's memory.
    fn of(scale: Scale) -> Self {
        match scale {
            Scale::Short => Self { at_a_time: default_threads(), threads: 1 },
            Scale::Full => Self { at_a_time: 1, threads: default_threads() },
        }
    }
}

fn jobs(experiment: &Experiment, scale: Scale, index: usize, measure: &Measure) -> Result<Vec<Job>, Failure> {
    let all = |values: &'_ [String]| -> Vec<Option<String>> {
        if values.is_empty() { vec![None] } else { values.iter().cloned().map(Some).collect() }
    };
    let repeats = if measure.is_repeated() { all(experiment.repeats_of(measure)) } else { vec![None] };
    let values = all(&measure.each);
    let job = |(repeat, each): (&Option<String>, &Option<String>)| {
        let fill = |text: &str| {
            let sizes = experiment.size.iter().map(|(name, size)| (name.as_str(), size.at(scale)));
            let named = [("each", each.as_deref()), ("repeat", repeat.as_deref())];
            let named = named.into_iter().filter_map(|(name, value)| Some((name, value?)));
            sizes.chain(named).fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
        };
        let line = format!("{} {}", fill(&measure.command), experiment.further_words(measure, scale));
        let arguments = shlex::split(&line)
            .filter(|words| !words.is_empty())
            .ok_or_else(|| Failure::Usage(format!("measure `{}`: the command does not read: {line}", measure.id)))?;
        let file = measure.file.as_ref().map(|table| filled(table, &fill).to_string());
        Ok(Job { measure: index, each: each.clone(), repeat: repeat.clone(), arguments, file })
    };
    repeats.iter().flat_map(|repeat| values.iter().map(move |each| (repeat, each))).map(job).collect()
}

/// The table with `fill` of all texts in it.
fn filled(table: &toml::Table, fill: &impl Fn(&str) -> String) -> toml::Table {
    fn of(value: &toml::Value, fill: &impl Fn(&str) -> String) -> toml::Value {
        match value {
            toml::Value::String(text) => toml::Value::String(fill(text)),
            toml::Value::Array(values) => values.iter().map(|value| of(value, fill)).collect::<Vec<_>>().into(),
            toml::Value::Table(table) => filled(table, fill).into(),
            other => other.clone(),
        }
    }
    table.iter().map(|(key, value)| (key.clone(), of(value, fill))).collect()
}

impl Job {
    /// Whether it uses several processors by itself.
    fn is_parallel(&self) -> bool {
        self.arguments[0] == COMPARISON
    }

    fn result(&self, id: &str, progress: &Runs, setting: Setting<'_>) -> Result<Value, Failure> {
        let Setting { store, guests, .. } = setting;
        let name = [Some(id), self.each.as_deref(), self.repeat.as_deref()].into_iter().flatten();
        let name = name.collect::<Vec<_>>().join(", ");
        let words = self.arguments.iter().map(String::as_bytes);
        let key = store.key(words.chain([self.file.as_deref().unwrap_or_default().as_bytes(), guests]));
        if let Some(value) = store.get(&key) {
            progress.kept(&self.arguments[0], &name);
            return Ok(value);
        }
        let running = progress.begin(&self.arguments[0], &name);
        let value = self.run(id, &running, setting)?;
        running.finish(None);
        let kept = store.put(&key, &value);
        kept.map_err(|error| Failure::Run(format!("{}: {error}", store.directory().display())))?;
        Ok(value)
    }

    fn run(&self, id: &str, running: &Running<'_>, setting: Setting<'_>) -> Result<Value, Failure> {
        let Setting { store, cache, sandbox, comparisons, .. } = setting;
        let failed = |problem: String| Failure::Run(format!("measure `{id}`: pagewalk {}: {problem}", self.line()));
        let broken = |error: std::io::Error| failed(error.to_string());
        // Registered, so that a signal leaves nothing behind.
        let directory = TemporaryPath::remove_later(tempfile::tempdir().map_err(broken)?.keep());
        let report = directory.path().join("report.json");
        let mut arguments: Vec<OsString> = self.arguments.iter().map(Into::into).collect();
        arguments.extend(["--json".into(), report.clone().into()]);
        if self.is_parallel() {
            arguments.extend(["--keep".into(), store.directory().into(), "--cache".into(), cache.into()]);
            arguments.extend(["--threads".into(), comparisons.threads.to_string().into()]);
        }
        if let Some(text) = &self.file {
            let path = directory.path().join(format!("{id}.toml"));
            fs::write(&path, text).map_err(broken)?;
            arguments.push(path.into());
        }
        if sandbox == SandboxMode::Off && SANDBOXED.contains(&self.arguments[0].as_str()) {
            arguments.extend(["--sandbox".into(), "off".into()]);
        }
        let program = std::env::current_exe().map_err(broken)?;
        let mut command = Command::new(program);
        command.args(arguments).env(CHILD, "1").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(broken)?;
        // Without a terminal it says of each run that this has ended.
        let mut last = "it says nothing".to_owned();
        let said = child.stderr.take().expect("its standard error is a pipe");
        for line in BufReader::new(said).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            if !line.trim().is_empty() {
                line.trim_start_matches("pagewalk: ").clone_into(&mut last);
                running.say(&last);
            }
        }
        if !child.wait().map_err(broken)?.success() {
            return Err(failed(last));
        }
        serde_json::from_slice(&fs::read(&report).map_err(broken)?).map_err(|error| failed(error.to_string()))
    }

    /// The arguments as a shell reads them.
    fn line(&self) -> String {
        shlex::try_join(self.arguments.iter().map(String::as_str)).unwrap_or_else(|_| self.arguments.join(" "))
    }
}

/// Set for the processes of measurements: see [`end_with_parent`].
const CHILD: &str = "PAGEWALK_MEASUREMENT";

/// Makes this process, if it is one of a measurement, end with the one that wants it.
pub fn end_with_parent() {
    if std::env::var_os(CHILD).is_some() {
        // Where it cannot be had, the process ends when it is done.
        let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    }
}

impl Done {
    fn of(index: usize, measure: &Measure, results: &[(Job, Value)]) -> Self {
        let of_this: Vec<&(Job, Value)> = results.iter().filter(|(job, _)| job.measure == index).collect();
        let of_repeat = |several: &[&(Job, Value)]| match several {
            [(Job { each: None, .. }, value)] => value.clone(),
            several => {
                let named = |(job, value): &&(Job, Value)| (job.each.clone().unwrap_or_default(), value.clone());
                several.iter().map(named).collect::<Map<String, Value>>().into()
            }
        };
        Self {
            id: measure.id.clone(),
            about: measure.about.clone(),
            commands: of_this.iter().map(|(job, _)| format!("pagewalk {}", job.line())).collect(),
            kind: of_this[0].0.arguments[0].clone(),
            results: of_this.chunk_by(|one, next| one.0.repeat == next.0.repeat).map(of_repeat).collect(),
        }
    }
}
