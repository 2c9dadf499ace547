//! A profile: a flame graph of each run by process, function and data, and what is costliest.

use super::profile_counts::Counts;
use super::profile_graph::Tree;
use super::room::{MOST_RUNS, left_out, share, shortened};
use crate::html::charts::Flame;
use crate::html::document::{Block, Chart, Charts, DataTable, RunBlock, Section, Walk};
use crate::html::figures::{grouped_signed, listed, percent};
use crate::html::palette;
use crate::html::walks::link_to_missed;
use crate::html::{charts, legend};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Frames of a row of all graphs of a page, and rows of all tables.
const FRAMES: usize = 720;
const ROWS: usize = 480;

/// The profiles of a command.
#[derive(Deserialize, Debug)]
pub(super) struct Profiles {
    runs: Vec<Profile>,
}

/// A run's profile; other keys of docs/json-keys.md are not read.
#[derive(Deserialize, Debug)]
struct Profile {
    workload: String,
    scheme: String,
    ticks_per_cycle: i64,
    totals: Counts,
    spaces: Vec<Space>,
    #[serde(default)]
    symbols: Vec<Named>,
    #[serde(default)]
    objects: Vec<Named>,
    symbols_and_objects: Vec<Charged>,
    /// Where call stacks were kept.
    #[serde(default)]
    stacks: Vec<ChargedStack>,
}

#[derive(Deserialize, Debug)]
struct Space {
    space: u64,
    name: String,
    #[serde(default)]
    root: Option<String>,
}

/// A function or object, with the page of its most frequent miss.
#[derive(Deserialize, Debug)]
struct Named {
    space: u64,
    name: String,
    #[serde(default)]
    most_missed: Option<String>,
}

/// What was charged to a function for its accesses to an object.
#[derive(Deserialize, Debug)]
struct Charged {
    space: u64,
    symbol: String,
    object: String,
    counts: Counts,
}

/// What was charged to a function that was called so.
#[derive(Deserialize, Debug)]
struct ChargedStack {
    space: u64,
    /// The outermost first.
    functions: Vec<String>,
    object: String,
    counts: Counts,
}

/// The section; `None` if there is no run in it.
pub(super) fn section(Profiles { runs }: &Profiles, walks: &[Walk]) -> Option<Section> {
    let charged: Vec<&Profile> = runs.iter().filter(|run| !run.symbols_and_objects.is_empty()).collect();
    let shown = charged.len().min(MOST_RUNS);
    let blocks = charged.iter().take(MOST_RUNS).enumerate().map(|(number, run)| block(run, number == 0, shown, walks));
    let blocks: Vec<Block> = blocks.collect();
    let free: Vec<String> = runs.iter().filter(|run| run.symbols_and_objects.is_empty()).map(Profile::name).collect();
    let free = (!free.is_empty()).then(|| format!("Translation cost nothing in {}.", listed(&free)));
    let intro = [
        "Each event of translation is charged to the instruction that caused it, exactly and without sampling. The first row of a graph is the run. Below it are processes, then their functions, then the data that each function used. Where call stacks were kept, a function stands below the one that called it.".to_owned(),
        "The width of a frame is its cycles of translation and of the hypervisor. A click on a frame makes it as wide as the graph, and so does Enter. Escape shows the whole again.".to_owned(),
    ];
    (!blocks.is_empty()).then(|| Section {
        id: "profile".into(),
        title: "What the cost is charged to".to_owned(),
        intro: intro.into_iter().chain(free).chain(left_out(charged.len())).collect(),
        blocks,
    })
}

/// A run's graph and tables.
fn block(run: &Profile, first: bool, runs: usize, walks: &[Walk]) -> Block {
    let name = run.name();
    let root = run.tree().drawn(&name, share(FRAMES, runs, 16, 720), |name, counts| run.exact(name, counts));
    let rows = share(ROWS, 3 * runs, 4, 25);
    let chart = || {
        let description =
            format!("Flame graph: cycles of {name} by process, function and data; the table has the numbers");
        Chart { title: String::new(), svg: Flame { description: &description, root: &root }.svg() }
    };
    // What has no cost has no width.
    let charts = if root.weight > 0.0 { vec![chart()] } else { Vec::new() };
    let keys = [(palette::PROCESS, "process"), (palette::FUNCTION, "function"), (palette::DATA, "data")];
    let cycles = run.totals.weight() as f64 / run.ticks_per_cycle.max(1) as f64;
    let of_function = |charged: &Charged| Some((charged.symbol.clone(), charged.space));
    let of_data = |charged: &Charged| {
        // These are not data: fetches, and what came without an access.
        let data = !["[code]", "[no access]"].contains(&charged.object.as_str());
        data.then(|| (charged.object.clone(), charged.space))
    };
    Block::Run(RunBlock {
        summary: format!("{name}: {} cycles of translation and of the hypervisor", charts::short(cycles)),
        open: first,
        notes: Vec::new(),
        group: Charts {
            caption: format!("What {name} is charged for"),
            legend: if charts.is_empty() {
                Vec::new()
            } else {
                keys.map(|(colour, name)| legend::key(colour, name)).into()
            },
            charts,
            table: stacks(run, &name, 2 * rows),
        },
        tables: vec![
            top(run, ("function", &run.symbols, walks), &format!("Costliest functions of {name}"), rows, of_function),
            top(run, ("data", &run.objects, walks), &format!("Costliest data of {name}"), rows, of_data),
        ],
    })
}

impl Profile {
    fn name(&self) -> String {
        format!("{} under {}", shortened(&self.workload), self.scheme)
    }

    /// Processes, functions and data.
    fn tree(&self) -> Tree {
        let mut tree = Tree::of(self.totals.clone());
        if self.stacks.is_empty() {
            for Charged { space, symbol, object, counts } in &self.symbols_and_objects {
                tree.charge(self.space(*space), std::iter::once(symbol.as_str()), object, counts);
            }
        } else {
            for ChargedStack { space, functions, object, counts } in &self.stacks {
                tree.charge(self.space(*space), functions.iter().map(String::as_str), object, counts);
            }
        }
        tree
    }

    /// The name of an address space.
    fn space(&self, number: u64) -> &str {
        self.spaces.iter().find(|space| space.space == number).map_or("[unknown]", |space| &space.name)
    }

    fn cycles(&self, counts: &Counts) -> i64 {
        counts.weight() / self.ticks_per_cycle.max(1)
    }

    /// The part of all cycles.
    fn part(&self, counts: &Counts) -> String {
        percent(counts.weight() as f64 / self.totals.weight().max(1) as f64)
    }

    /// All that a reader asks of a frame, in a line.
    fn exact(&self, name: &str, counts: &Counts) -> String {
        format!(
            "{name}: {} cycles, {} of all; L1 misses {}, walks {}, references {}, exits {}",
            grouped_signed(self.cycles(counts)),
            self.part(counts),
            grouped_signed(counts.misses()),
            grouped_signed(counts.get("walks")),
            grouped_signed(counts.references()),
            grouped_signed(counts.get("exits")),
        )
    }

    /// The cells that all tables have behind their names.
    fn cells(&self, counts: &Counts) -> [String; 6] {
        [
            grouped_signed(self.cycles(counts)),
            self.part(counts),
            grouped_signed(counts.misses()),
            grouped_signed(counts.get("walks")),
            grouped_signed(counts.references()),
            grouped_signed(counts.get("exits")),
        ]
    }
}

/// Heads of the cells that all tables have.
const HEADS: [&str; 6] = ["#cycles", "#of all", "#L1 misses", "#walks", "#references", "#exits"];

/// What is charged to functions and their data, the costliest first.
fn stacks(run: &Profile, name: &str, most: usize) -> DataTable {
    let heads: Vec<&str> = ["process", "function", "data"].into_iter().chain(HEADS).collect();
    let caption = format!("Functions with their data of {name}{}", first(run.symbols_and_objects.len(), most));
    let mut table = DataTable::new(&caption, &heads);
    let mut charged: Vec<&Charged> = run.symbols_and_objects.iter().collect();
    charged.sort_by_key(|charged| std::cmp::Reverse((charged.counts.weight(), charged.counts.misses())));
    for Charged { space, symbol, object, counts } in charged.into_iter().take(most) {
        let names = [run.space(*space), symbol, object].map(|name| shortened(name).into_owned());
        table.row(names.into_iter().chain(run.cells(counts)));
    }
    table
}

/// What is costliest by a name and process. A name leads to the walk of its most frequent miss, if that was recorded.
fn top(
    run: &Profile,
    (what, named, walks): (&str, &[Named], &[Walk]),
    caption: &str,
    most: usize,
    key: impl Fn(&Charged) -> Option<(String, u64)>,
) -> DataTable {
    let mut sums: BTreeMap<(String, u64), Counts> = BTreeMap::new();
    for charged in &run.symbols_and_objects {
        if let Some(key) = key(charged) {
            sums.entry(key).or_default().add(&charged.counts);
        }
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(_, counts)| std::cmp::Reverse((counts.weight(), counts.misses())));
    let heads: Vec<&str> = [what].into_iter().chain(HEADS).chain(["process"]).collect();
    let mut table = DataTable::new(&format!("{caption}{}", first(sums.len(), most)), &heads);
    for ((name, space), counts) in sums.into_iter().take(most) {
        let found = named.iter().find(|named| named.space == space && named.name == name);
        let page = found.and_then(|named| named.most_missed.as_deref());
        let root = run.spaces.iter().find(|of| of.space == space).and_then(|of| of.root.as_deref());
        let of_run = (run.workload.as_str(), run.scheme.as_str());
        let link = root.zip(page).and_then(|place| link_to_missed(walks, of_run, place));
        let [name, process] = [&name, run.space(space)].map(|name| shortened(name).into_owned());
        table.linked_row([name].into_iter().chain(run.cells(&counts)).chain([process]), link);
    }
    table
}

/// That a table has not all rows, if it has not.
fn first(all: usize, most: usize) -> String {
    if all > most { format!(", the first {most} of {all}") } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::charts::FlamePart as Part;
    use serde_json::{Value, json};

    fn counts(cycles: i64, misses: i64) -> Value {
        json!({ "translation_ticks": cycles, "hypervisor_ticks": 0, "l1d_misses": misses, "walks": misses })
    }

    fn charged(symbol: &str, object: &str, cycles: i64) -> Value {
        json!({ "space": 0, "symbol": symbol, "object": object, "counts": counts(cycles, 1) })
    }

    fn profile(charged: &[Value]) -> Profile {
        let sum: i64 = charged.iter().map(|part| part["counts"]["translation_ticks"].as_i64().unwrap()).sum();
        let profile = json!({
            "workload": "w", "scheme": "nested:4K+4K", "ticks_per_cycle": 1, "totals": counts(sum, charged.len() as i64),
            "spaces": [{ "space": 0, "name": "p" }], "symbols_and_objects": charged,
        });
        serde_json::from_value(profile).unwrap()
    }

    fn leaves(part: &Part) -> f64 {
        if part.below.is_empty() { part.weight } else { part.below.iter().map(leaves).sum() }
    }

    fn graph(run: &Profile, name: &str, most: usize) -> Part {
        run.tree().drawn(name, most, |name, counts| run.exact(name, counts))
    }

    #[test]
    fn a_function_stands_below_its_callers() {
        let stack = |functions: &[&str], cycles: i64| json!({ "space": 0, "functions": functions, "object": "heap", "counts": counts(cycles, 1) });
        let mut run = profile(&[charged("f", "heap", 90), charged("main", "heap", 10)]);
        run.stacks = [stack(&["main", "f"], 60), stack(&["main", "g", "f"], 30), stack(&["main"], 10)]
            .map(|stack| serde_json::from_value(stack).unwrap())
            .into();
        let root = graph(&run, "w", 100);
        let main = &root.below[0].below[0];
        let names: Vec<_> = main.below.iter().map(|part| (part.name.as_str(), part.weight)).collect();
        assert_eq!((main.name.as_str(), main.weight), ("main", 100.0));
        assert_eq!(names, [("f", 60.0), ("g", 30.0), ("heap", 10.0)]);
        assert_eq!((main.below[1].below[0].name.as_str(), leaves(&root)), ("f", 100.0));
    }

    #[test]
    fn deep_stacks_have_no_more_frames_than_flat_ones() {
        let mut run = profile(&[charged("f", "heap", 4000)]);
        run.stacks = (0..200)
            .map(|n| {
                let functions: Vec<String> = (0..100).map(|depth| format!("f{n}_{depth}")).collect();
                let stack = json!({ "space": 0, "functions": functions, "object": "heap", "counts": counts(20, 1) });
                serde_json::from_value(stack).unwrap()
            })
            .collect();
        let root = graph(&run, "w", 800);
        assert!(root.count() <= 3 * 800, "{}", root.count());
        assert_eq!(leaves(&root), 4000.0);
    }

    #[test]
    fn a_graph_has_processes_functions_and_data_and_adds_up() {
        let run = profile(&[charged("f", "heap", 60), charged("g", "stack", 30), charged("f", "stack", 10)]);
        let root = graph(&run, "w under nested", 100);
        assert_eq!((root.name.as_str(), root.weight, leaves(&root)), ("w under nested", 100.0, 100.0));
        let functions = &root.below[0].below;
        let names: Vec<_> = functions.iter().map(|part| (part.name.as_str(), part.weight, part.below.len())).collect();
        assert_eq!((root.below[0].name.as_str(), names), ("p", vec![("f", 70.0, 2), ("g", 30.0, 1)]));
        assert_eq!(functions[0].exact, "f: 70 cycles, 70.0 % of all; L1 misses 2, walks 2, references 0, exits 0");
    }

    #[test]
    fn narrow_frames_are_one_together_and_no_cycle_is_lost() {
        let many: Vec<Value> = (0..500).map(|n| charged(&format!("f{n:03}"), "heap", 1)).collect();
        let all: Vec<Value> = many.into_iter().chain([charged("wide", "heap", 1000)]).collect();
        let root = graph(&profile(&all), "w", 100);
        assert_eq!((root.count(), leaves(&root)), (5, 1500.0));
        assert_eq!(root.below[0].below[1].name, "500 smaller ones");
        assert!(root.below[0].below[1].exact.contains("500 cycles, 33.3 % of all; L1 misses 500"));
    }

    #[test]
    fn time_that_a_core_gains_has_no_width_and_is_in_the_numbers() {
        let run = profile(&[charged("f", "heap", 60), charged("g", "heap", -20)]);
        let root = graph(&run, "w", 100);
        assert_eq!((root.weight, root.below[0].below.len()), (60.0, 1));
        assert!(root.exact.starts_with("w: 40 cycles, 100 % of all"), "{}", root.exact);
        assert!(stacks(&run, "w", 9).rows.iter().any(|row| row[3] == "−20"));
    }

    #[test]
    fn a_run_without_cost_is_named_and_has_no_graph() {
        let runs = vec![profile(&[]), profile(&[charged("f", "heap", 60)])];
        let section = section(&Profiles { runs }, &[]).expect("a run with cost");
        assert_eq!(section.blocks.len(), 1);
        assert!(section.intro.iter().any(|text| text == "Translation cost nothing in w under nested:4K+4K."));
        assert!(super::section(&Profiles { runs: vec![profile(&[])] }, &[]).is_none());
    }

    #[test]
    fn fetches_are_no_data() {
        let run = profile(&[charged("f", "heap", 60), charged("f", "[code]", 20), charged("f", "[no access]", 5)]);
        let Block::Run(RunBlock { tables, .. }) = block(&run, true, 1, &[]) else { panic!("a run") };
        let names = |table: &DataTable| table.rows.iter().map(|row| row[0].clone()).collect::<Vec<_>>();
        assert_eq!((names(&tables[0]), names(&tables[1])), (vec!["f".to_owned()], vec!["heap".to_owned()]));
        assert_eq!(tables[0].rows[0][1], "85");
    }
}
