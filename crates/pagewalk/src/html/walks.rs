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
        // There may be several of these.
        let which = match choice {
            "exit" => other.get("exit"),
            "missed" => other.get("gva"),
            _ => None,
        };
        let kind = which.and_then(Value::as_str).map_or_else(|| choice.to_owned(), |which| format!("{choice}:{which}"));
        walks.push(walk(&kind, label(choice, other, pages), other.clone()));
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
    if choice == "missed" {
        let misses = walk.get("misses").and_then(Value::as_u64).unwrap_or(0);
        let at = walk.get("gva").and_then(Value::as_str).unwrap_or_default();
        return format!("most frequent miss of an instruction, {misses} times: {at}");
    }
    let references = walk.pointer("/cached/references").and_then(Value::as_u64).unwrap_or(0);
    format!("{choice}, {}: {equal} of {pages} pages", counted(references as usize, "reference"))
}

/// The walks of a page: those to the pages in the middle first, and others as far as there is room. They keep their order.
pub(super) fn limited(walks: Vec<Walk>) -> Vec<Walk> {
    const KINDS: [&str; 5] = ["middle", "longest", "exit", "commonest", "missed"];
    let rank = |walk: &Walk| {
        let choice = walk.kind.split(':').next();
        KINDS.iter().position(|kind| Some(*kind) == choice).unwrap_or(KINDS.len())
    };
    let mut ranked: Vec<(usize, Walk)> = walks.into_iter().enumerate().collect();
    ranked.sort_by_key(|(index, walk)| (rank(walk), *index));
    ranked.truncate(MOST);
    ranked.sort_by_key(|(index, _)| *index);
    ranked.into_iter().map(|(_, walk)| walk).collect()
}

/// Where the explorer shows the walk to `page`, which an instruction misses most often in the address space with the root table `root`, if it is one of
/// these walks.
pub(super) fn link_to_missed(
    walks: &[Walk],
    (workload, system): (&str, &str),
    (root, page): (&str, &str),
) -> Option<String> {
    let address = |text: &str| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    let page = address(page)?;
    let is_it = |walk: &&Walk| {
        let at = walk.kind.strip_prefix("missed:").and_then(address);
        let here = (walk.workload.as_str(), walk.system.as_str()) == (workload, system);
        here && walk.walk.get("root").is_some_and(|of| of == root) && at.is_some_and(|at| at & !0xfff == page)
    };
    let walk = walks.iter().find(is_it)?;
    // As `URLSearchParams` of a browser reads it.
    let encode = |text: &str| -> String {
        let encoded = text.bytes().map(|byte| match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => char::from(byte).to_string(),
            _ => format!("%{byte:02x}"),
        });
        encoded.collect()
    };
    let [workload, scheme, kind] = [workload, system, &walk.kind].map(encode);
    Some(format!("#explore:workload={workload}&scheme={scheme}&walk={kind}"))
}

/// The section with these walks; `None` if there is nothing to explore.
pub(super) fn section(walks: Vec<Walk>) -> Option<Section> {
    if walks.is_empty() {
        return None;
    }
    Some(Section {
        id: "walk".into(),
        title: "One walk, reference by reference".to_owned(),
        intro: vec![
            "Walks that were recorded at the end of each run, to pages that the first-level TLB then held: to the page in the middle, by address, and to those whose walks were the longest, the commonest and the shortest, with the walk caches as they were; and to the page of the latest access that exited to the hypervisor, for each reason; and, where there is a profile, to the pages that instructions miss most often. Columns are levels of the first dimension, from the root on; rows are levels of the second, which translates the address of each entry before it can be read, and that of the page in the end. Numbers are references in their order.".to_owned(),
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
        let mut write = exit.clone();
        write["exit"] = "table_write".into();
        let missed = json!({ "gva": "0x2550", "choice": "missed", "misses": 7, "root": "0x9000", "cached": { "references": 9 } });
        json!({ "gva": "middle", "pages": 64, "others": [other("longest"), other("shortest"), exit, write, missed] })
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
                "latest nested fault of 12",
                "latest table write of 12",
                "most frequent miss of an instruction, 7 times: 0x2550"
            ]
        );
        assert!(walks[0].walk.get("others").is_none() && walks[1].walk["gva"] == "longest");
        assert!(super::walks("gups", "nested", "nested", None).is_empty());
    }

    /// Two walks of one kind had one name, so that only the first of them could be chosen.
    #[test]
    fn walks_of_several_exits_can_be_told_apart() {
        let walks = walks("gups", "nested", "nested", Some(&recorded()));
        let kinds: Vec<&str> = walks.iter().map(|walk| walk.kind.as_str()).collect();
        let each = ["middle", "longest", "shortest", "exit:nested_fault", "exit:table_write", "missed:0x2550"];
        assert_eq!(kinds, each);
    }

    #[test]
    fn a_page_that_is_missed_most_leads_to_its_walk() {
        let walks = walks("gups:1 M", "nested:4K+4K", "nested:4K+4K", Some(&recorded()));
        let link = |workload, page| link_to_missed(&walks, (workload, "nested:4K+4K"), ("0x9000", page));
        let expected = "#explore:workload=gups%3a1%20M&scheme=nested%3a4K%2b4K&walk=missed%3a0x2550";
        assert_eq!(link("gups:1 M", "0x2000").as_deref(), Some(expected));
        assert_eq!([link("gups:1 M", "0x3000"), link("other", "0x2000"), link("gups:1 M", "page")], [None, None, None]);
        // The page of this address in another address space.
        assert_eq!(link_to_missed(&walks, ("gups:1 M", "nested:4K+4K"), ("0xa000", "0x2000")), None);
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
