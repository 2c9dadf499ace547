//! The section with the walk explorer.

use super::document::{Block, Section, Walk};
use super::figures::counted;
use schemes::{Scheme, Walked, registry};
use serde_json::Value;

/// The most walks of a page: each takes about four kilobytes.
const MOST: usize = 64;

/// The walks of `workload` under a system, that to the page in the middle first; none where none was recorded.
pub(super) fn walks(workload: &str, scheme: &str, system: &str, recorded: Option<&Value>) -> Vec<Walk> {
    let Some(recorded) = recorded else { return Vec::new() };
    let facts = registry::find(scheme.split(':').next().unwrap_or(scheme)).map(Scheme::facts);
    let shadow = facts.is_some_and(|facts| facts.walked == Walked::ShadowTables && facts.dimensions == 1);
    let walk = |kind: &str, label: String, walk: Value| Walk {
        workload: workload.to_owned(),
        system: system.to_owned(),
        kind: kind.to_owned(),
        label,
        guest_table: if shadow { "shadow table" } else { "guest table" },
        host_table: facts.map_or("host table", |facts| facts.host_table),
        native: shadow || facts.is_some_and(|facts| facts.is_native),
        walk,
    };
    let mut middle = recorded.clone();
    let others = middle.as_object_mut().and_then(|walk| walk.remove("others"));
    let pages = recorded.get("pages").and_then(Value::as_u64).unwrap_or(0);
    let mut walks = vec![walk("middle", "page in the middle".to_owned(), middle)];
    for other in others.as_ref().and_then(Value::as_array).into_iter().flatten() {
        let choice = other.get("choice").and_then(Value::as_str).unwrap_or("other");
        walks.push(walk(choice, label(choice, other, pages), other.clone()));
    }
    walks
}

/// What a walk is chosen for: `longest, 9 references: 1 of 64 pages`, `latest nested fault of 12`.
fn label(choice: &str, walk: &Value, pages: u64) -> String {
    let equal = walk.get("pages").and_then(Value::as_u64).unwrap_or(0);
    if let Some(reason) = walk.get("exit").and_then(Value::as_str) {
        let exits = walk.get("exits").and_then(Value::as_u64).unwrap_or(0);
        return format!("latest {} of {exits}", reason.replace('_', " "));
    }
    let references = walk.pointer("/cached/references").and_then(Value::as_u64).unwrap_or(0);
    format!("{choice}, {}: {equal} of {pages} pages", counted(references as usize, "reference"))
}

/// The walks of a page: those to the pages in the middle first, and others as far as there is room. They keep their order.
fn limited(walks: Vec<Walk>) -> Vec<Walk> {
    const KINDS: [&str; 4] = ["middle", "longest", "exit", "commonest"];
    let rank = |walk: &Walk| KINDS.iter().position(|kind| *kind == walk.kind).unwrap_or(KINDS.len());
    let mut ranked: Vec<(usize, Walk)> = walks.into_iter().enumerate().collect();
    ranked.sort_by_key(|(index, walk)| (rank(walk), *index));
    ranked.truncate(MOST);
    ranked.sort_by_key(|(index, _)| *index);
    ranked.into_iter().map(|(_, walk)| walk).collect()
}

/// The section; `None` if there is nothing to explore.
pub(super) fn section(walks: Vec<Walk>) -> Option<Section> {
    if walks.is_empty() {
        return None;
    }
    let walks = limited(walks);
    Some(Section {
        id: "walk",
        title: "One walk, reference by reference".to_owned(),
        intro: vec![
            "Walks that were recorded at the end of each run, to pages that the first-level TLB then held: to the page in the middle, by address, and to those whose walks were the longest, the commonest and the shortest, with the walk caches as they were; and to the page of the latest access that exited to the hypervisor, for each reason. Columns are levels of the first dimension, from the root on; rows are levels of the second, which translates the address of each entry before it can be read, and that of the page in the end. Numbers are references in their order.".to_owned(),
        ],
        blocks: vec![Block::Explorer { walks }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn recorded() -> Value {
        let other =
            |choice: &str| json!({ "gva": choice, "choice": choice, "pages": 3, "cached": { "references": 9 } });
        let mut exit = json!({ "gva": "exit", "choice": "exit", "exit": "nested_fault", "exits": 12 });
        exit["cached"] = json!({ "references": 9 });
        json!({ "gva": "middle", "pages": 64, "others": [other("longest"), other("shortest"), exit] })
    }

    #[test]
    fn the_walks_of_a_run_say_why_they_were_chosen() {
        let walks = walks("gups", "nested:4K+4K", "nested:4K+4K", Some(&recorded()));
        let labels: Vec<&str> = walks.iter().map(|walk| walk.label.as_str()).collect();
        assert_eq!(
            labels,
            [
                "page in the middle",
                "longest, 9 references: 3 of 64 pages",
                "shortest, 9 references: 3 of 64 pages",
                "latest nested fault of 12"
            ]
        );
        assert!(walks[0].walk.get("others").is_none() && walks[1].walk["gva"] == "longest");
        assert!(super::walks("gups", "nested", "nested", None).is_empty());
    }

    #[test]
    fn a_page_has_room_for_the_middle_walk_of_each_run_first() {
        let all = (0..40).flat_map(|run| walks(&run.to_string(), "nested", "nested", Some(&recorded()))).collect();
        let limited = limited(all);
        let of = |kind: &str| limited.iter().filter(|walk| walk.kind == kind).count();
        assert_eq!((of("middle"), of("longest"), of("shortest")), (40, 24, 0));
        let order: Vec<usize> = limited.iter().map(|walk| walk.workload.parse().unwrap()).collect();
        assert!(order.is_sorted());
    }
}
