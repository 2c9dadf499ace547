//! The section with the walk explorer.

use super::document::{Block, Section, Walk};
use schemes::{Scheme, Walked, registry};
use serde_json::Value;

/// The most walks of a page: each takes a few kilobytes.
const MOST: usize = 64;

/// A walk of `workload` under a system. `None` where none was recorded.
pub(super) fn walk(workload: &str, scheme: &str, system: &str, recorded: Option<&Value>) -> Option<Walk> {
    let facts = registry::find(scheme.split(':').next().unwrap_or(scheme)).map(Scheme::facts);
    let shadow = facts.is_some_and(|facts| facts.walked == Walked::ShadowTables && facts.dimensions == 1);
    Some(Walk {
        workload: workload.to_owned(),
        system: system.to_owned(),
        guest_table: if shadow { "shadow table" } else { "guest table" },
        host_table: facts.map_or("host table", |facts| facts.host_table),
        native: shadow || facts.is_some_and(|facts| facts.is_native),
        walk: recorded?.clone(),
    })
}

/// The section; `None` if there is nothing to explore.
pub(super) fn section(mut walks: Vec<Walk>) -> Option<Section> {
    if walks.is_empty() {
        return None;
    }
    walks.truncate(MOST);
    Some(Section {
        id: "walk",
        title: "One walk, reference by reference".to_owned(),
        intro: vec![
            "A walk that was recorded at the end of each run, to a page in the middle of those that the first-level TLB then held. Columns are levels of the first dimension, from the root on; rows are levels of the second, which translates the address of each entry before it can be read, and that of the page in the end. Numbers are references in their order.".to_owned(),
        ],
        blocks: vec![Block::Explorer { walks }],
    })
}
