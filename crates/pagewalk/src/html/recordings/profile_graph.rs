//! The tree of a profile, and the flame graph that it becomes.

use super::profile_counts::Counts;
use super::room::shortened;
use crate::html::charts::FlamePart as Part;
use crate::html::palette::{self, Colour};
use std::collections::BTreeMap;

/// What a node is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Run,
    Process,
    Function,
    Data,
}

impl Kind {
    const fn colour(self) -> Colour {
        match self {
            Self::Run => palette::PLAIN,
            Self::Process => palette::PROCESS,
            Self::Function => palette::FUNCTION,
            Self::Data => palette::DATA,
        }
    }
}

/// A node: what is charged to it and all below it. A function may have callees and data below it.
#[derive(Default)]
struct Node {
    counts: Counts,
    below: BTreeMap<(Kind, String), Self>,
}

/// A node that stands below another one, with its drawn ticks.
struct Below<'a> {
    kind: Kind,
    name: &'a str,
    node: &'a Node,
    drawn: i64,
}

/// A run, its processes, their functions, and the functions' data.
pub(super) struct Tree(Node);

impl Tree {
    /// Of a run to which so much is charged in all.
    pub(super) fn of(totals: Counts) -> Self {
        Self(Node { counts: totals, below: BTreeMap::new() })
    }

    /// Adds what is charged to the last of a process's `functions`, each of which has called the next, for an object.
    pub(super) fn charge<'a>(
        &mut self,
        process: &str,
        functions: impl Iterator<Item = &'a str>,
        object: &str,
        counts: &Counts,
    ) {
        let path = std::iter::once((Kind::Process, process))
            .chain(functions.map(|name| (Kind::Function, name)))
            .chain(std::iter::once((Kind::Data, object)));
        let mut node = &mut self.0;
        for (kind, name) in path {
            node = node.below.entry((kind, name.to_owned())).or_default();
            node.counts.add(counts);
        }
    }

    /// The graph, with about `most` frames on each of three rows, or as many together on more rows. `exact` says a frame's values in full.
    pub(super) fn drawn(&self, name: &str, most: usize, exact: impl Fn(&str, &Counts) -> String) -> Part {
        const ROWS: usize = 3;
        // A graph is 832 pixels wide: what is narrower cannot be seen, however much room is left.
        const NARROWEST: i64 = 1000;
        let mut narrow = self.0.drawn() / NARROWEST;
        while self.0.frames(narrow) > ROWS * most {
            narrow = 2 * narrow.max(1);
        }
        self.0.part(Kind::Run, name.to_owned(), narrow, &exact)
    }
}

impl Node {
    /// The ticks that it is drawn with: those above zero of all that is in it. An out-of-order core can gain time.
    fn drawn(&self) -> i64 {
        if self.below.is_empty() { self.counts.weight().max(0) } else { self.below.values().map(Self::drawn).sum() }
    }

    /// What stands below it: nodes, the widest first, and those that are too narrow for a frame of their own.
    fn split(&self, narrow: i64) -> (Vec<Below<'_>>, Vec<Below<'_>>) {
        let below =
            self.below.iter().map(|((kind, name), node)| Below { kind: *kind, name, node, drawn: node.drawn() });
        let mut below: Vec<_> = below.filter(|below| below.drawn > 0).collect();
        below.sort_by_key(|below| std::cmp::Reverse(below.drawn));
        let wide = below.iter().take_while(|below| below.drawn > narrow).count();
        // One alone needs no other name.
        let wide = if wide + 1 == below.len() { below.len() } else { wide };
        let others = below.split_off(wide);
        (below, others)
    }

    /// How many frames [`Self::part`] makes.
    fn frames(&self, narrow: i64) -> usize {
        let (wide, others) = self.split(narrow);
        1 + usize::from(!others.is_empty()) + wide.iter().map(|below| below.node.frames(narrow)).sum::<usize>()
    }

    fn part(&self, kind: Kind, name: String, narrow: i64, exact: &impl Fn(&str, &Counts) -> String) -> Part {
        let (wide, others) = self.split(narrow);
        let part = |below: &Below<'_>| below.node.part(below.kind, shortened(below.name).into_owned(), narrow, exact);
        let mut parts: Vec<Part> = wide.iter().map(part).collect();
        if let Some(widest) = others.first() {
            let mut together = Counts::default();
            others.iter().for_each(|below| together.add(&below.node.counts));
            let name = format!("{} smaller ones", others.len());
            let weight = others.iter().map(|below| below.drawn).sum::<i64>() as f64;
            let exact = exact(&name, &together);
            parts.push(Part { name, exact, weight, colour: widest.kind.colour(), below: Vec::new() });
        }
        let exact = exact(&name, &self.counts);
        Part { name, exact, weight: self.drawn() as f64, colour: kind.colour(), below: parts }
    }
}
