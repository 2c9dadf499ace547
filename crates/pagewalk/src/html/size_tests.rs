//! A page stays under 5 MB, whatever was recorded: each kind of recording at its limit, all of them at once, and half a megabyte left for the report.

use super::document::Document;
use super::page::page;
use super::recordings::{self, Recordings};
use super::walks;
use serde_json::{Value, json};

/// What a page may have, and what is for its other sections.
const MOST: usize = 5_000_000;
const REPORT: usize = 500_000;

/// A command with so many runs, whose names are as long as this.
#[derive(Clone, Copy)]
struct Shape {
    runs: usize,
    name: usize,
}

impl Shape {
    /// A name that no other one of its kind is.
    fn named(self, kind: &str, number: usize) -> String {
        let short = format!("{kind}<{number}>::");
        let fill = "core::iter::adapters::map&".chars().cycle().take(self.name.saturating_sub(short.len()));
        short.chars().chain(fill).collect()
    }

    fn workload(self, run: usize) -> String {
        self.named("workload", run)
    }

    fn profile(self) -> Value {
        let counts = |number: usize| {
            let many = 1_000_000_000 + number as i64;
            json!({ "translation_ticks": many, "hypervisor_ticks": many, "l1d_misses": many, "walks": many, "guest_refs": many, "exits": many })
        };
        // As many as the graph still has frames of their own for.
        let functions = (720 / self.runs.min(32)).clamp(16, 720) - 2;
        let charged: Vec<Value> = (0..functions)
            .map(|number| json!({ "space": number % 4, "symbol": self.named("function", number), "object": self.named("object", number), "counts": counts(number) }))
            .collect();
        let stacks: Vec<Value> = (0..functions)
            .map(|number| {
                let functions = [0, 1].map(|depth| self.named("function", 1000 * depth + number));
                json!({ "space": number % 4, "functions": functions, "object": self.named("object", number), "counts": counts(number) })
            })
            .collect();
        let spaces: Vec<Value> =
            (0..4).map(|number| json!({ "space": number, "name": self.named("process", number) })).collect();
        let runs: Vec<Value> = (0..self.runs)
            .map(|run| {
                json!({ "workload": self.workload(run), "scheme": "nested:4K+4K", "ticks_per_cycle": 1, "totals": counts(0), "spaces": spaces,
                    "symbols_and_objects": charged, "stacks": stacks })
            })
            .collect();
        json!({ "format": "pagewalk-profile", "runs": runs })
    }

    /// Intervals as JSON Lines, whose phases end where that makes most of them.
    fn intervals(self) -> String {
        let intervals = 4 * (720 / self.runs.min(32) as u64).clamp(16, 600);
        let measured = |interval: u64| (interval / 9).is_multiple_of(2);
        let line = |run: usize, interval: u64| {
            let many = 1_000_000_000_000 + 999_999_937 * (interval % 7);
            json!({
                "run": run, "guest": "vos", "workload": self.workload(run), "scheme": "nested:4K+4K", "settings": {}, "interval": interval,
                "phase": if measured(interval) { "measure" } else { "between" }, "measured": measured(interval), "clock_hz": 2_400_000_000_u64,
                "from": 2_400_001 * interval, "to": 2_400_001 * (interval + 1), "hart": 0, "instructions": many,
                "tlb": { "l1d_misses": many / 7, "l1i_misses": many / 11 }, "walks": { "count": many / 9, "guest_refs": many, "host_refs": many },
                "exits": { "wfi": many / 1000 }, "time": { "guest": many, "translation": many / 3, "monitor": many / 5 },
            })
            .to_string()
        };
        let lines = (0..self.runs).flat_map(|run| (0..intervals).map(move |interval| line(run, interval)));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Maps without two neighbours of one shade, whose rows are far apart.
    fn heatmap(self) -> Value {
        let count = |row: u64, column: u64| 1 << (((row + column) % 8) * 5);
        let row = |row: u64| {
            let counts: Vec<[u64; 2]> = (0..512).map(|column| [column, count(row, column)]).collect();
            json!({ "space": { "mode": "sv57", "root": "0xfffffffffff000", "asid": row }, "address": format!("{:#x}", row << 40 | 0x7fff_ffff_f000), "counts": counts })
        };
        let rows: Vec<Value> = (0..64).map(row).collect();
        let run = |run: usize| {
            json!({ "workload": self.workload(run), "scheme": "nested:4K+4K", "counts": "references", "total": u64::MAX, "clock_hz": 2_400_000_000_u64,
                "column_cycles": 1_048_576, "row_bytes": 4096, "rows": rows })
        };
        json!({ "format": "pagewalk-heatmap", "runs": (0..self.runs).map(run).collect::<Vec<_>>() })
    }

    /// Distances of which no two runs have the same.
    fn reuse(self) -> Value {
        let run = |run: usize| {
            let misses: Vec<[u64; 2]> =
                (0..28).map(|power| [1 << power, 1_000_000_000_000 - power * 999_983 - run as u64]).collect();
            json!({ "workload": self.workload(run), "scheme": "nested:4K+4K",
                "all": { "accesses": 1_000_000_000_000_u64, "first_uses": 12, "lru_misses": misses } })
        };
        json!({ "format": "pagewalk-reuse", "runs": (0..self.runs).map(run).collect::<Vec<_>>() })
    }

    /// Walks of Sv57 on both sides, with nothing cached, and others beside each.
    fn walks(self) -> Vec<super::document::Walk> {
        let address = "0xfffffffffffff8";
        let reference = |level: usize| json!({ "level": level, "at": address, "entry": "0x7fffffffffffffff" });
        let step = |level: usize| {
            let references: Vec<Value> = (0..5).map(reference).collect();
            json!({ "gpa": address, "answer": "tables", "cached": null, "references": references, "hpa": address,
                "entry": if level < 5 { reference(level) } else { Value::Null } })
        };
        let record = json!({ "references": 35, "guest_segment": null, "monitor_segment": null, "guest_cached": null,
            "steps": (0..6).map(step).collect::<Vec<_>>(), "gpa": address, "hpa": address });
        let walk = json!({ "gva": address, "page": "4K", "guest_levels": 5, "host_levels": 5, "whole": record, "cached": record });
        let other = |choice: &str| {
            let mut other = walk.clone();
            other["choice"] = json!(choice);
            other
        };
        let mut recorded = walk.clone();
        recorded["others"] = ["longest", "commonest", "shortest", "exit"].map(other).into();
        (0..self.runs)
            .flat_map(|run| walks::walks(&self.workload(run), "nested", "nested:4K+4K", Some(&recorded)))
            .collect()
    }

    /// The page.
    fn page(self) -> String {
        let mut recordings = Recordings::default();
        recordings.add_file(self.intervals().as_bytes()).expect("intervals");
        for document in [self.profile(), self.heatmap(), self.reuse()] {
            recordings.add(document).expect("a recording");
        }
        let walks = walks::limited(self.walks());
        let recorded = recordings::sections(&recordings, &walks);
        let sections = walks::section(walks).into_iter().chain(recorded).collect();
        page(Document { title: "All at once".to_owned(), sections, ..Document::default() })
    }
}

#[test]
fn a_page_of_all_recordings_at_their_limits_is_smaller_than_5_mb() {
    for runs in [1, 4, 12, 20, 40] {
        for name in [60, 4000] {
            let bytes = Shape { runs, name }.page().len();
            assert!(bytes < MOST - REPORT, "{runs} runs with names of {name} characters: {bytes} bytes");
        }
    }
}
