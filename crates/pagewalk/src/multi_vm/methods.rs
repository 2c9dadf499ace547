//! Spin methods side by side: the same host once with each, by the items of the 1995 paper's Tables 2 to 4.

use super::file::MultiVm;
use super::machines::Machines;
use super::report;
use crate::text::cell::Cell;
use crate::text::table::Table;
use machine::sched::spin::SpinMethod;
use serde_json::{Value, json};
use types::Cycles;

/// The host with one method for all of its guests.
pub(crate) fn with_method(multi_vm: &MultiVm, method: SpinMethod) -> MultiVm {
    let mut multi_vm = multi_vm.clone();
    for guest in &mut multi_vm.plan.guests {
        guest.spin = method;
    }
    multi_vm
}

/// The tables' items for a whole host: of its guests in the foreground together.
pub(crate) struct Figures {
    method: SpinMethod,
    elapsed_seconds: f64,
    busy_seconds: f64,
    pcpus: usize,
    calls: u64,
    ends: u64,
    overhead: f64,
    excessive: u64,
    lost: u64,
    failed: usize,
}

impl Figures {
    /// Of a run; `failed` of its guests did not come to a good end.
    pub(crate) fn of(multi_vm: &MultiVm, machines: &Machines, method: SpinMethod, failed: usize) -> Self {
        let seconds = |cycles: Cycles| cycles.0 as f64 / multi_vm.model.clock_hz as f64;
        let mut figures = Self {
            method,
            elapsed_seconds: seconds(machines.elapsed()),
            busy_seconds: 0.0,
            pcpus: multi_vm.plan.pcpus,
            calls: 0,
            ends: 0,
            overhead: report::overhead(multi_vm, machines),
            excessive: 0,
            lost: 0,
            failed,
        };
        for guest in (0..multi_vm.plan.guests.len()).filter(|&guest| !multi_vm.plan.guests[guest].background) {
            let (machine, index) = machines.of(guest);
            let counted = machine.scheduling_of(index);
            figures.busy_seconds += seconds(counted.busy);
            figures.calls += counted.calls();
            figures.ends += counted.ends;
            figures.excessive += counted.excessive_spins;
            figures.lost += counted.processors_lost;
        }
        figures
    }

    fn calls_per_busy_second(&self) -> f64 {
        per(self.calls, self.busy_seconds)
    }

    /// Of one pCPU, as the paper has it.
    fn utilisation(&self) -> f64 {
        if self.elapsed_seconds > 0.0 { self.busy_seconds / self.elapsed_seconds / self.pcpus as f64 } else { 0.0 }
    }

    fn etr(&self) -> f64 {
        per(self.ends, self.elapsed_seconds)
    }

    fn itr(&self) -> f64 {
        per(self.ends, self.busy_seconds)
    }

    /// The method's results as JSON.
    pub(crate) fn json(&self) -> Value {
        json!({
            "spin": self.method.name(),
            "calls_per_busy_second": self.calls_per_busy_second(),
            "utilisation": self.utilisation(),
            "ends": self.ends,
            "etr": self.etr(),
            "itr": self.itr(),
            "overhead": self.overhead,
            "excessive_spins": self.excessive,
            "processors_lost": self.lost,
            "failed": self.failed,
        })
    }

    fn cells(&self) -> [Cell; 10] {
        [
            Cell::text(self.method.name()),
            Cell::scaled(self.elapsed_seconds, 1e3, 3),
            Cell::fixed(self.calls_per_busy_second(), 2),
            Cell::scaled(self.utilisation(), 1e2, 2),
            Cell::fixed(self.etr(), 3),
            Cell::fixed(self.itr(), 3),
            Cell::scaled(self.overhead, 1e2, 3),
            Cell::count(self.excessive),
            Cell::count(self.lost),
            Cell::count(self.failed as u64),
        ]
    }
}

fn per(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

/// A line for each method.
pub(crate) fn table(runs: &[Figures]) -> Table {
    let columns = [
        ("spin", "spin"),
        ("ms", "elapsed_seconds"),
        ("hyp. calls/s", "calls_per_busy_second"),
        ("guest rho %", "utilisation_ratio"),
        ("ETR", "etr_per_second"),
        ("ITR", "itr_per_second"),
        ("overhead %", "overhead_ratio"),
        ("excessive", "excessive_spins"),
        ("lost", "processors_lost"),
        ("failed", "failed_guests"),
    ];
    let mut table = Table::new("methods", columns);
    runs.iter().for_each(|run| table.row(run.cells()));
    table
}
