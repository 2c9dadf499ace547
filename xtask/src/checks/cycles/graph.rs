//! Which modules use which, and the cycles among them.

use super::scope::{Scopes, Target, imports, is_private};
use super::tree::{ModuleId, ModuleTree};
use super::uses::Mentions;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Where a module uses another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Use {
    /// The path that it names.
    pub(super) path: String,
    /// The line of its file.
    pub(super) line: usize,
}

/// The files of a crate as nodes. An edge leads from a file to one that defines what it uses, with the first place that does.
#[derive(Debug, Default)]
pub(super) struct Graph {
    edges: BTreeMap<ModuleId, BTreeMap<ModuleId, Use>>,
}

impl Graph {
    /// The uses among the modules of `tree`. What a module re-exports is no use of its own; what its code names is, and what it imports privately.
    pub(super) fn of(tree: &ModuleTree) -> Self {
        let mut scopes = Scopes::of(tree);
        let mut graph = Self::default();
        let mut mentions: Vec<Mentions> = Vec::new();
        for (id, module) in tree.modules() {
            let named = Mentions::of(&module.items);
            named.inner_uses.iter().for_each(|item| scopes.bind_import(id, item));
            mentions.push(named);
        }
        for ((id, module), named) in tree.modules().zip(&mentions) {
            let own_imports = module.items.iter().filter_map(|item| match item {
                syn::Item::Use(item) if is_private(item) => Some(item),
                _ => None,
            });
            for import in own_imports.chain(named.inner_uses.iter().copied()).flat_map(imports) {
                graph.add_all(tree, id, &scopes.resolve(id, &import.path), &import.path.join("::"), import.line);
            }
            for mention in &named.paths {
                let mut found = scopes.resolve(id, &mention.path);
                if let ([name], true) = (&mention.path[..], mention.is_macro) {
                    found.extend(scopes.macro_named(name).map(Target::ItemOf));
                }
                graph.add_all(tree, id, &found, &mention.path.join("::"), mention.line);
            }
        }
        graph
    }

    /// Adds that `from` uses `to`, at `place` unless an earlier place is known.
    pub(super) fn add(&mut self, from: ModuleId, to: ModuleId, place: Use) {
        if from != to {
            self.edges.entry(from).or_default().entry(to).or_insert(place);
        }
    }

    /// Where `from` uses `to`.
    pub(super) fn place(&self, from: ModuleId, to: ModuleId) -> Option<&Use> {
        self.edges.get(&from)?.get(&to)
    }

    /// The groups of modules that reach each other, each with more than one.
    pub(super) fn knots(&self) -> Vec<BTreeSet<ModuleId>> {
        let reached: BTreeMap<ModuleId, BTreeSet<ModuleId>> =
            self.edges.keys().map(|&from| (from, self.reached_from(from))).collect();
        let mut knots: Vec<BTreeSet<ModuleId>> = Vec::new();
        for (&from, to) in &reached {
            if to.contains(&from) && !knots.iter().any(|knot| knot.contains(&from)) {
                let back = |to: &ModuleId| reached.get(to).is_some_and(|back| back.contains(&from));
                knots.push(to.iter().copied().filter(back).collect());
            }
        }
        knots
    }

    /// A shortest cycle within `knot`, which begins and ends with the same module.
    pub(super) fn shortest_cycle(&self, knot: &BTreeSet<ModuleId>) -> Vec<ModuleId> {
        knot.iter().filter_map(|&start| self.shortest_way_back(start)).min_by_key(Vec::len).unwrap_or_default()
    }

    fn add_all(&mut self, tree: &ModuleTree, from: ModuleId, targets: &BTreeSet<Target>, path: &str, line: usize) {
        let file_of = |id: ModuleId| tree.module(id).file_module;
        for target in targets {
            match target {
                // A module by itself is a way to its items, which are named elsewhere.
                Target::Module(_) => {}
                Target::ItemOf(to) => self.add(file_of(from), file_of(*to), Use { path: path.to_owned(), line }),
            }
        }
    }

    fn successors(&self, from: ModuleId) -> impl Iterator<Item = ModuleId> {
        self.edges.get(&from).into_iter().flat_map(|to| to.keys().copied())
    }

    fn reached_from(&self, start: ModuleId) -> BTreeSet<ModuleId> {
        let mut reached = BTreeSet::new();
        let mut waiting: Vec<ModuleId> = self.successors(start).collect();
        while let Some(next) = waiting.pop() {
            if reached.insert(next) {
                waiting.extend(self.successors(next));
            }
        }
        reached
    }

    fn shortest_way_back(&self, start: ModuleId) -> Option<Vec<ModuleId>> {
        let mut came_from: BTreeMap<ModuleId, ModuleId> = BTreeMap::new();
        let mut waiting = VecDeque::from([start]);
        while let Some(from) = waiting.pop_front() {
            for to in self.successors(from) {
                if to == start {
                    let mut way = vec![start, from];
                    while let Some(&earlier) =
                        way.last().filter(|&&last| last != start).and_then(|last| came_from.get(last))
                    {
                        way.push(earlier);
                    }
                    way.reverse();
                    return Some(way);
                }
                if let Entry::Vacant(unknown) = came_from.entry(to) {
                    unknown.insert(from);
                    waiting.push_back(to);
                }
            }
        }
        None
    }
}
