//! The host model of what was measured. What was not comes from a base, by name.

use super::array::{self, Shape};
use super::{Quantity, kept_beside_scan, lines_under_way, quantities};
use calibrate::staircase::Capacity;
use calibrate::{Begins, Cache, Finding, Findings, Host, NextLineLevel, Pages, Spread, TOGETHER, Tlb, Walks};
use config::host_model::{ArrayModel, HostModel};
use std::fmt::{Display, Write};
use types::PageSize;

/// Measurements, and the model that has what they do not say.
pub(crate) struct Calibrated<'c> {
    pub(crate) findings: &'c Findings,
    /// The base's name, as a user gave it.
    pub(crate) base_name: &'c str,
    pub(crate) base: &'c HostModel,
}

/// The most that the model can have of lines that the L2 waits for, and of strides that its prefetcher runs ahead.
const MOST_MISSES: f64 = 256.0;
const MOST_STRIDES: f64 = 64.0;

/// With LRU a last level keeps nothing beside a scan, and others who use it can only take away: a quarter of the repeats have to show this share, which no noise of
/// memory makes.
const KEPT: f64 = 0.25;

/// A number of the model with its comment.
struct Line {
    comment: String,
    text: String,
}

impl Calibrated<'_> {
    /// The model as a file.
    pub(crate) fn text(&self, name: &str) -> String {
        let host = &self.findings.host;
        let mut text = format!(
            "# {}, as `pagewalk calibrate` has measured it: docs/calibrate.md says how. Each number is a median, with the quartiles of its repeats, or\n\
             # the sizes that it lies between. What could not be measured comes from {}.\n",
            comment(&host.processor),
            comment(self.base_name),
        );
        for warning in super::warnings(self.findings) {
            let _ = writeln!(text, "# {}", comment(&warning));
        }
        let _ = writeln!(text, "base = {}\nname = {}", quoted(self.base_name), quoted(name));
        let missing: Vec<Quantity> =
            self.quantities().into_iter().filter(|quantity| quantity.number.is_err()).collect();
        if !missing.is_empty() {
            text.push_str("\n# Not measured:\n");
        }
        for quantity in &missing {
            let _ = writeln!(text, "# {}: {}", quantity.name, comment(&quantity.text()));
        }
        text.push_str("\n# Measured beside the numbers below:\n");
        for key in [
            "width",
            "outstanding.memory",
            "outstanding.llc",
            "walk.4k.dependent",
            "walk.4k.independent",
            "walk.2m.dependent",
            "walk.2m.independent",
            "prefetch.ascending",
            "prefetch.random",
            "prefetch.same",
            "prefetch.next",
            "prefetch.apart",
            "stream.ascending",
            "stream.random",
            "branches.predicted",
            "branches.random",
        ] {
            if let Some(said) = self.said(key) {
                let _ = writeln!(text, "# {said}");
            }
        }
        section(&mut text, None, self.clock());
        section(&mut text, Some("tlb"), self.tlb());
        section(&mut text, Some("caches"), self.caches());
        section(&mut text, Some("prices"), self.costs());
        section(&mut text, Some("core"), self.core());
        text
    }

    fn quantities(&self) -> Vec<Quantity> {
        quantities(self.findings)
    }

    /// What was measured, in words; `None` if it was not.
    fn said(&self, key: &str) -> Option<String> {
        let quantity = self.quantities().into_iter().find(|quantity| quantity.key == key && quantity.number.is_ok())?;
        Some(format!("{}: {}; {}", quantity.name, quantity.text(), quantity.how))
    }

    fn clock(&self) -> Vec<Line> {
        let clock = self.findings.pipeline.clock_hz.as_ref().ok();
        let line = clock.and_then(|clock| {
            // To a million: no clock is more exact than its repeats.
            let hz = (clock.median / 1e6).round() as u64 * 1_000_000;
            Some(Line { comment: self.said("clock")?, text: format!("clock_hz = {hz}") })
        });
        line.into_iter().collect()
    }

    /// Cycles of a time, if the clock is known.
    fn cycles(&self, nanoseconds: &Spread) -> Option<u64> {
        let clock = self.findings.pipeline.clock_hz.as_ref().ok()?;
        Some((nanoseconds.median * clock.median / 1e9).round().max(0.0) as u64)
    }

    fn tlb(&self) -> Vec<Line> {
        let base = &self.base.tlb;
        let level = |key: &str, number: u32, arrays: &[ArrayModel], of: fn(&Tlb) -> &Finding<calibrate::TlbLevel>| {
            let mut comments = Vec::new();
            let mut arrays = arrays.to_vec();
            // An array for both sizes has the reach that was measured with base pages: far more of them fit into memory.
            for (size, pages, name, tlb) in [
                (PageSize::Size2M, Pages::Huge, "2m", &self.findings.huge_tlb),
                (PageSize::Size4K, Pages::Base, "4k", &self.findings.base_tlb),
            ] {
                let Ok(measured) = of(tlb) else { continue };
                let holds = |array: &&mut ArrayModel| array.sizes.iter().any(|held| held.0 == size);
                let Some(array) = arrays.iter_mut().find(holds) else { continue };
                let of_base = u64::from(array.ways);
                let said = self.findings.host.tlb_entries(number, pages);
                let said = said.filter(|&entries| measured.entries.may_be(entries));
                let entries = said.map_or(measured.entries, Capacity::exactly);
                let Shape { sets, ways } = match &measured.ways {
                    Ok(_) => array::powers(entries, array::ways(&measured.ways, of_base)),
                    Err(_) => array::powers_of_any(entries, of_base),
                };
                (array.sets, array.ways) = (sets as u32, ways as u32);
                for what in ["entries", "ways"] {
                    comments.extend(self.said(&format!("tlb.{name}.{number}.{what}")));
                }
                comments.extend(
                    said.map(|said| format!("The processor says {said}, which lies within what was measured.")),
                );
            }
            let changed = !comments.is_empty();
            comments.push(format!("Arrays for other sizes: {}", self.base_name));
            changed.then(|| Line { comment: comments.join("\n"), text: format!("{key} = {}", list(&arrays)) })
        };
        let first = level("l1d", 1, &base.l1d, |tlb| &tlb.first);
        let second = level("l2", 2, &base.l2, |tlb| &tlb.second);
        first.into_iter().chain(second).collect()
    }

    fn caches(&self) -> Vec<Line> {
        let (Ok(levels), Some(base)) = (&self.findings.caches.levels, &self.base.caches) else { return Vec::new() };
        let mut lines = Vec::new();
        let last = (levels.len() > 2).then(|| levels.len() - 1);
        let places =
            [("l1d", Some(0), Some(&base.l1d)), ("l2", Some(1), base.l2.as_ref()), ("llc", last, base.llc.as_ref())];
        for (key, index, of_base) in places {
            let (Some(index), Some(of_base)) = (index, of_base) else { continue };
            let Some(cache) = levels.get(index) else { continue };
            let number = index as u32 + 1;
            let said = self.findings.host.cache(number);
            let otherwise = said.map(|said| u64::from(said.ways)).filter(|&ways| (1..=64).contains(&ways));
            let ways = array::ways(&cache.ways, otherwise.unwrap_or(u64::from(of_base.ways)));
            let line = u64::from(self.findings.host.line());
            let mut shape = shape(cache, number, &self.findings.host, Shape { sets: line, ways });
            let mut comments: Vec<String> = ["size", "ways", "latency"]
                .iter()
                .filter_map(|what| self.said(&format!("cache.{number}.{what}")))
                .collect();
            if let (Ok(last), "llc") = (&self.findings.last_level, key) {
                let said = said.map_or(f64::INFINITY, |said| said.size as f64);
                let many = array::any(last.holds.median.min(said) / line as f64, ways);
                comments.extend(self.said("llc.holds"));
                let whose = if many.sets > shape.sets { "many chases" } else { "one chase" };
                comments.push(format!("The size is that of {whose}, the greater of the two."));
                shape.sets = shape.sets.max(many.sets);
            }
            if cache.ways.is_err() {
                let whose = if otherwise.is_some() { "the system's word" } else { self.base_name };
                comments.push(format!("Ways: {whose}, since {}", cache.ways.as_ref().err().map_or("", String::as_str)));
            }
            let latency = self.cycles(&cache.latency).unwrap_or(of_base.latency);
            comments.push("Lines of as many bytes as the system says, or 64.".to_owned());
            let name = |what: &str| format!("{key}.{what}");
            let text = [
                format!("{} = {}", name("size"), shape.sets * shape.ways * line),
                format!("{} = {}", name("ways"), shape.ways),
                format!("{} = {line}", name("line")),
                format!("{} = {latency}", name("latency")),
            ];
            lines.push(Line { comment: comments.join("\n"), text: text.join("\n") });
            if key == "llc" {
                lines.extend(self.replacement());
            }
        }
        let memory = self.findings.caches.memory.as_ref().ok().and_then(|latency| self.cycles(latency));
        let memory = memory.and_then(|cycles| {
            Some(Line { comment: self.said("memory.latency")?, text: format!("memory = {cycles}") })
        });
        lines.extend(memory);
        lines
    }

    /// Which line makes room in the last level: whatever is used longest ago, or not what is used again.
    fn replacement(&self) -> Option<Line> {
        let share = kept_beside_scan(self.findings).ok()?;
        let (why, name) = if share.high >= KEPT {
            ("Lines that are used again stay, as far as others let them: with LRU, none would.", "drrip")
        } else {
            ("Lines that are used again do not stay.", "lru")
        };
        let comment = format!("{}\n{why}", self.said("llc.kept")?);
        Some(Line { comment, text: format!("llc.replacement = \"{name}\"") })
    }

    /// Whether the base has a number of this dotted name: a model that has none of a core takes none.
    fn base_has(&self, key: &str) -> bool {
        let table = toml::Table::try_from(self.base).expect("a model is a table");
        let mut parts = key.split('.');
        let first = parts.next().and_then(|part| table.get(part));
        parts.try_fold(first, |place, part| Some(place?.get(part))).flatten().is_some()
    }

    /// What an out-of-order core overlaps.
    fn core(&self) -> Vec<Line> {
        let line = |key: &str, quantity: &str, measured: &Finding<Spread>| {
            let number = measured.as_ref().ok()?.median.round().max(1.0) as u64;
            let known = self.base_has(&format!("core.{key}"));
            known.then_some(Line { comment: self.said(quantity)?, text: format!("{key} = {number}") })
        };
        let width = line("width", "width", &self.findings.pipeline.width);
        let misses = line("l1d_misses", "outstanding.memory", &self.findings.overlap.memory);
        let first = width.into_iter().chain(misses).chain(self.walkers());
        first.chain(self.wrong_path()).chain(self.next_line()).chain(self.streams()).collect()
    }

    /// Whether loads behind a mispredicted branch begin before it is resolved.
    fn wrong_path(&self) -> Option<Line> {
        let latency = self.findings.caches.memory.as_ref().ok()?;
        let branches = self.findings.branches.as_ref().ok()?;
        self.base.core.as_ref()?;
        let (comment, value) = match branches.behind_a_misprediction(latency.median) {
            Ok(Begins::OnTheWrongPath) => {
                ("Loads behind a mispredicted branch begin before it is resolved, as above", "converges")
            }
            Ok(Begins::OnceResolved) => {
                ("Loads behind a mispredicted branch begin once it is resolved, as above", "off")
            }
            Err(reason) => {
                let comment = format!("Whether loads behind a mispredicted branch begin early is not known: {reason}");
                return Some(Line {
                    comment,
                    text: format!("# wrong_path: that of {}", self::comment(self.base_name)),
                });
            }
        };
        Some(Line { comment: comment.to_owned(), text: format!("wrong_path = \"{value}\"") })
    }

    /// Whether a prefetcher brings the line behind one that missed, into which level, and up to how many misses at a time. How many lines it brings is the base's.
    fn next_line(&self) -> Vec<Line> {
        let found = self.findings.next_line.as_ref().ok();
        let of_base = self.base.core.as_ref().map(|core| core.prefetch.next_line);
        let Some((found, of_base)) = found.zip(of_base) else { return Vec::new() };
        let line = |comment: String, key: &str, value: &dyn Display| Line {
            comment,
            text: format!("prefetch.{key} = {value}"),
        };
        let Some(most) = found.most_misses() else {
            let comment =
                "The line behind one that missed takes as long as another line of its page, as above".to_owned();
            return vec![line(comment, "next_line", &0)];
        };
        let comment =
            "The line behind one that missed takes less time than another line of its page, as above".to_owned();
        let mut lines = vec![line(comment, "next_line", &of_base.max(1))];
        if let Ok([first, ..]) = self.findings.caches.levels.as_deref() {
            let (level, which) = match found.level(first.latency.median) {
                NextLineLevel::First => ("l1d", "first"),
                NextLineLevel::Second => ("l2", "second"),
            };
            let comment = format!("It takes the time of a load from the {which} level of caches");
            lines.push(line(comment, "next_line_into", &format!("\"{level}\"")));
        }
        let comment = self.said("prefetch.next_misses").unwrap_or_default();
        lines.push(if found.has_no_limit() {
            line(format!("{comment}\nIt comes with all numbers that were tried"), "next_line_misses", &MOST_MISSES)
        } else {
            line(comment, "next_line_misses", &most)
        });
        lines
    }

    /// As many walkers as walks overlap.
    fn walkers(&self) -> Option<Line> {
        let Walks { dependent, independent } = self.findings.walks.as_ref().ok()?;
        if !self.base_has("core.walkers") || independent.median <= 0.0 {
            return None;
        }
        let overlap = dependent.median / independent.median;
        let comment = format!("Walks are made {overlap:.1} times as fast where up to {TOGETHER} can overlap, as above");
        Some(Line { comment, text: format!("walkers = {}", overlap.round().clamp(1.0, TOGETHER as f64)) })
    }

    /// What the L2 and its prefetcher do for a stream. Where the prefetcher stops at the end of each page, too much of a stream's time is its start in
    /// pages: then the number of lines under way is the base's.
    fn streams(&self) -> Vec<Line> {
        let Ok(streams) = &self.findings.streams else { return Vec::new() };
        if !self.base_has("core.prefetch.stream") {
            return Vec::new();
        }
        let crosses = streams.cross_pages();
        let (name, why) = if crosses { ("cross", "more") } else { ("stop", "no more") };
        let comment = format!("A line of a stream takes {why} time where pages of 4K come in random order, as above");
        let page_end = Line { comment, text: format!("prefetch.stream.page_end = \"{name}\"") };
        let lines = lines_under_way(self.findings).ok().filter(|_| crosses).and_then(|lines| {
            let lines = lines.median.round();
            let text = format!(
                "l2_misses = {}\nprefetch.stream.distance = {}",
                lines.clamp(1.0, MOST_MISSES),
                lines.clamp(1.0, MOST_STRIDES)
            );
            Some(Line { comment: self.said("stream.outstanding")?, text })
        });
        [Some(page_end), lines].into_iter().flatten().collect()
    }

    fn costs(&self) -> Vec<Line> {
        let hit = self.findings.base_tlb.second_hit.as_ref().ok().and_then(|hit| self.cycles(hit));
        let hit = hit.and_then(|cycles| {
            Some(Line { comment: self.said("tlb.4k.2.hit")?, text: format!("l2_tlb_hit = {cycles}") })
        });
        let walk = self.findings.walks.as_ref().ok().and_then(|walks| self.cycles(&walks.dependent));
        let walk = walk.and_then(|cycles| {
            let (references, why) = match self.findings.host.hypervisor {
                Some(_) => (2, "two references, of the guest's leaf table and of the hypervisor's"),
                None => (1, "one reference, of the leaf table"),
            };
            let comment = format!(
                "{}\nAssumed: this walk made {why}, and found all levels above in walk caches.",
                self.said("walk.4k.dependent")?
            );
            Some(Line {
                comment,
                text: format!("table_reference = {}", (cycles as f64 / f64::from(references)).round()),
            })
        });
        hit.into_iter().chain(walk).collect()
    }
}

/// Sets and ways of a cache: of the size that the system names if it may be that one, or if what was measured is more, since no cache holds more than
/// it has. Else of what was measured. The last argument has bytes of a line for sets.
fn shape(cache: &Cache, level: u32, host: &Host, Shape { sets: line, ways }: Shape) -> Shape {
    let Capacity { least, below } = cache.size;
    let in_lines = Capacity { least: least.div_ceil(line), below: below.div_ceil(line) };
    let said = host
        .cache(level)
        .map(|said| said.size / line)
        .filter(|&lines| in_lines.may_be(lines) || lines < in_lines.least);
    match (said, level) {
        // A first level's sets are a power of two, in the model as in processors.
        (None, 1) => array::powers(in_lines, ways),
        (Some(lines), 1) => array::powers(Capacity::exactly(lines), ways),
        (Some(lines), _) => array::any(lines as f64, ways),
        (None, _) => array::any(in_lines.middle(), ways),
    }
}

fn section(text: &mut String, name: Option<&str>, lines: Vec<Line>) {
    if lines.is_empty() {
        return;
    }
    text.push('\n');
    if let Some(name) = name {
        let _ = writeln!(text, "[{name}]");
    }
    for Line { comment: comments, text: line } in lines {
        for said in comments.lines() {
            let _ = writeln!(text, "# {}", comment(said));
        }
        let _ = writeln!(text, "{line}");
    }
}

/// Arrays as a file has them.
fn list(arrays: &[ArrayModel]) -> String {
    let each = arrays.iter().map(|array| {
        let table = toml::Table::try_from(array).expect("an array is a table");
        let keys: Vec<String> = table.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        format!("    {{ {} }},\n", keys.join(", "))
    });
    format!("[\n{}]", each.collect::<String>())
}

/// A text within a comment: one line without controls.
fn comment(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect()
}

fn quoted(text: &str) -> toml::Value {
    toml::Value::String(text.to_owned())
}

#[cfg(test)]
mod tests;
