//! What is printed and written of programs that were timed beside an emulator.

use super::{Against, Timed};
use crate::commands::bench::sample::Sample;
use crate::systems::Configured;
use crate::text::cell::Cell;
use crate::text::table::{Caption, Column, Table};
use crate::time_model::{TimeModels, fidelity_name};
use serde_json::{Value, json};

impl Against {
    /// The geometric mean of the ratios of all programs that did not fail. `None` where all did.
    fn mean(&self, system: usize) -> Option<f64> {
        let logarithms: Vec<f64> =
            self.programs.iter().filter_map(|program| program.ratio(system)).map(f64::ln).collect();
        (!logarithms.is_empty()).then(|| (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp())
    }

    /// The table.
    pub(in super::super) fn table(&self) -> Table {
        let shown = [
            ("program", "program"),
            ("scheme", "scheme"),
            ("s", "seconds"),
            ("least", "least_seconds"),
            ("most", "most_seconds"),
            ("QEMU s", "qemu_seconds"),
            ("least", "least_qemu_seconds"),
            ("most", "most_qemu_seconds"),
            ("times as fast", "ratio"),
            ("what", "what"),
        ];
        let hidden = ["host_model", "fidelity", "qemu", "failed"].map(Column::exact);
        let caption = format!(
            "time of programs in Linux by this machine's clock, with one processor and {} of memory: guests on {}, and {}\n",
            self.systems[0].config.memory,
            TimeModels::of_systems(&self.systems),
            self.version
        );
        let mut table =
            Table::new("against", shown.map(Column::from).into_iter().chain(hidden)).captioned(Caption::Above(caption));
        for program in &self.programs {
            for (number, on) in self.systems.iter().enumerate() {
                table.row(Self::row(program, number, on).chain(self.hidden(on, program.failed.as_deref())));
            }
        }
        for (number, on) in self.systems.iter().enumerate() {
            let cells = [Cell::text("geometric mean"), Cell::text(on.system.to_string())].into_iter();
            let cells = cells.chain((0..6).map(|_| Cell::exact(Value::Null)));
            let mean = self.mean(number).map_or_else(Cell::missing, |mean| Cell::fixed(mean, 2));
            let of = if self.succeeded() { "of all programs" } else { "of the programs that did not fail" };
            table.row(cells.chain([mean, Cell::text(of)]).chain(self.hidden(on, None)));
        }
        table
    }

    fn row(program: &Timed, number: usize, on: &Configured) -> impl Iterator<Item = Cell> {
        let times = |sample: &Sample| [sample.median(), sample.least(), sample.most()].map(|time| Cell::fixed(time, 2));
        let (measured, what) = match (&program.failed, program.ratio(number)) {
            (None, Some(ratio)) => {
                let times = [times(&program.ours[number]), times(&program.theirs)].into_iter().flatten();
                (times.chain([Cell::fixed(ratio, 2)]).collect(), program.about.to_owned())
            }
            (why, _) => (vec![Cell::missing(); 7], format!("failed: {}", why.as_deref().unwrap_or_default())),
        };
        let names = [Cell::text(program.name), Cell::text(on.system.to_string())].into_iter();
        let measured: Vec<Cell> = measured;
        names.chain(measured).chain([Cell::text(what)])
    }

    fn hidden(&self, on: &Configured, failed: Option<&str>) -> [Cell; 4] {
        let fidelity = fidelity_name(on.config.fidelity);
        let version = Cell::exact(self.version.as_str());
        [Cell::exact(on.host.name.as_str()), Cell::exact(fidelity), version, Cell::exact(failed)]
    }

    /// The runs and the means, for JSON.
    pub(in super::super) fn json(&self) -> Value {
        let runs = self.programs.iter().flat_map(|program| {
            self.systems.iter().zip(&program.ours).enumerate().map(|(number, (on, ours))| {
                json!({
                    "workload": program.name,
                    "scheme": on.config.scheme.to_string(),
                    "settings": on.system.settings(),
                    "all_seconds": ours.all(),
                    "all_qemu_seconds": program.theirs.all(),
                    "ratio": program.ratio(number),
                    "failed": program.failed,
                })
            })
        });
        let runs: Vec<Value> = runs.collect();
        let means = self.systems.iter().enumerate().map(|(number, on)| {
            json!({ "scheme": on.config.scheme.to_string(), "settings": on.system.settings(), "ratio": self.mean(number) })
        });
        json!({ "qemu": self.version, "runs": runs, "geometric_means": means.collect::<Vec<_>>() })
    }
}
