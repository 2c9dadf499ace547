use super::super::Scope;
use super::*;

fn name(text: &str) -> SectionName {
    SectionName::new(text, Scope::System).unwrap()
}

fn registry(sizes: &[(&str, u64)]) -> Registry {
    let mut registry = Registry::default();
    for &(text, bytes) in sizes {
        registry.add(Reservation::new(name(text), bytes).unwrap()).unwrap();
    }
    registry
}

#[test]
fn the_largest_come_first_and_equal_ones_by_name() {
    let registry = registry(&[("b", 8192), ("small", 4096), ("a", 8192), ("large", 1 << 30)]);
    let order: Vec<_> = registry.descending().iter().map(|entry| entry.name.text()).collect();
    assert_eq!(order, ["large", "a", "b", "small"]);
}

#[test]
fn what_is_freed_holds_nothing_and_keeps_its_entry() {
    let mut registry = registry(&[("cache", 8192)]);
    registry.free(&name("cache")).unwrap();
    assert_eq!(registry.free(&name("cache")), Err(EditError::Freed(name("cache"))));
    assert!(registry.descending().is_empty());
    let kept = registry.modify(&name("cache"), Change { freed: Some(false), ..Change::default() }).unwrap();
    assert_eq!((kept.bytes(), kept.freed), (8192, false));
}

#[test]
fn names_are_there_once() {
    let mut registry = registry(&[("cache", 8192)]);
    let again = Reservation::new(name("cache"), 4096).unwrap();
    assert_eq!(registry.add(again), Err(EditError::Exists(name("cache"))));
    let group = SectionName::new("cache", Scope::Group(3)).unwrap();
    registry.add(Reservation::new(group.clone(), 4096).unwrap()).unwrap();
    assert_eq!(registry.remove(&group).unwrap().bytes(), 4096);
    for absent in [registry.remove(&group).map(drop), registry.clone().free(&group).map(drop)] {
        assert_eq!(absent, Err(EditError::Absent(group.clone())));
    }
    assert_eq!(registry.get(&name("cache")).unwrap().bytes(), 8192);
}

#[test]
fn a_modification_changes_what_it_names_and_nothing_else() {
    let mut registry = registry(&[("cache", 8192)]);
    let cache = name("cache");
    let change = Change { alloc: Some(true), zeroed: Some(true), ..Change::default() };
    let entry = registry.modify(&cache, change).unwrap().clone();
    assert_eq!((entry.bytes(), entry.preallocation), (8192, Preallocation::Alloc { zeroed: true }));
    let entry = registry.modify(&cache, Change { bytes: Some(4096), ..Change::default() }).unwrap();
    assert_eq!((entry.bytes(), entry.preallocation), (4096, Preallocation::Alloc { zeroed: true }));
    let entry = registry.modify(&cache, Change { alloc: Some(false), ..Change::default() }).unwrap();
    assert_eq!(entry.preallocation, Preallocation::Fluid, "fluid pages are not zeroed beforehand");
}

#[test]
fn a_refused_modification_changes_nothing() {
    let mut registry = registry(&[("cache", 8192)]);
    let before = registry.clone();
    for (change, bad) in [
        (Change { bytes: Some(5), page_tables: Some(false), ..Change::default() }, BadReservation::Size(5)),
        (Change { bytes: Some(4096), zeroed: Some(true), ..Change::default() }, BadReservation::ZeroedFluid),
    ] {
        let name = name("cache");
        assert_eq!(registry.modify(&name, change), Err(EditError::Bad { name, bad }));
        assert_eq!(registry, before);
    }
}
