//! `config`: the reference of the configuration, and its copy in the documentation.

mod common;

use common::run;

const DOCUMENT: &str = include_str!("../../../docs/configuration.md");

#[test]
fn the_documentations_table_is_the_codes() {
    let printed = run(["config", "--markdown"]).succeeded().stdout;
    assert!(
        DOCUMENT.contains(&format!("<!-- pagewalk config --markdown -->\n{printed}<!-- end -->\n")),
        "docs/configuration.md is not what `pagewalk config --markdown` prints:\n{printed}"
    );
}

#[test]
fn keys_are_listed_with_their_defaults() {
    let all = run(["config"]).succeeded().stdout;
    assert!(all.contains("scheme = native:4K\n") && all.contains("isa.zawrs = false\n"), "{all}");
    let paging = run(["config", "paging"]).succeeded().stdout;
    assert!(paging.starts_with("paging.guest = sv39\n") && paging.contains("sv57x4"), "{paging}");
    run(["config", "pagin"]).failed(2, &["pagin", "paging."]);
}
