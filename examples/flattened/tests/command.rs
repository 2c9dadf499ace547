//! The command of a crate with a scheme: everything that Pagewalk's own command has, and the scheme.

use std::process::Command;

/// What the command prints with some arguments.
fn printed(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_flattened")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_command_explains_the_scheme() {
    let explained = printed(&["explain", "flattened"]);
    assert!(explained.contains("11 (Sv39), 14 (Sv48)"), "{explained}");
}

#[test]
fn walks_of_the_scheme_read_fewer_entries_than_nested_ones() {
    let uncached = "--set=mmu.walk_caches=off --set=mmu.nested_tlb=off".split(' ');
    let arguments = "compare --workload gups:1M --scheme nested,flattened --format csv".split(' ');
    let table = printed(&arguments.chain(uncached).collect::<Vec<_>>());
    let mut lines = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let column = names.iter().position(|name| *name == "references_per_walk").unwrap();
    let references: Vec<f64> = lines.map(|cells| cells[column].parse().unwrap()).collect();
    assert!(references.len() == 2 && references[1] < references[0], "{table}");
}
