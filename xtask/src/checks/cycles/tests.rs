//! The rule, on crates of a few lines.

use super::*;

/// What is said of a crate of these files, the first of which is its root.
fn said_of(files: &[(&str, &str)]) -> String {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let file = directory.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    report(&ModuleTree::read("small", &directory.path().join(files[0].0)).unwrap())
}

/// The first line of what is said: the cycle.
fn cycle_of(files: &[(&str, &str)]) -> String {
    said_of(files).lines().next().unwrap_or_default().to_owned()
}

#[test]
fn siblings_that_import_each_other_are_a_cycle_with_its_lines() {
    let said = said_of(&[
        ("lib.rs", "mod a;\nmod b;"),
        ("a.rs", "\nuse crate::b::B;\npub struct A(B);"),
        ("b.rs", "pub struct B;\nimpl B { fn f(_: super::a::A) {} }"),
    ]);
    assert!(said.starts_with("small::a → small::b → small::a (2 modules use each other)\n"), "{said}");
    assert!(said.contains("a.rs:2 uses `crate::b::B` of small::b\n"), "{said}");
    assert!(said.contains("b.rs:2 uses `super::a::A` of small::a\n"), "{said}");
}

#[test]
fn a_parent_may_use_and_reexport_a_child_that_does_without_it() {
    let root = ("lib.rs", "mod p;\npub use p::T;");
    let parent = "mod c;\nmod d;\npub use c::T;\npub fn f() -> T { d::made() }";
    assert_eq!(
        said_of(&[
            root,
            ("p.rs", parent),
            ("p/c.rs", "pub struct T;"),
            ("p/d.rs", "pub fn made() -> super::T { super::T }")
        ]),
        ""
    );
    let child = "pub fn made() -> super::T { super::f() }";
    let cycle = cycle_of(&[root, ("p.rs", parent), ("p/c.rs", "pub struct T;"), ("p/d.rs", child)]);
    assert_eq!(cycle, "small::p → small::p::d → small::p (2 modules use each other)");
}

#[test]
fn reexports_globs_and_renames_lead_to_the_definition() {
    let root = ("lib.rs", "mod a;\nmod b;\nmod facade;\npub use facade::*;");
    let facade = ("facade.rs", "pub use crate::a::A as Renamed;\npub use crate::b::{self, B};");
    let a = ("a.rs", "pub struct A;\nfn f(_: crate::B) {}");
    assert_eq!(said_of(&[root, facade, a, ("b.rs", "pub struct B;")]), "");
    for user in ["use crate::*;\npub struct B(Renamed);", "use crate::facade as x;\npub struct B(x::Renamed);"] {
        let cycle = cycle_of(&[root, facade, a, ("b.rs", user)]);
        assert_eq!(cycle, "small::a → small::b → small::a (2 modules use each other)", "{user}");
    }
}

#[test]
fn what_macros_name_and_define_counts() {
    let root = ("lib.rs", "mod a;\nmod b;");
    let a = (
        "a.rs",
        "macro_rules! made { ($name:ident) => { pub struct $name; } }\nmade!(A);\nfn f() { assert!(crate::b::g()); }",
    );
    let cycle = cycle_of(&[root, a, ("b.rs", "pub fn g() -> bool { matches!(x(), crate::a::A) }")]);
    assert_eq!(cycle, "small::a → small::b → small::a (2 modules use each other)");
}

#[test]
fn test_code_is_exempt() {
    let root = ("lib.rs", "mod a;\nmod b;");
    let b = ("b.rs", "pub struct B(crate::a::A);");
    let a = "pub struct A;\n#[cfg(test)]\nimpl A { fn b() -> crate::b::B { loop {} } }\n#[cfg(test)]\nmod tests { use crate::b::B; }";
    assert_eq!(said_of(&[root, ("a.rs", a), b]), "");
}

#[test]
fn an_inline_module_belongs_to_its_file() {
    let root = ("lib.rs", "mod a;\nmod b;");
    let a = ("a.rs", "pub struct A;\nmod inner { pub fn f(_: super::A) { super::super::b::g() } }");
    assert_eq!(said_of(&[root, a, ("b.rs", "pub fn g() {}")]), "");
    let cycle = cycle_of(&[root, a, ("b.rs", "pub fn g() { drop(crate::a::A) }")]);
    assert_eq!(cycle, "small::a → small::b → small::a (2 modules use each other)");
}

#[test]
fn the_shortest_cycle_of_a_knot_is_shown() {
    let cycle = cycle_of(&[
        ("lib.rs", "mod a;\nmod b;\nmod c;"),
        ("a.rs", "pub struct A;\nfn f(_: crate::b::B) {}"),
        ("b.rs", "pub struct B;\nfn f(_: crate::c::C) {}"),
        ("c.rs", "pub struct C;\nfn f(_: crate::b::B, _: crate::a::A) {}"),
    ]);
    assert_eq!(cycle, "small::b → small::c → small::b (3 modules use each other)");
}
