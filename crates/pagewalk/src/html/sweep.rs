//! The report of `sweep`: what systems cost in storage, and what they take in translation.

mod front;
mod line;
mod settings;

use super::charts::{Dot, Scatter, Series, Shape};
use super::document::{Block, Chart, Charts, DataTable, Document, Finding, Key, Section};
use super::figures::{counted, grouped, listed};
use super::page::page;
use super::palette::{self, Colour};
use crate::error::Failure;
use crate::time_model::TimeModels;
use front::{Place, front};
use line::{Line, Recording};
use serde_json::{Map, Value};

/// Whether a text is what `sweep` writes, as far as its first line tells.
pub(crate) fn is_sweep(text: &str) -> bool {
    line::is_first(text)
}

/// The most systems on no front that are drawn.
const MOST_OTHERS: usize = 4000;
/// The most bytes that systems have on a page, about: it stays under 5 MB.
const ROOM: usize = 4_000_000;

/// The page of the lines of a sweep.
///
/// # Errors
/// [`Failure::Usage`], naming the line: it is not what `sweep` writes.
pub(crate) fn sweep(text: &str) -> Result<String, Failure> {
    let lines = line::read(text)?;
    let common = settings::common(&lines);
    let studies: Vec<Study> =
        lines.chunk_by(|one, other| one.recording == other.recording).map(|lines| Study::of(lines, &common)).collect();
    let mut room = Room::new(&studies);
    let blocks = studies.iter().map(|study| study.block(&mut room)).collect();
    let works: Vec<&str> = studies.iter().map(|study| study.recording.work.as_str()).collect();
    let times: TimeModels = lines.iter().map(|line| &line.time_model).collect();
    let systems = counted(lines.len(), "system");
    Ok(page(Document {
        command: "sweep".to_owned(),
        title: match works.as_slice() {
            [] => "No systems".to_owned(),
            [work] => format!("Storage and translation of {work}"),
            _ => format!("Storage and translation of {} recordings", works.len()),
        },
        lede: format!(
            "{systems}, by replays of {}. Cycles are by {times}.{}",
            counted(studies.len(), "recording"),
            if common.is_empty() { String::new() } else { format!(" All systems have {}.", settings::written(common.iter())) },
        ),
        findings: findings(&studies),
        sections: vec![Section {
            id: "front".into(),
            title: "What is worth its storage".to_owned(),
            intro: vec![
                "A system is on the front of its scheme if no other one of it has no more bits and no more cycles, and less of one of them. Bits are \
                 those of the TLBs, page-walk caches and nested TLB of a processor, by the formula in docs/record.md."
                    .to_owned(),
                "Cycles of translation are L2 hits, references of walks and refills by software. What the hypervisor takes, such as for exits of \
                 shadow tables, is in the table."
                    .to_owned(),
            ],
            blocks,
        }],
    }))
}

/// The systems of one recording.
struct Study<'l> {
    recording: &'l Recording,
    /// Measured instructions: the fewest and the most of a system.
    measured: (u64, u64),
    schemes: Vec<Scheme<'l>>,
}

/// The systems of one scheme with its page sizes.
struct Scheme<'l> {
    name: &'l str,
    colour: Colour,
    shape: Shape,
    /// On the front, by their bits.
    front: Vec<System<'l>>,
    /// The others, by their bits.
    others: Vec<System<'l>>,
}

/// A system.
struct System<'l> {
    line: &'l Line,
    settings: String,
}

impl System<'_> {
    fn place(line: &Line) -> Place {
        Place { bits: line.storage_bits.total, cycles: line.in_1000(line.time.translation) }
    }

    fn dot(&self) -> Dot {
        let Place { bits, cycles } = Self::place(self.line);
        let Line { scheme, exact, .. } = self.line;
        let inexact = if *exact { "" } else { "; may differ from a run" };
        let exact = format!("{scheme}, {}: {} bits, {cycles:.3} cycles{inexact}", self.settings, grouped(bits));
        Dot { x: bits as f64, y: cycles, exact }
    }

    /// About how many bytes a page has for its point. A character may be escaped.
    fn bytes(&self) -> usize {
        let escaped = |byte: u8| if b"\"&<>'/".contains(&byte) { 6 } else { 1 };
        250 + self.line.scheme.len() + self.settings.bytes().map(escaped).sum::<usize>()
    }

    fn row(&self) -> [String; 10] {
        let line = self.line;
        let number = |count: u64| format!("{:.3}", line.in_1000(count));
        let bits = line.storage_bits.total;
        [
            line.scheme.clone(),
            self.settings.clone(),
            grouped(bits),
            format!("{:.2}", bits as f64 / 8192.0),
            number(line.l1_misses()),
            number(line.tlb.l2_misses),
            number(line.walks.count),
            number(line.time.translation),
            number(line.time.hypervisor),
            if line.exact { "yes" } else { "no" }.to_owned(),
        ]
    }
}

const COLUMNS: [&str; 10] = [
    "scheme",
    "settings",
    "#bits",
    "#KiB",
    "#L1 misses",
    "#L2 misses",
    "#walks",
    "#translation, cycles",
    "#hypervisor, cycles",
    "exact",
];

/// What room systems have on a page: those on fronts come first.
struct Room {
    /// Systems on fronts that there is room for.
    fronts: usize,
    /// Of the systems on no front, how many are drawn of how many.
    others: (usize, usize),
}

impl Room {
    fn new(studies: &[Study<'_>]) -> Self {
        let schemes = || studies.iter().flat_map(|study| &study.schemes);
        let mut left = ROOM;
        // A point, and a row of the table.
        let fits = |system: &&System<'_>| {
            let bytes = 2 * system.bytes() + 200;
            let fits = bytes <= left;
            left = left.saturating_sub(bytes);
            fits
        };
        let fronts = schemes().flat_map(|scheme| &scheme.front).take_while(fits).count();
        let others = || schemes().flat_map(|scheme| &scheme.others);
        let largest = others().map(System::bytes).max().unwrap_or(1);
        let all = others().count();
        Self { fronts, others: (all.min(MOST_OTHERS).min(left / largest), all) }
    }
}

impl<'l> Study<'l> {
    /// Of lines of one recording, in the order of their schemes.
    fn of(lines: &'l [Line], common: &Map<String, Value>) -> Self {
        let mut schemes: Vec<Scheme<'l>> = Vec::new();
        for lines in lines.chunk_by(|one, other| one.scheme == other.scheme) {
            let places: Vec<Place> = lines.iter().map(System::place).collect();
            let best = front(&places);
            let system = |&index: &usize| {
                let line = &lines[index];
                System { line, settings: settings::own(&line.settings, common) }
            };
            let mut is_best = vec![false; lines.len()];
            best.iter().for_each(|&index| is_best[index] = true);
            let mut others: Vec<usize> = (0..lines.len()).filter(|&index| !is_best[index]).collect();
            others.sort_by_key(|&index| places[index].bits);
            let colour = palette::of_scheme(&lines[0].scheme);
            let alike = schemes.iter().filter(|other| palette::of_scheme(other.name) == colour).count();
            schemes.push(Scheme {
                name: &lines[0].scheme,
                colour: colour.shade(alike),
                shape: Shape::of_series(schemes.len()),
                front: best.iter().map(system).collect(),
                others: others.iter().map(system).collect(),
            });
        }
        let measured = || lines.iter().map(|line| line.instructions);
        let measured = (measured().min().unwrap_or(0), measured().max().unwrap_or(0));
        Self { recording: &lines[0].recording, measured, schemes }
    }

    fn block(&self, room: &mut Room) -> Block {
        let Recording { work, .. } = self.recording;
        let mut table = DataTable::new(&format!("Systems on the fronts of {work}, in 1000 instructions"), &COLUMNS);
        let mut series = Vec::new();
        let (mut fronts_left_out, mut drawn, mut others) = (0, 0, 0);
        for scheme in &self.schemes {
            let shown = scheme.front.len().min(room.fronts);
            room.fronts -= shown;
            fronts_left_out += scheme.front.len() - shown;
            let front = &scheme.front[..shown];
            front.iter().for_each(|system| table.row(system.row()));
            let few = spread(&scheme.others, room.others);
            drawn += few.len();
            others += scheme.others.len();
            series.push(Series {
                colour: scheme.colour,
                shape: scheme.shape,
                front: front.iter().map(System::dot).collect(),
                others: few.into_iter().map(System::dot).collect(),
            });
        }
        let names: Vec<&str> = self.schemes.iter().map(|scheme| scheme.name).collect();
        let description = format!(
            "Points: bits of storage, and cycles of translation in 1000 instructions, of {work} under {}; the table has the systems on the fronts",
            listed(&names)
        );
        let scatter = Scatter {
            description: &description,
            series: &series,
            x: "bits of storage",
            y: "cycles of translation in 1000 instructions",
        };
        let chart = Chart { title: String::new(), svg: scatter.svg() };
        let key = |scheme: &Scheme<'_>| Key {
            class: scheme.colour.class(),
            shape: Some(scheme.shape.anchor()),
            name: scheme.name.to_owned(),
        };
        let mut notes = vec![self.measured_over()];
        notes.push(match others - drawn {
            0 => "Large marks are on the fronts, small ones are the other systems.".to_owned(),
            left_out => format!(
                "Large marks are on the fronts, small ones are {} of the {} other systems, spread over their bits; {} are left out.",
                grouped(drawn as u64),
                grouped(others as u64),
                grouped(left_out as u64)
            ),
        });
        if fronts_left_out > 0 {
            notes.push(format!("{} more systems are on fronts. The lines have them.", grouped(fronts_left_out as u64)));
        }
        Block::Figure {
            notes,
            group: Charts {
                caption: work.clone(),
                legend: self.schemes.iter().map(key).collect(),
                charts: vec![chart],
                table,
            },
        }
    }

    /// What numbers are over.
    fn measured_over(&self) -> String {
        let Recording { work, events, instructions, imported } = self.recording;
        let (least, most) = self.measured;
        let measured = if least == most { grouped(least) } else { format!("{} to {}", grouped(least), grouped(most)) };
        let origin = imported.as_ref().map_or_else(String::new, |origin| {
            format!(" It is of a trace ({}), with pages {} and frames {}.", origin.format, origin.pages, origin.frames)
        });
        format!(
            "The recording of {work} has {} events and {} instructions, of which {measured} are measured: all counts are over these.{origin}",
            grouped(*events),
            grouped(*instructions),
        )
    }
}

/// As many systems of a scheme as its part of those that are drawn, from the first to the last.
fn spread<'s, 'l>(others: &'s [System<'l>], (drawn, all): (usize, usize)) -> Vec<&'s System<'l>> {
    let few = others.len() * drawn / all.max(1);
    (0..few).map(|index| &others[index * others.len() / few]).collect()
}

fn findings(studies: &[Study<'_>]) -> Vec<Finding> {
    let schemes = || studies.iter().flat_map(|study| &study.schemes);
    let systems: usize = schemes().map(|scheme| scheme.front.len() + scheme.others.len()).sum();
    let fronts: usize = schemes().map(|scheme| scheme.front.len()).sum();
    let number = |count: usize| grouped(count as u64);
    vec![
        Finding { number: number(systems), text: "systems were replayed".to_owned() },
        Finding { number: number(fronts), text: "of them are on the front of their scheme".to_owned() },
    ]
}

#[cfg(test)]
mod tests;
