//! Benchmarks under schemes, measured, and what is printed of them.

use super::benchmarks::Requested;
use super::sample::Sample;
use crate::error::Failure;
use crate::interrupt;
use crate::progress::Runs;
use crate::runs::image::Prepared;
use crate::runs::quiet::QuietConsole;
use crate::systems::Configured;
use crate::text::cell::Cell;
use crate::text::table::{Caption, Column, Table};
use crate::time_model::{TimeModels, fidelity_name};
use machine::Machine;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A benchmark under a scheme, measured.
pub(super) struct Measured {
    name: &'static str,
    about: &'static str,
    on: Arc<Configured>,
    instructions: u64,
    /// Million instructions a second, of each repetition.
    mips: Sample,
    /// Why it could not be measured to the end.
    failed: Option<String>,
}

impl Measured {
    pub(super) fn new(request: &Requested, on: &Arc<Configured>) -> Self {
        let benchmark = request.benchmark;
        Self {
            name: benchmark.name,
            about: benchmark.about,
            on: on.clone(),
            instructions: 0,
            mips: Sample::default(),
            failed: None,
        }
    }

    /// Runs the benchmark once more, unless it has failed before.
    ///
    /// # Errors
    /// [`Failure::Interrupted`]. Any other failure ends the measurements of this benchmark under this scheme alone.
    pub(super) fn measure(&mut self, request: &Requested, prepared: &Prepared, progress: &Runs) -> Result<(), Failure> {
        if self.failed.is_some() {
            return Ok(());
        }
        match self.run_once(request, prepared, progress) {
            Ok(()) => Ok(()),
            Err(failure @ Failure::Interrupted(_)) => Err(failure),
            Err(failure) => {
                self.failed = Some(failure.to_string());
                Ok(())
            }
        }
    }

    /// Whether no run of it failed.
    pub(super) fn succeeded(&self) -> bool {
        self.failed.is_none()
    }

    /// Whether there is anything to tell of it: an interruption may come before.
    pub(super) fn was_run(&self) -> bool {
        self.failed.is_some() || !self.mips.all().is_empty()
    }

    /// Runs it once.
    fn run_once(&mut self, request: &Requested, prepared: &Prepared, progress: &Runs) -> Result<(), Failure> {
        let name = format!("{} under {}", self.name, self.on.system);
        let config = &self.on.config;
        let running = progress.begin(&name, &name);
        let mut machine = Machine::assemble(config, &prepared.image(config)?)?;
        machine.show_on(running.gauge());
        let start = Instant::now();
        let mut console = QuietConsole::default();
        let outcome = machine.run(&mut console);
        let whole = start.elapsed();
        if let Some(signal) = interrupt::requested() {
            return Err(Failure::Interrupted(signal));
        }
        let outcome = console.panic.judge(outcome);
        if !outcome.succeeded() {
            return Err(Failure::Run(outcome.to_string()));
        }
        running.finish(None);
        // A program is measured in its region of interest, the boot from the first instruction on.
        let time: Duration;
        (self.instructions, time) = if request.has_region() {
            (machine.measured().instructions, machine.region_host_time())
        } else {
            (machine.statistics().instructions, whole)
        };
        self.mips.add(self.instructions as f64 / time.as_secs_f64() / 1e6);
        Ok(())
    }
}

/// The table.
pub(super) fn table(measured: &[Measured], times: &TimeModels) -> Table {
    let columns = [
        ("benchmark", "benchmark"),
        ("scheme", "scheme"),
        ("M instr", "instructions"),
        ("MIPS", "median_mips"),
        ("least", "least_mips"),
        ("most", "most_mips"),
        ("what", "what"),
    ];
    let hidden = ["host_model", "fidelity", "failed"].map(Column::exact);
    let caption =
        format!("the simulator's own speed on this machine: million guest instructions a second; guests on {times}\n");
    let mut table = Table::new("benchmarks", columns.map(Column::from).into_iter().chain(hidden))
        .captioned(Caption::Above(caption));
    for run in measured {
        let (figures, what) = match &run.failed {
            None => {
                let mips = [run.mips.median(), run.mips.least(), run.mips.most()].map(|mips| Cell::fixed(mips, 0));
                ([Cell::millions(run.instructions)].into_iter().chain(mips).collect(), run.about.to_owned())
            }
            Some(why) => (vec![Cell::missing(); 4], format!("failed: {why}")),
        };
        let names = [Cell::text(run.name), Cell::text(run.on.system.to_string())].into_iter();
        let hidden = [
            Cell::exact(run.on.host.name.as_str()),
            Cell::exact(fidelity_name(run.on.config.fidelity)),
            Cell::exact(run.failed.as_deref()),
        ];
        table.row(names.chain(figures).chain([Cell::text(what)]).chain(hidden));
    }
    table
}

/// The runs, for JSON.
pub(super) fn json(measured: &[Measured]) -> Value {
    let runs = measured.iter().map(|run| {
        json!({
            "workload": run.name,
            "scheme": run.on.config.scheme.to_string(),
            "settings": run.on.system.settings(),
            "instructions": run.instructions,
            "mips": run.succeeded().then(|| run.mips.median()),
            "all_mips": run.mips.all(),
            "failed": run.failed,
        })
    });
    runs.collect()
}
