//! Whether modules of a crate use each other in cycles.
//!
//! A module uses another where its code names an item that the other one defines. The path may go through re-exports: they are resolved to the
//! module that defines the item, and are no use by themselves. So a parent may declare and re-export a child, and use what the child defines, but then the
//! child has to do without what the parent itself defines. Test code is exempt.

mod graph;
mod scope;
#[cfg(test)]
mod tests;
mod tree;
mod uses;

use crate::failure::Failure;
use crate::process::root;
use graph::Graph;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use tree::ModuleId;
pub(crate) use tree::ModuleTree;

/// No crate of the workspace has a cycle.
pub(crate) fn check() -> Result<(), Failure> {
    let mut cyclic: BTreeSet<String> = BTreeSet::new();
    for (name, root_file) in crate_roots(&root())? {
        let found = report(&ModuleTree::read(&name, &root_file)?);
        if !found.is_empty() {
            println!("{name}:\n{found}");
            cyclic.insert(name);
        }
    }
    if cyclic.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = cyclic.into_iter().collect();
    Err(format!("modules use each other in cycles: {}", names.join(", ")))
}

/// The root files of the libraries and programs of the workspace, each with the crate's name.
pub(crate) fn crate_roots(workspace: &Path) -> Result<Vec<(String, PathBuf)>, Failure> {
    let crates = workspace.join("crates");
    let entries = std::fs::read_dir(&crates).map_err(|error| format!("{}: {error}", crates.display()))?;
    let mut directories: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    directories.extend([workspace.join("fuzz"), workspace.join("xtask")]);
    directories.sort();
    let mut roots = Vec::new();
    for directory in directories {
        let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for file in ["lib.rs", "main.rs"].map(|file| directory.join("src").join(file)) {
            if file.is_file() {
                roots.push((name.clone(), file));
            }
        }
    }
    Ok(roots)
}

/// What is to be said of the cycles of a crate: nothing, if there is none.
fn report(tree: &ModuleTree) -> String {
    let graph = Graph::of(tree);
    let mut text = String::new();
    for knot in graph.knots() {
        let cycle = graph.shortest_cycle(&knot);
        let names: Vec<String> = cycle.iter().map(|&id| tree.path(id)).collect();
        let _ = writeln!(text, "{} ({} modules use each other)", names.join(" → "), knot.len());
        for pair in cycle.windows(2) {
            text.push_str(&step(tree, &graph, pair[0], pair[1]));
        }
    }
    text
}

fn step(tree: &ModuleTree, graph: &Graph, from: ModuleId, to: ModuleId) -> String {
    let place = graph.place(from, to).expect("a cycle consists of uses");
    let file = tree.module(from).file.strip_prefix(root()).unwrap_or(&tree.module(from).file).display();
    format!("    {file}:{} uses `{}` of {}\n", place.line, place.path, tree.path(to))
}
